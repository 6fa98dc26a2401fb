"""What earlier batches kept, so that a new batch is judged against all of it without touching an old pixel."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from driveflow.canonical import digest_bytes
from driveflow.errors import IntegrityError, NotFoundError
from driveflow.flow.sections import NearDuplicateSection
from driveflow.neighbours.cosine import Vectors
from driveflow.neighbours.leader_scan import NamedPairs
from driveflow.storage.objects import join, read_bytes, write_bytes
from driveflow.tables import SOURCES
from filtering.near_duplicates import Candidates, Codes, Mask, Twins, asking_order, thin
from filtering.places import Ints, numbered, place_rows

_SUFFIX = ".parquet"
_PLACE = ("drive", "camera", "captured_ns", "x_m", "y_m", "z_m")
_BEFORE = -1  # the rank of what was kept before: asked ahead of all that is new


@dataclass(frozen=True, slots=True)
class KeptFrames:
    """Kept frames in the order in which they were asked, their hashes, and a row for each of their places."""

    frame_ids: pa.Array
    phash64: Codes
    places: pl.DataFrame

    @staticmethod
    def none() -> "KeptFrames":
        """Return that nothing was kept."""
        rows = place_rows(pa.array([], pa.string()), SOURCES.empty_table())
        return KeptFrames(pa.array([], pa.string()), np.zeros(0, np.uint64), rows.select("frame", *_PLACE))

    def joined(self, later: "KeptFrames") -> "KeptFrames":
        """Return these frames and then `later` ones."""
        moved = later.places.with_columns(pl.col("frame") + len(self.frame_ids))
        return KeptFrames(
            pa.concat_arrays([self.frame_ids, later.frame_ids]),
            np.concatenate([self.phash64, later.phash64]),
            pl.concat([self.places, moved]),
        )


@dataclass(frozen=True, slots=True)
class NewFrames:
    """The frames of a new batch, as `Candidates` has them, beside where they were taken."""

    frame_ids: pa.Array
    phash64: Codes
    sources: pa.Table
    rank: Ints
    shielded: Mask


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """The twins of the new frames to drop, numbered among `frame_ids`, old ones first, and the new frames kept."""

    frame_ids: pa.Array
    twins: Twins
    kept: KeptFrames


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of old and new frames beside hashes, numbered old ones first; see `Candidates`."""

    pixels: Ints | None = None
    distinct: NamedPairs | None = None
    vectors: Vectors | None = None


def thin_batch(
    new: NewFrames, before: KeptFrames, section: NearDuplicateSection, known: Known = Known()
) -> BatchOutcome:
    """Thin a new batch against itself and all that was kept `before`, of which nothing is dropped any more.

    The answer is that of one run over all batches in the order in which they arrived.
    """
    old = len(before.frame_ids)
    here = place_rows(new.frame_ids, new.sources)
    alone = numbered(here, len(new.frame_ids))
    places = pl.concat([before.places, here.select("frame", *_PLACE).with_columns(pl.col("frame") + old)])
    frame_ids = pa.concat_arrays([before.frame_ids, new.frame_ids])
    order = np.concatenate([np.arange(old), alone.order])
    candidates = Candidates(
        frame_ids=frame_ids,
        phash64=np.concatenate([before.phash64, new.phash64]),
        seen=numbered(places, len(frame_ids), order),
        rank=np.concatenate([np.full(old, _BEFORE), new.rank]),
        shielded=np.concatenate([np.ones(old, np.bool_), new.shielded]),
        pixels=known.pixels,
        distinct=known.distinct,
        vectors=known.vectors,
    )
    twins = thin(candidates, section)
    return BatchOutcome(frame_ids, twins, _kept(new, here, asking_order(candidates)[old:] - old, twins.frame - old))


def _kept(new: NewFrames, places: pl.DataFrame, asking: Ints, dropped: Ints) -> KeptFrames:
    stays = np.ones(len(new.frame_ids), np.bool_)
    stays[dropped] = False
    rows = asking[stays[asking]]
    number = np.full(len(new.frame_ids), -1)
    number[rows] = np.arange(len(rows))
    moved = places.select("frame", *_PLACE).with_columns(frame=number[places["frame"].to_numpy()])
    mine = moved.filter(pl.col("frame") >= 0).sort("frame", maintain_order=True)
    return KeptFrames(new.frame_ids.take(pa.array(rows)), new.phash64[rows], mine)


class KeptIndex:
    """What each batch kept, under `<store>/kept/<rules>/`, an object a batch; `rules` is a digest of settings and code.

    Batches are named where they are read, in their order of arrival: so what was kept depends on nothing but them, and
    a batch that is judged again writes what it wrote before.
    """

    def __init__(self, store: str, rules: str) -> None:
        self._folder = join(store, "kept", rules)

    def load(self, batches: Sequence[str]) -> KeptFrames:
        """Return what `batches` kept, in this order.

        Raises:
            NotFoundError: nothing is known of a batch.
            IntegrityError: what is known of it cannot be read.
        """
        parts = [self._read(batch) for batch in batches]
        ids = [part.frame_ids for part in parts]
        counts = np.cumsum([0, *map(len, ids)])
        moved = [
            part.places.with_columns(pl.col("frame") + start)
            for part, start in zip(parts, counts.tolist(), strict=False)
        ]
        nothing = KeptFrames.none()
        return KeptFrames(
            pa.concat_arrays([nothing.frame_ids, *ids]),
            np.concatenate([nothing.phash64, *(part.phash64 for part in parts)]),
            pl.concat([nothing.places, *moved]),
        )

    def keep(self, batch: str, kept: KeptFrames) -> None:
        """Write what `batch` kept."""
        by_frame = kept.places.sort("frame", maintain_order=True)
        starts = np.searchsorted(by_frame["frame"].to_numpy(), np.arange(len(kept.frame_ids) + 1)).astype(np.int32)
        columns = {name: pa.ListArray.from_arrays(starts, _one(by_frame[name])) for name in _PLACE}
        table = pa.table({"frame_id": kept.frame_ids, "phash64": kept.phash64, **columns})
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd")
        write_bytes(self._uri(batch), sink.getvalue().to_pybytes())

    def _read(self, batch: str) -> KeptFrames:
        try:
            table = pq.read_table(pa.BufferReader(read_bytes(self._uri(batch)))).combine_chunks()
        except NotFoundError as error:
            raise NotFoundError(
                f"It is not known what batch {batch!r} kept under these rules; judge it first"
            ) from error
        except (pa.ArrowException, OSError) as error:
            raise IntegrityError(f"What batch {batch!r} kept cannot be read: {error}") from error
        frame = pc.list_parent_indices(table["drive"].combine_chunks())
        columns = {name: pl.Series(pc.list_flatten(table[name].combine_chunks())) for name in _PLACE}
        frames = pl.Series("frame", frame.to_numpy().astype(np.int64))
        return KeptFrames(
            table["frame_id"].combine_chunks(), table["phash64"].to_numpy(), pl.DataFrame({"frame": frames, **columns})
        )

    def _uri(self, batch: str) -> str:
        return join(self._folder, digest_bytes(batch.encode()) + _SUFFIX)


def _one(column: pl.Series) -> pa.Array:
    array = column.to_arrow()
    return (
        array.cast(pa.string())
        if pa.types.is_large_string(array.type) or pa.types.is_string_view(array.type)
        else array
    )
