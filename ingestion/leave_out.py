"""Leave withdrawn frames out of what is merged."""

from collections.abc import Collection
from dataclasses import dataclass

import pyarrow as pa

from driveflow import tables as columns
from driveflow.snapshots import SnapshotTables
from driveflow.withdrawn import withdrawn_among, withdrawn_decisions


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Rows that were left out of frames, sources and boxes, and a decision (DECISIONS) for each frame."""

    rows: dict[str, int]
    decisions: pa.Table


def without_withdrawn(tables: SnapshotTables, withdrawn: Collection[str], step: str) -> tuple[SnapshotTables, LeftOut]:
    """Return `tables` without the withdrawn frames, and what that left out."""
    gone = withdrawn_among(tables.frames["frame_id"], withdrawn) if withdrawn else []
    decisions = pa.Table.from_pylist(withdrawn_decisions(gone, step), schema=columns.DECISIONS)
    if not gone:
        return tables, LeftOut(dict.fromkeys(columns.KEYS, 0), decisions)
    rest = tables.without(gone)
    rows = {name: getattr(tables, name).num_rows - getattr(rest, name).num_rows for name in columns.KEYS}
    return rest, LeftOut(rows, decisions)
