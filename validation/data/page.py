"""A validation of data for people: one page with pictures of the suspects, and Markdown for the KFP page."""

from collections.abc import Callable, Mapping
from typing import Final

from driveflow.errors import DriveflowError
from driveflow.images.decode import Pixels
from driveflow.pages import html
from driveflow.pages.html import Cell, Column, Html, Picture, Text, Tone
from driveflow.pages.pictures import Box, Colour, thumbnail_data_uri
from driveflow.tables import SPLITS
from validation.data.report import GRAVEST_FIRST, Check, DataReport, Drift, Suspect

Pictures = Callable[[str], Pixels]
"""Returns the upright RGB pixels of a frame; raises DriveflowError where it cannot."""

MAX_PICTURE_BYTES: Final = 3_000_000  # of all pictures together, so that the page stays under 5 MB
TONES: Final[Mapping[str, Tone]] = {"PASS": "good", "BLOCK": "bad", "NEEDS REVIEW": "warn", "NOT JUDGED": "plain"}
_SUSPECT: Colour = (255, 176, 0)
_OTHER: Colour = (64, 156, 255)
_DIGITS: Final = {"share": 4, "size": 4, "to": 1}  # of a value, by the first word of its unit
_SIDE_PX = 640
_PICTURES_OF_A_CHECK = 6


def data_page(report: DataReport, pictures: Pictures, title: str = "Data") -> str:
    """Return the report as one self-contained page under 5 MB."""
    album = _Album(pictures, report.paths)
    sections = [
        ("suspects", "Suspects", _galleries(report, album)),
        ("classes", "Classes", _classes(report)),
        ("drift", "Drift against the snapshot before", _drift(report)),
        ("provenance", "Where this comes from", _provenance(report)),
    ]
    parts: list[Text] = [
        html.element("h1", {}, "Validation of data: ", html.name(title)),
        _subtitle(report),
        html.element(
            "div",
            {"class": f"verdict {TONES[report.verdict]}", "role": "status"},
            html.element("strong", {}, report.verdict),
            html.element("span", {}, report.reason),
        ),
        _checks(report),
        html.contents([(anchor, heading) for anchor, heading, _ in sections]),
        *(html.section(heading, content, anchor=anchor) for anchor, heading, content in sections),
    ]
    return html.page(f"{report.verdict}: data of {title}", parts)


def in_order(checks: tuple[Check, ...]) -> list[Check]:
    """Return the checks, those that decided first."""
    return sorted(checks, key=lambda check: GRAVEST_FIRST.index(check.outcome))


def _subtitle(report: DataReport) -> Html:
    counted = ", ".join(f"{count:,} {name}" for name, count in report.counts.items())
    against = ["snapshot before ", html.code(report.against_id[:16])] if report.against_id else ["no snapshot before"]
    return html.element("p", {"class": "info"}, html.code(report.snapshot_id[:16]), f" · {counted} · ", *against)


def _checks(report: DataReport) -> Html:
    columns = [
        Column("check"),
        Column("outcome"),
        Column("value", numeric=True),
        Column("review over", numeric=True),
        Column("block over", numeric=True),
        Column("found", numeric=True),
        Column("of", numeric=True),
        Column("why"),
    ]
    return html.stacked(html.table(columns, [_check_row(check) for check in in_order(report.checks)], label="Checks"))


def _check_row(check: Check) -> list[Cell | Text]:
    tone = TONES[check.outcome]
    return [
        check.name.replace("_", " "),
        Cell(html.badge(check.outcome, tone), order=GRAVEST_FIRST.index(check.outcome)),
        html.number(check.value, _DIGITS.get(check.unit.partition(" ")[0], 0), below=check.unit),
        html.number(check.review, 3 if check.review is not None and check.review < 1 else 0),
        html.number(check.block if check.block is None or check.block < 1 else None, 3),
        html.number(check.found, 0),
        html.number(check.n, 0),
        check.reason,
    ]


class _Album:
    """Pictures of suspects, as long as there is room on the page."""

    def __init__(self, pictures: Pictures, paths: Mapping[str, str]) -> None:
        self._pictures = pictures
        self._paths = paths
        self._used = 0

    def picture(self, suspect: Suspect) -> Picture | None:
        """Return the frame with its suspect drawn; None where there is no room, or no picture."""
        if not suspect.frame_id or self._used > MAX_PICTURE_BYTES:
            return None
        try:
            pixels = self._pictures(suspect.frame_id)
        except DriveflowError:
            return None
        uri = thumbnail_data_uri(pixels, _boxes(suspect), _SIDE_PX, quality=75)
        self._used += len(uri)
        caption = html.join([suspect.detail, html.element("div", {"class": "soft"}, self.named(suspect.frame_id))])
        return Picture(uri, f"Frame {suspect.frame_id[:12]}: {suspect.detail}", caption)

    def named(self, frame_id: str) -> Html:
        """Return the beginning of the frame's id, and where it was found."""
        found: list[Text] = [" ", html.path(self._paths[frame_id])] if frame_id in self._paths else []
        return html.join([html.code(frame_id[:12]), *found])


