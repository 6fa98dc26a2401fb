"""Collect what label files of one format say, where the classes looked for are known only when all are read."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

import pyarrow as pa

from driveflow.errors import NotFoundError
from driveflow.formats.box_cap import MOST_LISTINGS
from driveflow.formats.label_set import LABEL_BOXES, ImageLabels, LabelFiles, LabelProblem, LabelSet, LabelSetBuilder
from driveflow.formats.label_set import names_ignore_region as names_no_class
from driveflow.formats.picture_finder import Found, PictureFinder
from driveflow.formats.sniff import Sniffer, within

BoxRow = Mapping[str, object]
_ROWS_AT_ONCE: Final = 20_000
_SHOWN: Final = 5


def label_files(files: LabelFiles, annotations: str, find: Callable[[Sniffer], Iterable[str]]) -> list[str]:
    """Return the file `annotations`, or the files that `find` takes for its own there or in the whole batch.

    Raises:
        NotFoundError: `annotations` is neither a file nor a folder of the batch.
    """
    if annotations in files.paths:
        return [annotations]
    seen = within(files, annotations)
    if not seen.paths:
        raise NotFoundError(f"annotations: {annotations!r} is no file of the batch.")
    return list(find(Sniffer(seen)))


class LabelCollector:
    """What a reader has found so far; one reader owns it."""

    def __init__(self, files: LabelFiles) -> None:
        """Start with the pictures of `files` and no labels."""
        self.finder = PictureFinder(files.paths)
        self.builder = LabelSetBuilder()
        self.seen: dict[str, set[str]] = defaultdict(set)  # label file -> classes of its boxes
        self.left_out: Counter[str] = Counter()  # what was seen and is no box, by what it is
        self._images: dict[str, list[tuple[ImageLabels, bool]]] = defaultdict(list)  # by label file
        self._rows: list[tuple[object, ...]] = []  # in the order of LABEL_BOXES
        self._listings: Counter[tuple[str, str]] = Counter()

    def problem(self, path: str, reason: str, detail: str, *, boxes: int = 0, line: int | None = None) -> None:
        """Add one thing that could not be used."""
        self.builder.problems.append(LabelProblem(path, reason, detail, line, boxes))

    def lose(self, label_file: str, found: Found, *, boxes: int, line: int | None = None) -> None:
        """Report that the picture of `boxes` boxes was not found."""
        self.problem(label_file, found.reason, found.detail, boxes=boxes, line=line)

    def listing(self, label_file: str, picture: str) -> int:
        """Return how often `label_file` has listed `picture` before."""
        self._listings[label_file, picture] += 1
        return self._listings[label_file, picture] - 1

    def add(self, image: ImageLabels, boxes: Sequence[BoxRow], *, looked: bool) -> None:
        """Add a picture with its boxes; `looked`: for all classes of the data set, where it names no list itself."""
        if image.listing >= MOST_LISTINGS:
            detail = f"{image.path} is listed more than {MOST_LISTINGS:,} times"
            self.problem(image.label_file, "label_too_many_listings", detail, boxes=len(boxes))
            return
        self.add_boxes(image, boxes)
        self.add_image(image, looked=looked)

    def add_image(self, image: ImageLabels, *, looked: bool) -> None:
        """Add a picture."""
        self._images[image.label_file].append((image, looked))

    def add_boxes(self, image: ImageLabels, boxes: Iterable[BoxRow]) -> int:
        """Add boxes of a picture, and return how many those were."""
        classes = self.seen[image.label_file]
        count = 0
        for count, box in enumerate(boxes, start=1):  # noqa: B007 the count is returned
            classes.add(str(box["class_name"]))
            self._rows.append((image.path, image.label_file, image.listing, *_cells(box)))
            if len(self._rows) >= _ROWS_AT_ONCE:
                self._flush()
        return count

    def pictures_listed(self) -> set[str]:
        """Return the pictures that some file speaks of."""
        return {image.path for images in self._images.values() for image, _ in images}

    def note_unlisted(self) -> None:
        """Note how many pictures of the batch no label file lists: they are unlabeled, not empty."""
        listed = self.pictures_listed()
        missing = [path for path in self.finder.pictures if path not in listed]
        if missing and listed:
            shown = ", ".join(missing[:_SHOWN]) + (" ..." if len(missing) > _SHOWN else "")
            self.builder.notes.append(f"{len(missing)} pictures are in no label file and stay unlabeled: {shown}.")

    def note_repeats(self) -> None:
        """Note which files list pictures more than once; each listing speaks for itself."""
        repeats = Counter(path for (path, _), count in self._listings.items() if count > 1)
        for path, count in sorted(repeats.items()):
            self.builder.notes.append(
                f"{path} lists {count} pictures more than once; where the listings differ, that is a conflict."
            )

    def settle(self, label_file: str, classes: Iterable[str], *, labeled: bool = True) -> None:
        """Say what was looked for in the pictures of `label_file`: `classes` and those seen there, or nothing."""
        number = self._class_list([*classes, *sorted(self.seen.pop(label_file, ()))]) if labeled else None
        images = self._images[label_file]
        self._images[label_file] = [
            (replace(image, class_list=number) if looked else image, False) for image, looked in images
        ]

    def build(self, classes: Iterable[str] = ()) -> LabelSet:
        """Return all; where nothing was settled, `classes` were looked for and all that were seen."""
        self._flush()
        number = self._class_list([*classes, *sorted({name for names in self.seen.values() for name in names})])
        for image, looked in (pair for images in self._images.values() for pair in images):
            known = not looked or image.class_list is not None
            self.builder.add_image(image if known else replace(image, class_list=number))
        for what, count in sorted(self.left_out.items()):
            self.builder.notes.append(f"{count} {what}: left out, they are no boxes.")
        return self.builder.build()

    def _class_list(self, names: Iterable[str]) -> int | None:
        kept = [name for name in dict.fromkeys(names) if not names_no_class(name)]
        return self.builder.class_list(kept) if kept else None

    def _flush(self) -> None:
        columns = list(zip(*self._rows, strict=True))
        if columns:
            arrays = [pa.array(column, kind.type) for column, kind in zip(columns, LABEL_BOXES, strict=True)]
            self.builder.add_boxes(pa.table(arrays, schema=LABEL_BOXES))
        self._rows.clear()


def _cells(box: BoxRow) -> tuple[object, ...]:
    """Return a box from its line on, as LABEL_BOXES has it; a class that only says "ignore" is a region to ignore."""
    name = box["class_name"]
    return (
        box.get("line"),
        box.get("own_id", ""),
        name,
        box["x1"],
        box["y1"],
        box["x2"],
        box["y2"],
        box.get("normalised", False),
        bool(box.get("ignore")) or _names_no_class(str(name)),
        box.get("attributes", "{}"),
        box.get("score"),
        box.get("annotator"),
    )


@lru_cache(maxsize=4096)
def _names_no_class(name: str) -> bool:
    return names_no_class(name)
