"""Bound the boxes that one picture may have: no camera sees so many, and junk would fill the memory with them."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

MOST_BOXES: Final = 100_000
"""Boxes of one picture; a file that has more is no label file of a camera."""

MOST_LISTINGS: Final = 10_000
"""How often one file may list a picture: once for each annotator, or each time that it was exported."""


@dataclass(slots=True)
class BoxCap:
    """Counts the boxes of each picture as they are added; a picture with too many keeps none."""

    _counts: Counter[str] = field(default_factory=Counter)
    _over: dict[str, str] = field(default_factory=dict)  # picture -> the label file that brought one too many

    def pass_on(self, boxes: pa.Table) -> pa.Table:
        """Return `boxes` without those of pictures that have too many already."""
        counts = pc.value_counts(boxes["path"])
        for path, count in zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True):
            self._counts[path] += count
            if self._counts[path] > MOST_BOXES and path not in self._over:
                first = pc.index(boxes["path"], path).as_py()
                self._over[path] = boxes["label_file"][first].as_py()
        return self.without(boxes)

    def without(self, table: pa.Table) -> pa.Table:
        """Return the rows of `table` whose pictures have not too many boxes."""
        return table.filter(pc.invert(self._is_over(table))) if self._over else table

    def unlabeled(self, images: pa.Table) -> pa.Table:
        """Return `images`, those with too many boxes as pictures at which nobody looked."""
        if not self._over:
            return images
        lists = pc.if_else(self._is_over(images), pa.scalar(None, pa.int32()), images["class_list"])
        return images.set_column(images.column_names.index("class_list"), "class_list", lists)

    def over(self) -> Iterator[tuple[str, str, int]]:
        """Yield the label file that brought one box too many, why all of its picture are lost, and how many."""
        for path, file in self._over.items():
            count = self._counts[path]
            yield file, f"{count:,} boxes of {path}; a picture has {MOST_BOXES:,} at most", count

    def _is_over(self, table: pa.Table) -> pa.ChunkedArray:
        return pc.is_in(table["path"], value_set=pa.array(list(self._over), pa.string()))
