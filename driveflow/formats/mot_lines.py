"""Read the text of MOTChallenge files: gt.txt, det.txt, labels.txt and seqinfo.ini."""

import configparser
import math
import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from driveflow.formats.label_set import LabelProblem, ProblemList
from driveflow.formats.shapes import Corners, has_area

CLASSES: Final = (
    "pedestrian", "person on vehicle", "car", "bicycle", "motorbike", "non motorized vehicle", "static person",
    "distractor", "occluder", "occluder on the ground", "occluder full", "reflection", "crowd",
)  # fmt: skip
"""What the class numbers 1, 2 ... mean where no labels.txt says otherwise."""
_SEPARATORS: Final = re.compile(r"[,;\s]+")
_COLUMNS: Final = range(7, 11)
_WITH_3D: Final = 10  # frame, id, box, confidence and a place in the world: no class, which is pedestrian


@dataclass(frozen=True, slots=True)
class MotBox:
    """One line: pixels from 0; `flag` is the confidence of a detection, 0 on ground truth that is not to be counted."""

    line: int
    frame: int
    track: int | None
    class_name: str
    corners: Corners
    flag: float
    visibility: float | None


@dataclass(frozen=True, slots=True)
class MotSequence:
    """What seqinfo.ini says; 0 and empty where it does not."""

    name: str = ""
    folder: str = "img1"
    frames_per_second: float = 0.0
    frame_count: int = 0
    width: int | None = None
    height: int | None = None


class _LineError(ValueError):
    """A line that cannot be used; `args` are the reason code, the detail and the frame, 0 where that is not known."""


def is_mot_line(line: str) -> bool:
    """Tell whether `line` may be one of gt.txt or det.txt.

    >>> is_mot_line("1,-1,0,4,4,8,1,3,1.0"), is_mot_line("0 0.5 0.5 0.1 0.1")
    (True, False)
    """
    values = _values(line)
    return values is not None and values[0] >= 1 and values[0].is_integer() and values[1].is_integer()


@dataclass(slots=True)
class MotText:
    """A whole file as far as it is read.

    Of the frames of interest, `unknown` has the first line of each with a class that is not listed, `spoiled` are those
    with lines that cannot be used, and `useful` those with a box.
    """

    path: str
    names: Sequence[str]  # of classes; as in the challenge where there are none
    problems: ProblemList = field(default_factory=ProblemList)
    unknown: dict[int, str] = field(default_factory=dict)
    spoiled: set[int] = field(default_factory=set)
    useful: set[int] = field(default_factory=set)
    last: int = 0  # frame
    lost: int = 0  # boxes of other frames
    seen: set[str] = field(default_factory=set)  # classes
    flags: list[float] = field(default_factory=list)  # the least and the most

    def boxes(self, lines: Iterable[tuple[int, str]], frames: Container[int]) -> Iterator[MotBox]:
        """Yield the boxes of `frames`, which are few; the others are counted."""
        for number, line in lines:
            if not line.strip():
                continue
            try:
                box = _read_line(number, line, self.names)
            except _LineError as error:
                self._report(number, error, frames)
                continue
            self.last = max(self.last, box.frame)
            self.seen.add(box.class_name)
            if box.frame not in frames:
                self.lost += 1
                continue
            self.useful.add(box.frame)
            flags = (*self.flags, box.flag)
            self.flags = [min(flags), max(flags)]
            yield box

    def _report(self, number: int, error: _LineError, frames: Container[int]) -> None:
        reason, detail, frame = error.args
        self.problems.append(LabelProblem(self.path, reason, detail, number, boxes=1))
        if frame in frames:
            self.spoiled.add(frame)
            if reason == "label_class_out_of_range":
                self.unknown.setdefault(frame, f"{self.path}:{number}: {detail}")


def last_frame(lines: Iterable[tuple[int, str]], names: Sequence[str]) -> int:
    """Return the last frame with a box, 0 where there is none."""
    text = MotText("", names)
    for _ in text.boxes(lines, ()):
        pass
    return text.last


def read_seqinfo(text: str) -> MotSequence:
    """Return what seqinfo.ini says; what it says wrongly counts as not said."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return MotSequence()
    said = next((parser[name] for name in parser.sections() if name.lower() == "sequence"), None)
    if said is None:
        return MotSequence()
    rate = _number(said.get("frameRate", "")) or 0.0
    count, width, height = (_number(said.get(key, "")) for key in ("seqLength", "imWidth", "imHeight"))
    return MotSequence(
        said.get("name", "").strip(),
        said.get("imDir", "img1").strip().replace("\\", "/"),
        rate if rate > 0 else 0.0,
        int(count) if count and 0 < count < 2**31 else 0,
        int(width) if width and 0 < width < 2**31 else None,
        int(height) if height and 0 < height < 2**31 else None,
    )


def _values(line: str) -> list[float] | None:
    values = [_number(field) for field in _SEPARATORS.split(line.strip(" ,;\t\r\n"), maxsplit=20)]
    found = [value for value in values if value is not None]
    return found if len(found) == len(values) and len(values) in _COLUMNS else None


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _read_line(number: int, line: str, names: Sequence[str]) -> MotBox:
    values = _values(line)
    if values is None or not is_mot_line(line):
        detail = "no frame, track, left, top, width, height, flag and up to three numbers more"
        raise _LineError("label_syntax", detail, 0)
    frame, track, left, top, width, height, flag = values[:7]
    first = 0 if names else 1  # CVAT and Datumaro, which list the names, count pixels from 0, the challenge from 1
    corners = (left - first, top - first, left - first + width, top - first + height)
    if not has_area(corners):
        raise _LineError("label_bad_box", f"width {width:g} and height {height:g}: the box has no area", int(frame))
    more = values[7:] if len(values) < _WITH_3D else []
    class_name = _class_of(more[0] if more else -1.0, names, int(frame))
    visibility = more[1] if len(more) > 1 and 0 <= more[1] <= 1 else None
    return MotBox(number, int(frame), int(track) if track >= 0 else None, class_name, corners, flag, visibility)


def _class_of(number: float, names: Sequence[str], frame: int) -> str:
    known = names or CLASSES
    if number == -1 and (not names or len(names) == 1):
        return known[0]
    if not number.is_integer() or not 1 <= number <= len(known):
        raise _LineError("label_class_out_of_range", f"class {number:g}, but there are 1 to {len(known)}", frame)
    return known[int(number) - 1]
