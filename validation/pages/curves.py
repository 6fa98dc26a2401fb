"""The part of the report that shows precision over recall, a small chart a class."""

from driveflow.pages import html
from driveflow.pages.html import Html
from driveflow.pages.svg import Line, line_chart
from validation.model.curves import RECALLS, OperatingPoint
from validation.model.evaluation import ClassResult, Evaluation

_MOST_CURVES = 24


def curves(challenger: Evaluation, champion: Evaluation | None) -> Html:
    """Return precision over recall at IoU 0.5, a chart a class: challenger solid, champion dashed."""
    old = {part.class_name: part for part in champion.per_class} if champion is not None else {}
    found = [part for part in challenger.per_class if part.objects]
    if not found:
        return html.empty("The hold-out has no objects, so there is no recall.")
    shown = sorted(found, key=lambda part: -part.objects)[:_MOST_CURVES]
    lines = "Solid: challenger, dashed: champion." if old else "Line: the model."
    legend = f"At IoU 0.5. {lines} Dot: the cut with the best F1."
    left = f" {len(found) - len(shown)} classes with fewer objects are not drawn." if len(found) > len(shown) else ""
    charts = [(_caption(part, old.get(part.class_name)), _chart(part, old.get(part.class_name))) for part in shown]
    return html.join([html.paragraph(legend + left, tone="info"), html.charts(charts)])


def _caption(part: ClassResult, old: ClassResult | None) -> Html:
    words = f"AP50 {_shown(part)}"
    if old is not None:
        words += f", champion {_shown(old)}"
    counted = f"{words} · {part.objects:,} object{'s' if part.objects != 1 else ''}"
    return html.join([html.name(part.class_name), html.element("small", {}, counted)])


def _shown(part: ClassResult) -> str:
    value = part.numbers.get("AP50")
    return "–" if value is None else f"{value:.3f}"


def _chart(part: ClassResult, old: ClassResult | None) -> Html:
    lines = [Line("challenger", _points(part), mark=_mark(part.point))]
    if old is not None:
        lines.append(Line("champion", _points(old), colour=1, dashed=True))
    return line_chart(f"Precision over recall of {part.class_name}", lines, "recall", "precision")


def _mark(point: OperatingPoint) -> tuple[float, float] | None:
    return (point.recall, point.precision) if point.recall is not None and point.precision is not None else None


def _points(part: ClassResult) -> list[tuple[float, float]]:
    """Return the curve up to the highest recall that was reached."""
    points = list(zip(RECALLS.tolist(), part.curve.precision, strict=False))
    reached = [number for number, (_recall, precision) in enumerate(points) if precision > 0]
    return points[: reached[-1] + 1] if reached else []
