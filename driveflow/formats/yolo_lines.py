"""Read the text of one YOLO label file."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from driveflow.canonical import Json
from driveflow.formats.box_cap import MOST_BOXES
from driveflow.formats.label_set import LabelProblem, ProblemList

_SLACK = 0.05  # rounding and augmentation push values this far over the edge
_TRACKED = 6  # values of a box with its confidence and its track
_NUMBERED = 6  # fields of a class, a box and one number more


@dataclass(frozen=True, slots=True)
class YoloBox:
    """One line: corners as shares of the picture's sides."""

    line: int
    class_name: str
    corners: tuple[float, float, float, float]
    attributes: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class YoloNames:
    """The classes by number, the file that lists them, and the values after the box of a keypoint data set."""

    by_number: Mapping[int, str]
    file: str
    keypoint_values: int = 0
    trouble: str = ""  # why the file names no classes
    counts_tracks: bool = False  # a number after a box is its track, not its confidence: see `are_tracks`

    def describe(self) -> str:
        """Say which numbers there are."""
        if self.trouble:
            return f"{self.file} names no classes: {self.trouble}"
        numbers = sorted(self.by_number)
        ids = f"ids {numbers[0]} to {numbers[-1]}" if numbers else "no ids"
        return f"{self.file} lists {len(numbers)} classes ({ids})"


def are_tracks(files: Iterable[Iterable[str]]) -> bool:
    r"""Tell whether numbers after boxes are tracks, as CVAT writes them: whole, and no two alike in one picture.

    `files` are the lines of each. Where all are 1 they are confidences; so is what has a fraction anywhere.

    >>> are_tracks([["0 .5 .5 .1 .1 0"], ["0 .5 .5 .1 .1 0", "0 .4 .4 .1 .1 1"]])
    True
    >>> are_tracks([["0 .5 .5 .1 .1 1"]]), are_tracks([["0 .5 .5 .1 .1 0"], ["0 .5 .5 .1 .1 0.9"]])
    (False, False)
    """
    others = False
    for lines in files:
        here: set[str] = set()
        for last in (fields[5] for line in lines if len(fields := line.split()) == _NUMBERED):
            if last in here or not _is_whole(last) or len(here) == MOST_BOXES:
                return False
            here.add(last)
            others = others or last != "1"
    return others


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdecimal()


class _LineError(ValueError):
    """A line that cannot be used; `args` are the reason code and the detail."""


@dataclass(slots=True)
class YoloText:
    """A label file as far as its lines are read; `broken` says why its picture must not be used."""

    path: str
    names: YoloNames
    learn: Callable[[], YoloNames] | None = None  # what numbers after boxes are, asked for at the first of them
    problems: ProblemList = field(default_factory=ProblemList)
    found: int = 0  # boxes
    broken: str = ""

    def boxes(self, lines: Iterable[tuple[int, str]]) -> Iterator[YoloBox]:
        """Yield the boxes of numbered lines; lines that cannot be used become problems with their number."""
        for number, line in lines:
            fields = line.split()
            if not fields:
                continue
            if self.learn and len(fields) == _NUMBERED and _is_whole(fields[-1]):
                self.names, self.learn = self.learn(), None
            try:
                box = _read_line(number, fields, self.names)
            except _LineError as error:
                reason, detail = error.args
                self.problems.append(LabelProblem(self.path, reason, detail, number, boxes=1))
                if reason == "label_class_out_of_range" and not self.broken:
                    self.broken = f"{self.path}:{number}: {detail}"
                continue
            self.found += 1
            yield box


def _read_line(number: int, fields: list[str], names: YoloNames) -> YoloBox:
    class_name = _class_of(fields[0], names)
    values = [_number(text) for text in fields[1:]]
    corners, attributes = _corners(values, names)
    if not corners[0] < corners[2] or not corners[1] < corners[3]:
        raise _LineError("label_bad_box", "the box has no area")
    return YoloBox(number, class_name, corners, attributes)


def _class_of(text: str, names: YoloNames) -> str:
    value = _number(text)
    if value != int(value):
        raise _LineError("label_syntax", f"class id {text!r} is no whole number")
    if not names.by_number.get(int(value)):
        raise _LineError("label_class_out_of_range", f"class id {int(value)}, but {names.describe()}")
    return names.by_number[int(value)]


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise _LineError("label_syntax", f"{text[:40]!r} is no number") from None
    if not math.isfinite(value):
        raise _LineError("label_bad_box", f"{text!r} is no finite number")
    return value


def _corners(values: list[float], names: YoloNames) -> tuple[tuple[float, float, float, float], dict[str, Json]]:
    count, keypoint_values = len(values), names.keypoint_values
    if names.counts_tracks and count == _NUMBERED - 1:
        return _from_centre(values[:4]), {"track_id": str(int(values[4]))}
    if count == 4 or (keypoint_values and count == 4 + keypoint_values):
        return _from_centre(values[:4]), {}
    if count == 5 or (keypoint_values and count == 5 + keypoint_values):
        return _from_centre(values[:4]), {"confidence": _confidence(values[-1])}
    of_keypoints = keypoint_values and count == _TRACKED + keypoint_values and values[-1].is_integer()
    if of_keypoints or (count == _TRACKED and _is_tracked(values)):
        return _from_centre(values[:4]), {"confidence": _confidence(values[-2]), "track_id": str(int(values[-1]))}
    if count >= 6 and count % 2 == 0:
        _check_shares(values)
        shares = [min(max(value, 0.0), 1.0) for value in values]
        horizontal, vertical = shares[0::2], shares[1::2]
        return (min(horizontal), min(vertical), max(horizontal), max(vertical)), {"shape": "polygon"}
    raise _LineError(
        "label_syntax", f"{count + 1} fields; a box has 5 (or 6 with a confidence), a polygon 7, 9, 11 ..."
    )


def _from_centre(values: list[float]) -> tuple[float, float, float, float]:
    if values[2] <= 0 or values[3] <= 0:
        raise _LineError("label_bad_box", f"width {values[2]:g} and height {values[3]:g}: the box has no area")
    _check_shares(values)
    return _around_centre(values)


def _around_centre(values: list[float]) -> tuple[float, float, float, float]:
    x, y, width, height = values
    return (x - width / 2, y - height / 2, x + width / 2, y + height / 2)


def _confidence(value: float) -> float:
    if not 0 <= value <= 1:
        detail = f"score {value:g} is not within 0 to 1; a track counts with a confidence before it"
        raise _LineError("label_bad_score", detail)
    return value


def _is_tracked(values: list[float]) -> bool:
    """Tell a box with its confidence and its track, as Ultralytics writes what it follows, from three points."""
    *box, confidence, track = values
    inside = all(-_SLACK <= edge <= 1 + _SLACK for edge in _around_centre(box))
    return inside and min(box[2:]) > 0 and 0 <= confidence <= 1 and track >= 1 and track.is_integer()


def _check_shares(values: list[float]) -> None:
    far = next((value for value in values if not -_SLACK <= value <= 1 + _SLACK), None)
    if far is not None:
        raise _LineError("label_not_normalised", f"{far:g} is no share of the picture's side: 0 to 1")
