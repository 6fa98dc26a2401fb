"""The page on which people judge what a rule did: its sample, band by band, and how right it was so far."""

from collections.abc import Sequence

from driveflow.pages import html
from filtering.album import Album
from filtering.review import Band, BandPrecision, Case, overall
from filtering.shown import most, small_enough


def review_page(rule: str, drawn: Sequence[Band], found: Sequence[BandPrecision], album: Album) -> str:
    """Return the page; its pictures are numbered as the rows of the answer sheet are."""

    def build(share: float) -> str:
        parts: list[html.Html] = [
            html.element("h1", {}, f"Was {rule} right?"),
            html.paragraph(
                "Answer each row of the answer sheet beside this page by yes (right to drop, or a right find) or no, "
                "and give it back by --answers. Rows of the sheet are numbered as the pictures are."
            ),
            html.section("So far", precision_table(found)),
        ]
        number = 1
        for band in drawn:
            title = f"Score {band.name}: {len(band.sample)} of {len(band.cases):,}"
            shown = band.sample[: most(len(band.sample), share)] if band.sample else ()
            parts.append(html.section(title, _pictures(shown, number, album)))
            number += len(band.sample)
        return html.page(f"Review of {rule}", parts)

    return small_enough(build)


def precision_table(found: Sequence[BandPrecision]) -> html.Html:
    """Return how often the rule was right, band by band, with Wilson's intervals."""
    columns = [
        html.Column("score"),
        html.Column("cases", True),
        html.Column("judged", True),
        html.Column("right", True),
        html.Column("precision", True),
        html.Column("95 % from", True, "Wilson's interval"),
        html.Column("to", True, "Wilson's interval"),
    ]
    rows: list[list[html.Cell | html.Text]] = [
        [
            band.band,
            html.number(band.cases, 0),
            html.number(band.judged, 0),
            html.number(band.right, 0),
            html.number(band.precision, 3),
            html.number(band.low if band.judged else None, 3),
            html.number(band.high if band.judged else None, 3),
        ]
        for band in found
    ]
    total = overall(found)
    caption = "Nobody has judged yet." if total is None else f"Over all bands, each weighed by its cases: {total:.3f}"
    return html.table(columns, rows, caption)


def _pictures(cases: Sequence[Case], first: int, album: Album) -> html.Html:
    alone = [(case.frame_id, f"#{number}", case.detail) for number, case in enumerate(cases, first) if not case.twin]
    pairs = [
        (case.twin, case.frame_id, f"#{number} {case.detail}") for number, case in enumerate(cases, first) if case.twin
    ]
    parts = [album.row(alone, "frames to judge")] if alone else []
    return html.join([*parts, *([album.pairs(pairs, "pairs to judge")] if pairs else [])])
