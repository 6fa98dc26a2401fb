"""Say what a snapshot holds: by class, batch, drive and camera, when it was taken, and how large it is."""

from datetime import UTC, datetime

import polars as pl

from driveflow.as_polars import as_polars
from driveflow.canonical import Json
from driveflow.snapshots import Snapshot
from driveflow.tables import CLOCKS

_MAX_GROUPS = 50
_NS = 1_000_000_000


def describe_snapshot(snapshot: Snapshot) -> dict[str, Json]:
    """Return what `snapshot` holds; of many drives the largest are written out, and all are counted."""
    frames, sources, boxes = (as_polars(table) for table in (snapshot.frames(), snapshot.sources(), snapshot.boxes()))
    made_by = snapshot.made_by() if snapshot.record_id else {}
    decisions, quarantine = as_polars(snapshot.decisions()), as_polars(snapshot.quarantine())
    verdicts = decisions.select(what=pl.concat_str("verdict", pl.col("reason").fill_null(""), separator=" "))
    return {
        "snapshot": snapshot.uri,
        "made_by": str(made_by.get("step", "")),
        "written_at": str(made_by.get("written_at", "")),
        "frames": frames.height,
        "labeled": frames.filter(pl.col("annotated_classes").list.len() > 0).height,
        "sources": sources.height,
        "splits": _tally(frames["split"]),
        "batches": _tally(sources["batch"]),
        "drives": sources["drive"].n_unique(),
        "drive_groups": frames["drive_group"].n_unique(),
        "boxes": _tally(boxes["class_name"]),
        "ignored_boxes": int(boxes["ignore"].sum()),
        "predictions": boxes.height - boxes["score"].null_count(),
        "classes": _classes(snapshot.classes, frames, boxes),
        **{f"by_{name}": _groups(name, sources, boxes) for name in ("batch", "drive", "camera")},
        "time": _spans(sources),
        "sizes": _sizes(frames),
        "media_types": _tally(frames["media_type"]),
        "bytes": int(frames["byte_count"].sum()),
        "decisions": _tally(verdicts["what"]),
        "quarantine": _tally(quarantine["reason"]),
        "conflicts": _tally(as_polars(snapshot.conflicts())["kind"]),
    }


def _tally(values: pl.Series) -> dict[str, Json]:
    counted = values.rename("value").value_counts()
    return dict(sorted((str(value), count) for value, count in counted.iter_rows()))


def _classes(classes: tuple[str, ...], frames: pl.DataFrame, boxes: pl.DataFrame) -> list[Json]:
    """Return for each class its boxes, the frames that show one, and the frames in which somebody looked for it."""
    looked = frames.select(pl.col("annotated_classes").explode().alias("class_name")).drop_nulls()
    annotated = looked.group_by("class_name").agg(frames_annotated=pl.len())
    drawn = boxes.group_by("class_name").agg(
        boxes=pl.len(), ignored=pl.col("ignore").sum(), frames_with=pl.col("frame_id").n_unique()
    )
    known = pl.DataFrame({"class_name": list(classes)}, schema={"class_name": pl.String})
    joined = known.join(drawn, on="class_name", how="left").join(annotated, on="class_name", how="left")
    return list(joined.fill_null(0).sort("boxes", "class_name", descending=[True, False]).to_dicts())


def _groups(name: str, sources: pl.DataFrame, boxes: pl.DataFrame) -> dict[str, Json]:
    """Return frames, sources and boxes of each batch, drive or camera, the largest first."""
    drawn = boxes.group_by("frame_id").agg(boxes=pl.len())
    found = sources.select(pl.col(name).alias("name"), "frame_id").join(drawn, on="frame_id", how="left")
    once = found.group_by("name", "frame_id").agg(sources=pl.len(), boxes=pl.col("boxes").first().fill_null(0))
    rows = once.group_by("name").agg(frames=pl.len(), sources=pl.col("sources").sum(), boxes=pl.col("boxes").sum())
    ordered = rows.sort("frames", "name", descending=[True, False])
    return {"total": rows.height, "largest": list(ordered.head(_MAX_GROUPS).to_dicts())}


def _spans(sources: pl.DataFrame) -> dict[str, Json]:
    """Return for each clock how many sources it times, and from when to when."""
    timed = sources.filter(pl.col("captured_ns").is_not_null())
    spans: dict[str, Json] = {"untimed": sources.height - timed.height}
    for clock in CLOCKS:
        times = timed.filter(pl.col("clock") == clock)["captured_ns"]
        if len(times):
            first, last = int(times.min()), int(times.max())  # type: ignore[arg-type]
            spans[clock] = {"sources": len(times), "first_ns": first, "last_ns": last, **_days(clock, first, last)}
    return spans


def _days(clock: str, first_ns: int, last_ns: int) -> dict[str, Json]:
    if clock != "utc":
        return {}
    first, last = (datetime.fromtimestamp(time // _NS, UTC).isoformat() for time in (first_ns, last_ns))
    return {"first": first, "last": last}


def _sizes(frames: pl.DataFrame) -> list[Json]:
    counted = frames.group_by("width", "height").agg(frames=pl.len())
    return list(counted.sort("frames", "width", "height", descending=[True, False, False]).head(_MAX_GROUPS).to_dicts())
