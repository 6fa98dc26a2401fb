"""The intervals of one model's numbers over drive groups: what other drives might have shown."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Final

from driveflow.canonical import Json
from driveflow.flow.sections import Metric
from validation.model.compare import Comparison, Draws, Estimate, compare
from validation.model.evaluation import Evaluation
from validation.model.scored import scored_of

METRICS: Final[tuple[Metric, ...]] = ("AP", "AP50", "AP75", "AR100")


def intervals(evaluation: Evaluation, draws: Draws | None = None) -> Mapping[Metric, Comparison]:
    """Return the metrics with intervals of 95 %, over all classes, per class and per slice.

    A metric that was measured over other overlaps than COCO's is left out: its interval would be of another number.
    """
    scored = scored_of(evaluation)
    found = {metric: compare(scored, None, metric, draws or Draws()) for metric in METRICS}
    return {name: part for name, part in found.items() if part.overall.agrees(evaluation.numbers.get(name))}


def intervals_json(found: Mapping[Metric, Comparison]) -> dict[str, Json]:
    """Return intervals as plain values; null where there are fewer than two drive groups with an object."""
    return {
        metric: {
            "overall": _interval(part.overall),
            "per_class": _intervals(part.per_class),
            "per_slice": _intervals(part.per_slice),
        }
        for metric, part in found.items()
    }


def _intervals(found: Sequence[Estimate]) -> dict[str, Json]:
    return {part.name: _interval(part) for part in found}


def _interval(found: Estimate) -> Json:
    return asdict(found.interval) if found.interval is not None else None
