"""Name settings that ask for what the frames do not have: a floor in seconds thins nothing where no time is known."""

from collections.abc import Iterator

import polars as pl
import pyarrow.compute as pc

from driveflow.flow.sections import FilterSection, NearDuplicateSection
from driveflow.snapshots import SnapshotTables

_SECTION = "filters.near_duplicates"


def idle_settings(filters: FilterSection, tables: SnapshotTables) -> tuple[str, ...]:
    """Return a sentence for each setting of near-duplicates that holds for none or not all of the training frames."""
    section = filters.near_duplicates
    if not section.enabled:
        return ()
    return (*_without_company(section), *_without_data(section, tables), *_clock_stood(section, tables))


def _without_company(section: NearDuplicateSection) -> Iterator[str]:
    usual = NearDuplicateSection()
    for name in ("same_drive_max_distance", "across_drives_max_distance"):
        if not section.embedding and getattr(section, name) != getattr(usual, name):
            yield f"{_SECTION}.{name} says nothing without {_SECTION}.embedding, the model whose vectors are compared."
    if not section.min_gap_m and section.standstill_s != usual.standstill_s:
        yield f"{_SECTION}.standstill_s says nothing without {_SECTION}.min_gap_m."
    if section.min_gap_m and not section.standstill_s:
        yield f"{_SECTION}.min_gap_m says nothing with standstill_s 0: after 0 s a frame stays though the car stands."


def _without_data(section: NearDuplicateSection, tables: SnapshotTables) -> Iterator[str]:
    train = tables.frames["frame_id"].filter(pc.equal(tables.frames["split"], "train")).combine_chunks()
    timed = pc.is_valid(tables.sources["captured_ns"])
    placed = pc.and_(timed, pc.and_(pc.is_valid(tables.sources["lat"]), pc.is_valid(tables.sources["lon"])))
    asked = {
        "window_s": ("no time is known", "they are compared by the limit across drives", timed),
        "min_gap_s": ("no time is known", "no floor holds for these", timed),
        "min_gap_m": ("no place and time are known", "no floor in metres holds for these", placed),
    }
    for name, (lack, then, known) in asked.items():
        if not getattr(section, name):
            continue
        there = pc.is_in(train, value_set=tables.sources["frame_id"].filter(known).combine_chunks())
        lacking = len(train) - (pc.sum(there).as_py() or 0)
        if lacking:
            yield f"{_SECTION}.{name}: {lack} of {lacking:,} of {len(train):,} training frames; {then}."


def _clock_stood(section: NearDuplicateSection, tables: SnapshotTables) -> Iterator[str]:
    """Yield a sentence where frames of one camera and drive have one time: a floor takes all of them but one."""
    if not section.min_gap_s and not section.min_gap_m:
        return
    train = pl.DataFrame(pl.from_arrow(tables.frames.select(["frame_id", "split"]))).filter(split="train")
    seen = pl.DataFrame(pl.from_arrow(tables.sources.select(["frame_id", "drive", "camera", "captured_ns"])))
    places = seen.drop_nulls("captured_ns").unique().join(train, on="frame_id", how="semi")
    shared = places.filter(pl.struct("drive", "camera", "captured_ns").is_duplicated())["frame_id"].n_unique()
    if shared:
        yield (
            f"{shared:,} of {len(train):,} training frames have the time of another of their camera and drive, as if "
            f"a clock had stood; of such frames {_SECTION}.min_gap_s and min_gap_m leave one."
        )
