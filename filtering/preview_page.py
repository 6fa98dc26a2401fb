"""The page of a preview: what would be dropped and saved, what other limits would do, and pictures around each."""

from collections.abc import Sequence
from typing import Final

from driveflow.images.frame_bytes import FrameBytes
from driveflow.pages import html
from driveflow.pages.curves import Curve, Scale, curve_chart
from filtering.album import Album
from filtering.borderline import near_misses
from filtering.preview import SHARES, LimitPreview, Preview
from filtering.shown import around_limits, missed, most, reasons, small_enough, twins
from filtering.sweeps import Sweep

_PAIRS, _MISSES, _BORDERLINE = 12, 12, 4  # pictures a section shows at most
_SIGN: Final = (
    "The last columns name the limit that would drop that share of the frames. Below each limit stands its setting in "
    "the flow file; max_robust_z has no sign there, and drops what lies so far on the one side."
)
_TAIL: Final = 0.01  # of a distribution, that may run off its chart at either end
_SECTIONS: Final = {
    "reasons": "What would be dropped, by reason",
    "sweeps": "What other limits of near-duplicates would keep",
    "scores": "How each score is spread",
    "limits": "Which limit would drop how much",
    "twins": "Kept frames beside twins that would be dropped",
    "misses": "Pairs just too far apart to be twins",
    "around": "Around each limit",
}


def preview_page(seen: Preview, pixels: FrameBytes) -> str:
    """Return the page; it needs nothing beside itself and stays under 5 MB."""
    album = Album(seen.request.tables, pixels, seen.request.predictions)
    misses = near_misses(seen.request, seen.outcome, _MISSES)
    judged = [item.judged for item in seen.limits]

    def build(share: float) -> str:
        parts = [
            reasons(seen.by_reason()),
            _sweeps(seen.sweeps),
            _spreads(seen.limits),
            _limits(seen.limits),
            twins(seen.outcome.decisions, album, most(_PAIRS, share)),
            missed(misses[: most(_MISSES, share)], album),
            html.join(around_limits(judged, album, most(_BORDERLINE, share))),
        ]
        body = [
            html.section(title, part, anchor=anchor)
            for (anchor, title), part in zip(_SECTIONS.items(), parts, strict=True)
        ]
        heading = html.element("h1", {}, "What the filters would do")
        note = html.paragraph("Nothing was changed: no snapshot, no decision, no tag was written.", tone="info")
        return html.page("Preview of the filters", [heading, note, _cards(seen), _contents(), *body])

    return small_enough(build)


def _contents() -> html.Html:
    return html.contents(list(_SECTIONS.items()))


def _cards(seen: Preview) -> html.Html:
    looked_at = seen.outcome.counts["frames_in"]
    saved = seen.of_all(seen.saved)
    money = seen.price.of(saved)
    cards = [
        html.Card("training frames", f"{seen.all_frames:,}", f"{looked_at:,} looked at"),
        html.Card("would be kept", f"{seen.outcome.counts['kept']:,}", "of those looked at"),
        html.Card("labels saved", f"{saved:,}", f"{_percent(saved, seen.all_frames)} of the training frames"),
    ]
    if money is not None:
        cards.append(html.Card("money saved", f"{money:,.2f} {seen.price.currency}".strip(), "labels not needed"))
    return html.cards(cards)


def _sweeps(sweeps: Sequence[Sweep]) -> html.Html:
    if not sweeps:
        return html.paragraph("Near-duplicates are not looked for.")
    charts = [_sweep_chart(item) for item in sweeps]
    tables = [_sweep_table(item) for item in sweeps]
    note = "One setting changed at a time, all else as it is in the flow; the dashed line is the setting it has now."
    return html.join([html.paragraph(note), html.element("div", {"class": "charts"}, *charts), *tables])


def _sweep_chart(sweep: Sweep) -> html.Html:
    points = [(point.limit, point.kept_share) for point in sweep.points]
    scale = Scale(f"{sweep.setting}, {sweep.unit}", points[0][0], points[-1][0])
    name = sweep.setting.replace("_", " ")
    return _figure(name, curve_chart(name, Curve(points), scale, "kept", [("now", sweep.now)]))


def _sweep_table(sweep: Sweep) -> html.Html:
    columns = [html.Column(sweep.unit, numeric=True), html.Column("kept", True), html.Column("kept, %", True)]
    rows = [
        [html.number(point.limit, 1), html.number(point.kept, 0), html.number(100 * point.kept_share, 2)]
        for point in sweep.points
    ]
    title = f"{sweep.setting}: {sweep.now:g} {sweep.unit} now"
    return html.folded(title, html.element("div", {"class": "narrow"}, html.table(columns, rows, label=title)))


def _spreads(limits: Sequence[LimitPreview]) -> html.Html:
    charts = [_spread(item) for item in limits if item.curve]
    without = [item.judged.item.rule for item in limits if not item.curve]
    parts: list[html.Html] = [html.element("div", {"class": "charts"}, *charts)] if charts else []
    if without:
        note = f"Nothing to draw for {', '.join(without)}: no population has the 50 frames that a relative limit needs."
        parts.append(html.paragraph(note))
    return html.join(parts)


def _spread(limit: LimitPreview) -> html.Html:
    """Draw the share of the frames at or under each score, with the limit; long tails are cut."""
    item = limit.judged.item
    inner = [score for score, share in limit.curve if _TAIL <= share <= 1 - _TAIL] or [limit.curve[0][0]]
    low, high = min(*inner, item.limit), max(*inner, item.limit)
    margin = 0.05 * (high - low) or 0.5
    scale = Scale(item.unit, low - margin, high + margin)
    side = "dropped above" if limit.judged.drops_above else "dropped below"
    chart = curve_chart(item.rule, Curve(limit.curve, stepped=True), scale, "at or under", [(side, item.limit)])
    return _figure(item.rule, chart)


def _limits(limits: Sequence[LimitPreview]) -> html.Html:
    columns = [
        html.Column("limit"),
        html.Column("now", True, "What the flow has"),
        html.Column("beyond", True, "Frames beyond the limit, whatever other limits say"),
        html.Column("dropped", True, "Frames this limit drops where those before it have had their turn"),
        *(
            html.Column(f"{share:.1%}", True, f"The limit that would drop {share:.1%} of the frames")
            for share in SHARES
        ),
    ]
    rows = []
    for limit in limits:
        wanted = dict(limit.limits)
        name = html.join(
            [limit.judged.item.rule, html.element("small", {}, f"{limit.judged.item.unit}; {limit.judged.setting}")]
        )
        rows.append(
            [
                html.Cell(name, order=limit.judged.item.rule),
                html.number(limit.judged.item.limit, 3),
                html.number(limit.judged.beyond, 0),
                html.number(limit.dropped, 0),
                *(html.number(wanted.get(share), 2) for share in SHARES),
            ]
        )
    return html.table(columns, rows, _SIGN)


def _figure(title: str, chart: html.Html) -> html.Html:
    return html.element("figure", {}, html.element("figcaption", {}, title), chart)


def _percent(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "0 %"
