"""Compare two snapshots, column by column: what was added, removed and changed, by class and by drive."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from driveflow import tables as columns
from driveflow.as_polars import as_polars
from driveflow.canonical import Json
from driveflow.snapshots import Snapshot
from ingestion.diff_places import pair_places
from ingestion.disputes import CORNERS

_MAX_GROUPS = 100
_SEPARATOR = "\x1f"  # no class is called so
_BOX_KEYS = columns.KEYS["boxes"]
_FRAME_PARTS = ("attributes", "split", "annotated_classes", "drive_group")


@dataclass(frozen=True, slots=True)
class _Change:
    """The rows of one table that are in one snapshot only, or in both and not alike.

    `changed` has the columns of the first, and those of the second with "_b" behind their names.
    """

    added: pl.DataFrame
    removed: pl.DataFrame
    changed: pl.DataFrame
    unchanged: int

    def counts(self) -> dict[str, Json]:
        """Return how many rows of each kind there are."""
        return {
            "added": self.added.height,
            "removed": self.removed.height,
            "changed": self.changed.height,
            "unchanged": self.unchanged,
        }


def diff_snapshots(first: Snapshot, second: Snapshot, limit: int = 10) -> dict[str, Json]:
    """Return what leads from `first` to `second`, with `limit` examples of each kind; all is counted.

    A frame is the same while its bytes are. A box is unchanged where one just like it is on the other side, also where
    that has another id (`boxes_renamed`), came another way (`boxes_other_origin`: another batch, campaign or model), or
    has corners that are rounded in another way (`boxes_rounded`, by at most `most_rounding_px`). Of what is left, boxes
    at one place are one that changed, and so are those of one id that overlap or came the same way. The drive told is
    that of a frame's first source.
    """
    frames = _change(_frames(first), _frames(second), columns.KEYS["frames"])
    sources = _change(as_polars(first.sources()), as_polars(second.sources()), columns.KEYS["sources"])
    boxes, alike = _box_changes(as_polars(first.boxes()), as_polars(second.boxes()))
    drives = _drives(first, second)
    return {
        "first": first.snapshot_id,
        "second": second.snapshot_id,
        "equal": first.snapshot_id == second.snapshot_id,
        "frames": frames.counts(),
        "sources": sources.counts(),
        "boxes": boxes.counts(),
        **alike,
        "classes": {
            "added": sorted(set(second.classes) - set(first.classes)),
            "removed": sorted(set(first.classes) - set(second.classes)),
        },
        "by_class": _by_class(boxes),
        "by_drive": _by_drive(frames, boxes, drives),
        "changed": _changed_parts(frames, _FRAME_PARTS),
        "boxes_changed": _changed_boxes(boxes),
        "splits": _moves(frames.changed, "split"),
        "class_changes": _moves(boxes.changed, "class_name"),
        "annotated": _annotated(frames.changed),
        "examples": _examples(frames, boxes, drives, limit),
    }


def _frames(snapshot: Snapshot) -> pl.DataFrame:
    return as_polars(snapshot.frames()).with_columns(pl.col("annotated_classes").list.join(_SEPARATOR))


def _change(first: pl.DataFrame, second: pl.DataFrame, keys: Sequence[str], aside: Sequence[str] = ()) -> _Change:
    """Compare all columns but `aside`."""
    rest = [name for name in first.columns if name not in {*keys, *aside}]
    both = first.join(second, on=list(keys), how="inner", suffix="_b")
    differs = pl.any_horizontal([pl.col(name).ne_missing(pl.col(f"{name}_b")) for name in rest])
    changed = both.filter(differs)
    added = second.join(first.select(keys), on=list(keys), how="anti")
    removed = first.join(second.select(keys), on=list(keys), how="anti")
    return _Change(added, removed, changed, both.height - changed.height)


def _box_changes(first: pl.DataFrame, second: pl.DataFrame) -> tuple[_Change, dict[str, Json]]:
    """Return how boxes changed, and how many of the unchanged have what else, by the names that the report has."""
    found, renamed = _box_change(first, second)
    rest, more = _box_change(*_sides(found, first.columns), aside=("origin",))
    placed = pair_places(*_sides(rest, first.columns))
    differs = pl.any_horizontal(_differs(name) for name in first.columns if name not in {*_BOX_KEYS, "origin"})
    moved, rounded = placed.pairs.filter(differs), placed.pairs.filter(~differs)
    last = _of_one_id(_change(placed.rest, placed.rest_b, _BOX_KEYS), first.columns)
    changed = pl.concat([moved.drop("rounded_px"), last.changed.with_columns(box_id_b="box_id").select(
        moved.drop("rounded_px").columns)])  # fmt: skip
    unchanged = found.unchanged + rest.unchanged + rounded.height
    return _Change(last.added, last.removed, changed, unchanged), {
        "boxes_renamed": renamed + more,
        "boxes_other_origin": rest.unchanged,
        "boxes_rounded": rounded.height,
        "most_rounding_px": placed.most_rounding_px,
    }


def _of_one_id(change: _Change, names: Sequence[str]) -> _Change:
    """Return `change` where boxes of one id are one only if they overlap or came the same way: batches count alike.

    A prediction and what somebody drew are never one.
    """
    overlap = pl.all_horizontal(
        pl.min_horizontal(f"{axis}2", f"{axis}2_b") > pl.max_horizontal(f"{axis}1", f"{axis}1_b") for axis in "xy"
    )
    drawn = pl.col("score").is_null() == pl.col("score_b").is_null()
    same = change.changed.filter((overlap | (pl.col("origin") == pl.col("origin_b"))) & drawn)
    other = change.changed.join(same.select(_BOX_KEYS), on=list(_BOX_KEYS), how="anti")
    one, two = _sides(_Change(change.added, change.removed, other, 0), names)
    return _Change(two, one, same, change.unchanged)


def _box_change(first: pl.DataFrame, second: pl.DataFrame, aside: Sequence[str] = ()) -> tuple[_Change, int]:
    """Return how boxes changed, and how many have another id and are else the same: a merge may give them new ones."""
    keys, names = _BOX_KEYS, first.columns
    by_id = _change(first, second, keys, aside)
    one, other = _sides(by_id, names)
    content = [name for name in names if name not in {"box_id", *aside}]
    pairs = _numbered(one, content).join(
        _numbered(other, content), on=[*content, "turn"], how="inner", nulls_equal=True, suffix="_b"
    )
    if pairs.is_empty():
        return by_id, 0
    left = one.join(pairs.select(keys), on=list(keys), how="anti")
    right = other.join(pairs.select("frame_id", box_id="box_id_b"), on=list(keys), how="anti")
    rest = _change(left, right, keys, aside)
    return _Change(
        rest.added, rest.removed, rest.changed, rest.unchanged + by_id.unchanged + pairs.height
    ), pairs.height


def _sides(change: _Change, names: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the boxes of either side that the other has not got, or not like that."""
    keys = _BOX_KEYS
    after = {f"{name}_b": name for name in names if name not in keys}
    one = pl.concat([change.removed, change.changed.select(names)])
    return one, pl.concat([change.added, change.changed.select(*keys, *after).rename(after).select(names)])


