"""The part of the report that shows which class was taken for which, background included."""

from collections.abc import Sequence

import numpy as np

from driveflow.pages import html
from driveflow.pages.html import Cell, Column, Html, Text
from validation.model.confusion import Confusion
from validation.model.evaluation import Evaluation

_MOST_CLASSES = 30
_TOP_CONFUSIONS = 6


def confusion_table(challenger: Evaluation, *, in_report: bool) -> Html:
    """Return the most frequent mix-ups in words, then the matrix, shaded by the share of each row.

    A matrix that is too large is said to be in report.json where there is one (`in_report`).
    """
    found = challenger.confusion
    words = _top_confusions(found)
    listed = html.bullets(words) if words else html.empty("No class was taken for another.")
    if len(found.classes) > _MOST_CLASSES + 1:
        note = f"The matrix of {len(found.classes) - 1:,} classes is too large for a page"
        return html.join([listed, html.empty(f"{note}; it is in report.json." if in_report else f"{note}.")])
    note = (
        "Rows are truth, columns what was said, each class cut at its own score; IoU 0.5. A row adds up to the "
        "objects of its class, a column to the detections said to be of it. An object and a detection make one pair: "
        "“background” holds objects that got none and detections that got none, also those on an object that another "
        "detection has; the kinds of mistakes say what these lay on. Darker: a larger share of the row."
    )
    columns = [
        Column("truth ↓ said →"),
        *(Column(name, numeric=True) for name in found.classes),
        Column("all", numeric=True),
    ]
    rows = [_row(found, row) for row in range(len(found.classes))]
    matrix = html.table(columns, [*rows, _sums(found)], label="Confusion matrix")
    return html.join([listed, html.paragraph(note, tone="info"), html.element("div", {"class": "narrow"}, matrix)])


def _top_confusions(found: Confusion) -> Sequence[Text]:
    counts = found.counts[:-1, :-1].copy()
    np.fill_diagonal(counts, 0)
    order = np.argsort(-counts, axis=None, kind="stable")[:_TOP_CONFUSIONS]
    words = []
    for truth, said in zip(*np.unravel_index(order, counts.shape), strict=True):
        count, every = int(counts[truth, said]), int(found.counts[truth].sum())
        if count:
            share = f"{count:,} of {every:,} ({count / every:.0%}) "
            words.append(
                html.join([share, html.name(found.classes[truth]), " taken for ", html.name(found.classes[said])])
            )
    return words


def _row(found: Confusion, row: int) -> list[Cell | Text]:
    total = int(found.counts[row].sum())
    cells = [_cell(count, total) for count in found.counts[row].tolist()]
    return [html.name(found.classes[row]), *cells, html.number(total, 0)]


def _cell(count: int, total: int) -> Cell:
    if not count:
        return Cell("·", order=0.0)
    shown = html.element("span", {"title": f"{count / total:.1%} of the row"}, f"{count:,}")
    return Cell(shown, order=float(count), heat=count / total)


def _sums(found: Confusion) -> list[Cell | Text]:
    columns = found.counts.sum(axis=0).tolist()
    return [html.element("b", {}, "all"), *(html.number(count, 0) for count in columns), html.number(sum(columns), 0)]
