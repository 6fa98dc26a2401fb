"""Play the annotators of a campaign: answer from the truth, now and then wrongly, as people do."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from driveflow.canonical import Json, canonical_json, digest, digest_bytes
from driveflow.errors import BrokenDataError, UsageError
from driveflow.storage.objects import join, read_bytes, write_bytes
from sample.paint import TruthBox
from sample.truth import TruthFrame, read_truth

_MISSING_SHARE = 0.04  # of the frames, never answered; at least one where there are three
_JITTER_PX = 0.5
_MIN_SIDE_PX = 3.0
_SAME_IOU = 0.5


@dataclass(frozen=True, slots=True)
class SentBox:
    """A box that was sent to start from."""

    box_id: str
    class_name: str
    x1: float
    y1: float
    x2: float
    y2: float


@dataclass(frozen=True, slots=True)
class SentFrame:
    """A picture that was sent, and what to look for in it."""

    frame_id: str
    missing_classes: tuple[str, ...]
    prelabels: tuple[SentBox, ...] = ()


@dataclass(frozen=True, slots=True)
class Campaign:
    """What a campaign.json says; all else in it is no matter here."""

    campaign_id: str
    purpose: str
    guideline: str
    frames: tuple[SentFrame, ...]


@dataclass(frozen=True, slots=True)
class Answers:
    """What the annotators did."""

    campaign_id: str
    sent: int
    answered: int  # different frames
    missing: int
    not_in_truth: int
    unknown: int  # answers about a frame that was never sent
    twice: int
    boxes: int
    kept_box_ids: int
    files: tuple[str, ...]


def annotate(campaign_uri: str, truth_uri: str, seed: int = 0) -> Answers:
    """Answer the campaign at `campaign_uri` from the truth at `truth_uri`; doing so again changes nothing.

    Raises:
        NotFoundError: there is no campaign, or no truth.
        UsageError: the truth knows none of the frames.
    """
    uri = campaign_uri.rstrip("/").removesuffix("/campaign.json")
    campaign, truth = _read_campaign(join(uri, "campaign.json")), read_truth(truth_uri)
    known = [frame for frame in campaign.frames if frame.frame_id in truth.frames]
    if campaign.frames and not known:
        raise UsageError(
            f"{truth_uri} knows none of the {len(campaign.frames)} frames of {uri}; is it the truth of another sample?"
        )
    asked = _without_missing(known, campaign.campaign_id, seed)
    answers = [_answer(frame, truth.frames[frame.frame_id], _generator(seed, frame.frame_id, 0)) for frame in asked]
    ada, ben = answers[::2], answers[1::2]
    if asked:
        again = _generator(seed, asked[0].frame_id, 1)
        ada, ben = [*ada, _unknown(campaign)], [*ben, _answer(asked[0], truth.frames[asked[0].frame_id], again)]
    files = [_send(uri, campaign, name, frames) for name, frames in (("ada", ada), ("ben", ben)) if frames]
    return _count(campaign, known, answers, files)


def _read_campaign(uri: str) -> Campaign:
    try:
        return msgspec.json.decode(read_bytes(uri), type=Campaign)
    except msgspec.DecodeError as error:
        raise BrokenDataError("no_campaign", f"{uri} is no campaign: {error}") from error


def _without_missing(frames: Sequence[SentFrame], campaign_id: str, seed: int) -> list[SentFrame]:
    """Return the frames that get an answer, in an order of the annotators' own."""
    order = sorted(frames, key=lambda frame: digest([seed, campaign_id, frame.frame_id]))
    missing = max(1, round(len(order) * _MISSING_SHARE)) if len(order) >= 3 else 0
    return order[missing:]


def _generator(seed: int, frame_id: str, turn: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64([seed, int(digest(frame_id)[:12], 16), turn]))


def _answer(frame: SentFrame, truth: TruthFrame, rng: np.random.Generator) -> dict[str, Json]:
    wanted = [box for box in truth.boxes if box.class_name in frame.missing_classes]
    free = list(frame.prelabels)
    boxes: list[Json] = []
    for box in wanted:
        sent = _take_match(box, free)
        drawn = _draw(box, truth, rng)
        boxes.append({**({"box_id": sent.box_id} if sent else {}), "class_name": box.class_name, **drawn})
    return {"frame_id": frame.frame_id, "annotated_classes": sorted(frame.missing_classes), "boxes": boxes}


def _take_match(box: TruthBox, free: list[SentBox]) -> SentBox | None:
    """Take the sent box that lies where `box` does out of `free`."""
    best = max(free, key=lambda sent: (iou(box, sent), sent.box_id), default=None)
    if best is None or iou(box, best) <= _SAME_IOU:
        return None
    free.remove(best)
    return best


def iou(left: TruthBox | SentBox, right: TruthBox | SentBox) -> float:
    """Return the share of two boxes that they have in common.

    >>> iou(TruthBox("car", 0, 0, 2, 1), TruthBox("car", 1, 0, 3, 1))
    0.3333333333333333
    """
    width = min(left.x2, right.x2) - max(left.x1, right.x1)
    height = min(left.y2, right.y2) - max(left.y1, right.y1)
    if width <= 0 or height <= 0:
        return 0.0
    both = width * height
    return both / ((left.x2 - left.x1) * (left.y2 - left.y1) + (right.x2 - right.x1) * (right.y2 - right.y1) - both)


def _draw(box: TruthBox, truth: TruthFrame, rng: np.random.Generator) -> dict[str, Json]:
    """Return the corners as a hand draws them: a little off, inside the picture."""
    off = np.clip(rng.normal(0.0, _JITTER_PX, size=4), -1.2, 1.2).tolist()
    x1, y1 = max(box.x1 + off[0], 0.0), max(box.y1 + off[1], 0.0)
    x2 = min(max(box.x2 + off[2], x1 + _MIN_SIDE_PX), float(truth.width))
    y2 = min(max(box.y2 + off[3], y1 + _MIN_SIDE_PX), float(truth.height))
    return {"x1": round(x1, 2), "y1": round(y1, 2), "x2": round(x2, 2), "y2": round(y2, 2)}


def _unknown(campaign: Campaign) -> dict[str, Json]:
    """Return an answer about a frame that is in no campaign."""
    classes = sorted({name for frame in campaign.frames for name in frame.missing_classes})
    return {"frame_id": digest(["nobody sent this", campaign.campaign_id]), "annotated_classes": classes, "boxes": []}


def _send(uri: str, campaign: Campaign, annotator: str, frames: Sequence[Json]) -> str:
    content: Mapping[str, Json] = {
        "campaign_id": campaign.campaign_id,
        "purpose": campaign.purpose,
        "annotator": annotator,
        "guideline": campaign.guideline,
        "frames": frames,
    }
    data = canonical_json(content).encode()
    name = f"{annotator}-{digest_bytes(data)[:16]}.json"
    write_bytes(join(uri, "returns", name), data, if_absent=True)
    return name


def _count(
    campaign: Campaign, known: Sequence[SentFrame], answers: Sequence[Mapping[str, Json]], files: Sequence[str]
) -> Answers:
    boxes = [box for answer in answers for box in json.loads(canonical_json(answer["boxes"]))]
    return Answers(
        campaign_id=campaign.campaign_id,
        sent=len(campaign.frames),
        answered=len(answers),
        missing=len(known) - len(answers),
        not_in_truth=len(campaign.frames) - len(known),
        unknown=int(bool(answers)),
        twice=int(bool(answers)),
        boxes=len(boxes),
        kept_box_ids=sum("box_id" in box for box in boxes),
        files=tuple(files),
    )
