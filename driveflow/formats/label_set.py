"""What a label format says about a batch, in the same two tables for every format."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, Self

import pyarrow as pa

from driveflow.canonical import Json, canonical_json
from driveflow.formats.box_cap import BoxCap

LABEL_IMAGES = pa.schema(
    [
        ("path", pa.string()),  # of the picture, one of `LabelFiles.paths`; one picture may have several rows
        ("label_file", pa.string()),  # what speaks of it
        ("listing", pa.int32()),  # 0; 1, 2 ... where that file lists the picture again
        ("class_list", pa.int32()),  # which of `class_lists` somebody looked for; null: the picture is unlabeled
        ("width", pa.int32()),  # pixels as the format says, null where it does not
        ("height", pa.int32()),
        ("drive", pa.string()),  # the recording as the format names it, empty: it does not say
        ("sequence", pa.string()),  # a weaker hint: pictures of one value were numbered as frames of something
        ("camera", pa.string()),
        ("captured_ns", pa.int64()),
        ("clock", pa.string()),  # what captured_ns counts from: utc, gps, drive_relative; empty: it does not say
        ("lat", pa.float64()),  # degrees
        ("lon", pa.float64()),
        ("speed_mps", pa.float64()),
        ("heading_deg", pa.float64()),
        ("source_split", pa.string()),  # train, valid, test or empty
        ("attributes", pa.string()),  # canonical JSON object
        ("broken", pa.string()),  # why the picture must not be used with these labels; empty: nothing wrong
    ]
)
LABEL_BOXES = pa.schema(
    [
        ("path", pa.string()),
        ("label_file", pa.string()),
        ("listing", pa.int32()),
        ("line", pa.int64()),  # null where the format has no lines
        ("own_id", pa.string()),  # what the format calls the box, empty where it does not
        ("class_name", pa.string()),  # as the format spells it
        ("x1", pa.float64()),
        ("y1", pa.float64()),
        ("x2", pa.float64()),
        ("y2", pa.float64()),
        ("normalised", pa.bool_()),  # coordinates are shares of the picture's sides, not pixels
        ("ignore", pa.bool_()),
        ("attributes", pa.string()),  # canonical JSON object; for its keys see BOX_ATTRIBUTES
        ("score", pa.float64()),  # 0 to 1 on predictions, null on what a person drew
        ("annotator", pa.string()),  # null where the format does not say
    ]
)

BOX_ATTRIBUTES = {
    "track_id": "text: one object through the frames of a drive",
    "truncated": "number 0 to 1, or a yes or no where the format has only that",
    "occluded": "a yes or no, or the level as the format counts it",
    "visibility": "the format's own words for how much is seen",
    "rotation_deg": "clockwise turn of the drawn box about its centre; x1 to y2 are those of the box around it",
    "shape": "polygon, mask, cuboid ...: what was drawn, where that is no plain box",
    "difficult": "yes: hard to see, counted by some evaluations and not by others",
}
"""Keys that mean the same from every format; what else a format says of a box keeps its own name."""

IGNORE_REGION = "DontCare"
"""The class name of a region in which nothing was labeled, where the format has no word of its own for it.

