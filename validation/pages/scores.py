"""The part of the report that says whether a score can be believed."""

from driveflow.pages import html
from driveflow.pages.html import Html
from driveflow.pages.svg import Calibration, reliability
from validation.model.evaluation import Evaluation


def calibration(challenger: Evaluation, champion: Evaluation | None = None) -> Html:
    """Return how often detections of a score are right: on the diagonal, a score is a probability."""
    named = [("challenger", challenger), *([("champion", champion)] if champion is not None else [])]
    drawn = [(name, _bins(model)) for name, model in named]
    if not any(_total(bins) for _name, bins in drawn):
        return html.empty("There are no detections, so there are no scores to believe.")
    note = (
        "On the diagonal a score is the chance of being right; below it the model is too sure. IoU 0.5; a detection of "
        "an object that is found already counts as wrong. The larger a dot, the more detections."
    )
    charts = [(_caption(name, bins), reliability(f"Share right over score, {name}", bins)) for name, bins in drawn]
    return html.join([html.paragraph(note, tone="info"), html.charts(charts)])


def expected_error(bins: list[Calibration]) -> float | None:
    """Return by how much scores are off on average; None without detections."""
    total = _total(bins)
    return sum(abs(part.mean_score - part.share_right) * part.count for part in bins) / total if total else None


def _caption(name: str, bins: list[Calibration]) -> Html:
    error = expected_error(bins)
    words = (
        "no detections" if error is None else f"scores are off by {error:.3f} on average, {_total(bins):,} detections"
    )
    return html.join([name, html.element("small", {}, words)])


def _bins(model: Evaluation) -> list[Calibration]:
    return [Calibration(part.mean_score, part.share_right, part.count) for part in model.bins]


def _total(bins: list[Calibration]) -> int:
    return sum(part.count for part in bins)
