"""Frames that cannot be right: pictures that cannot be read, times out of order, tags that nothing bears out."""

from collections.abc import Iterator
from typing import Final

import polars as pl

from driveflow.epoch import FIRST_DIGITAL_NS, LAST_NS
from driveflow.flow.data_validation_section import DataValidationSection
from driveflow.predicates import attribute
from driveflow.tables import REMARKS
from driveflow.time_of_day import CLOCKS, KEYS, check_tags
from validation.data.report import Check, Suspect, judged
from validation.data.request import DataRequest, Prepared

_MOST_ODD: Final = 0.1  # of the steps in a drive go back: beyond, its names are in no order of time
_NEAR_NS: Final = 60 * 10**9
_STEADY: Final = (*KEYS, "weather", "scene")  # attributes that do not change for one frame alone


def check_frames(request: DataRequest, data: Prepared) -> Iterator[Check]:
    """Return the checks of what came in, of pictures, times and tags."""
    yield _left_out(request, data)
    yield _pictures(data, request.settings)
    yield _times(data, request.settings)
    yield _tags(request, data)


def _left_out(request: DataRequest, data: Prepared) -> Check:
    rows = pl.DataFrame(pl.from_arrow(request.quarantine.select(["batch", "path", "reason", "detail"])))
    lost = rows.filter(~pl.col("reason").is_in(sorted(REMARKS)))
    n = data.frames.height + data.boxes.height + lost.height
    reasons = lost.group_by("reason").len().sort(["len", "reason"], descending=[True, False]).head(5)
    told = ", ".join(f"{count:,} {reason}" for reason, count in reasons.iter_rows())
    reason = f"The import could not use {lost.height:,} files and lines: {told}." if told else "All was used."
    limits = (request.settings.left_out_review, request.settings.left_out_block)
    some = [
        Suspect("", f"{row['reason']}: {row['batch']}/{row['path']}")
        for row in lost.head(request.settings.examples).iter_rows(named=True)
    ]
    share = lost.height / n if n else None
    check = Check("left_out", "PASS", reason, share, "share of frames and boxes", *limits, lost.height, n, tuple(some))
    return judged(check, request.settings.min_n)


def _pictures(data: Prepared, settings: DataValidationSection) -> Check:
    broken = data.signals.filter(pl.col("error").is_not_null())
    n = data.signals.height
    told = f"{broken.height:,} of {n:,} pictures cannot be read." if n else "No picture was measured."
    some = tuple(Suspect(row["frame_id"], row["error"]) for row in broken.head(settings.examples).iter_rows(named=True))
    limits = (settings.unreadable_review, settings.unreadable_block)
    share = broken.height / n if n else None
    return judged(
        Check("pictures", "PASS", told, share, "share of pictures", *limits, broken.height, n, some), settings.min_n
    )


def _times(data: Prepared, settings: DataValidationSection) -> Check:
    """Look for frames that were taken before the one before them, at the same moment as another, or at no time."""
    timed = data.shots.filter(pl.col("captured_ns").is_not_null())
    odd = pl.concat([_impossible(timed), _same_moment(timed), _backwards(timed)])
    frames = odd.unique("frame_id", keep="first", maintain_order=True)
    n = timed["frame_id"].n_unique()
    kinds = frames.group_by("kind").len().sort("kind")
    told = ", ".join(f"{count:,} {kind}" for kind, count in kinds.iter_rows())
    reason = f"{n:,} frames have a time" + (f"; {told}." if told else ", and all are in order.")
    reason = reason if n else "No frame has a time."
    some = tuple(
        Suspect(row["frame_id"], f"{row['kind']}: {row['drive']}, {row['path']}")
        for row in frames.head(settings.examples).iter_rows(named=True)
    )
    share = frames.height / n if n else None
    limits = (settings.time_review, settings.time_block)
    check = Check("time_order", "PASS", reason, share, "share of frames", *limits, frames.height, n, some)
    return judged(check, settings.min_n)


def _told(rows: pl.DataFrame, kind: str) -> pl.DataFrame:
    return rows.select("frame_id", "drive", "path", kind=pl.lit(kind))


def _impossible(timed: pl.DataFrame) -> pl.DataFrame:
    far = (pl.col("captured_ns") < FIRST_DIGITAL_NS) | (pl.col("captured_ns") > LAST_NS)
    return _told(timed.filter(pl.col("clock").is_in(sorted(CLOCKS)) & far), "taken before 1990 or after 2100")


