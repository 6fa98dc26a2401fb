"""Read the text of one KITTI label file: 15 columns, 16 on predictions."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from driveflow.canonical import Json, canonical_json
from driveflow.formats.label_set import LabelProblem, ProblemList, names_ignore_region
from driveflow.formats.shapes import Corners, has_area

_VALUES: Final = 14
_MAX_FIELDS: Final = 40
_NO_ALPHA: Final = (-10.0, -1.0)
_OCCLUSION_UNKNOWN: Final = 3


@dataclass(frozen=True, slots=True)
class KittiBox:
    """One line: pixels counted from 0."""

    line: int
    class_name: str
    corners: Corners
    attributes: Mapping[str, Json]
    score: float | None


class _LineError(ValueError):
    """A line that cannot be used; `args` are the reason code and the detail."""


def box_row(picture: str, path: str, box: KittiBox, attributes: Mapping[str, Json]) -> dict[str, object]:
    """Return `box` of the label file at `path` as a row of LABEL_BOXES."""
    return {
        "path": picture,
        "label_file": path,
        "line": box.line,
        "class_name": box.class_name,
        **dict(zip(("x1", "y1", "x2", "y2"), box.corners, strict=True)),
        "ignore": names_ignore_region(box.class_name),
        "attributes": canonical_json(attributes),
        "score": box.score,
    }


def is_kitti_line(line: str) -> bool:
    """Tell whether `line` has the columns of a KITTI label: a name, 14 numbers, and a score on predictions.

    >>> is_kitti_line("Car 0.00 0 -10 306.4 151.5 361.9 187.7 -1 -1 -1 -1000 -1000 -1000 -10")
    True
    """
    if not line.lstrip()[:1].isalpha():
        return False  # spares the millions of lines of other formats that are numbers only
    name, values = _columns(line)
    return bool(name) and len(values) in {_VALUES, _VALUES + 1}


def scores_say_nothing(lines: Iterable[str]) -> bool:
    """Tell whether all lines have a score and each is 1 as a program writes it that has none, as Datumaro and CVAT do.

    >>> box = "Car 0 0 -1 1 2 3 4 -1 -1 -1 -1 -1 -1 -1"
    >>> [scores_say_nothing([f"{box} {score}", box + " 1.0"]) for score in ("1.0", "0.9", "")]
    [True, False, False]
    """
    known = False
    for line in lines:
        name, values = _columns(line)
        if name and len(values) in {_VALUES, _VALUES + 1}:
            known = True
            if len(values) == _VALUES or line.split()[-1] not in {"1", "1.0"}:
                return False
    return known


def read_kitti_lines(path: str, lines: Iterable[tuple[int, str]], problems: ProblemList) -> Iterator[KittiBox]:
    """Yield the boxes of numbered lines of the file at `path`; lines that cannot be used become problems."""
    for number, line in lines:
        if not line.strip():
            continue
        try:
            yield _read_line(number, line)
        except _LineError as error:
            reason, detail = error.args
            problems.append(LabelProblem(path, reason, detail, number, boxes=1))


@dataclass(slots=True)
class KittiTally:
    """What one file says on the whole, as far as it is read."""

    boxes: int = 0
    drawn: set[str] = field(default_factory=set)  # classes of boxes without a score
    scores: list[float] = field(default_factory=list)  # the least and the most

    def add(self, box: KittiBox) -> None:
        """Count one box."""
        self.boxes += 1
        if box.score is None:
            self.drawn.add(box.class_name)
        else:
            scores = (*self.scores, box.score)
            self.scores = [min(scores), max(scores)]

    def counted(self, boxes: Iterable[KittiBox]) -> Iterator[KittiBox]:
        """Yield `boxes` and count them."""
        for box in boxes:
            self.add(box)
            yield box


def _columns(line: str) -> tuple[str, list[float]]:
    """Return the name, which may hold blanks, and the numbers after it."""
    fields = line.split(maxsplit=_MAX_FIELDS)
    values: list[float] = []
    while fields and (value := _number(fields[-1])) is not None:
        values.append(value)
        fields.pop()
    return " ".join(fields), values[::-1]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _read_line(number: int, line: str) -> KittiBox:
    name, values = _columns(line)
    if not name or len(values) not in {_VALUES, _VALUES + 1}:
        detail = f"{len(values)} numbers after a name; a label has {_VALUES}, a prediction {_VALUES + 1}"
        raise _LineError("label_syntax", detail)
    if not all(map(math.isfinite, values)):
        raise _LineError("label_syntax", f"{name}: a column is no finite number")
    x1, y1, x2, y2 = values[3:7]
    if not has_area((x1, y1, x2, y2)):
        raise _LineError("label_bad_box", f"{name}: {x1:g}, {y1:g}, {x2:g}, {y2:g} is no box with an area")
    score = values[_VALUES] if len(values) > _VALUES else None
    return KittiBox(number, name, (x1, y1, x2, y2), _attributes(values), score)


def _attributes(values: Sequence[float]) -> Mapping[str, Json]:
    """Return what the columns say; -1, -10 and -1000 stand for nothing."""
    truncated, occluded, alpha = values[:3]
    dimensions, location, rotation_y = values[7:10], values[10:13], values[13]
    found: dict[str, Json] = {}
    if truncated >= 0:
        found["truncated"] = truncated
    if occluded >= 0 and occluded.is_integer():
        found["occluded"] = int(occluded)
        if occluded == _OCCLUSION_UNKNOWN:
            found["visibility"] = "unknown"  # the level after "largely occluded", and yet not more than that
    if alpha not in _NO_ALPHA:
        found["alpha"] = alpha
    if min(dimensions) > 0 and min(location) > -1000:
        found |= {"alpha": alpha, "dimensions": [*dimensions], "location": [*location], "rotation_y": rotation_y}
    return found
