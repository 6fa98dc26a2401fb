"""The parts of the report that show numbers: tables, curves, confusion, calibration."""

from collections.abc import Sequence

import numpy as np

from driveflow.flow.sections import Metric
from driveflow.pages import html
from driveflow.pages.html import Cell, Column, Html, Text, Tone
from driveflow.pages.svg import Calibration, Line, line_chart, reliability
from validation.gate import Verdict
from validation.model.compare import Comparison, Estimate, compare_overall
from validation.model.confusion import Confusion
from validation.model.curves import RECALLS
from validation.model.evaluation import ClassResult, Evaluation
from validation.model.resample import Difference
from validation.report_rules import TONES, span

_WITH_INTERVALS: tuple[Metric, ...] = ("AP", "AP50", "AP75", "AR100")
_PLAIN = ("APs", "APm", "APl", "AR1", "AR10", "ARs", "ARm", "ARl")
_MEANING = {
    "AP": "average precision over IoU 0.5 to 0.95",
    "AP50": "average precision at IoU 0.5",
    "AP75": "average precision at IoU 0.75",
    "AR100": "recall over IoU 0.5 to 0.95, 100 detections a frame and class",
    "APs": "AP of objects under 32² px",
    "APm": "AP of objects of 32² to 96² px",
    "APl": "AP of objects over 96² px",
}
_INTERVAL = "below it the 95 % interval over drive groups (basic bootstrap)"
_CHANGE = Column("change", numeric=True, hint=f"challenger minus champion; {_INTERVAL}, paired")
_MOST_CURVES = 24
_MOST_CLASSES_IN_MATRIX = 30
_TOP_CONFUSIONS = 6


def headline_table(challenger: Evaluation, champion: Evaluation | None, verdict: Verdict) -> Html:
    """Return champion beside challenger with differences and intervals; the judged metric first."""
    judged = verdict.comparison.metric
    order = [judged, *(name for name in _WITH_INTERVALS if name != judged)]
    draws = verdict.comparison.draws
    rows = [_headline_row(compare_overall(challenger, champion, metric, draws), metric, judged) for metric in order]
    columns = [
        Column("all classes"),
        *([Column("champion", numeric=True)] if champion is not None else []),
        Column("challenger", numeric=True, hint=_INTERVAL),
        *([_CHANGE] if champion is not None else []),
    ]
    table = html.table(columns, [row if champion is not None else _alone(row) for row in rows], label="All classes")
    title = html.element("h3", {}, "Champion and challenger" if champion is not None else "Challenger")
    note = "Small figures are 95 % intervals: what other drives might have shown."
    return html.join([title, table, html.paragraph(note, tone="info")])


def class_table(challenger: Evaluation, comparison: Comparison) -> Html:
    """Return a row a class: the judged metric with its interval and change, and the operating point."""
    compared = comparison.overall.change is not None
    columns = [
        Column("class"),
        Column("frames", numeric=True, hint="in which somebody looked for the class"),
        Column("objects", numeric=True),
        Column(comparison.metric, numeric=True, hint=f"{_MEANING[comparison.metric]}; {_INTERVAL}"),
        *([Column("champion", numeric=True), _CHANGE] if compared else []),
        Column("AP", numeric=True, hint=_MEANING["AP"]),
        Column("AR100", numeric=True, hint=_MEANING["AR100"]),
        Column(
            "cut", numeric=True, hint="the score with the best F1 at IoU 0.5; the columns right of it count from there"
        ),
        Column("precision", numeric=True),
        Column("recall", numeric=True),
        Column("false a frame", numeric=True, hint="false detections per frame in which the class was looked for"),
    ]
    pairs = zip(challenger.per_class, comparison.per_class, strict=True)
    table = html.table(columns, [_class_row(part, found, compared=compared) for part, found in pairs], label="Classes")
    sizes = _size_table(challenger)
    return html.join([table, html.folded("By object size, and the other COCO numbers", sizes)])


