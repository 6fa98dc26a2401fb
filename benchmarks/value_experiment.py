"""Does mining pay? The same model trained on as many mined as random frames, seed by seed, judged on a rare class."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driveflow import tables as columns
from driveflow.flow.sections import CornerCaseSection, LabelingSection
from driveflow.snapshots import SnapshotTables
from filtering.corner_cases import CornerCaseRequest, find_corner_cases
from filtering.miners.material import ObjectVectors
from filtering.rarity import shuffled

CONFIDENCE = 0.95
LEAST_SCORE = 0.2  # a young champion says hardly anything at the usual 0.3


@dataclass(frozen=True, slots=True)
class Pool:
    """All frames with their true labels, of train and hold-out, what was measured of them, and the class to find.

    `objects` makes the vectors of what is labeled in tables, and of what was detected where nothing is.
    """

    tables: SnapshotTables
    signals: pa.Table
    rare_class: str
    objects: Callable[[SnapshotTables, pa.Table], ObjectVectors] | None = None

    def train_ids(self) -> list[str]:
        """Return the training frames, sorted."""
        frames = self.tables.frames
        return sorted(frames["frame_id"].filter(pc.equal(frames["split"], "train")).to_pylist())


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many frames have labels at first, how many are added, and for how many seeds."""

    first_frames: int
    added_frames: int
    seeds: int


class Model(Protocol):
    """A trained model."""

    def see(self, frame_ids: Sequence[str]) -> pa.Table:
        """Return what it detects in frames (PREDICTIONS)."""

    def value(self) -> float:
        """Return what it is worth on the hold-out, by the rare class."""


Trainer = Callable[[SnapshotTables, int], Model]
"""Trains on labeled tables with a seed."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one seed gave: the value of each arm, and how many of the added frames show the rare class."""

    seed: int
    first: float
    mined: float
    random: float
    control: float
    rare_mined: int
    rare_random: int


@dataclass(frozen=True, slots=True)
class Difference:
    """A paired difference over the seeds: its mean and Student's interval."""

    name: str
    mean: float
    low: float
    high: float
    seeds: int


def run_seed(pool: Pool, sizes: Sizes, train: Trainer, cases: Sequence[CornerCaseSection], seed: int) -> Outcome:
    """Train on the first frames, add mined or random frames, and train again from the beginning with the same seed.

    Miners see pixels and what the first model detects; labels of frames that were not chosen are hidden from them. The
    control arm differs from the random arm in nothing but the draw.
    """
    order = shuffled(pool.train_ids(), f"first {seed}")
    first, rest = order[: sizes.first_frames], order[sizes.first_frames :]
    start = train(labeled_only(pool.tables, first), seed)
    arms = {
        "mined": mined(pool, first, start.see(rest), cases, sizes.added_frames, seed),
        "random": shuffled(rest, f"random {seed}")[: sizes.added_frames],
        "control": shuffled(rest, f"control {seed}")[: sizes.added_frames],
    }
    values = {name: train(labeled_only(pool.tables, [*first, *added]), seed).value() for name, added in arms.items()}
    return Outcome(
        seed=seed,
        first=start.value(),
        **values,
        rare_mined=count_rare(pool, arms["mined"]),
        rare_random=count_rare(pool, arms["random"]),
    )


def mined(
    pool: Pool, first: Sequence[str], seen: pa.Table, cases: Sequence[CornerCaseSection], budget: int, seed: int
) -> list[str]:
    """Return the frames that the miners choose; the rest of the budget goes to frames far from each other."""
    shown = hidden(pool.tables, first)
    request = CornerCaseRequest(
        tables=shown,
        signals=pool.signals,
        labeling=LabelingSection(
            budget_frames=budget,
            control_share=0.0,
            diversity="k_center",
            prelabel_min_score=LEAST_SCORE,
            seed=seed,
        ),
        corner_cases=cases,
        predictions=seen,
        seen=(seen,),
        objects=pool.objects(shown, seen) if pool.objects else None,
    )
    return [str(item) for item in find_corner_cases(request).table["frame_id"].to_pylist()]


def hidden(tables: SnapshotTables, labeled: Sequence[str]) -> SnapshotTables:
    """Return the training frames with the labels of `labeled` only, and without attributes: pixels are all there is."""
    frames = tables.frames.filter(pc.equal(tables.frames["split"], "train"))
    known = pc.is_in(frames["frame_id"], value_set=pa.array(labeled, pa.string())).to_pylist()
    lists = [
        found if is_known else []
        for found, is_known in zip(frames["annotated_classes"].to_pylist(), known, strict=True)
    ]
    frames = _with_column(frames, "annotated_classes", lists)
    frames = _with_column(frames, "attributes", ["{}"] * frames.num_rows)
    here = pc.is_in(tables.sources["frame_id"], value_set=frames["frame_id"].combine_chunks())
    seen = pc.is_in(tables.boxes["frame_id"], value_set=pa.array(labeled, pa.string()))
    return SnapshotTables(frames, tables.sources.filter(here), tables.boxes.filter(seen), tables.classes)


def labeled_only(tables: SnapshotTables, frame_ids: Sequence[str]) -> SnapshotTables:
    """Return the frames that a model is trained on."""
    return tables.only(pa.array(sorted(frame_ids), pa.string()))


def count_rare(pool: Pool, frame_ids: Sequence[str]) -> int:
    """Return in how many frames the rare class has a label."""
    boxes = pool.tables.boxes
    rare = boxes["frame_id"].filter(pc.equal(boxes["class_name"], pool.rare_class)).unique()
    return len(set(rare.to_pylist()) & set(frame_ids))


def difference(name: str, left: Sequence[float], right: Sequence[float]) -> Difference:
    """Return the mean of `left` less `right`, pair by pair, with Student's 95 % interval.

    >>> difference("a", [1.0, 2.0, 3.0], [0.0, 1.0, 2.0])
    Difference(name='a', mean=1.0, low=1.0, high=1.0, seeds=3)
    """
    from scipy.stats import t  # type: ignore[import-untyped]

    apart = np.array(left) - np.array(right)
    mean, count = float(apart.mean()), len(apart)
    if count < 2:
        return Difference(name, mean, float("-inf"), float("inf"), count)
    half = float(t.ppf((1 + CONFIDENCE) / 2, count - 1) * apart.std(ddof=1) / np.sqrt(count))
    return Difference(name, mean, mean - half, mean + half, count)


def summary(outcomes: Sequence[Outcome]) -> tuple[Difference, Difference]:
    """Return what mining is worth over a random choice, and what another random choice is: that should be nothing."""
    by_arm = {name: [float(getattr(item, name)) for item in outcomes] for name in ("mined", "random", "control")}
    return (
        difference("mined - random", by_arm["mined"], by_arm["random"]),
        difference("random again - random (A/A)", by_arm["control"], by_arm["random"]),
    )


def _with_column(table: pa.Table, name: str, values: Sequence[object]) -> pa.Table:
    field = columns.FRAMES.field(name)
    return table.set_column(table.column_names.index(name), field, pa.array(values, field.type))
