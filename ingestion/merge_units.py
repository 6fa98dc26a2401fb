"""Place the frames of batches where a split goes by place or day, or is balanced; by drive alone it goes faster."""

from collections.abc import Sequence

import polars as pl

from driveflow.snapshots import SnapshotTables
from ingestion.merge_places import SEEN, Places, place_tables
from ingestion.merge_splits import place_frames
from ingestion.split_board import SplitRules
from ingestion.split_units import contents, sightings
from ingestion.stand import standing


def place_batches(
    batches: Sequence[tuple[str, SnapshotTables]], rules: SplitRules, placed: Sequence[tuple[str, SnapshotTables]] = ()
) -> Places:
    """Place the frames of `batches` (name, tables) in the order of their arrival; what is `placed` keeps its place."""
    if rules.splits.by == "drive_group" and not rules.splits.balance and not placed:
        told = [(name, pl.DataFrame(pl.from_arrow(tables.sources.select(list(SEEN))))) for name, tables in batches]
        return place_tables(told, rules)
    seen = [(name, sightings(tables, rules.splits)) for name, tables in batches]
    held = [contents(tables) for _, tables in (*placed, *batches)] if rules.splits.balance else []
    stood = [(name, standing(tables, sightings(tables, rules.splits))) for name, tables in placed]
    placement = place_frames(seen, rules, held, stood)
    ids = list(placement.splits)
    splits, groups = [placement.splits[key] for key in ids], [placement.groups[key] for key in ids]
    leaks = sorted(placement.leaks.items())
    return Places(
        table=_texts({"frame_id": ids, "split": splits, "drive_group": groups}),
        leaks=_texts({"frame_id": [key for key, _ in leaks], "detail": [why for _, why in leaks]}),
        conflicts=placement.conflicts,
    )


def _texts(columns: dict[str, list[str]]) -> pl.DataFrame:
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
