"""Show what was decided: one page with pictures that needs nothing beside itself."""

from collections import Counter
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from driveflow.images.frame_bytes import FrameBytes
from driveflow.pages import html
from driveflow.pages.how_many import shown_of
from driveflow.pages.svg import Bar, bar_chart
from filtering import shown as parts
from filtering.album import Album
from filtering.borderline import judged_frames, near_misses
from filtering.corner_cases import CornerCaseRequest, Selection
from filtering.filter_frames import FilterOutcome, FilterRequest
from filtering.finds import Find
from filtering.shown import most, small_enough

_PAIRS, _MISSES, _BORDERLINE, _FOUND = 12, 6, 4, 8  # pictures a section shows at most
_MOST_FILES = 200  # rows of the quarantine
_NAMES = {"budget": "rest of the budget"}  # what was chosen for no reason of its own
_SPARED = ("corner_case", "rare_by_pixels")
_CONTENTS = (
    ("reasons", "By reason"),
    ("twins", "Twins"),
    ("misses", "Just no twins"),
    ("limits", "Around each limit"),
    ("spared", "Spared"),
    ("quarantined", "Quarantined"),
)


def filter_gallery(request: FilterRequest, outcome: FilterOutcome, pixels: FrameBytes) -> str:
    """Return the page of a filter run: counts by reason, kept beside dropped twins, what lies around each limit.

    The page stays under 5 MB: where pictures are larger than usual, fewer are shown.
    """
    album = Album(request.tables, pixels, request.predictions)
    judged = judged_frames(request, outcome)
    misses = near_misses(request, outcome, _MISSES)
    decisions = outcome.decisions
    gone = decisions.filter(pc.not_equal(decisions["verdict"], "kept"))["reason"].to_pylist()

    def build(share: float) -> str:
        sections = [
            parts.reasons(Counter(gone)),
            parts.twins(decisions, album, most(_PAIRS, share)),
            parts.missed(misses[: most(_MISSES, share)], album),
            html.join(parts.around_limits(judged, album, most(_BORDERLINE, share))),
            _shielded(decisions, album, share),
            _quarantined(outcome.quarantine),
        ]
        titles = {
            "reasons": "Dropped and quarantined, by reason",
            "twins": "Kept frames beside the twins that were dropped",
            "misses": "Pairs just too far apart to be twins",
            "limits": "Around each limit",
            "spared": "Spared from thinning",
            "quarantined": "Quarantined",
        }
        body = [
            html.section(title, content, anchor=anchor)
            for (anchor, title), content in zip(titles.items(), sections, strict=True)
        ]
        heading = html.element("h1", {}, "What the filters decided")
        return html.page("Filtering", [heading, _overview(outcome.counts), html.contents(_CONTENTS), *body])

    return small_enough(build)


def selection_gallery(request: CornerCaseRequest, selection: Selection, pixels: FrameBytes) -> str:
    """Return the page of a selection: how many frames for which reason, and pictures of what each rule found."""
    album = Album(request.tables, pixels, request.predictions)
    rows = selection.table.to_pylist()
    groups: dict[str, list[str]] = {}
    for row in rows:
        groups.setdefault(row["rule"] or _NAMES.get(row["reason"], row["reason"]), []).append(row["frame_id"])

    def build(share: float) -> str:
        bars = [Bar(name, len(found), str(len(found))) for name, found in groups.items()]
        body = [
            html.element("h1", {}, "What goes to annotators"),
            html.cards(
                [html.Card(name.replace("_", " "), f"{count:,}") for name, count in told_counts(selection).items()]
            ),
            html.section("Frames by reason", bar_chart("Frames by reason", bars, parts.top(bars)))
            if bars
            else html.empty(_why_none(selection)),
        ]
        told = {item.name: _score_of(item) for item in selection.finds if item.miner == "rule"}
        for name, found in groups.items():
            shown = [(frame_id, name, "") for frame_id in found[: most(_FOUND, share)]]
            note = html.paragraph(told[name]) if name in told else ""
            title = f"{name}: {shown_of(len(found), len(shown), 'frame')}"
            body.append(html.section(title, note, album.row(shown, name)))
        body += [
            _finds(item, album, share) for item in selection.finds if item.miner != "rule" or item.name not in groups
        ]
        return html.page("Corner cases", body)

    return small_enough(build)


def told_counts(selection: Selection) -> dict[str, int]:
    """Return the counts of a selection under the names that pages give them."""
    return {_NAMES.get(name, name): count for name, count in selection.counts.items()}


def _why_none(selection: Selection) -> str:
    if not selection.counts["candidates"]:
        return "Nothing is left to label: somebody looked for every class in every kept frame that is asked about."
    lacking = selection.counts["candidates"]
    return f"Nothing goes to annotators: the budget pays for no frame, and {lacking:,} lack labels of some class."


def _finds(found: Find, album: Album, share: float) -> html.Html:
    """Show what a miner found, the most wanted first, those that cost no budget too."""
    ranked = list(zip(found.frame_ids, found.scores, strict=True))[: most(_FOUND, share)]
    shown = [(frame_id, found.name, f"{score:g}") for frame_id, score in ranked]
    fewer = f", {len(shown):,} shown" if len(shown) < len(found.frame_ids) else ""
    note = f"{len(found.frame_ids):,} found, {found.taken:,} taken{fewer}. {_score_of(found)}"
    return html.section(f"{found.name}, by {found.miner}", html.paragraph(note), album.row(shown, found.name))


def _score_of(found: Find) -> str:
    return f"Score: {found.formula}; {found.unit}; compared with {found.reference}."


def _overview(counts: Mapping[str, int]) -> html.Html:
    names = {"frames_in": "frames in", "kept": "kept", "dropped": "dropped", "quarantined": "quarantined"}
    total = counts["frames_in"]
    return html.cards(
        [html.Card(label, f"{counts[key]:,}", _percent(counts[key], total)) for key, label in names.items()]
    )


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else ""


def _shielded(decisions: pa.Table, album: Album, share: float) -> html.Html:
    found = [row for row in decisions.to_pylist() if row["reason"] in _SPARED]
    if not found:
        return html.paragraph("None.")
    shown = [(row["frame_id"], "spared", row["detail"]) for row in found[: most(_FOUND, share)]]
    return html.join([html.paragraph(f"{shown_of(len(found), len(shown), 'frame')}."), album.row(shown, "spared")])


def _quarantined(quarantine: pa.Table) -> html.Html:
    if not quarantine.num_rows:
        return html.paragraph("Nothing.", tone="good")
    columns = [html.Column("batch"), html.Column("file"), html.Column("reason"), html.Column("what is wrong")]
    rows = [
        [html.name(row["batch"]), html.path(row["path"]), row["reason"], row["detail"] or ""]
        for row in quarantine.slice(0, _MOST_FILES).to_pylist()
    ]
    return html.table(columns, rows, shown_of(quarantine.num_rows, len(rows), "file"))
