"""What was decided about each batch, kept by the digest of all that decided it, so that no batch is judged twice."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from driveflow import tables as columns
from driveflow.canonical import canonical_json
from driveflow.errors import IntegrityError, NotFoundError
from driveflow.parquet_bytes import table_of
from driveflow.reuse import put_object, read_object
from driveflow.storage.objects import join, read_bytes, write_bytes
from filtering.near_duplicates import Codes

_ASKED, _HASH = "asked", "phash64"


@dataclass(frozen=True, slots=True)
class KeptFrames:
    """Training frames that were kept, in the order in which they were asked, and their hashes."""

    frame_ids: pa.Array
    phash64: Codes

    @staticmethod
    def none() -> "KeptFrames":
        """Return that nothing was kept."""
        return KeptFrames(pa.array([], pa.string()), np.zeros(0, np.uint64))


@dataclass(frozen=True, slots=True)
class Judged:
    """The rows of DECISIONS of every frame of a batch, or of several, and the training frames that were kept."""

    decisions: pa.Table
    kept: KeptFrames

    @staticmethod
    def joined(parts: "Sequence[Judged]") -> "Judged":
        """Return what is said of the frames of all `parts`, which were judged in this order."""
        nothing = KeptFrames.none()
        kept = KeptFrames(
            pa.concat_arrays([nothing.frame_ids, *(part.kept.frame_ids for part in parts)]),
            np.concatenate([nothing.phash64, *(part.kept.phash64 for part in parts)]),
        )
        tables = [columns.DECISIONS.empty_table(), *(part.decisions for part in parts)]
        return Judged(pa.concat_tables(tables).sort_by("frame_id").combine_chunks(), kept)


class KeptIndex:
    """What was decided about batches, under `<store>/kept/<key>.json`; `key` is a digest of all that decided it.

    So nothing that is read here could have been decided otherwise, and a batch that is judged again writes what it
    wrote before. What is gone or damaged counts as not known.
    """

    def __init__(self, store: str) -> None:
        self._store = store

    def load(self, key: str) -> Judged | None:
        """Return what was decided under `key`; None where that is not known."""
        try:
            pointer = json.loads(read_bytes(self._uri(key)))
            data = read_object(join(self._store, "objects", str(pointer["object"])))
            return _judged(table_of(data).combine_chunks())
        except (NotFoundError, IntegrityError, pa.ArrowException, ValueError, KeyError, TypeError, RecursionError):
            return None

    def keep(self, key: str, judged: Judged) -> None:
        """Keep what was decided under `key`."""
        sink = pa.BufferOutputStream()
        pq.write_table(_table(judged), sink, compression="zstd")
        uri = put_object(self._store, sink.getvalue().to_pybytes(), ".parquet")
        write_bytes(self._uri(key), canonical_json({"object": uri.rpartition("/")[2]}).encode())

    def _uri(self, key: str) -> str:
        return join(self._store, "kept", f"{key}.json")


def _table(judged: Judged) -> pa.Table:
    at = pc.index_in(judged.decisions["frame_id"], value_set=judged.kept.frame_ids)
    hashes = pa.array(judged.kept.phash64, pa.uint64()).take(at.combine_chunks())
    return judged.decisions.append_column(_ASKED, at.cast(pa.int64())).append_column(_HASH, hashes)


def _judged(table: pa.Table) -> Judged:
    kept = table.filter(pc.is_valid(table[_ASKED])).sort_by(_ASKED).combine_chunks()
    ids, codes = kept["frame_id"].combine_chunks(), kept[_HASH].to_numpy()
    frames = KeptFrames(ids if isinstance(ids, pa.Array) else pa.concat_arrays(ids.chunks), codes)
    return Judged(table.select(columns.DECISIONS.names).cast(columns.DECISIONS), frames)
