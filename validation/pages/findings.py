"""What the report computes beyond the evaluations, once for the page and for report.json."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from driveflow.flow.sections import Metric
from validation.model.changed_frames import Changes, changes
from validation.model.compare import Comparison, Draws, Estimate, compare_overall
from validation.model.evaluation import Evaluation
from validation.model.scored import scored_of
from validation.model.suspects import Suspect, suspects
from validation.model.worst_frames import WorstFrame, worst_frames

_HEADLINE: Final[tuple[Metric, ...]] = ("AP50", "AP", "AP75", "AR100")
_MOST_RESAMPLES = 1_000  # of metrics that are shown and decide nothing


@dataclass(frozen=True, slots=True)
class Findings:
    """The headline metrics with intervals (named by metric, the judged one first), and the frames to look at."""

    headline: tuple[Estimate, ...]
    worst: tuple[WorstFrame, ...]
    changes: Changes | None
    suspects: tuple[Suspect, ...]


def find(challenger: Evaluation, champion: Evaluation | None, comparison: Comparison, most_frames: int) -> Findings:
    """Return all findings; without a champion nothing has changed and no second opinion doubts a label."""
    return Findings(
        headline=_headline(challenger, champion, comparison),
        worst=worst_frames(challenger, most_frames),
        changes=changes(challenger, champion, most_frames) if champion is not None else None,
        suspects=suspects(challenger, champion) if champion is not None else (),
    )


def _headline(challenger: Evaluation, champion: Evaluation | None, comparison: Comparison) -> tuple[Estimate, ...]:
    draws = Draws(comparison.draws.seed, min(comparison.draws.resamples, _MOST_RESAMPLES))
    others: Sequence[Metric] = [metric for metric in _HEADLINE if metric != comparison.metric]
    judged = replace(comparison.overall, name=comparison.metric)
    own, other = scored_of(challenger), scored_of(champion) if champion is not None else None
    return (judged, *(compare_overall(own, other, metric, draws) for metric in others))