def _numbered(boxes: pl.DataFrame, content: Sequence[str]) -> pl.DataFrame:
    """Number boxes that are just alike, so that two of them meet two."""
    alike = boxes.with_columns(alike=pl.struct(content).hash())
    return alike.with_columns(turn=pl.int_range(pl.len()).over("alike")).drop("alike")


def _drives(first: Snapshot, second: Snapshot) -> pl.DataFrame:
    """Return one drive and one name for each frame of the two; those of the second come first."""
    parts = ["frame_id", "batch", "path", "drive"]
    told = pl.concat([as_polars(snapshot.sources().select(parts)) for snapshot in (second, first)])
    once = told.unique("frame_id", keep="first", maintain_order=True)
    return once.select("frame_id", "drive", name=pl.concat_str("batch", "path", separator="/"))


def _by_class(boxes: _Change) -> list[Json]:
    counted = _counted(
        {"added": boxes.added["class_name"], "removed": boxes.removed["class_name"],
         "changed": boxes.changed["class_name_b"]},
        "class_name",
    )  # fmt: skip
    return list(counted.sort("class_name").to_dicts())


def _by_drive(frames: _Change, boxes: _Change, drives: pl.DataFrame) -> dict[str, Json]:
    """Return changes of each drive that has any, those with most first."""
    tables = {f"{what}_{kind}": getattr(change, kind) for what, change in (("frames", frames), ("boxes", boxes))
              for kind in ("added", "removed", "changed")}  # fmt: skip
    found = {name: table.select("frame_id").join(drives, on="frame_id", how="left")["drive"]
             for name, table in tables.items()}  # fmt: skip
    counted = _counted(found, "drive")
    ordered = counted.with_columns(total=pl.sum_horizontal(list(found))).sort(
        "total", "drive", descending=[True, False]
    )
    return {"total": counted.height, "largest": list(ordered.drop("total").head(_MAX_GROUPS).to_dicts())}