def _boxes(suspect: Suspect) -> list[Box]:
    drawn: list[Box] = []
    if suspect.other is not None:
        drawn.append((*suspect.other, suspect.other_name, _OTHER, False))
    if suspect.corners is not None:
        drawn.append((*suspect.corners, suspect.class_name, _SUSPECT, True))
    return drawn


def _galleries(report: DataReport, album: _Album) -> Html:
    parts: list[Text] = [_gallery(check, album) for check in in_order(report.checks) if check.suspects]
    if not parts:
        return html.paragraph("No check points at a frame or a box.")
    legend = html.paragraph("Dashed: the box in question. Solid: what it is held against.", tone="info")
    return html.join([legend, *parts])


def _gallery(check: Check, album: _Album) -> Html:
    shown = [album.picture(suspect) for suspect in check.suspects[:_PICTURES_OF_A_CHECK]]
    found = [picture for picture in shown if picture is not None]
    named = html.join([check.name.replace("_", " "), " ", html.badge(check.outcome, TONES[check.outcome])])
    listed = html.bullets([_line(suspect, album) for suspect in check.suspects])
    more = f"{check.found:,} found, {len(check.suspects)} listed"
    pictures = [html.gallery(found, check.name)] if found else []
    return html.join([html.element("h3", {}, named), *pictures, html.folded(more, listed, is_open=not found)])


def _line(suspect: Suspect, album: _Album) -> Html:
    place: list[Text] = [album.named(suspect.frame_id), " "] if suspect.frame_id else []
    box: list[Text] = [html.name(suspect.class_name), " ", html.code(suspect.box_id), ": "] if suspect.box_id else []
    return html.join([*place, *box, suspect.detail])


def _classes(report: DataReport) -> Html:
    if not report.classes:
        return html.paragraph("The tables are broken; nothing else was looked at.")
    columns = [Column("class"), *(Column(f"{split} boxes", numeric=True) for split in SPLITS)]
    columns.append(Column("looked for in, %", numeric=True, hint="in what share of the labeled frames"))
    rows: list[list[Cell | Text]] = [
        [
            html.name(row.class_name),
            *(html.number(row.boxes.get(split, 0), 0) for split in SPLITS),
            html.number(None if row.looked_for is None else 100 * row.looked_for, 1),
        ]
        for row in report.classes
    ]
    return html.table(columns, rows, label="Classes")


def _drift(report: DataReport) -> Html:
    if not report.drift:
        return html.paragraph("There is no snapshot before this one, so nothing can have drifted.")
    words = (
        "Effect is the Jensen-Shannon distance (0 to 1) of a category and the Kolmogorov-Smirnov D of a number; it "
        "does not grow with the number of frames. By chance: what exchanging drive groups between the sides gives."
    )
    columns = [
        Column("column"),
        Column("outcome"),
        Column("effect", numeric=True),
        Column("by chance", numeric=True),
        Column("PSI", numeric=True, hint="population stability index"),
        Column("difference", numeric=True, hint="of the means, in standard deviations"),
        Column("frames before", numeric=True),
        Column("frames now", numeric=True),
        Column("why"),
    ]
    rows = [_drift_row(row) for row in sorted(report.drift, key=lambda row: -(row.effect or -1.0))]
    return html.join([html.paragraph(words, tone="info"), html.stacked(html.table(columns, rows, label="Drift"))])


def _drift_row(row: Drift) -> list[Cell | Text]:
    values = (row.effect, row.by_chance, row.index)
    return [
        html.name(row.column),
        Cell(html.badge(row.outcome, TONES[row.outcome]), order=GRAVEST_FIRST.index(row.outcome)),
        *(html.number(value, 3) for value in values),
        html.number(row.difference, 2, sign=True),
        *(html.number(count, 0) for count in row.frames),
        row.reason,
    ]


def _provenance(report: DataReport) -> Html:
    facts = {"Snapshot": report.snapshot_id, "Snapshot before": report.against_id or "none"}
    rows = [[html.element("b", {}, key), html.code(value)] for key, value in facts.items()]
    return html.table([Column("what"), Column("value")], rows, label="Provenance")
