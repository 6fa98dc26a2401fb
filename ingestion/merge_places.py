"""Place the frames of whole tables: what stands alone at once, what hangs together by one frame of its kind."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from driveflow.formats.source_split import spell_split
from ingestion.merge_splits import check_names, place_sightings
from ingestion.split_board import Placement, Sighting, SplitConflict, SplitRules

SEEN = ("frame_id", "drive", "source_split")
"""Columns of sources by which frames are placed."""
_PLACED = {"frame_id": pl.String, "split": pl.String, "drive_group": pl.String}


@dataclass(frozen=True, slots=True)
class Places:
    """Where frames are (frame_id, split, drive_group), and why each of the others is left out (frame_id, detail)."""

    table: pl.DataFrame
    leaks: pl.DataFrame
    conflicts: Sequence[SplitConflict]

    def without(self, frame_ids: Collection[str]) -> "Places":
        """Return the places of all other frames, as they are."""
        if not frame_ids:
            return self
        others = ~pl.col("frame_id").is_in(list(frame_ids))
        conflicts = [conflict for conflict in self.conflicts if conflict.frame_id not in frame_ids]
        return Places(self.table.filter(others), self.leaks.filter(others), conflicts)


def place_tables(batches: Sequence[tuple[str, pl.DataFrame]], rules: SplitRules) -> Places:
    """Place the frames of `batches` (name, sources) as `place_frames` does.

    Frames that are seen alike (in the same drives of the same batches, with the same split stated) go the same way, so
    one of each kind is placed. A drive that nothing else touches is not even looked at frame by frame.
    """
    seen, frame_ids = _seen(batches, rules)
    check_names(set(seen["drive"].unique()), set(seen["source_split"].unique()), rules.holdout)
    plain = _plain_drives(seen)
    undecided = plain.filter(pl.col("stated") == "").sort("number", "drive").head(1)  # it may be the first that trains
    plain = plain.join(undecided, on="drive", how="anti")
    rest = seen.join(plain, on="drive", how="anti")
    kinds = _kinds(rest)
    placement = place_sightings(_sightings(batches, rest, kinds, frame_ids), rules)
    alone = _drawn(plain, rules)
    placed = seen.select("frame", "drive").join(alone, on="drive").unique("frame")
    named = placed.select(frame_ids.gather(placed["frame"]), "split", "drive_group")
    return _expanded(placement, _named(kinds, frame_ids), named)


def _seen(batches: Sequence[tuple[str, pl.DataFrame]], rules: SplitRules) -> tuple[pl.DataFrame, pl.Series]:
    """Return each sighting once, with the number of its batch and the split stated for it, and the ids of all frames.

    `frame` is where in the ids, which are sorted, that of the frame is.
    """
    told = pl.concat(
        table.select(SEEN).with_columns(name=pl.lit(name), number=pl.lit(number, pl.Int64))
        for number, (name, table) in enumerate(batches)
    )
    numbers = told["frame_id"].rank("dense") - 1
    examples = np.empty(int(numbers.max() or 0) + 1 if len(numbers) else 0, np.int64)  # type: ignore[arg-type]
    examples[numbers.to_numpy()] = np.arange(len(numbers))
    frame_ids = told["frame_id"].gather(pl.Series(examples))
    seen = told.drop("frame_id").with_columns(frame=numbers)
    seen = seen.unique(["frame", "drive", "source_split", "name"], keep="first", maintain_order=True)
    held = [name for name in seen["source_split"].unique() if spell_split(name or "") in rules.held]
    is_held = pl.col("drive").is_in(list(rules.holdout.drives)) | pl.col("source_split").is_in(held)
    fixed = pl.lit(None, pl.String)
    for name, split in rules.fixed.items():
        fixed = pl.when(pl.col("name") == name).then(pl.lit(split)).otherwise(fixed)
    by_source = pl.when(is_held).then(pl.lit("holdout")).otherwise(pl.lit(""))
    return seen.with_columns(stated=pl.coalesce(fixed, by_source)), frame_ids


def _plain_drives(seen: pl.DataFrame) -> pl.DataFrame:
    """Return drive, number and stated split of the drives that share no frame and are in one batch only."""
    once = seen.select("frame", "drive", "number").unique()
    lonely = once.with_columns(alone=~pl.col("frame").is_duplicated())
    drives = lonely.group_by("drive").agg(pl.col("alone").all(), pl.col("number").min(), last=pl.col("number").max())
    plain = drives.filter(pl.col("alone") & (pl.col("number") == pl.col("last"))).select("drive", "number")
    held = (pl.col("stated") == "holdout").any()
    stated = seen.group_by("drive").agg(stated=pl.when(held).then(pl.lit("holdout")).otherwise(pl.col("stated").max()))
    return plain.join(stated, on="drive")


def _kinds(rest: pl.DataFrame) -> pl.DataFrame:
    """Return frame and `example`, a frame that is seen in just the same way."""
    ways = rest.select("number", "drive", "stated").unique().sort("number", "drive", "stated").with_row_index("way")
    ordered = rest.join(ways, on=["number", "drive", "stated"]).select("frame", "way").unique().sort("frame", "way")
    alike = ordered.group_by("frame", maintain_order=True).agg(pl.col("way").cast(pl.String).str.join(","))
    return alike.with_columns(example=pl.col("frame").first().over("way")).select("frame", "example")


def _named(kinds: pl.DataFrame, frame_ids: pl.Series) -> pl.DataFrame:
    found = {"frame_id": kinds["frame"], "example": kinds["example"]}
    return pl.DataFrame({name: frame_ids.gather(numbers) for name, numbers in found.items()})


def _sightings(
    batches: Sequence[tuple[str, pl.DataFrame]], rest: pl.DataFrame, kinds: pl.DataFrame, frame_ids: pl.Series
) -> list[tuple[str, list[Sighting]]]:
    examples = rest.join(kinds.select(frame="example").unique(), on="frame", how="semi", maintain_order="left")
    arrived: list[tuple[str, list[Sighting]]] = [(name, []) for name, _ in batches]
    for number, frame, drive, split in examples.select("number", "frame", "drive", "source_split").iter_rows():
        arrived[number][1].append(Sighting(frame_ids[frame], drive, split))
    return arrived


def _drawn(plain: pl.DataFrame, rules: SplitRules) -> pl.DataFrame:
    """Return drive, split and drive_group of drives that are groups of their own."""
    splits = [
        stated or rules.drawn(drive, first=False) for drive, stated in plain.select("drive", "stated").iter_rows()
    ]
    return plain.select("drive", pl.Series("split", splits, dtype=pl.String), drive_group="drive")


def _expanded(placement: Placement, kinds: pl.DataFrame, placed: pl.DataFrame) -> Places:
    ids = list(placement.splits)
    columns = [ids, [placement.splits[key] for key in ids], [placement.groups[key] for key in ids]]
    examples = pl.DataFrame(dict(zip(_PLACED, columns, strict=True)), schema=_PLACED).rename({"frame_id": "example"})
    leaks = pl.DataFrame(
        {"example": list(placement.leaks), "detail": list(placement.leaks.values())},
        schema={"example": pl.String, "detail": pl.String},
    )
    others = kinds.join(examples, on="example").select(_PLACED.keys())
    return Places(
        table=pl.concat([placed, others]),
        leaks=kinds.join(leaks, on="example").select("frame_id", "detail").sort("frame_id"),
        conflicts=_all_conflicts(placement.conflicts, kinds),
    )


def _all_conflicts(conflicts: Sequence[SplitConflict], kinds: pl.DataFrame) -> list[SplitConflict]:
    if not conflicts:
        return []
    alike = dict(kinds.group_by("example").agg(pl.col("frame_id").sort()).iter_rows())
    return [replace(conflict, frame_id=frame_id) for conflict in conflicts for frame_id in alike[conflict.frame_id]]
