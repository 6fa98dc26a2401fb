"""The parts of the report that show metrics: champion beside challenger, and a row a class."""

from collections.abc import Sequence
from dataclasses import replace

from driveflow.pages import html
from driveflow.pages.html import Cell, Column, Html, Text
from driveflow.pages.whisker import WhiskerScale
from validation.model.compare import Comparison, Estimate
from validation.model.evaluation import ClassResult, Evaluation
from validation.pages.words import (
    INTERVAL,
    MEANING,
    MOST_ROWS,
    change_cell,
    drawn_cell,
    drawn_column,
    left_out,
    metric_column,
    scale_of,
    value_cell,
)

_PLAIN = ("APs", "APm", "APl", "AR1", "AR10", "ARs", "ARm", "ARl")


def headline_table(headline: Sequence[Estimate], judged: str, margin: float | None) -> Html:
    """Return champion beside challenger over all classes, with differences drawn; each estimate is named by metric."""
    compared = any(found.change is not None for found in headline)
    scale = scale_of(headline, margin)
    columns = [
        Column("all classes"),
        *([Column("champion", numeric=True)] if compared else []),
        Column("challenger" if compared else "value", numeric=True, hint=INTERVAL),
        *([Column("change", numeric=True, hint=f"challenger minus champion; {INTERVAL}, paired")] if compared else []),
        *([drawn_column(scale)] if compared else []),
    ]
    rows = [_headline_row(found, judged, scale, compared=compared) for found in headline]
    table = html.table(columns, rows, label="All classes")
    note = "Small figures and lines are 95 % intervals: what other drives might have shown."
    if compared and margin is not None:
        note += f" Dashed: the margin of {margin:.3f} for {judged}."
    return html.join(
        [table if compared else html.element("div", {"class": "narrow"}, table), html.paragraph(note, tone="info")]
    )


def class_table(challenger: Evaluation, comparison: Comparison) -> Html:
    """Return a row a class: the judged metric with its interval and change, and the operating point."""
    compared = comparison.overall.change is not None
    pairs = list(zip(challenger.per_class, comparison.per_class, strict=True))
    if not pairs:
        return html.empty("The taxonomy has no class.")
    scale = scale_of(comparison.per_class, None)
    rows = [_class_row(part, found, comparison, scale) for part, found in pairs[:MOST_ROWS]]
    table = html.table(_class_columns(comparison, scale, compared=compared), rows, label="Classes")
    sizes = html.folded("By object size, and the other COCO numbers", _size_table(challenger))
    return html.join([table, left_out(len(pairs) - MOST_ROWS, "classes"), sizes])


def _headline_row(found: Estimate, judged: str, scale: WhiskerScale, *, compared: bool) -> list[Cell | Text]:
    badge = html.badge("judged", "info") if found.name == judged and compared else ""
    title = html.join([html.element("b", {}, found.name), " ", badge, html.element("small", {}, MEANING[found.name])])
    row: list[Cell | Text] = [Cell(title, order=found.name)]
    if not compared:
        return [*row, value_cell(found)]
    own = scale if found.name == judged else replace(scale, limit=None)  # the margin is the judged metric's
    return [*row, html.number(found.champion), value_cell(found), change_cell(found.change), drawn_cell(found, own)]


def _class_columns(comparison: Comparison, scale: WhiskerScale, *, compared: bool) -> list[Column]:
    change = Column("change", numeric=True, hint=f"challenger minus champion; {INTERVAL}, paired")
    cut = "the score with the best F1 at IoU 0.5; the columns right of it count from there"
    return [
        Column("class"),
        *([drawn_column(scale), change, Column("champion", numeric=True)] if compared else []),
        metric_column(comparison.metric),
        *(Column(name, numeric=True, hint=MEANING[name]) for name in _others(comparison)),
        Column("cut", numeric=True, hint=cut),
        Column("precision", numeric=True),
        Column("recall", numeric=True),
        Column("F1", numeric=True),
        Column("false a frame", numeric=True, hint="false detections per frame in which the class was looked for"),
        Column("objects", numeric=True),
        Column("frames", numeric=True, hint="in which somebody looked for the class"),
        Column("drive groups", numeric=True),
    ]


def _others(comparison: Comparison) -> tuple[str, ...]:
    return tuple(name for name in ("AP", "AP50", "AR100") if name != comparison.metric)


def _class_row(part: ClassResult, found: Estimate, comparison: Comparison, scale: WhiskerScale) -> list[Cell | Text]:
    point, compared = part.point, comparison.overall.change is not None
    drawn = [drawn_cell(found, scale), change_cell(found.change), html.number(found.champion)] if compared else []
    return [
        html.name(part.class_name),
        *drawn,
        value_cell(found),
        *(html.number(part.numbers[name]) for name in _others(comparison)),
        html.number(point.score if part.detections else None, 2),
        html.number(point.precision, 2),
        html.number(point.recall, 2),
        html.number(point.f1, 2),
        html.number(part.false_per_frame, 2, tone="warn" if not part.objects and point.false else "plain"),
        html.number(part.objects, 0),
        html.number(part.frames, 0),
        html.number(found.counts.drive_groups, 0),
    ]


def _size_table(challenger: Evaluation) -> Html:
    columns = [Column("class"), *(Column(name, numeric=True, hint=MEANING.get(name, "")) for name in _PLAIN)]
    named: list[tuple[Text, ClassResult | Evaluation]] = [("all classes", challenger)]
    named += [(html.name(part.class_name), part) for part in challenger.per_class[:MOST_ROWS]]
    rows = [[title, *(html.number(part.numbers.get(name)) for name in _PLAIN)] for title, part in named]
    return html.table(columns, rows, "COCO numbers by object size and detection limit")