def _counted(columns_: Mapping[str, pl.Series], key: str) -> pl.DataFrame:
    """Return how often each value comes in each column, a row a value."""
    schema = {key: pl.String, "kind": pl.String}
    parts = [
        pl.DataFrame({key: values.cast(pl.String), "kind": [kind] * len(values)}, schema=schema)
        for kind, values in columns_.items()
    ]
    counts = [(pl.col("kind") == kind).sum().alias(kind) for kind in columns_]
    return pl.concat(parts).group_by(key).agg(counts)


def _changed_parts(change: _Change, parts: Sequence[str]) -> dict[str, Json]:
    """Return how many rows changed in each part that may change."""
    return {part: change.changed.filter(_differs(part)).height for part in parts}


def _changed_boxes(boxes: _Change) -> dict[str, Json]:
    """Return how many boxes changed in what; which id they have and which way they came is no change of its own."""
    corners = pl.any_horizontal(_differs(name) for name in CORNERS)
    parts = [name for name in _BOX_PARTS if name not in {"box_id", "origin", *CORNERS}]
    return {"corners": boxes.changed.filter(corners).height, **_changed_parts(boxes, parts)}


def _differs(part: str) -> pl.Expr:
    return pl.col(part).ne_missing(pl.col(f"{part}_b"))


def _moves(changed: pl.DataFrame, part: str) -> dict[str, Json]:
    """Return how many rows went from which value to which."""
    moved = changed.filter(_differs(part)).group_by(part, f"{part}_b").agg(count=pl.len()).sort(part, f"{part}_b")
    return {f"{before} -> {after}": count for before, after, count in moved.iter_rows()}


def _annotated(changed: pl.DataFrame) -> list[Json]:
    """Return for each class in how many frames it is looked for now and was not, and the other way round."""
    parts = changed.filter(_differs("annotated_classes")).select("frame_id", "annotated_classes", "annotated_classes_b")
    before, after = (
        parts.select("frame_id", class_name=pl.col(name).str.split(_SEPARATOR)).explode("class_name")
        for name in ("annotated_classes", "annotated_classes_b")
    )
    pairs = {
        "looked_for_now": after.join(before, on=["frame_id", "class_name"], how="anti")["class_name"],
        "no_longer": before.join(after, on=["frame_id", "class_name"], how="anti")["class_name"],
    }
    return list(_counted(pairs, "class_name").filter(pl.col("class_name") != "").sort("class_name").to_dicts())


def _examples(frames: _Change, boxes: _Change, drives: pl.DataFrame, limit: int) -> dict[str, Json]:
    return {
        "frames_added": _rows(frames.added.select("frame_id"), drives, limit),
        "frames_removed": _rows(frames.removed.select("frame_id"), drives, limit),
        "frames_changed": _changed_rows(frames.changed, ("frame_id",), _FRAME_PARTS, drives, limit),
        "boxes_added": _rows(boxes.added.select(_OF_A_BOX), drives, limit),
        "boxes_removed": _rows(boxes.removed.select(_OF_A_BOX), drives, limit),
        "boxes_changed": _changed_rows(boxes.changed, ("frame_id", "box_id"), _BOX_PARTS, drives, limit),
    }


_OF_A_BOX = ("frame_id", "box_id", "class_name", "x1", "y1", "x2", "y2")
_BOX_PARTS = tuple(name for name in columns.BOXES.names if name != "frame_id")


def _rows(table: pl.DataFrame, drives: pl.DataFrame, limit: int) -> list[Json]:
    shown = table.sort(table.columns[:2]).head(limit)
    return list(shown.join(drives, on="frame_id", how="left", maintain_order="left").to_dicts())


def _changed_rows(
    changed: pl.DataFrame, keys: Sequence[str], parts: Sequence[str], drives: pl.DataFrame, limit: int
) -> list[Json]:
    """Return examples with both values of every part that differs."""
    shown = changed.sort(keys).head(limit).join(drives, on="frame_id", how="left", maintain_order="left")
    told: list[Json] = []
    for row in shown.to_dicts():
        differing = [part for part in parts if row[part] != row[f"{part}_b"]]
        before = {part: _plain(row[part]) for part in differing}
        after = {part: _plain(row[f"{part}_b"]) for part in differing}
        told.append({**{key: row[key] for key in (*keys, "name", "drive")}, "before": before, "after": after})
    return told


def _plain(value: Json) -> Json:
    return value.replace(_SEPARATOR, ", ") if isinstance(value, str) else value
