"""Where a model's errors cluster, as predicates: a class, of a height, where a tag of the frame has a value.

A cluster is told only where it does not hang on one drive: of enough objects in enough drive groups, with a share of
errors well over that of all objects, and still over it without the drive group that has most of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, Literal

import numpy as np
import polars as pl
import pyarrow as pa

from driveflow.flow.sections import WhereSection
from driveflow.predicates import attribute
from validation.model.evaluation import Evaluation
from validation.model.scene import Floats, Ints

Kind = Literal["missed", "false"]

HEIGHTS_PX: Final = ((0, 25), (25, 40), (40, 80), (80, None))
MIN_OBJECTS: Final = 10
MIN_GROUPS: Final = 3
MIN_SHARE: Final = 0.4
MIN_LIFT: Final = 1.5  # over the share of all objects
_MOST: Final = 4  # clusters of a kind
_MOST_KEYS: Final = 6
_MOST_VALUES: Final = 12  # a tag with more is a name, and no kind of frame
_FIRST_KEYS: Final = ("time_of_day", "weather", "scene")


@dataclass(frozen=True, slots=True)
class Cluster:
    """Errors of one kind that have something in common; `height_px` is half-open, its end None where there is none."""

    kind: Kind
    class_name: str
    height_px: tuple[int, int | None] | None
    attributes: Mapping[str, str]
    errors: int
    objects: int
    groups: int
    share_of_all: float

    @property
    def name(self) -> str:
        """Return what the cluster is called."""
        return " ".join([self.kind, self.class_name, *self.attributes.values(), *([self._size] if self._size else [])])

    @property
    def _size(self) -> str:
        if self.height_px is None:
            return ""
        low, high = self.height_px
        return f"{low} px high and more" if high is None else f"{low} to {high} px high"

    @property
    def where(self) -> WhereSection:
        """Return the predicate over frames."""
        tags: dict[str, tuple[str, ...]] = {key: (value,) for key, value in self.attributes.items()}
        return WhereSection(classes=(self.class_name,), attributes=tags)

    @property
    def boxes_expression(self) -> str:
        """Return the condition on boxes; empty where any height will do."""
        if self.height_px is None:
            return ""
        low, high = self.height_px
        name = self.class_name.replace("'", "''")
        below = f" AND height_px < {high}" if high is not None else ""
        return f"class_name = '{name}' AND height_px >= {low}{below}"

    @property
    def why(self) -> str:
        """Return its numbers in a sentence."""
        what = "objects are missed" if self.kind == "missed" else "detections are false"
        shares = f"{self.errors / self.objects:.0%}, {self.share_of_all:.0%} of all"
        return f"{self.errors} of {self.objects} {what} ({shares}), in {self.groups} drive groups."


def error_clusters(evaluation: Evaluation, frames: pa.Table) -> tuple[Cluster, ...]:
    """Return the clusters of missed objects and of false detections of `evaluation`; `frames` are its hold-out."""
    tags = _tags(evaluation, frames)
    found: list[Cluster] = []
    for kind, rows in (("missed", _objects(evaluation)), ("false", _detections(evaluation))):
        found += _clusters(kind, rows.join(tags, on="frame", how="left"), tags.columns[1:])  # type: ignore[arg-type]
    return tuple(found)


def _objects(evaluation: Evaluation) -> pl.DataFrame:
    truth = evaluation.scene.truth
    wrong = np.zeros(len(truth.frame), bool)
    wrong[evaluation.mistakes.missed] = True
    return _rows(evaluation, (truth.frame, truth.label, truth.corners), wrong).filter(pl.Series(~truth.ignore))


def _detections(evaluation: Evaluation) -> pl.DataFrame:
    detected, mistakes = evaluation.scene.detected, evaluation.mistakes
    wrong = np.zeros(len(detected.frame), bool)
    wrong[mistakes.false] = True
    rows = _rows(evaluation, (detected.frame, detected.label, detected.corners), wrong)
    return rows.filter(pl.Series(mistakes.shown))


def _rows(evaluation: Evaluation, boxes: tuple[Ints, Ints, Floats], wrong: np.ndarray) -> pl.DataFrame:
    frame, label, corners = boxes
    ends = [high for _, high in HEIGHTS_PX if high is not None]
    return pl.DataFrame({
        "frame": frame,
        "group": evaluation.scene.frame_group[frame],
        "class": label,
        "size": np.searchsorted(np.asarray(ends), corners[:, 3] - corners[:, 1], "right"),
        "wrong": wrong,
        "label": pl.Series([evaluation.scene.classes[one] for one in label.tolist()], dtype=pl.String),
    })  # fmt: skip


def _tags(evaluation: Evaluation, frames: pa.Table) -> pl.DataFrame:
    """Return the tags of each frame of the scene that have few values, the known ones first."""
    row_of = pl.DataFrame({"frame_id": evaluation.scene.frame_ids}, schema={"frame_id": pl.String})
    row_of = row_of.with_row_index("frame").with_columns(pl.col("frame").cast(pl.Int64))
    table = pl.DataFrame(pl.from_arrow(frames.select(["frame_id", "attributes"])))
    keys = _keys(table)
    said = {f"tag {key}": pl.Series(attribute(frames, key), dtype=pl.String) for key in keys}
    few = {name: values for name, values in said.items() if values.n_unique() <= _MOST_VALUES}
    tagged = table.select("frame_id").with_columns(**few)
    return row_of.join(tagged, on="frame_id", how="left").drop("frame_id")


def _keys(table: pl.DataFrame) -> list[str]:
    texts = table["attributes"].drop_nulls().unique().to_frame()
    objects = texts.select(pl.col("attributes").str.extract_all(r'"[^"\\]*":').alias("keys"))
    every = {key[1:-2] for keys in objects["keys"].to_list() for key in keys}
    known = [key for key in _FIRST_KEYS if key in every]
    return [*known, *sorted(every - set(known))][:_MOST_KEYS]


def _clusters(kind: Kind, rows: pl.DataFrame, tags: Sequence[str]) -> list[Cluster]:
    """Choose the clusters that say most, but none of which most errors are told already."""
    if not rows.height:
        return []
    share = float(rows["wrong"].mean() or 0.0)  # type: ignore[arg-type]
    candidates = sorted(_candidates(rows, tags, share), key=lambda item: -item[0])
    told = np.zeros(rows.height, bool)
    chosen: list[Cluster] = []
    wrong = rows["wrong"].to_numpy()
    for _, names, values in candidates:
        held = rows.select(pl.all_horizontal(pl.col(n) == v for n, v in zip(names, values, strict=True)))
        inside = held.to_series().fill_null(value=False).to_numpy()
        new = int((inside & wrong & ~told).sum())
        if new * 2 < int((inside & wrong).sum()):
            continue
        told |= inside & wrong
        chosen.append(_cluster(kind, rows.filter(pl.Series(inside)), dict(zip(names, values, strict=True)), share))
        if len(chosen) == _MOST:
            break
    return chosen


def _candidates(
    rows: pl.DataFrame, tags: Sequence[str], share: float
) -> Iterator[tuple[float, tuple[str, ...], tuple[object, ...]]]:
    """Yield how much each cluster says, and what its rows have in common."""
    for names in _dimensions(tags):
        by_group = rows.group_by(*names, "group").agg(n=pl.len(), wrong=pl.col("wrong").sum())
        worst = pl.col("wrong").arg_max()
        cells = by_group.group_by(*names).agg(
            objects=pl.col("n").sum(),
            errors=pl.col("wrong").sum(),
            groups=pl.len(),
            other_objects=pl.col("n").sum() - pl.col("n").get(worst),
            other_errors=pl.col("wrong").sum() - pl.col("wrong").max(),
        )
        ratio = pl.col("errors") / pl.col("objects")
        kept = cells.filter(
            (pl.col("objects") >= MIN_OBJECTS)
            & (pl.col("groups") >= MIN_GROUPS)
            & (ratio >= max(MIN_SHARE, MIN_LIFT * share))
            & (pl.col("other_errors") > share * pl.col("other_objects"))
        )
        for name in names:
            kept = kept.filter(pl.col(name) != "") if name in tags else kept
        weight = (pl.col("errors") - share * pl.col("objects")) * ratio
        for row in kept.sort(*names).select(weight.alias("weight"), *names).iter_rows():
            yield float(row[0]), names, tuple(row[1:])


def _dimensions(tags: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield what rows may have in common: always the class, with fewer dimensions first."""
    yield ("class",)
    yield ("class", "size")
    for number in (1, 2):
        for some in combinations(tags, number):
            yield ("class", *some)
            yield ("class", "size", *some)


def _cluster(kind: Kind, rows: pl.DataFrame, common: Mapping[str, object], share: float) -> Cluster:
    size = common.get("size")
    return Cluster(
        kind=kind,
        class_name=str(rows["label"][0]),
        height_px=HEIGHTS_PX[int(str(size))] if size is not None else None,
        attributes={name.removeprefix("tag "): str(value) for name, value in common.items() if name.startswith("tag ")},
        errors=int(rows["wrong"].sum()),
        objects=rows.height,
        groups=rows["group"].n_unique(),
        share_of_all=share,
    )
