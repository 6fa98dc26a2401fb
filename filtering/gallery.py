"""Show what was decided: one page with pictures that needs nothing beside itself."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa

from driveflow.errors import DriveflowError
from driveflow.images.decode import decode_rgb
from driveflow.pages import html
from driveflow.pages.pictures import Box, thumbnail_data_uri
from driveflow.pages.svg import Bar, bar_chart
from driveflow.snapshots import SnapshotTables
from filtering.catalog import FrameFilter, frame_filters
from filtering.corner_cases import CornerCaseRequest, Selection
from filtering.filter_frames import FilterOutcome, FilterRequest, measured_frames
from filtering.fingerprint import Pixels
from filtering.rarity import shuffled

MAX_BYTES: Final = 5_000_000
_PICTURE_PX, _QUALITY = 280, 70
_PAIRS, _BORDERLINE, _FOUND = 12, 4, 8  # pictures a section shows at most
_TRUTH, _GUESS = (80, 200, 80), (255, 160, 40)


@dataclass(slots=True)
class _Album:
    """Makes pictures of frames; a frame that cannot be read is shown as words."""

    tables: SnapshotTables
    pixels: Pixels
    predictions: pa.Table | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    boxes: Mapping[str, list[Box]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        sources = self.tables.sources
        columns = [sources[name].to_pylist() for name in ("frame_id", "batch", "path")]
        self.names = {frame: f"{batch}/{path}" for frame, batch, path in reversed(list(zip(*columns, strict=True)))}
        self.boxes = {}
        for table, colour in ((self.tables.boxes, _TRUTH), (self.predictions, _GUESS)):
            if table is not None:
                _note_boxes(self.boxes, table, colour)

    def figure(self, frame_id: str, role: str, more: str = "") -> html.Picture | None:
        """Return the picture of a frame, captioned with its name; None where it cannot be read."""
        try:
            pixels = decode_rgb(self.pixels.read(frame_id))
        except DriveflowError:
            return None
        uri = thumbnail_data_uri(pixels, self.boxes.get(frame_id, ()), _PICTURE_PX, _QUALITY)
        name = self.names.get(frame_id, frame_id[:12])
        caption = html.join([html.badge(role), " ", html.name(name), f" {more}"])
        return html.Picture(uri, f"{role}: {name}", caption)

    def row(self, items: Iterable[tuple[str, str, str]], caption: str) -> html.Html:
        """Return the pictures of (frame, role, more) side by side."""
        pictures = [self.figure(*item) for item in items]
        shown = [picture for picture in pictures if picture is not None]
        return html.gallery(shown, caption) if shown else html.paragraph("No picture to show.")


def filter_gallery(request: FilterRequest, outcome: FilterOutcome, pixels: Pixels) -> str:
    """Return the page of a filter run: counts by reason, kept beside dropped twins, what lies around each limit.

    The page stays under 5 MB: where pictures are larger than usual, fewer are shown.
    """
    album = _Album(request.tables, pixels, request.predictions)

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
    album = _Album(request.tables, pixels, request.predictions)
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


def _twins(decisions: pa.Table, album: _Album, share: float) -> html.Html:
    """Show the pairs farthest apart first: where a person disagrees, it is there."""
    found = {row["frame_id"]: row for row in decisions.to_pylist() if row["twin"] is not None}
    if not found:
        return html.paragraph("No near duplicates.")
    ordered = sorted(shuffled(found, "gallery"), key=lambda item: -found[item]["score"])
    shown: list[tuple[str, str, str]] = []
    for frame_id in ordered[: _most(_PAIRS, share)]:
        row = found[frame_id]
        shown += [(row["twin"], "kept", ""), (frame_id, "dropped", row["detail"])]
    note = html.paragraph(f"{len(found):,} pairs; the {len(shown) // 2} farthest apart are shown.")
    return html.join([note, album.row(shown, "kept and dropped twins")])


def _borderline(request: FilterRequest, outcome: FilterOutcome, album: _Album, share: float) -> list[html.Html]:
    rows = outcome.decisions.to_pylist()
    skipped = {row["frame_id"] for row in rows if row["verdict"] == "quarantined" or row["rule"] == "split"}
    judged = measured_frames(request, skipped)
    frame_ids = judged.signals["frame_id"].to_pylist()
    return [
        _around_limit(item, item.score(judged), frame_ids, album, _most(_BORDERLINE, share))
        for item in frame_filters(request.filters)
    ]


def _around_limit(
    item: FrameFilter, scores: np.ndarray, frame_ids: Sequence[str], album: _Album, count: int
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


def _shielded(decisions: pa.Table, album: _Album, share: float) -> html.Html:
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


def _note_boxes(boxes: dict[str, list[Box]], table: pa.Table, colour: tuple[int, int, int]) -> None:
    names = ("frame_id", "x1", "y1", "x2", "y2", "class_name", "score")
    for frame_id, *box, score in zip(*(table[name].to_pylist() for name in names), strict=True):
        label = box[4] if score is None else f"{box[4]} {score:.2f}"
        boxes.setdefault(frame_id, []).append((*box[:4], label, colour, score is not None))