def slice_table(challenger: Evaluation, verdict: Verdict) -> Html:
    """Return a row a slice, with what it stands on and what the gate said of it."""
    comparison = verdict.comparison
    if not comparison.per_slice:
        return html.paragraph("The flow names no slices.")
    compared = comparison.overall.change is not None
    outcomes = {rule.name: rule.outcome for rule in verdict.rules}
    columns = [
        Column("slice"),
        Column("gate"),
        Column("frames", numeric=True),
        Column("drive groups", numeric=True),
        Column("objects", numeric=True),
        Column(comparison.metric, numeric=True, hint=f"{_MEANING[comparison.metric]}; {_INTERVAL}"),
        *([Column("champion", numeric=True), _CHANGE] if compared else []),
        Column("AP", numeric=True, hint=_MEANING["AP"]),
        Column("AR100", numeric=True, hint=_MEANING["AR100"]),
    ]
    rows: list[list[Cell | Text]] = []
    for part, found in zip(challenger.per_slice, comparison.per_slice, strict=True):
        outcome = outcomes.get(f"slice {part.name}")
        gate = Cell(html.badge(outcome, TONES[outcome]), order=outcome) if outcome else Cell("–")
        counts = [html.number(value, 0) for value in (part.frames, part.drive_groups, part.objects)]
        values = [html.number(part.numbers[name]) for name in ("AP", "AR100")]
        rows.append([html.name(part.name), gate, *counts, *_estimate_cells(found, compared=compared), *values])
    return html.table(columns, rows, label="Slices")


def curves(challenger: Evaluation, champion: Evaluation | None) -> Html:
    """Return precision over recall at IoU 0.5, a chart a class: challenger solid, champion dashed."""
    old = {part.class_name: part for part in champion.per_class} if champion is not None else {}
    found = [part for part in challenger.per_class if part.objects]
    shown = sorted(found, key=lambda part: -part.objects)[:_MOST_CURVES]
    charts = [_curve_figure(part, old.get(part.class_name)) for part in shown]
    if not charts:
        return html.paragraph("The hold-out has no objects.")
    legend = "At IoU 0.5. Solid: challenger" + (", dashed: champion." if champion is not None else ".")
    left = f" {len(found) - len(shown)} classes with fewer objects are not drawn." if len(found) > len(shown) else ""
    return html.join([html.paragraph(legend + left, tone="info"), html.element("div", {"class": "charts"}, *charts)])


def confusion_table(challenger: Evaluation) -> Html:
    """Return which class was taken for which: the most frequent mix-ups in words, then the matrix."""
    found = challenger.confusion
    words = _top_confusions(found)
    listed = html.bullets(words) if words else html.paragraph("No class was taken for another.")
    if len(found.classes) > _MOST_CLASSES_IN_MATRIX + 1:
        return html.join(
            [listed, html.paragraph("The matrix is in the JSON report: it has too many classes for a page.")]
        )
    note = (
        "Rows are truth, columns what was said, each class cut at its own score; IoU 0.5. Rows add up to the objects."
    )
    columns = [Column("truth"), *(Column(name, numeric=True) for name in found.classes), Column("all", numeric=True)]
    rows = [_confusion_row(found, row) for row in range(len(found.classes))]
    matrix = html.table(columns, rows, label="Confusion matrix")
    return html.join([listed, html.paragraph(note, tone="info"), html.element("div", {"class": "narrow"}, matrix)])


def calibration(challenger: Evaluation) -> Html:
    """Return how often detections of a score are right: on the diagonal, a score is a probability."""
    bins = [Calibration(part.mean_score, part.share_right, part.count) for part in challenger.bins]
    total = sum(part.count for part in bins)
    if not total:
        return html.paragraph("There are no detections.")
    error = sum(abs(part.mean_score - part.share_right) * part.count for part in bins) / total
    chart = html.element("figure", {}, reliability("Share right over score", bins))
    words = html.paragraph(
        f"A score is off by {error:.3f} on average (expected calibration error over {total:,} detections, IoU 0.5; "
        "a detection of an object that is found already counts as wrong). The larger a dot, the more detections.",
        tone="info",
    )
    return html.join([words, html.element("div", {"class": "charts"}, chart)])


