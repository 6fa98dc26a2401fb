"""What was measured of each frame, kept once for all runs."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driveflow import tables as columns
from driveflow.id_places import IdPlaces, Ids, id_array
from driveflow.images.signals import extractor_digest
from driveflow.part_files import read_parts, write_part
from driveflow.storage.objects import join


class SignalStore:
    """Signals by (frame, extractor) under `<store>/signals/<extractor>/`, in parts named by the digest of their bytes.

    Parts are only ever added, so several processes may append at once; a part that is not what was written counts as
    missing, and its frames are measured again.
    """

    def __init__(self, store: str, extractor: str = "") -> None:
        self._folder = join(store, "signals", extractor or extractor_digest())

    def load(self, frame_ids: Ids) -> pa.Table:
        """Return the known signals of `frame_ids`, one row a frame, sorted by frame."""
        wanted = id_array(frame_ids)
        places = IdPlaces(wanted)
        parts = [part.filter(pa.array(places.of(part["frame_id"]) >= 0)) for part in self._parts()]
        if not parts:
            return columns.SIGNALS.empty_table()
        return _first_of_each(pa.concat_tables(parts))

    def append(self, signals: pa.Table) -> None:
        """Keep `signals` (columns of `tables.SIGNALS`); keeping them twice changes nothing."""
        if not signals.num_rows:
            return
        table = signals.select(columns.SIGNALS.names).cast(columns.SIGNALS).sort_by("frame_id").combine_chunks()
        write_part(self._folder, table)

    def _parts(self) -> Iterable[pa.Table]:
        return (part.select(columns.SIGNALS.names).cast(columns.SIGNALS) for part in read_parts(self._folder))


def _first_of_each(table: pa.Table) -> pa.Table:
    ordered = table.take(pc.sort_indices(table["frame_id"]))
    ids = ordered["frame_id"].to_numpy()
    return ordered.filter(pa.array(np.append(True, ids[1:] != ids[:-1])) if len(ids) else pa.array([], pa.bool_()))
