"""What the parts of the report say alike: outcomes in colour, metrics in words, intervals, drawn differences."""

import math
from collections.abc import Iterable
from typing import Final

from driveflow.flow.sections import Metric
from driveflow.pages import html
from driveflow.pages.html import Cell, Column, Html, Tone
from driveflow.pages.whisker import Whisker, WhiskerScale, axis, difference_scale, whisker
from validation.model.compare import Estimate
from validation.model.evaluation import Evaluation
from validation.model.resample import Difference, Interval

TONES: Final[dict[str, Tone]] = {"PASS": "good", "BLOCK": "bad", "NEEDS DATA": "warn", "NOT JUDGED": "plain"}
MEANING: Final = {
    "AP": "average precision over IoU 0.5 to 0.95",
    "AP50": "average precision at IoU 0.5",
    "AP75": "average precision at IoU 0.75",
    "AR1": "recall over IoU 0.5 to 0.95, one detection a frame and class",
    "AR10": "recall over IoU 0.5 to 0.95, 10 detections a frame and class",
    "AR100": "recall over IoU 0.5 to 0.95, 100 detections a frame and class",
    "APs": "AP of objects under 32² px",
    "APm": "AP of objects of 32² to 96² px",
    "APl": "AP of objects over 96² px",
    "ARs": "recall of objects under 32² px",
    "ARm": "recall of objects of 32² to 96² px",
    "ARl": "recall of objects over 96² px",
}
INTERVAL: Final = "below it the 95 % interval over drive groups"
MOST_ROWS: Final = 400
_FARTHEST = 0.5  # a difference beyond it runs off the scale


def metric_column(metric: Metric) -> Column:
    """Return the column of a metric with its interval."""
    return Column(metric, numeric=True, hint=f"{MEANING[metric]}; {INTERVAL}")


def outcome_cell(outcome: str) -> Cell:
    """Return an outcome as a badge; a dash where there is none."""
    return Cell(html.badge(outcome, TONES.get(outcome, "plain")), order=outcome) if outcome else Cell("–", order="~")


def span(interval: Interval | None, digits: int = 3, *, sign: bool = False) -> str:
    """Return an interval as text; nothing where there is none."""
    if interval is None:
        return ""
    low, high = (
        f"{value:{'+' if sign else ''}.{digits}f}".replace("-", "−") for value in (interval.low, interval.high)
    )
    return f"{low} to {high}"


def change_cell(change: Difference | None) -> Cell:
    """Return a difference with its interval; coloured only where it is more than chance."""
    if change is None:
        return html.number(None)
    return html.number(change.value, sign=True, tone=change_tone(change), below=span(change.interval, sign=True))


def change_tone(change: Difference) -> Tone:
    """Return good or bad where the interval of the difference leaves out zero."""
    if change.interval is None or change.interval.low <= 0 <= change.interval.high:
        return "plain"
    return "good" if change.interval.low > 0 else "bad"


def scale_of(found: Iterable[Estimate], margin: float | None) -> WhiskerScale:
    """Return one scale for the differences of `found`; `margin` is how much worse is still allowed."""
    changes = [part.change for part in found if part.change is not None]
    ends = [end for part in changes if part.interval for end in (part.interval.low, part.interval.high)]
    return difference_scale(
        [*ends, *(part.value for part in changes)], -margin if margin is not None else None, _FARTHEST
    )


def drawn_column(scale: WhiskerScale) -> Column:
    """Return the column of drawn differences, under its axis."""
    limit = f"; dashed: the margin of {-scale.limit:.3f}" if scale.limit is not None else ""
    hint = f"dot: challenger minus champion, line: its 95 % interval{limit}"
    return Column("worse ← change → better", numeric=False, hint=hint, axis=axis(scale))


def drawn_cell(found: Estimate, scale: WhiskerScale, tone: Tone | None = None) -> Cell:
    """Return a difference as dot and whisker."""
    change = found.change
    if change is None or not math.isfinite(change.value):
        return Cell("–", order=math.nan)
    low, high = (change.interval.low, change.interval.high) if change.interval is not None else (None, None)
    colour = tone or change_tone(change)
    item = Whisker(change.value, low, high, "info" if colour == "plain" else colour)
    words = f"{found.name}: {change.value:+.3f}, {span(change.interval, sign=True) or 'no interval'}"
    return Cell(whisker(item, scale, words), order=change.value)


def value_cell(found: Estimate) -> Cell:
    """Return the challenger's value with its interval."""
    return html.number(found.value, below=span(found.interval))


def named_models(challenger: Evaluation, champion: Evaluation | None) -> list[tuple[str, Evaluation]]:
    """Return the models of a page under their names; alone, a model challenges nobody."""
    return [("model", challenger)] if champion is None else [("challenger", challenger), ("champion", champion)]


def left_out(count: int, what: str) -> Html:
    """Return what is said where a table would be too long for a page."""
    where = "report.json of a run has all, and so has -o json of an evaluation"
    return html.paragraph(f"{count:,} more {what} are not shown: {where}.", tone="info") if count > 0 else Html("")