def _headline_row(found: Estimate, metric: Metric, judged: Metric) -> list[Cell | Text]:
    title = html.join([html.element("b", {"title": _MEANING[metric]}, metric), " judged" if metric == judged else ""])
    return [
        Cell(title, order=metric),
        html.number(found.champion),
        html.number(found.value, below=span(found.interval)),
        _change(found.change),
    ]


def _alone(row: list[Cell | Text]) -> list[Cell | Text]:
    return [row[0], row[2]]


def _estimate_cells(found: Estimate, *, compared: bool) -> list[Cell | Text]:
    own = html.number(found.value, below=span(found.interval))
    return [own, html.number(found.champion), _change(found.change)] if compared else [own]


def _change(change: Difference | None) -> Cell:
    if change is None:
        return html.number(None)
    return html.number(change.value, sign=True, tone=_tone(change), below=span(change.interval, sign=True))


def _tone(change: Difference) -> Tone:
    """Colour what is more than chance only."""
    if change.interval is None or change.interval.low <= 0 <= change.interval.high:
        return "plain"
    return "good" if change.interval.low > 0 else "bad"


def _class_row(part: ClassResult, found: Estimate, *, compared: bool) -> list[Cell | Text]:
    point = part.point
    return [
        html.name(part.class_name),
        html.number(part.frames, 0),
        html.number(part.objects, 0),
        *_estimate_cells(found, compared=compared),
        html.number(part.numbers["AP"]),
        html.number(part.numbers["AR100"]),
        html.number(point.score if part.detections else None, 2),
        html.number(point.precision, 2),
        html.number(point.recall, 2),
        html.number(part.false_per_frame, 2),
    ]


def _size_table(challenger: Evaluation) -> Html:
    columns = [Column("class"), *(Column(name, numeric=True, hint=_MEANING.get(name, "")) for name in _PLAIN)]
    named: list[tuple[Text, ClassResult | Evaluation]] = [("all classes", challenger)]
    named += [(html.name(part.class_name), part) for part in challenger.per_class]
    rows = [[title, *(html.number(part.numbers[name]) for name in _PLAIN)] for title, part in named]
    return html.table(columns, rows, "COCO numbers by object size and detection limit")


def _curve_figure(part: ClassResult, old: ClassResult | None) -> Html:
    lines = [Line("challenger", _points(part))]
    if old is not None:
        lines.append(Line("champion", _points(old), colour=1, dashed=True))
    chart = line_chart(f"Precision over recall of {part.class_name}", lines, "recall", "precision")
    return html.element("figure", {}, html.element("figcaption", {}, html.name(part.class_name)), chart)


def _points(part: ClassResult) -> list[tuple[float, float]]:
    """Return the curve up to the highest recall that was reached."""
    points = list(zip(RECALLS.tolist(), part.curve.precision, strict=False))
    reached = [number for number, (_recall, precision) in enumerate(points) if precision > 0]
    return points[: reached[-1] + 1] if reached else []


def _top_confusions(found: Confusion) -> Sequence[Text]:
    counts = found.counts[:-1, :-1].copy()
    np.fill_diagonal(counts, 0)
    order = np.argsort(-counts, axis=None, kind="stable")[:_TOP_CONFUSIONS]
    words = []
    for truth, said in zip(*np.unravel_index(order, counts.shape), strict=True):
        if counts[truth, said]:
            share = f"{counts[truth, said]} of {found.counts[truth].sum()} "
            words.append(
                html.join([share, html.name(found.classes[truth]), " taken for ", html.name(found.classes[said])])
            )
    return words


def _confusion_row(found: Confusion, row: int) -> list[Cell | Text]:
    total = int(found.counts[row].sum())
    cells = []
    for column, count in enumerate(found.counts[row].tolist()):
        tone: Tone = "plain" if not count else "good" if row == column else "bad"
        cells.append(Cell("·" if not count else f"{count:,}", order=float(count), tone=tone))
    return [html.name(found.classes[row]), *cells, html.number(total, 0)]
