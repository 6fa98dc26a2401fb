"""List the frames that a step dropped: where they were found, why, and the kept twin."""

import polars as pl
import pyarrow as pa

from driveflow.canonical import Json


def dropped_frames(decisions: pa.Table, sources: pa.Table, reason: str = "", most: int = 100) -> dict[str, Json]:
    """Return the dropped frames of `decisions`, or those of one `reason`, by reason and place: at most `most` in rows.

    `total` and `reasons` count all of them. `path` and `twin_path` are the first source as "batch/path", null where
    none is told of.
    """
    rows = pl.DataFrame(pl.from_arrow(decisions)).filter(verdict="dropped")
    rows = rows.filter(reason=reason) if reason else rows
    counts = rows.group_by("reason").len().sort("reason")
    place = pl.concat_str("batch", "path", separator="/")
    found = pl.DataFrame(pl.from_arrow(sources.select(["frame_id", "batch", "path"])))
    first = found.group_by("frame_id").agg(path=place.min())
    named = rows.join(first, on="frame_id", how="left").join(
        first.select(twin="frame_id", twin_path="path"), on="twin", how="left"
    )
    order = ("reason", "path", "frame_id", "rule")
    shown = ("frame_id", "path", "reason", "rule", "score", "limit", "twin", "twin_path", "detail")
    return {
        "total": rows.height,
        "reasons": dict(counts.iter_rows()),
        "rows": list(named.sort(*order, nulls_last=True).select(shown).head(most).to_dicts()),
    }
