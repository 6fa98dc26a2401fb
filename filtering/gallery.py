"""Show what was decided: one page with pictures that needs nothing beside itself."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from driveflow.pages import html
from driveflow.pages.svg import Bar, bar_chart
from filtering.album import Album
from filtering.catalog import FrameFilter, frame_filters
from filtering.corner_cases import CornerCaseRequest, Selection
from filtering.filter_frames import FilterOutcome, FilterRequest, measured_frames
from filtering.fingerprint import Pixels
from filtering.rarity import shuffled

MAX_BYTES: Final = 5_000_000
_PAIRS, _BORDERLINE, _FOUND = 12, 4, 8  # pictures a section shows at most


def filter_gallery(request: FilterRequest, outcome: FilterOutcome, pixels: Pixels) -> str:
    """Return the page of a filter run: counts by reason, kept beside dropped twins, what lies around each limit.

    The page stays under 5 MB: where pictures are larger than usual, fewer are shown.
    """
    album = Album(request.tables, pixels, request.predictions)

    def build(share: float) -> str:
        parts = [
            html.element("h1", {}, "What the filters decided"),
            _overview(outcome.counts),
            html.section("Dropped and quarantined, by reason", _reasons(outcome.decisions)),
            html.section("Kept frames beside the twins that were dropped", _twins(outcome.decisions, album, share)),
            html.section("Around each limit", *_borderline(request, outcome, album, share)),
            html.section("Corner cases spared from thinning", _shielded(outcome.decisions, album, share)),
            html.section("Quarantined", _quarantined(outcome.quarantine)),
        ]
        return html.page("Filtering", parts)

    return _small_enough(build)


def selection_gallery(request: CornerCaseRequest, selection: Selection, pixels: Pixels) -> str:
    """Return the page of a selection: how many frames for which reason, and pictures of what each rule found."""
    album = Album(request.tables, pixels, request.predictions)
    rows = selection.table.to_pylist()
    groups: dict[str, list[str]] = {}
    for row in rows:
        groups.setdefault(row["rule"] or row["reason"], []).append(row["frame_id"])

    def build(share: float) -> str:
        bars = [Bar(name, len(found), str(len(found))) for name, found in groups.items()]
        parts = [
            html.element("h1", {}, "What goes to annotators"),
            html.cards([html.Card(name.replace("_", " "), str(count)) for name, count in selection.counts.items()]),
            html.section("Frames by reason", bar_chart("Frames by reason", bars, _top(bars))),
        ]
        for name, found in groups.items():
            shown = [(frame_id, name, "") for frame_id in found[: _most(_FOUND, share)]]
            parts.append(html.section(f"{name}: {len(found)} frames", album.row(shown, name)))
        return html.page("Corner cases", parts)

    return _small_enough(build)


def _small_enough(build: Callable[[float], str]) -> str:
    share = 1.0
    while len((page := build(share)).encode()) > MAX_BYTES and share > 0.05:
        share /= 2
    return page


def _most(count: int, share: float) -> int:
    return max(1, int(count * share))


def _overview(counts: Mapping[str, int]) -> html.Html:
    names = {"frames_in": "frames in", "kept": "kept", "dropped": "dropped", "quarantined": "quarantined"}
    total = counts["frames_in"]
    return html.cards(
        [html.Card(label, f"{counts[key]:,}", _percent(counts[key], total)) for key, label in names.items()]
    )


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else ""


def _reasons(decisions: pa.Table) -> html.Html:
    pairs = zip(decisions["verdict"].to_pylist(), decisions["reason"].to_pylist(), strict=True)
    counted = Counter(reason for verdict, reason in pairs if verdict != "kept")
    if not counted:
        return html.paragraph("Nothing was dropped.", tone="good")
    ordered = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    bars = [Bar(name.replace("_", " "), count, f"{count:,}") for name, count in ordered]
    return bar_chart("Frames by reason", bars, _top(bars))


def _top(bars: Sequence[Bar]) -> float:
    return max((bar.value for bar in bars), default=0.0) or 1.0


def _twins(decisions: pa.Table, album: Album, share: float) -> html.Html:
    """Show the pairs farthest apart first: where a person disagrees, it is there."""
    found = {row["frame_id"]: row for row in decisions.to_pylist() if row["twin"] is not None}
    if not found:
        return html.paragraph("No near duplicates.")
    ordered = sorted(shuffled(found, "gallery"), key=lambda item: -found[item]["score"])
    shown = [(found[item]["twin"], item, found[item]["detail"]) for item in ordered[: _most(_PAIRS, share)]]
    note = f"{len(found):,} pairs; the {len(shown)} farthest apart are shown, kept left and dropped right."
    return html.join([html.paragraph(note), album.pairs(shown, "kept and dropped twins")])


def _borderline(request: FilterRequest, outcome: FilterOutcome, album: Album, share: float) -> list[html.Html]:
    rows = outcome.decisions.to_pylist()
    skipped = {row["frame_id"] for row in rows if row["verdict"] == "quarantined" or row["rule"] == "split"}
    judged = measured_frames(request, skipped)
    frame_ids = judged.signals["frame_id"].to_pylist()
    return [
        _around_limit(item, item.score(judged), frame_ids, album, _most(_BORDERLINE, share))
        for item in frame_filters(request.filters)
    ]


def _around_limit(
    item: FrameFilter, scores: np.ndarray, frame_ids: Sequence[str], album: Album, count: int
) -> html.Html:
    """Show on each side of a limit the frames nearest to it, worst side first."""
    known = np.flatnonzero(~np.isnan(scores))
    nearest = known[np.argsort(np.abs(scores[known] - item.limit), kind="stable")]
    stays = item.keep(scores)
    beyond = [row for row in nearest.tolist() if not stays[row]][:count]
    within = [row for row in nearest.tolist() if stays[row]][:count]
    shown = [(frame_ids[row], "beyond", f"{scores[row]:g}") for row in beyond]
    shown += [(frame_ids[row], "within", f"{scores[row]:g}") for row in within]
    title = f"{item.rule}: {item.unit}, limit {item.limit:g}, {int((~stays).sum()):,} frames beyond"
    return html.folded(title, album.row(shown, item.rule), is_open=bool(beyond))


def _shielded(decisions: pa.Table, album: Album, share: float) -> html.Html:
    found = [row for row in decisions.to_pylist() if row["reason"] == "corner_case"]
    if not found:
        return html.paragraph("None.")
    shown = [(row["frame_id"], "spared", row["detail"]) for row in found[: _most(_FOUND, share)]]
    return html.join([html.paragraph(f"{len(found):,} frames."), album.row(shown, "corner cases")])


def _quarantined(quarantine: pa.Table) -> html.Html:
    if not quarantine.num_rows:
        return html.paragraph("Nothing.", tone="good")
    columns = [html.Column("batch"), html.Column("file"), html.Column("reason"), html.Column("what is wrong")]
    rows = [
        [html.name(row["batch"]), html.name(row["path"]), row["reason"], row["detail"] or ""]
        for row in quarantine.slice(0, 200).to_pylist()
    ]
    return html.table(columns, rows, f"{quarantine.num_rows:,} files")
