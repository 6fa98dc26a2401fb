"""The part of the report that says whether a score can be believed."""

from collections.abc import Sequence

from driveflow.pages import html
from driveflow.pages.html import Cell, Column, Html, Text
from driveflow.pages.svg import Calibration as Point
from driveflow.pages.svg import reliability
from validation.model.calibration import Calibration
from validation.model.evaluation import Evaluation
from validation.pages.words import MOST_ROWS, left_out, named_models


def calibration(challenger: Evaluation, champion: Evaluation | None = None) -> Html:
    """Return how often detections of a score are right: on the diagonal, a score is a probability."""
    named = named_models(challenger, champion)
    if not any(_points(model) for _name, model in named):
        nothing = not any(model.detections for _name, model in named)
        return html.empty(
            "There are no detections, so there are no scores to believe."
            if nothing
            else "Scores lie outside of 0 to 1: they order detections, and say no chance that could be believed."
        )
    note = (
        "On the diagonal a score is the chance of being right; below it the model is too sure. IoU 0.5; a detection of "
        "an object that is found already counts as wrong. The larger a dot, the more detections."
    )
    charts = [
        (_caption(name, model), reliability(f"Share right over score, {name}", _points(model))) for name, model in named
    ]
    by_class = (
        [html.folded("By class", _by_class(challenger.calibration))] if challenger.calibration is not None else []
    )
    return html.join([html.paragraph(note, tone="info"), html.charts(charts), *by_class])


def _caption(name: str, model: Evaluation) -> Html:
    return html.join([name, html.element("small", {}, "; ".join(_facts(model)))])


def _facts(model: Evaluation) -> Sequence[str]:
    found = model.calibration
    if found is None or found.d_ece is None:
        return ["calibration was not measured" if found is None else "no detections"]
    facts = [f"D-ECE {found.d_ece:.3f} over {found.detections:,} detections"]
    if found.la_ece is not None:
        facts.append(f"LaECE {found.la_ece:.3f}")
    if found.signed is not None:
        sure = "too sure" if found.signed < 0 else "too unsure"
        facts.append(f"{sure} by {abs(found.signed):.3f} on average")
    return facts


def _points(model: Evaluation) -> list[Point]:
    """Return ten or 25 bins, whichever were measured."""
    if model.calibration is not None:
        return [Point(row.mean_score, row.share_right, row.count) for row in model.calibration.rows]
    return [Point(part.mean_score, part.share_right, part.count) for part in model.bins]


def _by_class(found: Calibration) -> Html:
    columns = [
        Column("class"),
        Column("D-ECE", numeric=True, hint="by how much scores are off on average, over 25 bins of equal width"),
        Column("LaECE", numeric=True, hint="likewise, where a loosely placed box is only partly right"),
        Column("detections", numeric=True),
    ]
    rows: list[list[Cell | Text]] = [
        [html.name(part.class_name), html.number(part.d_ece), html.number(part.la_ece), html.number(part.detections, 0)]
        for part in found.per_class[:MOST_ROWS]
    ]
    table = html.element("div", {"class": "narrow"}, html.table(columns, rows, label="Calibration by class"))
    return html.join([table, left_out(len(found.per_class) - MOST_ROWS, "classes")])
