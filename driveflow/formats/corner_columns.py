"""Tell which cells of a table of boxes hold the picture, the class and the corners, by header or by what is in them."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, TextIO

from driveflow.formats.csv_rows import CsvRowError, csv_rows
from driveflow.formats.file_kinds import kind_of
from driveflow.formats.json_text import number_of
from driveflow.formats.shapes import Corners

_PICTURE: Final = (
    "frame", "filename", "file_name", "file", "image", "image_name", "imagename", "image_path", "imagepath", "img",
    "img_path", "image_id", "imageid", "picture", "path",
)  # fmt: skip
_SYNONYMS: Final[Mapping[str, tuple[str, ...]]] = {
    "picture": _PICTURE,
    "label": ("label", "class", "class_name", "classname", "label_name", "labelname", "category", "category_name"),
    "x1": ("xmin", "x_min", "x1", "left", "xtl", "bbox_x1", "bbox_xmin", "x", "bbox_x", "bbox_left"),
    "y1": ("ymin", "y_min", "y1", "top", "ytl", "bbox_y1", "bbox_ymin", "y", "bbox_y", "bbox_top"),
    "x2": ("xmax", "x_max", "x2", "right", "xbr", "bbox_x2", "bbox_xmax"),
    "y2": ("ymax", "y_max", "y2", "bottom", "ybr", "bbox_y2", "bbox_ymax"),
    "box_width": ("w", "box_width", "bbox_width", "bbox_w"),
    "box_height": ("h", "box_height", "bbox_height", "bbox_h"),
    "width": ("width", "image_width", "img_width"),
    "height": ("height", "image_height", "img_height"),
    "score": ("score", "confidence", "conf"),
    "track_id": ("track_id", "trackid", "track"),
    "split": ("split", "subset", "set"),
    "bbox": ("bbox", "box", "bounding_box"),
}
"""What a column means by its name in small letters; the first that is there is taken."""

_CORNERS: Final = ("x1", "y1", "x2", "y2")
_SIZED: Final = ("x1", "y1", "box_width", "box_height")
_SEPARATORS: Final = ",;\t "
_SAMPLE: Final = 20


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the cells are: `at` by what they mean, `others` by the name of their column."""

    separator: str
    at: Mapping[str, int]
    others: Mapping[str, int] = field(default_factory=dict)
    has_header: bool = True

    is_sized: bool = field(init=False)  # boxes have a corner and a size, not two corners
    box: tuple[int, int, int, int] | None = field(init=False)  # the four numbers; None: one cell holds them all

    def __post_init__(self) -> None:
        """Work out where the numbers of a box are."""
        object.__setattr__(self, "is_sized", "x2" not in self.at)
        names = _SIZED if self.is_sized else _CORNERS
        object.__setattr__(self, "box", None if "bbox" in self.at else tuple(self.at[name] for name in names))

    def corners(self, row: Sequence[str]) -> Corners:
        """Return the corners of a box, NaN for what is no number."""
        numbers = [number_of(row[place]) for place in self.box or ()]
        x1, y1, x2, y2 = (math.nan if number is None else number for number in numbers)
        return (x1, y1, x1 + x2, y1 + y2) if self.is_sized else (x1, y1, x2, y2)


def layout_of(open_table: Callable[[], TextIO]) -> Layout | None:
    """Return the layout of a table by its first lines, None where it is no table of boxes."""
    for separator in _SEPARATORS:
        rows = [row for _, row in islice(rows_of(open_table(), separator), _SAMPLE)]
        if not rows or len(rows[0]) < 3:
            continue
        found = _by_header(rows[0], separator) or _by_content(rows, separator)
        if found:
            return found
    return None


def rows_of(table: TextIO, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line and the cells of each row that has any, nothing after one that cannot be read."""
    try:
        for _, line, row in csv_rows(table, separator, skips_blanks=True):
            if any(row):
                yield line, [cell.strip() for cell in row]
    except CsvRowError:
        return


def _by_header(header: Sequence[str], separator: str) -> Layout | None:
    names = [name.strip().lower().replace(" ", "_").replace("-", "_") for name in header]
    at = {
        what: names.index(name) for what, synonyms in _SYNONYMS.items() for name in reversed(synonyms) if name in names
    }
    if "x2" not in at and "y2" not in at:  # then width and height, where nothing else is, are those of the box
        at |= {f"box_{side}": at.pop(side) for side in ("width", "height") if side in at and f"box_{side}" not in at}
    at = {what: place for what, place in at.items() if not (what.startswith("box_") and "x2" in at)}
    complete = any(all(what in at for what in kind) for kind in (_CORNERS, _SIZED))
    if not {"picture", "label"} <= at.keys() or not (complete or "bbox" in at):
        return None
    if complete:
        at.pop("bbox", None)
    used = set(at.values())
    others = {header[place]: place for place, name in enumerate(names) if place not in used and name}
    return Layout(separator, at, others)


def _by_content(rows: Sequence[Sequence[str]], separator: str) -> Layout | None:
    """Return the layout that all rows have in which the first cell is a picture."""
    found = [layout for layout in map(_of_row, rows) if layout is not None]
    if len(found) < len(rows) or not found:
        return None
    stated = [layout for layout in found if layout]
    if not stated or any(layout != stated[0] for layout in stated):
        return None
    others = {"attribute": 7} if stated[0].get("occluded") == 5 else {}
    at = {what: place for what, place in stated[0].items() if what != "occluded"}
    flags = {"occluded": 5} if "occluded" in stated[0] else {}
    return Layout(separator, at, {**flags, **others}, has_header=False)


def _of_row(row: Sequence[str]) -> dict[str, int] | None:
    """Return what the cells of a row without a header are: all empty for a picture without boxes, None for no box."""
    if len(row) < 6 or kind_of(row[0]) != "picture":
        return None
    numeric = [number_of(cell) is not None for cell in row[1:6]]
    if not any(row[1:6]):
        return {}
    if numeric == [True] * 5 and len(row) > 6 and row[5] in {"0", "1"} and number_of(row[6]) is None:
        return {"picture": 0, "x1": 1, "y1": 2, "x2": 3, "y2": 4, "occluded": 5, "label": 6}
    if numeric == [True] * 4 + [False] and row[5]:
        return {"picture": 0, "x1": 1, "y1": 2, "x2": 3, "y2": 4, "label": 5}
    if numeric == [False] + [True] * 4 and row[1]:
        return {"picture": 0, "label": 1, "x1": 2, "y1": 3, "x2": 4, "y2": 5}
    return None
