"""What a filter run is asked."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driveflow.by_hand import ByHand
from driveflow.embeddings.vector_store import VectorSource
from driveflow.flow.sections import CornerCaseSection, FilterSection
from driveflow.images.frame_bytes import FrameBytes
from driveflow.predicates import Mask
from driveflow.snapshots import SnapshotTables
from filtering.decisions import Ints
from filtering.kept_index import KeptIndex
from filtering.measured import MeasuredFrames
from filtering.pixel_digests import PixelDigests
from filtering.populations import populations
from filtering.series import series


@dataclass(frozen=True, slots=True)
class FilterRequest:
    """The frames to judge, what was measured of them, and the rules; `predictions` find rare frames without labels.

    Frames with equal pixels are found where `pixels` can be read, and `digests` remembers which were; what people said
    `by_hand` is kept to; frames that have `vectors` are compared by these too. Where `arrival` names batches, these are
    judged one after the other, each against what those before it kept, and `index` knows those judged in earlier runs.
    """

    tables: SnapshotTables
    signals: pa.Table
    filters: FilterSection
    corner_cases: Sequence[CornerCaseSection] = ()
    predictions: pa.Table | None = None
    pixels: FrameBytes | None = None
    by_hand: ByHand = field(default_factory=ByHand)
    vectors: VectorSource | None = None
    arrival: tuple[str, ...] = ()
    index: KeptIndex | None = None
    digests: PixelDigests | None = None

    def among(self, frame_ids: pa.Array) -> Mask:
        """Return which frames are among `frame_ids`."""
        found = pc.is_in(self.tables.frames["frame_id"], value_set=frame_ids)
        return np.asarray(found.to_numpy(), dtype=np.bool_)

    def signal_rows(self) -> pa.ChunkedArray:
        """Return for each frame the row of its signals; null where there is none."""
        return pc.index_in(self.tables.frames["frame_id"], value_set=self.signals["frame_id"].combine_chunks())

    def signals_of(self, rows: Ints) -> pa.Table:
        """Return the signals of the frames at `rows`."""
        return self.signals.take(self.signal_rows().take(pa.array(rows))).combine_chunks()

    def measured(self, rows: Ints) -> MeasuredFrames:
        """Return the frames at `rows`, of which every one was measured, each with its population."""
        frames, sources = self.tables.frames.take(pa.array(rows)), self.tables.sources
        places = series(frames["frame_id"], sources)
        return MeasuredFrames(self.signals_of(rows), populations(frames, sources), places)
