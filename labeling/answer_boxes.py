"""The boxes of an answer: where they are, inside their picture, and which id each has."""

import reprlib
from collections.abc import Mapping
from dataclasses import dataclass

from driveflow.canonical import canonical_json, digest
from labeling.manifest import ReturnedBox, SentBox, SentFrame

Corners = tuple[float, float, float, float]
_TURNS = ("rotation", "angle")  # what tools call it; a turned box without its turn would lie elsewhere


@dataclass(frozen=True, slots=True, order=True)
class AnswerBox:
    """A sound box; `box_id` is the sent one where `sent`, else a digest of the box itself."""

    corners: Corners
    box_id: str
    sent: bool
    ignore: bool
    attributes: str  # canonical JSON object


def clip(corners: Corners, width: int, height: int) -> Corners:
    """Return `corners`, put on the edge of the picture where they are outside.

    >>> clip((-0.5, 2.0, 10.0, 9.0), 8, 20)
    (0.0, 2.0, 8.0, 9.0)
    """
    x1, y1, x2, y2 = corners
    return max(0.0, x1), max(0.0, y1), min(float(width), x2), min(float(height), y2)


def corners_of(box: ReturnedBox | SentBox) -> Corners:
    """Return the corners of a box."""
    return box.x1, box.y1, box.x2, box.y2


def content_id(frame_id: str, class_name: str, corners: Corners, attributes: str) -> str:
    """Return the id of a box that annotators drew: a digest of what it says."""
    return digest([frame_id, class_name, *corners, attributes])[:32]


def turn_of(value: object) -> str:
    """Return by how many degrees a tool says that the box `value` is turned, as text; empty where it stands upright.

    >>> turn_of({"rotation": 30}), turn_of({"angle": "-90.0"}), turn_of({"rotation": "180", "angle": 0})
    ('30', "'-90.0'", '')
    """
    stated = [value.get(name) for name in _TURNS] if isinstance(value, dict) else []
    return next((reprlib.repr(turn) for turn in stated if _is_turned(turn)), "")


def _is_turned(turn: object) -> bool:
    if isinstance(turn, str):
        try:
            turn = float(turn.strip().removesuffix("°"))
        except ValueError:
            return False
    return isinstance(turn, int | float) and turn is not True and turn % 180 != 0


@dataclass(frozen=True, slots=True, order=True)
class _Drawn:
    """A sound box before it has its id; `claim` is the sent id it carries, or empty."""

    class_name: str
    corners: Corners
    ignore: bool
    attributes: str
    claim: str


def with_ids(
    frame: SentFrame, found: Mapping[str, list[ReturnedBox]]
) -> tuple[dict[str, tuple[AnswerBox, ...]], tuple[str, ...]]:
    """Give every box its id: a sent id stays with the nearest of the boxes that claim it, others get one by content."""
    sent = {box.box_id: box for box in frame.prelabels}
    drawn = {_drawn(box, frame, sent) for boxes in found.values() for box in boxes}
    claims: dict[str, list[_Drawn]] = {}
    for box in sorted(drawn):
        claims.setdefault(box.claim, []).append(box)
    claims.pop("", None)
    keepers = {min(boxes, key=lambda box: (_shift(box, sent), box)) for boxes in claims.values()}
    named: dict[str, set[AnswerBox]] = {name: set() for name in found}
    for box in drawn:
        named[box.class_name].add(_named(frame.frame_id, box, is_sent=box in keepers))
    copied = tuple(sorted(claim for claim, boxes in claims.items() if len(boxes) > 1))
    return {name: tuple(sorted(boxes)) for name, boxes in named.items()}, copied


def _drawn(box: ReturnedBox, frame: SentFrame, sent: Mapping[str, SentBox]) -> _Drawn:
    origin = sent.get(box.box_id or "")
    stated = box.attributes if box.attributes is not None else origin.attributes if origin else {}
    claim = origin.box_id if origin else ""
    corners = clip(corners_of(box), frame.width, frame.height)
    return _Drawn(box.class_name, corners, box.ignore, canonical_json(dict(stated)) if stated else "{}", claim)


def _named(frame_id: str, box: _Drawn, *, is_sent: bool) -> AnswerBox:
    box_id = box.claim if is_sent else content_id(frame_id, box.class_name, box.corners, box.attributes)
    return AnswerBox(box.corners, box_id, is_sent, box.ignore, box.attributes)


def _shift(box: _Drawn, sent: Mapping[str, SentBox]) -> float:
    return sum(abs(a - b) for a, b in zip(box.corners, corners_of(sent[box.claim]), strict=True))
