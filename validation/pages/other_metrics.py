"""The parts of the report for those who read other metrics: dimensions of the hold-out, VOC, KITTI, false alarms."""

from collections.abc import Sequence
from itertools import groupby

from driveflow.pages import html
from driveflow.pages.html import Cell, Column, Html, Text
from driveflow.pages.whisker import Whisker, WhiskerScale, axis, whisker
from validation.model.evaluation import Evaluation, SliceResult
from validation.pages.words import MOST_ROWS, left_out

_TITLES = {"size": "size, px high", "distance": "distance, m"}
_SHARES = WhiskerScale(0.0, 1.0)


def dimension_section(challenger: Evaluation, champion: Evaluation | None) -> Html:
    """Return AP50 along every dimension that the hold-out tells of, a table each, values that lost most in sight."""
    if not challenger.dimensions:
        return html.empty("The hold-out says nothing of time of day, weather, camera, place, size or occlusion.")
    old = {part.name: part for part in champion.dimensions} if champion is not None else {}
    key = "; dot: challenger, ring: champion" if old else ""
    note = f"What everything is cut along, not judged by the gate{key}."
    groups = groupby(challenger.dimensions, key=lambda part: part.by[0][0] if part.by else "")
    tables = [_dimension(str(name), list(parts), old) for name, parts in groups]
    return html.join([html.paragraph(note, tone="info"), *tables])


def other_metrics_section(challenger: Evaluation) -> Html:
    """Return VOC's and KITTI's numbers and the false alarms of the challenger."""
    parts = [*_voc(challenger), *_kitti(challenger), *_alarms(challenger)]
    return html.join(parts) if parts else html.empty("No other metric was measured.")


def _dimension(name: str, parts: Sequence[SliceResult], old: dict[str, SliceResult]) -> Html:
    columns = [
        Column(_TITLES.get(name, name.replace("_", " "))),
        Column("AP50 drawn", axis=axis(_SHARES)),
        Column("AP50", numeric=True),
        *([Column("champion", numeric=True), Column("change", numeric=True)] if old else []),
        Column("objects", numeric=True),
        Column("found", numeric=True, hint="at each class's cut over the whole hold-out"),
        Column("missed", numeric=True),
        Column("false", numeric=True),
        Column("frames", numeric=True),
        Column("drive groups", numeric=True),
    ]
    rows = [_dimension_row(part, old) for part in parts[:MOST_ROWS]]
    table = html.table(columns, rows, label=f"AP50 by {name}")
    return html.join(
        [html.element("h3", {}, f"By {name.replace('_', ' ')}"), table, left_out(len(parts) - MOST_ROWS, "values")]
    )


def _dimension_row(part: SliceResult, old: dict[str, SliceResult]) -> list[Cell | Text]:
    value, before = part.numbers.get("AP50"), old[part.name].numbers.get("AP50") if part.name in old else None
    drawn = Cell("–", order=float("nan"))
    if value is not None:
        words = f"{part.name}: {value:.3f}" + (f", champion {before:.3f}" if before is not None else "")
        drawn = Cell(whisker(Whisker(value, other=before), _SHARES, words), order=value)
    change = value - before if value is not None and before is not None else None
    compared = [html.number(before), html.number(change, sign=True)] if old else []
    counts = (part.counts.found, part.counts.missed, part.counts.false) if part.counts is not None else (None,) * 3
    return [
        html.name(part.by[0][1] if part.by else part.name),
        drawn,
        html.number(value),
        *compared,
        html.number(part.objects, 0),
        *(html.number(count, 0) for count in counts),
        html.number(part.frames, 0),
        html.number(part.drive_groups, 0),
    ]


def _voc(model: Evaluation) -> list[Html]:
    columns = [
        Column("Pascal VOC, class"),
        *(
            Column(f"{rule}, IoU {found.overlap:g}", numeric=True)
            for found in model.voc
            for rule in ("11 points", "every point")
        ),
        Column("objects", numeric=True),
    ]
    if not model.voc:
        return []
    first: list[Cell | Text] = [html.element("b", {}, "all classes")]
    for found in model.voc:
        first += [html.number(found.eleven_point), html.number(found.every_point)]
    rows = [[*first, html.number(sum(part.objects for part in model.voc[0].per_class), 0)]]
    for label, part in enumerate(model.voc[0].per_class[:MOST_ROWS]):
        of_class = [found.per_class[label] for found in model.voc]
        values = [html.number(value) for one in of_class for value in (one.eleven_point, one.every_point)]
        rows.append([html.name(part.class_name), *values, html.number(part.objects, 0)])
    return [html.element("h3", {}, "Pascal VOC"), _narrow(html.table(columns, rows, label="Pascal VOC"))]


def _kitti(model: Evaluation) -> list[Html]:
    if not model.kitti:
        return []
    columns = [
        Column("level"),
        Column("AP, IoU 0.5", numeric=True, hint="mean precision at 40 recalls"),
        Column("AP, IoU 0.7", numeric=True),
        Column("recall, IoU 0.5", numeric=True),
        Column("recall, IoU 0.7", numeric=True),
        Column("objects", numeric=True),
        Column("not of it", numeric=True, hint="objects of another level, or that do not say"),
    ]
    rows: list[list[Cell | Text]] = [
        [
            Cell(found.level.name, order=float(place)),
            *(html.number(value) for value in (*found.ap[:2], *found.recall[:2])),
            html.number(found.objects, 0),
            html.number(found.ignored, 0),
        ]
        for place, found in enumerate(model.kitti)
    ]
    return [html.element("h3", {}, "KITTI difficulty"), _narrow(html.table(columns, rows, label="KITTI difficulty"))]


def _alarms(model: Evaluation) -> list[Html]:
    found = model.false_alarms
    if found is None:
        return []
    words = f"{found.per_frame:.2f} false alarms a frame at the cuts, {found.per_frame_of_any_score:.2f} of any score."
    if found.log_average_missed is not None:
        words += f" Log-average miss rate over 0.01 to 1 false alarms a frame: {found.log_average_missed:.3f}."
    columns = [
        Column("class"),
        Column("false a frame", numeric=True, hint="at the class's cut, by frame in which it was looked for"),
        Column("of any score", numeric=True),
        Column("false", numeric=True),
        Column("objects", numeric=True),
        Column("frames", numeric=True),
    ]
    rows: list[list[Cell | Text]] = [
        [
            html.name(part.class_name),
            html.number(part.per_frame, tone="warn" if part.false and not part.objects else "plain"),
            html.number(part.per_frame_of_any_score),
            html.number(part.false, 0),
            html.number(part.objects, 0),
            html.number(part.frames, 0),
        ]
        for part in found.per_class[:MOST_ROWS]
    ]
    table = _narrow(html.table(columns, rows, label="False alarms"))
    return [html.element("h3", {}, "False alarms"), html.paragraph(words), table]


def _narrow(table: Html) -> Html:
    return html.element("div", {"class": "narrow"}, table)
