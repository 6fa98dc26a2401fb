"""Say how far a campaign is."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from labeling.campaigns import BrokenCampaign, is_closed, list_returns, open_manifest, read_return
from labeling.manifest import CampaignManifest, Purpose
from labeling.returns import Readings, answered_pairs, boxes_that_count, read_returns, refusal_rows

CampaignState: TypeAlias = Literal["open", "returned", "closed", "broken"]
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class CampaignStatus:
    """How far a campaign is.

    `frames` were sent; `answered` of them have a sound answer about every class that was asked for, `partial` about
    some, `not_returned` about none. `problems` are a few sentences about what could not be used, of `refused` in all.
    """

    campaign_id: str
    purpose: Purpose | None  # None where it is broken
    state: CampaignState
    frames: int
    answered: int
    partial: int
    not_returned: int
    returns: int
    boxes: int
    refused: int
    problems: tuple[str, ...]


def campaign_status(store: str, campaign_id: str) -> CampaignStatus:
    """Return how far a campaign is; a campaign is open until every frame is answered, or somebody closes it.

    Raises:
        NotFoundError: there is no such campaign.
    """
    manifest = open_manifest(store, campaign_id)
    raws = [read_return(item) for item in list_returns(store, [campaign_id])]
    return _status(manifest, read_returns([manifest], raws), closed=is_closed(store, campaign_id))


def broken_status(broken: BrokenCampaign) -> CampaignStatus:
    """Return the status of a campaign of which nothing can be said but that its manifest is broken."""
    nothing = dict.fromkeys(("frames", "answered", "partial", "not_returned", "returns", "boxes", "refused"), 0)
    return CampaignStatus(
        campaign_id=broken.campaign_id, purpose=None, state="broken", problems=(str(broken),), **nothing
    )


def frames_of_box(manifest: CampaignManifest, box_id: str) -> tuple[str, ...]:
    """Return the frames that a sent box belongs to, for tools that tell of a box by its id alone."""
    return tuple(f.frame_id for f in manifest.frames if any(box.box_id == box_id for box in f.prelabels))


def _status(manifest: CampaignManifest, readings: Readings, *, closed: bool) -> CampaignStatus:
    pairs = answered_pairs(readings.entries)
    found = [sum((frame.frame_id, name) in pairs for name in frame.missing_classes) for frame in manifest.frames]
    answered = sum(n == len(frame.missing_classes) for n, frame in zip(found, manifest.frames, strict=True))
    missed = sum(n == 0 for n in found)
    state: CampaignState = "closed" if closed else "returned" if answered == len(manifest.frames) else "open"
    rows = sorted(refusal_rows(readings.refusals), key=lambda row: row["reason"] == "incomplete_class")
    return CampaignStatus(
        campaign_id=manifest.campaign_id,
        purpose=manifest.purpose,
        state=state,
        frames=len(manifest.frames),
        answered=answered,
        partial=len(manifest.frames) - answered - missed,
        not_returned=missed,
        returns=readings.counts["returns_in"],
        boxes=boxes_that_count(readings),
        refused=len(rows),
        problems=tuple(f"{row['path']}: {row['reason']}: {row['detail']}" for row in rows[:_SHOWN]),
    )
