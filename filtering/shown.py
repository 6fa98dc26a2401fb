"""The parts that pages about filters share: counts by reason, twins, and what lies around each limit."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from driveflow.pages import html
from driveflow.pages.how_many import how_many, shown_of
from driveflow.pages.svg import Bar, bar_chart
from filtering.album import Album
from filtering.borderline import Judged, NearMiss
from filtering.rarity import shuffled

MAX_BYTES: Final = 5_000_000
_LEAST_SHARE: Final = 0.05


def small_enough(build: Callable[[float], str], most_bytes: int = MAX_BYTES) -> str:
    """Return the page that `build` makes of a share of its pictures: of all of them, or of as many as there is room."""
    share = 1.0
    while len((page := build(share)).encode()) > most_bytes and share > _LEAST_SHARE:
        share /= 2
    return page


def most(count: int, share: float) -> int:
    """Return a share of `count`, at least one."""
    return max(1, int(count * share))


def reasons(counted: Mapping[str, int]) -> html.Html:
    """Return how many frames went for which reason, most first."""
    if not counted:
        return html.paragraph("Nothing was dropped.", tone="good")
    ordered = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    bars = [Bar(name.replace("_", " "), count, f"{count:,}") for name, count in ordered]
    return bar_chart("Frames by reason", bars, top(bars))


def top(bars: Sequence[Bar]) -> float:
    """Return the largest value of `bars`; 1 where there is none."""
    return max((bar.value for bar in bars), default=0.0) or 1.0


def twins(decisions: pa.Table, album: Album, count: int) -> html.Html:
    """Show up to `count` pairs of each rule, the farthest apart first: where a person disagrees, it is there."""
    named = decisions.filter(pc.and_(pc.is_valid(decisions["twin"]), pc.equal(decisions["verdict"], "dropped")))
    if not named.num_rows:
        return html.paragraph("No near duplicates.")
    parts = [_twins(rule, named, album, count) for rule in sorted(named["rule"].unique().to_pylist())]
    note = f"{how_many(named.num_rows, 'pair')}; those farthest apart are shown, kept left and dropped right."
    return html.join([html.paragraph(note), *parts])


def _twins(rule: str, named: pa.Table, album: Album, count: int) -> html.Html:
    mine = named.filter(pc.equal(named["rule"], rule)).select(["frame_id", "twin", "score", "detail"])
    found = {row["frame_id"]: row for row in mine.to_pylist()}
    ordered = sorted(shuffled(found, "gallery"), key=lambda item: -(found[item]["score"] or 0.0))[:count]
    shown = [(found[item]["twin"], item, found[item]["detail"]) for item in ordered]
    title = f"{rule}: {shown_of(len(found), len(shown), 'pair')}"
    return html.folded(title, album.pairs(shown, f"kept and dropped twins, {rule}"), is_open=True)


def missed(misses: Sequence[NearMiss], album: Album) -> html.Html:
    """Show pairs that are just too far apart to be twins, the nearest first."""
    if not misses:
        return html.paragraph("No pair lies just beyond its limit.")
    shown = [(item.twin, item.frame_id, f"{item.score:g} {item.unit}, limit {item.limit:g}") for item in misses]
    note = (
        "Both frames of these pairs stay; limits two bits wider, or distances half as large again, would drop the "
        "right one. The nearest to their limits are shown."
    )
    return html.join([html.paragraph(note), album.pairs(shown, "pairs just beyond the limit", "also kept")])


def around_limits(judged: Sequence[Judged], album: Album, count: int) -> list[html.Html]:
    """Show for each filter the frames nearest to its limit, those beyond it first."""
    return [_around_limit(item, album, count) for item in judged]


def _around_limit(judged: Judged, album: Album, count: int) -> html.Html:
    item = judged.item
    beyond, within = (judged.nearest(count, beyond=side) for side in (True, False))
    shown = [(frame_id, "beyond", f"{score:g}") for frame_id, score in beyond]
    shown += [(frame_id, "within", f"{score:g}") for frame_id, score in within]
    title = f"{item.rule} ({judged.setting}): {item.unit}, limit {item.limit:g}, {judged.beyond:,} frames beyond"
    return html.folded(title, album.row(shown, item.rule), is_open=bool(beyond))
