"""Hand frames to annotators as a campaign folder: pictures, boxes to start from, one manifest, written last."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from driveflow import tables as columns
from driveflow.canonical import Json
from driveflow.errors import BrokenDataError, DriveflowError, IntegrityError, InvalidInputError, NotFoundError
from driveflow.flow.sections import LabelingSection
from driveflow.images.frame_bytes import FrameBytes
from driveflow.progress import Progress, silent
from driveflow.snapshots import SnapshotTables
from driveflow.storage.objects import join, list_objects, write_bytes
from labeling.campaigns import (
    MANIFEST_NAME,
    Campaign,
    campaign_of,
    campaign_uri,
    open_manifest,
    reopen_campaign,
)
from labeling.manifest import (
    CampaignManifest,
    Purpose,
    SentFrame,
    campaign_key,
    encode_manifest,
    published_returns_schema,
)
from labeling.outstanding import classes_out
from labeling.prelabels import sent_boxes

_WRITERS = 8  # copies wait for storage, not for the processor
_EXTENSIONS = {
    "image/jpeg": "jpg",
    "image/png": "png",
    "image/webp": "webp",
    "image/bmp": "bmp",
    "image/tiff": "tif",
    "image/gif": "gif",
    "image/heic": "heic",
    "image/heif": "heif",
    "image/avif": "avif",
}


@dataclass(frozen=True, slots=True)
class HandOffRequest:
    """What to send: the frames of `selection` (frame_id, in order of rank) that lack any of `classes`.

    `prelabels` are predictions; the boxes that `tables` already has of a missing class are sent too.
    """

    tables: SnapshotTables
    selection: pa.Table
    classes: tuple[str, ...]
    pixels: FrameBytes
    prelabels: pa.Table | None
    labeling: LabelingSection
    purpose: Purpose
    store: str
    aliases: Mapping[str, str] = field(default_factory=dict)  # other names that annotators may use -> class


@dataclass(frozen=True, slots=True)
class HandedOff:
    """The campaign, None where nothing was left to send, and an account of the selection.

    frames_selected = frames_sent + frames_already_annotated + frames_already_out + frames_unreadable.
    """

    campaign: Campaign | None
    counts: Mapping[str, int]
    quarantine: pa.Table


def _forget(_: Campaign) -> None:
    """Remember nothing."""


def hand_off(
    request: HandOffRequest, progress: Progress = silent, remember: Callable[[Campaign], None] = _forget
) -> HandedOff:
    """Write the campaign that `request` asks for and return it; the same request is the same campaign.

    Killed anywhere and run again, it ends in the same folder. `remember` hears of the campaign before it is whole, so
    that nobody can answer what is not known. A class of a frame that another campaign has asked for, and still awaits
    or has got, is not asked for again: the manifest then lacks it, the id does not. Of a campaign that is there nothing
    is taken back, nor of what came back to it; what it lacks and nobody else asks for any more, and pictures that could
    not be read, are added.

    Raises:
        InvalidInputError: a selected frame is not in the tables, or is in a split of the other purpose.
    """
    missing = _missing(request)
    selected = len(set(request.selection["frame_id"].to_pylist()))
    campaign_id = campaign_key(request.purpose, request.classes, request.labeling.guideline, missing)
    there = _manifest_there(request.store, campaign_id)
    out = classes_out(request.store, request.purpose, but=campaign_id)
    asked = _still_to_ask(missing, out, there)
    manifest, unreadable = _write_pictures(request, _manifest(request, campaign_id, asked), progress)
    added = bool(manifest.frames)
    manifest = manifest if there is None else _grown(there, manifest)
    if manifest.frames:
        remember(campaign_of(request.store, manifest))
    if added:
        folder = campaign_uri(request.store, campaign_id)
        write_bytes(join(folder, "returns.schema.json"), published_returns_schema())
        write_bytes(join(folder, MANIFEST_NAME), encode_manifest(manifest))
    if any(not out.get(frame.frame_id, frozenset()).issuperset(frame.missing_classes) for frame in manifest.frames):
        reopen_campaign(request.store, campaign_id)
    return _handed_off(request, manifest, (selected, len(missing)), unreadable)


def _manifest_there(store: str, campaign_id: str) -> CampaignManifest | None:
    """Return the manifest of a campaign; None where it was not sent yet, not to its end, or was damaged since."""
    try:
        return open_manifest(store, campaign_id)
    except (NotFoundError, BrokenDataError):
        return None


def _still_to_ask(
    missing: Mapping[str, tuple[str, ...]], out: Mapping[str, frozenset[str]], there: CampaignManifest | None
) -> dict[str, tuple[str, ...]]:
    """Return the missing classes of each frame that no other campaign asks for, nor the one that is `there`."""
    mine = {frame.frame_id: frame.missing_classes for frame in there.frames} if there else {}
    asked = {
        frame_id: tuple(
            name for name in names if name not in out.get(frame_id, ()) and name not in mine.get(frame_id, ())
        )
        for frame_id, names in missing.items()
    }
    return {frame_id: names for frame_id, names in asked.items() if names}


def _grown(there: CampaignManifest, added: CampaignManifest) -> CampaignManifest:
    """Return the manifest that is `there` with the frames and classes of `added`; new frames come last."""
    more = {frame.frame_id: frame for frame in added.frames}
    known = [_with_more(frame, more.pop(frame.frame_id, None)) for frame in there.frames]
    return replace(there, frames=(*known, *more.values()))


def _with_more(frame: SentFrame, more: SentFrame | None) -> SentFrame:
    if more is None:
        return frame
    ids = {box.box_id for box in frame.prelabels}
    boxes = (*frame.prelabels, *(box for box in more.prelabels if box.box_id not in ids))
    return replace(frame, missing_classes=(*frame.missing_classes, *more.missing_classes), prelabels=boxes)


def _missing(request: HandOffRequest) -> dict[str, tuple[str, ...]]:
    """Return the missing classes of every selected frame that has any, in the order of the selection."""
    wanted = list(dict.fromkeys(request.selection["frame_id"].to_pylist()))
    frames = request.tables.frames.filter(pc.is_in(request.tables.frames["frame_id"], pa.array(wanted, pa.string())))
    known = {row["frame_id"]: row for row in frames.select(["frame_id", "split", "annotated_classes"]).to_pylist()}
    _refuse("are not in the snapshot", [frame_id for frame_id in wanted if frame_id not in known])
    is_holdout = request.purpose == "holdout"
    odd = [frame_id for frame_id in wanted if (known[frame_id]["split"] == "holdout") != is_holdout]
    _refuse(f"are in a split that a campaign for {request.purpose} must not touch", odd)
    missing = {
        frame_id: tuple(name for name in request.classes if name not in known[frame_id]["annotated_classes"])
        for frame_id in wanted
    }
    return {frame_id: names for frame_id, names in missing.items() if names}


def _refuse(what: str, frame_ids: list[str]) -> None:
    if frame_ids:
        raise InvalidInputError(f"{len(frame_ids)} frames to label {what}, e.g. {', '.join(frame_ids[:5])}.")


def _manifest(request: HandOffRequest, campaign_id: str, asked: Mapping[str, tuple[str, ...]]) -> CampaignManifest:
    ids = pa.array(list(asked), pa.string())
    looks = _columns(request.tables.frames, ids, ("width", "height", "media_type"))
    places = _columns(request.tables.sources, ids, ("drive", "camera", "captured_ns"))
    boxes = sent_boxes(request.tables, request.prelabels, asked, request.labeling.prelabel_min_score)
    frames = []
    for frame_id, names in asked.items():
        width, height, media_type = looks[frame_id]
        drive, camera, captured_ns = places.get(frame_id, ("", "", None))
        frames.append(
            SentFrame(
                frame_id=frame_id,
                picture=f"images/{frame_id}.{_EXTENSIONS.get(media_type, 'bin')}",
                width=width,
                height=height,
                missing_classes=names,
                prelabels=boxes.get(frame_id, ()),
                drive=drive or "",
                camera=camera or "",
                captured_ns=captured_ns,
            )
        )
    return CampaignManifest(
        campaign_id=campaign_id,
        purpose=request.purpose,
        classes=request.classes,
        guideline=request.labeling.guideline,
        aliases={name: meant for name, meant in request.aliases.items() if meant in request.classes},
        frames=tuple(frames),
    )


def _columns(table: pa.Table, ids: pa.Array, names: tuple[str, ...]) -> dict[str, tuple[Any, ...]]:
    """Return the values of `names` in the first row of each frame."""
    rows = table.filter(pc.is_in(table["frame_id"], ids))
    found: dict[str, tuple[Any, ...]] = {}
    for frame_id, *values in zip(*(rows[name].to_pylist() for name in ("frame_id", *names)), strict=True):
        found.setdefault(frame_id, tuple(values))
    return found


def _write_pictures(
    request: HandOffRequest, manifest: CampaignManifest, progress: Progress
) -> tuple[CampaignManifest, list[dict[str, Json]]]:
    """Copy the pictures that are not there yet; return the manifest of those that could be read, and the others."""
    folder = campaign_uri(request.store, manifest.campaign_id)
    there = _there(folder) if manifest.frames else set()
    unreadable: dict[str, dict[str, Json]] = {}

    def copy(frame: SentFrame) -> None:
        if frame.picture in there:
            return
        try:
            write_bytes(join(folder, frame.picture), request.pixels.read(frame.frame_id))
        except (NotFoundError, IntegrityError) as error:
            unreadable[frame.frame_id] = _unreadable_row(manifest, frame, error)

    with ThreadPoolExecutor(_WRITERS, thread_name_prefix="pictures") as pool:
        for done, _ in enumerate(pool.map(copy, manifest.frames), start=1):
            progress(done, len(manifest.frames), "pictures")
    frames = tuple(frame for frame in manifest.frames if frame.frame_id not in unreadable)
    return replace(manifest, frames=frames), [unreadable[key] for key in sorted(unreadable)]


def _there(folder: str) -> set[str]:
    try:
        return {f"images/{item.path}" for item in list_objects(join(folder, "images"))}
    except NotFoundError:
        return set()


def _unreadable_row(manifest: CampaignManifest, frame: SentFrame, error: DriveflowError) -> dict[str, Json]:
    reason = "missing" if isinstance(error, NotFoundError) else "wrong_digest"
    return {
        "batch": f"campaign:{manifest.campaign_id}",
        "path": frame.picture,
        "reason": reason,
        "detail": str(error),
        "byte_count": None,
        "line": None,
    }


def _handed_off(
    request: HandOffRequest, manifest: CampaignManifest, sizes: tuple[int, int], unreadable: list[dict[str, Json]]
) -> HandedOff:
    selected, missing = sizes
    sent = len(manifest.frames)
    counts = {
        "frames_selected": selected,
        "frames_sent": sent,
        "frames_already_annotated": selected - missing,
        "frames_already_out": missing - sent - len(unreadable),
        "frames_unreadable": len(unreadable),
        "prelabels_sent": sum(len(frame.prelabels) for frame in manifest.frames),
    }
    quarantine = pa.Table.from_pylist(unreadable, columns.QUARANTINE)
    return HandedOff(campaign_of(request.store, manifest) if sent else None, counts, quarantine)
