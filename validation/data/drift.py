"""Say where a snapshot differs from the one before it: by the size of the effect, never by its significance alone.

With enough frames any difference is significant, and with few any is large. So a column has drifted only where both
sides have enough frames and drive groups, the effect is over its limit, and it is more than the chance of which drives
happen to be on which side explains.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from driveflow.flow.data_validation_section import DataValidationSection
from validation.data import distances
from validation.data.distances import Floats, Ints
from validation.data.drift_columns import Column, drift_columns
from validation.data.report import GRAVEST_FIRST, Check, Drift, Outcome
from validation.data.request import DataRequest, Prepared

_EXCHANGES: Final = 200
_QUANTILE: Final = 0.95
_BINS: Final = 64
_MOST_CATEGORIES: Final = 200  # the rest is one
_SEED: Final = 20_240_501
_MOST_GROUPS: Final = 2_000  # of more a random part is exchanged: what chance gives there is no smaller


def check_drift(request: DataRequest, now: Prepared) -> tuple[Check, tuple[Drift, ...]]:
    """Return how each column differs from the snapshot before, and one check for all of them."""
    if request.against is None:
        return Check("drift", "NOT JUDGED", "There is no snapshot before this one."), ()
    before = Prepared(request.against)
    rows = [*_rows(request, before, now)]
    added = _added(before, now)
    if request.settings.drift_min_frames <= added.num_rows < now.frames.height:
        # among many frames that were there before, a few of another kind would not be seen
        rows += [replace(row, column=f"{row.column} (new frames)") for row in _rows(request, before, now.only(added))]
    return _check(tuple(rows), request.settings), tuple(rows)


def _rows(request: DataRequest, before: Prepared, now: Prepared) -> Iterator[Drift]:
    for column in drift_columns(before, now, request.classes):
        if column.before.height or column.now.height:
            yield drift_of(column, request.settings)


def _added(before: Prepared, now: Prepared) -> pa.Table:
    """Return the ids of the frames that were not there before, as a table of one column."""
    ids = now.side.frames.select(["frame_id"])
    known = before.side.frames["frame_id"].combine_chunks()
    return ids.filter(pc.invert(pc.is_in(ids["frame_id"], value_set=known)))


def drift_of(column: Column, settings: DataValidationSection) -> Drift:
    """Return how one column differs."""
    sides = (column.before, column.now)
    frames, groups = _counts(sides, "frame_id"), _counts(sides, "drive_group")
    shown = (frames, groups, (sides[0].height, sides[1].height))
    if min(frames) < settings.drift_min_frames or min(groups) < settings.drift_min_groups:
        reason = (
            f"{frames[0]:,} and {frames[1]:,} frames of {groups[0]:,} and {groups[1]:,} drive groups: too few to tell, "
            f"{settings.drift_min_frames} of {settings.drift_min_groups} are needed on either side."
        )
        return Drift(column.name, column.kind, "NOT JUDGED", reason, None, None, None, None, *shown)
    if column.kind == "category":
        tables, names = _by_category(column)
        effect = float(distances.jensen_shannon(*_totals(tables)))
        index, difference, distance = distances.stability_index(*_totals(tables)), None, distances.jensen_shannon
        what = _moved(names, *_totals(tables))
    else:
        values = [side["value"].to_numpy().astype(np.float64) for side in sides]
        tables = _by_bin(column, np.concatenate(values))
        effect, index = distances.exact_kolmogorov_smirnov(*values), None
        difference, distance = distances.standard_difference(*values), distances.kolmogorov_smirnov
        what = f"median {np.median(values[0]):.3g}, now {np.median(values[1]):.3g}"
    chance = by_chance(tables, distance)
    outcome = _outcome(effect, chance, settings)
    return Drift(column.name, column.kind, outcome, _why(effect, chance, settings, what), effect, chance, index,
                 _shown(difference), *shown)  # fmt: skip


def by_chance(tables: tuple[Floats, Floats], distance: Callable[[Floats, Floats], Floats]) -> float:
    """Return the distance that 19 of 20 exchanges of whole drive groups between the sides stay under.

    `tables` hold the counts of each side, a row a drive group.
    """
    rng = np.random.default_rng(_SEED)
    counts = np.concatenate(tables)
    share = len(tables[0]) / len(counts)
    if len(counts) > _MOST_GROUPS:
        counts = counts[rng.choice(len(counts), _MOST_GROUPS, replace=False)]
    number = min(max(round(share * len(counts)), 1), len(counts) - 1)
    turns = rng.random((_EXCHANGES, len(counts))).argsort(axis=1)
    before = (turns < number).astype(np.float64) @ counts
    return float(np.quantile(distance(before, counts.sum(axis=0) - before), _QUANTILE))


def _check(rows: tuple[Drift, ...], settings: DataValidationSection) -> Check:
    judged = [row for row in rows if row.effect is not None]
    if not judged:
        reason = "No column has enough frames and drive groups on both sides to tell."
        return Check("drift", "NOT JUDGED", reason, n=len(rows))
    worst = min(judged, key=lambda row: (GRAVEST_FIRST.index(row.outcome), -(row.effect or 0.0)))
    moved = [row.column for row in judged if row.outcome in {"BLOCK", "NEEDS REVIEW"}]
    told = f"drifted: {', '.join(moved)}" if moved else "none drifted"
    reason = f"{len(judged)} of {len(rows)} columns could be compared, {told}. {worst.column}: {worst.reason}"
    limits = (settings.drift_review, settings.drift_block)
    return Check("drift", worst.outcome, reason, worst.effect, "size of effect", *limits, len(moved), len(judged))


def _counts(sides: tuple[pl.DataFrame, pl.DataFrame], name: str) -> tuple[int, int]:
    return sides[0][name].n_unique(), sides[1][name].n_unique()


def _by_category(column: Column) -> tuple[tuple[Floats, Floats], list[str]]:
    """Return the counts of each side by drive group and category, and the names of these."""
    every = pl.concat([column.before["value"], column.now["value"]]).value_counts(sort=True)
    names = [str(name) for name in every["value"].head(_MOST_CATEGORIES).to_list()]
    code = {name: place for place, name in enumerate(names)}
    tables = [
        _histogram(side, side["value"].replace_strict(code, default=len(names), return_dtype=pl.Int64).to_numpy(),
                   len(names) + 1)
        for side in (column.before, column.now)
    ]  # fmt: skip
    return (tables[0], tables[1]), [*names, "others"]


def _by_bin(column: Column, values: Floats) -> tuple[Floats, Floats]:
    """Return the counts of each side by drive group and bin; the bins hold about as many values each."""
    edges = np.unique(np.quantile(values, np.linspace(0, 1, _BINS + 1)[1:-1]))
    tables = [
        _histogram(side, np.searchsorted(edges, side["value"].to_numpy(), "left"), len(edges) + 1)
        for side in (column.before, column.now)
    ]
    return tables[0], tables[1]


def _histogram(side: pl.DataFrame, cells: Ints, width: int) -> Floats:
    group = (side["drive_group"].rank("dense") - 1).to_numpy().astype(np.int64)
    groups = int(group.max(initial=-1)) + 1
    counts = np.bincount(group * width + cells, minlength=groups * width)
    return counts.reshape(groups, width).astype(np.float64)


def _totals(tables: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    return tables[0].sum(axis=0), tables[1].sum(axis=0)


def _moved(names: list[str], before: Floats, now: Floats) -> str:
    """Name the category whose share changed most."""
    left, right = before / before.sum(), now / now.sum()
    place = int(np.abs(right - left).argmax())
    return f"{names[place]} was {left[place]:.1%}, is {right[place]:.1%}"


def _outcome(effect: float, chance: float, settings: DataValidationSection) -> Outcome:
    if effect <= settings.drift_review or effect <= chance:
        return "PASS"
    return "BLOCK" if effect > settings.drift_block else "NEEDS REVIEW"


def _why(effect: float, chance: float, settings: DataValidationSection, what: str) -> str:
    side = "over" if effect > settings.drift_review else "within"
    told = f"effect {effect:.3f}, {side} the limit of {settings.drift_review:.3f}"
    if effect > settings.drift_review and effect <= chance:
        told += f", but which drives are on which side alone gives up to {chance:.3f}"
    return f"{told}; {what}."


def _shown(value: float | None) -> float | None:
    return value if value is not None and np.isfinite(value) else None
