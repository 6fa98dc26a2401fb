"""What lies beside a merged snapshot: where the bytes are, what was left out, and every disagreement."""

from collections.abc import Mapping, Sequence

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from driveflow import tables as columns
from driveflow.as_polars import as_polars
from driveflow.aside import let_go, set_aside
from driveflow.canonical import canonical_json
from driveflow.snapshots import Beside, SnapshotTables
from driveflow.table_digest import first_of_equal
from ingestion.merge_choose import Chosen
from ingestion.merge_places import Places
from ingestion.merge_rules import NamedSnapshot

STEP = "merge_batches"
_ROWS_AT_ONCE = 65_536
_SAID = {
    "where": "no condition of the merge asks for it",
    "sampling": "it is not in the sample",
    "quota": "the quota has no room for it",
}
Rows = Sequence[Mapping[str, str]]


def merged_beside(
    batches: Sequence[NamedSnapshot], decided: pa.Table, conflicts: Sequence[Rows | pa.Table], tables: SnapshotTables
) -> Beside:
    """Return what lies beside `tables`, the merged ones."""
    kept = as_polars(tables.frames.select(["frame_id"]))
    locations = as_polars(_once([batch.beside.locations for batch in batches], columns.LOCATIONS))
    parts = [rows if isinstance(rows, pa.Table) else _conflict_table(rows) for rows in conflicts]
    sources = {id(batch.tables.sources): batch.tables.sources for batch in batches}
    found = _with_where(pa.concat_tables(parts), list(sources.values()))
    return Beside(
        locations=locations.join(kept, on="frame_id", how="semi", maintain_order="left").to_arrow(),
        decisions=decided,
        quarantine=_once([batch.beside.quarantine for batch in batches], columns.QUARANTINE),
        conflicts=_once([*(batch.beside.conflicts for batch in batches), found], columns.CONFLICTS),
    )


def _conflict_table(rows: Rows) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=columns.CONFLICTS)


def decisions(chosen: Chosen, places: Places, tables: SnapshotTables, withdrawn: Sequence[pa.Table]) -> pa.Table:
    """Return one row for each frame that no batch brings in: withdrawn, left out (the first is told), or a leak.

    What one batch leaves out and another brings in is a leak where it has no place.
    """
    kept = pl.concat([as_polars(tables.frames.select(["frame_id"])), _brought(chosen, places.leaks["frame_id"])])
    missed = chosen.left_out.join(kept, on="frame_id", how="anti").sort("frame_id", "batch")
    told = missed.unique("frame_id", keep="first").select(
        "frame_id",
        rule=pl.col("reason"),
        reason=pl.col("reason"),
        detail=pl.format("batch '{}': {}", "batch", pl.col("reason").replace_strict(_SAID, return_dtype=pl.String)),
    )
    leaked = places.leaks.join(told, on="frame_id", how="anti")
    rows = pl.concat(
        [told, leaked.select("frame_id", rule=pl.lit("split"), reason=pl.lit("leak"), detail=pl.col("detail"))]
    ).sort("frame_id")
    table = rows.with_columns(step=pl.lit(STEP), verdict=pl.lit("dropped"), twin=pl.lit(None, pl.String))
    empty = pl.lit(None, pl.Float64)
    found = table.with_columns(score=empty, limit=empty).select(columns.DECISIONS.names)
    return _once([*withdrawn, found.to_arrow().cast(columns.DECISIONS)], columns.DECISIONS)


def _brought(chosen: Chosen, frame_ids: pl.Series) -> pl.DataFrame:
    """Return frame_id of those of `frame_ids` that some batch left out and another brings in."""
    asked = chosen.left_out["frame_id"].filter(chosen.left_out["frame_id"].is_in(frame_ids.implode()))
    wanted = asked.unique().to_arrow(compat_level=pl.CompatLevel.oldest()).cast(pa.string())
    parts = chosen.parts if len(wanted) else []
    found = [part.frames["frame_id"].filter(pc.is_in(part.frames["frame_id"], value_set=wanted)) for part in parts]
    return pl.DataFrame({"frame_id": [key for ids in found for key in ids.to_pylist()]}, schema={"frame_id": pl.String})


def split_conflicts(places: Places) -> list[dict[str, str]]:
    """Return rows of CONFLICTS for frames for which another split is stated than they have."""
    return [
        {
            "frame_id": conflict.frame_id,
            "kind": "split",
            "left": canonical_json({"split": conflict.split}),
            "right": canonical_json({"batch": conflict.batch, "split": conflict.stated}),
            "rule": "holdout" if conflict.beats else "first",
            "winner": "right" if conflict.beats else "left",
        }
        for conflict in places.conflicts
    ]


def _once(parts: Sequence[pa.Table], schema: pa.Schema) -> pa.Table:
    """Return the rows of all parts, each once, in the order in which they came."""
    filled = [_of(part, schema) for part in parts if part.num_rows]
    if len(filled) <= 1:  # what one brings is there once
        return filled[0] if filled else schema.empty_table()
    everything = pa.concat_tables(filled)
    return as_polars(everything).unique(maintain_order=True).to_arrow().cast(schema)


def _of(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return `table` with a schema; what has it already is not looked at, for it may lie aside."""
    return table if table.schema.equals(schema) else table.select(schema.names).cast(schema)


def _with_where(conflicts: pa.Table, sources: Sequence[pa.Table]) -> pa.Table:
    """Return `conflicts` with the place where each frame can be seen: batch and path of its first source."""
    if not conflicts.num_rows:
        return conflicts
    known = pl.concat(_first_places(table) for table in sources)
    known = known.sort("frame_id", "batch", "path").unique("frame_id", keep="first")
    where = known.select("frame_id", where=pl.format("{}/{}", "batch", "path"))
    slices = (conflicts.slice(start, _ROWS_AT_ONCE) for start in range(0, conflicts.num_rows, _ROWS_AT_ONCE))
    return set_aside((_seen(some, where) for some in slices), columns.CONFLICTS)


def _first_places(sources: pa.Table) -> pl.DataFrame:
    """Return frame_id, batch and path of the first source of each frame; `sources` are sorted by these."""
    begins = first_of_equal(sources.select(["frame_id"]))
    found = as_polars(sources.select(["frame_id", "batch", "path"]))[begins]
    let_go()
    return found


def _seen(conflicts: pa.Table, where: pl.DataFrame) -> pa.Table:
    found = as_polars(conflicts).drop("where").join(where, on="frame_id", how="left", maintain_order="left")
    let_go()
    return found.select(columns.CONFLICTS.names).to_arrow().cast(columns.CONFLICTS)