Boxes whose class is this or another name that `names_ignore_region` knows are ignore regions of every class, unless the
taxonomy says what that name means; readers give them `ignore` and leave the name out of the classes looked for.
"""
_LISTED: Final = 10_000  # problems of one file and reason
_ROWS_AT_ONCE: Final = 20_000  # rows of boxes take many times the memory of the table that is made of them
_IGNORE_NAMES = frozenset(["dontcare", "ignore", "ignored", "ignoreregion", "ignoredregion", "ignoreregions"])


def names_ignore_region(class_name: str) -> bool:
    """Tell whether a class name says no more than that nothing was labeled there.

    >>> [names_ignore_region(name) for name in ("DontCare", "don't care", "ignore_region", "car")]
    [True, True, True, False]
    """
    return "".join(filter(str.isalpha, class_name)).casefold() in _IGNORE_NAMES


class LabelFiles(Protocol):
    """The files of a batch as a reader of labels sees them; members of archives lie under a folder "<archive>!"."""

    @property
    def paths(self) -> Sequence[str]:
        """Every file, sorted."""

    def read(self, path: str) -> bytes:
        """Return the bytes of one file."""


@dataclass(frozen=True, slots=True)
class LabelProblem:
    """One thing in the labels that could not be used; `boxes` is how many boxes were lost by it."""

    path: str
    reason: str  # starts with "label_"
    detail: str
    line: int | None = None
    boxes: int = 0


@dataclass(slots=True)
class ProblemList:
    """Problems in their order; of one file and reason no more are kept than a person will ever read."""

    _kept: list[LabelProblem] = field(default_factory=list)
    _listed: Counter[tuple[str, str]] = field(default_factory=Counter)
    _more: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)  # problems, and their boxes

    def append(self, problem: LabelProblem) -> None:
        """Add one problem."""
        spot = (problem.path, problem.reason)
        if self._listed[spot] < _LISTED:
            self._listed[spot] += 1
            self._kept.append(problem)
        else:
            self._count(spot, 1, problem.boxes)

    def __iadd__(self, problems: Iterable[LabelProblem]) -> Self:
        """Add problems, and what another list has only counted."""
        for problem in problems._kept if isinstance(problems, ProblemList) else problems:
            self.append(problem)
        for spot, counts in problems._more.items() if isinstance(problems, ProblemList) else ():
            self._count(spot, *counts)
        return self

    def __len__(self) -> int:
        """Return how many problems there are, listed or not: `iter` yields fewer, so make tuples of that."""
        return len(self._kept) + sum(problems for problems, _ in self._more.values())

    def __iter__(self) -> Iterator[LabelProblem]:
        """Yield the problems, and of each file and reason with more of them how many, and their boxes."""
        yield from self._kept
        for (path, reason), (problems, boxes) in self._more.items():
            yield LabelProblem(path, reason, f"{problems} more", None, boxes)

    def _count(self, spot: tuple[str, str], problems: int, boxes: int) -> None:
        known = self._more.get(spot, (0, 0))
        self._more[spot] = (known[0] + problems, known[1] + boxes)


@dataclass(frozen=True, slots=True)
class LabelSet:
    """All that label files say: schemas `LABEL_IMAGES` and `LABEL_BOXES`, and what was wrong with them."""

    images: pa.Table
    boxes: pa.Table
    class_lists: tuple[tuple[str, ...], ...] = ()
    problems: tuple[LabelProblem, ...] = ()
    files: frozenset[str] = frozenset()  # label files and what belongs to them
    notes: tuple[str, ...] = ()  # sentences for a person

    @property
    def boxes_read(self) -> int:
        """How many boxes the files hold, usable or not."""
        return int(self.boxes.num_rows) + sum(problem.boxes for problem in self.problems)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageLabels:
    """One picture as a label format speaks of it; the fields are those of `LABEL_IMAGES`."""

    path: str
    label_file: str
    listing: int = 0
    class_list: int | None = None
    width: int | None = None
    height: int | None = None
    drive: str = ""
    sequence: str = ""
    camera: str = ""
    captured_ns: int | None = None
    clock: str = ""
    lat: float | None = None
    lon: float | None = None
    speed_mps: float | None = None
    heading_deg: float | None = None
    source_split: str = ""
    attributes: Mapping[str, Json] = field(default_factory=dict)
    broken: str = ""


_NOTHING_SAID = {
    **dict.fromkeys(("drive", "sequence", "camera", "clock", "source_split", "broken"), ""),
    "listing": 0,
    "attributes": "{}",
}


class LabelSetBuilder:
    """Collects what a reader finds; one reader owns it."""

    def __init__(self) -> None:
        """Start with nothing."""
        self.files: set[str] = set()
        self.notes: list[str] = []
        self.problems = ProblemList()
        self._images: list[tuple[object, ...]] = []
        self._image_tables: list[pa.Table] = []
        self._boxes: list[pa.Table] = []
        self._box_rows: list[Mapping[str, object]] = []
        self._lists: dict[tuple[str, ...], int] = {}
        self._cap = BoxCap()

    def class_list(self, names: Iterable[str]) -> int:
        """Return the number under which the classes `names` are kept."""
        return self._lists.setdefault(tuple(names), len(self._lists))

    def add_image(self, image: ImageLabels) -> None:
        """Add one picture."""
        row = [getattr(image, name) for name in LABEL_IMAGES.names]
        row[LABEL_IMAGES.names.index("attributes")] = canonical_json(image.attributes)
        self._images.append(tuple(row))

    def add_images(self, columns: Mapping[str, Sequence[object] | str | int | None]) -> None:
        """Add many pictures at once: columns of `LABEL_IMAGES`, or the one value of all of them.

        Paths are a column. What is left out or null, nothing is said of.
        """
        paths = columns["path"]
        assert isinstance(paths, Sequence)
        rows = len(paths)
        said = {name: columns.get(name) for name in LABEL_IMAGES.names}
        arrays = [
            _column(_NOTHING_SAID.get(name) if values is None else values, kind, rows)
            for (name, values), kind in zip(said.items(), LABEL_IMAGES.types, strict=True)
        ]
        self._end_rows()
        self._image_tables.append(pa.table(arrays, schema=LABEL_IMAGES))

    def _end_rows(self) -> None:
        """Make a table of the pictures that were added one by one."""
        if self._images:
            columns = zip(*self._images, strict=True)
            arrays = [pa.array(column, kind) for column, kind in zip(columns, LABEL_IMAGES.types, strict=True)]
            self._image_tables.append(pa.table(arrays, schema=LABEL_IMAGES))
            self._images = []

    def add_boxes(self, boxes: pa.Table) -> None:
        """Add a table of boxes; columns that it lacks are null."""
        missing = [name for name in LABEL_BOXES.names if name not in boxes.column_names]
        for name in missing:
            boxes = boxes.append_column(name, pa.nulls(boxes.num_rows, LABEL_BOXES.field(name).type))
        self._end_box_rows()
        self._boxes.append(self._cap.pass_on(boxes.select(LABEL_BOXES.names).cast(LABEL_BOXES)))

    def add_box_rows(self, boxes: Iterable[Mapping[str, object]]) -> None:
        """Add boxes as rows; what a row leaves out is pixels, no ignore region, without attributes, id or line."""
        nothing = {"listing": 0, "own_id": "", "normalised": False, "ignore": False, "attributes": "{}"}
        for row in boxes:
            self._box_rows.append({**nothing, **row})
            if len(self._box_rows) >= _ROWS_AT_ONCE:
                self._end_box_rows()

    def _end_box_rows(self) -> None:
        """Make a table of the boxes that were added as rows."""
        if self._box_rows:
            self._boxes.append(self._cap.pass_on(pa.Table.from_pylist(self._box_rows, schema=LABEL_BOXES)))
            self._box_rows = []

    def build(self) -> LabelSet:
        """Return all that was collected."""
        self._end_rows()
        self._end_box_rows()
        images = pa.concat_tables([LABEL_IMAGES.empty_table(), *self._image_tables]).combine_chunks()
        boxes = pa.concat_tables(self._boxes) if self._boxes else LABEL_BOXES.empty_table()
        images, boxes = self._cap.unlabeled(images), self._cap.without(boxes)
        for file, detail, count in self._cap.over():
            self.problems.append(LabelProblem(file, "label_too_many_boxes", detail, None, count))
        return LabelSet(
            images, boxes, tuple(self._lists), tuple(iter(self.problems)), frozenset(self.files), tuple(self.notes)
        )


def _column(values: object, kind: pa.DataType, rows: int) -> pa.Array:
    """Return `values` as a column, one value as that of every row."""
    if values is None or isinstance(values, str | int):
        return pa.repeat(pa.scalar(values, kind), rows)
    return pa.array(values, kind)


def no_labels() -> LabelSet:
    """Return the label set of a batch without labels."""
    return LabelSetBuilder().build()
