"""Read what annotators sent back: check every byte of it, keep what is sound, name the rest."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from driveflow.canonical import Json, digest_bytes
from driveflow.epoch import epoch_ns
from driveflow.errors import BrokenDataError
from labeling.campaigns import MAX_RETURN_BYTES, RawReturn
from labeling.entries import Entry, EntryOrder, FrameReader, Refusal
from labeling.manifest import CampaignManifest, ReturnFile, SentFrame, unknown_fields

_NOTES = 20
_MAX_FRAMES = 1_000_000  # of one file


@dataclass(slots=True)
class Readings:
    """What all return files together say, owned by who reads them.

    `counts` add up: returns_in = returns_read + returns_quarantined, and every frame answer and every box of a file
    that was read is either in `entries` or counted as quarantined (answers_quarantined, boxes_quarantined) or said
    nothing (answers_empty).
    """

    entries: list[Entry] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    unknown: Counter[tuple[str, str]] = field(default_factory=Counter)  # (file, field) -> times

    def notes(self) -> tuple[str, ...]:
        """Return one sentence a field that nobody knows, of the first few, and how many there are."""
        told = sorted(self.unknown.items())
        notes = [f"{path}: field {name!r} is unknown and was ignored ({n} times)" for (path, name), n in told[:_NOTES]]
        return (*notes, f"{len(told)} unknown fields in all") if len(told) > _NOTES else tuple(notes)


def read_returns(manifests: Iterable[CampaignManifest], raws: Iterable[RawReturn]) -> Readings:
    """Return what `raws` say about the frames of the campaigns; equal bytes count once, whatever their name."""
    known = {manifest.campaign_id: manifest for manifest in manifests}
    frames = {key: {frame.frame_id: frame for frame in manifest.frames} for key, manifest in known.items()}
    readings = Readings()
    seen: set[tuple[str, str]] = set()
    for raw in sorted(raws, key=lambda item: (item.campaign_id, item.path)):
        readings.counts["returns_in"] += 1
        try:
            head = parse_return(raw, known)
        except BrokenDataError as error:
            readings.counts["returns_quarantined"] += 1
            readings.refusals.append(Refusal(raw.campaign_id, raw.path, error.code, error.detail, raw.byte_count))
            continue
        readings.counts["returns_read"] += 1
        if (raw.campaign_id, head.sha256) in seen:
            readings.counts["returns_repeated"] += 1
            continue
        seen.add((raw.campaign_id, head.sha256))
        _read_frames(raw, head, known[raw.campaign_id], frames[raw.campaign_id], readings)
    return readings


@dataclass(frozen=True, slots=True)
class ReturnHead:
    """A return file whose outer shape is right; its frames are still as they came."""

    head: ReturnFile
    sha256: str
    returned_ns: int
    frames: list[object]
    unknown: tuple[str, ...]


def parse_return(raw: RawReturn, known: Mapping[str, CampaignManifest]) -> ReturnHead:
    """Return the file with its outer shape checked.

    Raises:
        BrokenDataError: the whole file is of no use; `code` says why.
    """
    value = _decode(raw)
    if not isinstance(value, dict):
        raise BrokenDataError(
            "not_a_return", f"the file holds {_kind(value)}, not an object with campaign_id and frames"
        )
    frames = value.get("frames")
    if not isinstance(frames, list) or len(frames) > _MAX_FRAMES:
        raise BrokenDataError("not_a_return", f"'frames' is {_kind(frames)}, not a list of at most {_MAX_FRAMES}")
    try:
        head = msgspec.convert({**value, "frames": []}, ReturnFile)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise BrokenDataError("not_a_return", str(error)) from error
    _check_campaign(raw, head, known)
    _refuse_shares(frames)
    returned_ns = _nanoseconds(head.returned_at)
    return ReturnHead(
        head, digest_bytes(raw.data or b""), returned_ns, frames, tuple(unknown_fields(value, ReturnFile))
    )


def _decode(raw: RawReturn) -> object:
    if raw.data is None:
        raise BrokenDataError("too_large", f"{raw.byte_count} bytes; at most {MAX_RETURN_BYTES} in one file, split it")
    try:
        return json.loads(raw.data.decode("utf-8-sig"), object_pairs_hook=_object)
    except RecursionError as error:
        raise BrokenDataError("not_json", "nested too deeply") from error
    except ValueError as error:
        raise BrokenDataError("not_json", str(error)) from error


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) != len(pairs):
        repeated = [name for name, times in Counter(name for name, _ in pairs).items() if times > 1]
        raise ValueError(f"an object has the key {repeated[0]!r} twice")
    return value


def _check_campaign(raw: RawReturn, head: ReturnFile, known: Mapping[str, CampaignManifest]) -> None:
    manifest = known.get(raw.campaign_id)
    if manifest is None or head.campaign_id != raw.campaign_id:
        raise BrokenDataError(
            "wrong_campaign", f"it answers campaign {head.campaign_id!r}, but lies in {raw.campaign_id}"
        )
    if head.purpose != manifest.purpose:
        raise BrokenDataError(
            "wrong_purpose", f"it has labels for {head.purpose}; the campaign is for {manifest.purpose}"
        )
    for text in (head.annotator, head.guideline):
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise BrokenDataError("not_a_return", f"a text that cannot be written: {error}") from error


def _refuse_shares(frames: list[object]) -> None:
    """Refuse a file all of whose boxes lie within the first pixel: tools that write shares of the picture do so."""
    found = [frame.get("boxes") for frame in frames if isinstance(frame, dict)]
    boxes = [box for items in found if isinstance(items, list) for box in items]
    if boxes and all(_is_within_a_pixel(box) for box in boxes):
        raise BrokenDataError(
            "not_pixels", f"each of its {len(boxes)} boxes lies within 0 and 1: corners are pixels, not shares"
        )


def _is_within_a_pixel(box: object) -> bool:
    corners = [box.get(name) for name in ("x1", "y1", "x2", "y2")] if isinstance(box, dict) else [None]
    return all(isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1 for value in corners)


def _nanoseconds(returned_at: str) -> int:
    if not returned_at:
        return 0
    try:
        moment = datetime.fromisoformat(returned_at)
    except ValueError as error:
        raise BrokenDataError("bad_time", f"returned_at {returned_at!r} is no RFC 3339 time") from error
    if moment.tzinfo is None:
        raise BrokenDataError(
            "bad_time", f"returned_at {returned_at!r} names no time zone; 2026-01-31T12:00:00Z would do"
        )
    return epoch_ns(moment.replace(microsecond=0), f"{moment.microsecond:06d}")


def _read_frames(
    raw: RawReturn, parsed: ReturnHead, manifest: CampaignManifest, frames: Mapping[str, SentFrame], readings: Readings
) -> None:
    readings.unknown.update((raw.path, name) for name in parsed.unknown)
    guideline = parsed.head.guideline or manifest.guideline
    reader = FrameReader(raw, manifest, parsed.head.annotator, guideline)
    for index, value in enumerate(parsed.frames):
        readings.counts["answers_in"] += 1
        reading = reader.read(value, frames, EntryOrder(parsed.returned_ns, parsed.sha256, index))
        readings.counts.update(reading.counts)
        readings.refusals += reading.refusals
        readings.unknown.update((raw.path, name) for name in reading.unknown)
        if reading.entry is not None:
            readings.entries.append(reading.entry)


def _kind(value: object) -> str:
    names: dict[type, str] = {dict: "an object", list: "a list", str: "a text", type(None): "missing"}
    return names.get(type(value), f"a {type(value).__name__}")


def entries_by_frame(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """Return the entries of each frame, newest first; those without a time are oldest, then a digest decides."""
    grouped: dict[str, list[Entry]] = {}
    for entry in entries:
        grouped.setdefault(entry.frame_id, []).append(entry)
    for found in grouped.values():
        found.sort(key=lambda entry: (entry.order, entry.campaign_id), reverse=True)
    return grouped


def answered_pairs(entries: Iterable[Entry]) -> set[tuple[str, str]]:
    """Return every (frame, class) that a sound answer names."""
    return {(entry.frame_id, name) for entry in entries for name in entry.boxes}


def boxes_that_count(readings: Readings) -> int:
    """Return how many boxes the newest answers about each class of each frame hold: the same answer twice is one."""
    newest: dict[tuple[str, str], int] = {}
    for frame_id, entries in entries_by_frame(readings.entries).items():
        for entry in entries:
            for name, boxes in entry.boxes.items():
                newest.setdefault((frame_id, name), len(boxes))
    return sum(newest.values())


def refusal_rows(refusals: Iterable[Refusal]) -> list[dict[str, Json]]:
    """Return the refusals as rows of the QUARANTINE table, sorted, each once."""
    rows = {refusal: refusal.row() for refusal in refusals}
    return [rows[key] for key in sorted(rows, key=lambda r: (r.campaign_id, r.path, r.reason, r.detail))]
