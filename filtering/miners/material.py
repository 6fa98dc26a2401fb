"""What miners look at: the kept frames, what was measured and seen in them, and what they are compared with."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from driveflow import tables as columns
from driveflow.next_curation import Query
from driveflow.snapshots import SnapshotTables

Scores: TypeAlias = npt.NDArray[np.float64]
Mask: TypeAlias = npt.NDArray[np.bool_]
Ints: TypeAlias = npt.NDArray[np.int64]
Vectors: TypeAlias = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class FrameVectors:
    """A row of length 1 for each of `frame_ids`, which are sorted."""

    frame_ids: tuple[str, ...]
    vectors: Vectors

    def __post_init__(self) -> None:
        if len(self.frame_ids) != len(self.vectors):
            raise ValueError(f"{len(self.frame_ids)} frames, {len(self.vectors)} vectors")


@dataclass(frozen=True, slots=True)
class ObjectVectors:
    """A row of length 1 for each box, which its frame and its id name."""

    frame_ids: tuple[str, ...]
    box_ids: tuple[str, ...]
    vectors: Vectors

    def __post_init__(self) -> None:
        if not len(self.frame_ids) == len(self.box_ids) == len(self.vectors):
            raise ValueError(f"{len(self.frame_ids)} frames, {len(self.box_ids)} boxes, {len(self.vectors)} vectors")


@dataclass(frozen=True, slots=True, eq=False)
class Material:
    """The kept frames and what is known of them; every array of a miner has an entry for each row of the frames.

    `predictions` are what each model saw, the champion first, whatever the score; `looked` says which frames the
    models looked at (None: all). `min_score` is what a detection needs to be believed where nobody looked.
    """

    tables: SnapshotTables
    signals: pa.Table
    predictions: tuple[pa.Table, ...] = ()
    looked: Mask | None = None
    min_score: float = 0.3
    vectors: FrameVectors | None = None
    objects: ObjectVectors | None = None
    failed_slices: Sequence[Query] = field(default_factory=tuple)

    @property
    def count(self) -> int:
        """How many frames there are."""
        return int(self.tables.frames.num_rows)

    def champion(self) -> pa.Table:
        """Return what the champion saw; nothing without a champion."""
        return self.predictions[0] if self.predictions else columns.PREDICTIONS.empty_table()

    def sure(self) -> pa.Table | None:
        """Return what the champion saw well enough to believe it; None without a champion."""
        if not self.predictions:
            return None
        return self.predictions[0].filter(pc.greater_equal(self.predictions[0]["score"], self.min_score))

    def rows_of(self, frame_ids: Sequence[str] | pa.Array | pa.ChunkedArray) -> Ints:
        """Return the row of each frame; -1 where it is not among the kept frames."""
        ids = frame_ids if isinstance(frame_ids, pa.Array | pa.ChunkedArray) else pa.array(frame_ids, pa.string())
        found = pc.index_in(ids, value_set=self.tables.frames["frame_id"].combine_chunks())
        return np.asarray(pc.fill_null(found, -1).to_numpy(zero_copy_only=False), np.int64).reshape(-1)

    def in_splits(self, *splits: str) -> Mask:
        """Return which frames lie in one of `splits`."""
        mask = pc.is_in(self.tables.frames["split"], value_set=pa.array(splits, pa.string()))
        return np.asarray(mask.to_numpy(zero_copy_only=False), np.bool_)

    def labeled(self) -> Mask:
        """Return in which frames somebody looked for some class."""
        lists = self.tables.frames["annotated_classes"]
        return np.asarray(pc.greater(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False), np.bool_)