def _same_moment(timed: pl.DataFrame) -> pl.DataFrame:
    """Two different pictures of one camera in one drive cannot be of one moment; the first of them is not blamed."""
    moment = ["drive", "camera", "clock", "captured_ns"]
    again = timed.filter(~pl.struct(moment).is_first_distinct())
    return _told(again, "taken at the moment of another frame of its camera")


def _backwards(timed: pl.DataFrame) -> pl.DataFrame:
    """Follow the numbers at the end of names, where a drive's are in order of time nearly everywhere."""
    name = pl.col("path").str.replace(r"\.[^./]*$", "")
    numbered = timed.with_columns(
        _stem=name.str.replace(r"\d+$", ""), _number=name.str.extract(r"(\d{1,18})$").cast(pl.Int64)
    ).drop_nulls("_number")
    track = ["drive", "camera", "clock", "batch", "_stem"]
    ordered = numbered.sort(*track, "_number", "path")
    stepped = ordered.with_columns(_step=pl.col("captured_ns").diff().over(track))
    back = pl.col("_step") < 0
    odd = stepped.filter(back & (back.mean().over(track) <= _MOST_ODD))
    return _told(odd, "taken before the frame that is numbered before it")


def _tags(request: DataRequest, data: Prepared) -> Check:
    """Hold tags of a time of day against sun and picture, and tags of one frame alone against its neighbours."""
    side, settings = request.side, request.settings
    found = check_tags(side.frames, side.sources, side.signals)
    said = _said(request)
    doubted = _doubted(found.against)
    every = pl.concat([doubted, _flips(data, said)]).unique("frame_id", keep="first", maintain_order=True)
    tagged = said.filter(pl.any_horizontal(pl.exclude("frame_id") != "")).height
    told = f"{tagged:,} frames have a tag, {found.checked:,} can be held against sun or picture"
    reason = f"{told}; {doubted.height:,} disagree, {every.height - doubted.height:,} differ from both neighbours."
    check = Check(
        "tags",
        "PASS",
        reason,
        every.height / tagged if tagged else None,
        "share of tagged frames",
        settings.tags_review,
        settings.tags_block,
        every.height,
        tagged,
        tuple(Suspect(*row) for row in every.head(settings.examples).iter_rows()),
    )
    return judged(check, settings.min_n)


def _doubted(against: pl.DataFrame) -> pl.DataFrame:
    """Return each frame whose tag sun or picture speaks against, the plainest first, and the reason in words."""
    sun = pl.format("said to be {}, but the sun stands at {} degrees", "said", pl.col("value").round(1))
    grey = pl.format("said to be {}, but its mean grey is {} of 255", "said", pl.col("value").round(0).cast(pl.Int64))
    off = pl.max_horizontal(pl.col("low") - pl.col("value"), pl.col("value") - pl.col("high"))
    told = against.with_columns(detail=pl.when(pl.col("rule") == "sun").then(sun).otherwise(grey), _off=off)
    ordered = told.sort("_off", "frame_id", descending=[True, False])
    return ordered.unique("frame_id", keep="first", maintain_order=True).select("frame_id", "detail")


def _said(request: DataRequest) -> pl.DataFrame:
    frames = request.side.frames
    columns = {key: pl.Series(key, attribute(frames, key), dtype=pl.String) for key in _STEADY}
    return pl.DataFrame({"frame_id": pl.Series("frame_id", frames["frame_id"]).cast(pl.String), **columns})


def _flips(data: Prepared, said: pl.DataFrame) -> pl.DataFrame:
    """Return frames whose tag differs from those just before and after, of the same camera, which agree."""
    track = ["drive", "camera", "clock"]
    timed = data.shots.filter(pl.col("captured_ns").is_not_null()).join(said, on="frame_id")
    ordered = timed.sort(*track, "captured_ns", "path")
    near = pl.col("captured_ns").shift(-1).over(track) - pl.col("captured_ns").shift(1).over(track) <= _NEAR_NS
    found = []
    for key in _STEADY:
        before, after = pl.col(key).shift(1).over(track), pl.col(key).shift(-1).over(track)
        odd = ordered.filter(near & (before == after) & (before != pl.col(key)) & (before != "") & (pl.col(key) != ""))
        found.append(odd.select("frame_id", detail=pl.format("{} {}, unlike both its neighbours", pl.lit(key), key)))
    return pl.concat(found)
