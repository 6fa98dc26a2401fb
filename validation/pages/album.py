"""Pictures of a page: drawn on, and made smaller or fewer until all of them fit into what the page may weigh."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final, TypeAlias

import numpy as np

from driveflow.errors import DriveflowError
from driveflow.images.decode import Pixels
from driveflow.pages.clip import short_name
from driveflow.pages.pictures import Box, thumbnail_data_uri

Pictures: TypeAlias = Callable[[str], Pixels]
"""Returns the upright RGB pixels of a frame; raises DriveflowError where it cannot."""
Area: TypeAlias = tuple[float, float, float, float]

NAMED: Final = "; report.json names their frames"
_STEPS: Final = ((900, 78), (640, 72), (480, 66), (360, 58))  # long side in pixels, JPEG quality
_TRIED: Final = 6
_LEAST_CROP_PX: Final = 280
_CROP_TIMES: Final = 3.5  # a crop shows so much more than what it is about


@dataclass(frozen=True, slots=True)
class Wanted:
    """One picture: a frame, the boxes to draw, and what it is about; a small `focus` is shown cut out."""

    frame_id: str
    boxes: tuple[Box, ...]
    focus: Area | None = None


@dataclass(frozen=True, slots=True)
class Made:
    """The pictures in the order wanted: a data URI, or None with a reason why not; and in words what was given up."""

    uris: tuple[str | None, ...]
    reasons: tuple[str, ...]  # of those that are None, in order
    note: str


@dataclass(frozen=True, slots=True)
class _Loaded:
    pixels: Pixels
    boxes: tuple[Box, ...]


def make_pictures(wanted: Sequence[Wanted], pictures: Pictures, most_bytes: int) -> Made:
    """Return as many of the pictures as weigh `most_bytes` together, as large as possible, the first ones first."""
    reasons: list[str] = []
    loaded = list(_load_each(wanted, pictures, reasons))
    there = [item for item in loaded if item is not None]
    uris: list[str] = []
    side, quality = _STEPS[0]
    for side, quality in _STEPS:
        uris = [thumbnail_data_uri(item.pixels, item.boxes, side, quality) for item in there]
        if sum(map(len, uris)) <= most_bytes:
            break
    weights = np.cumsum([len(uri) for uri in uris])
    fitting = int(np.searchsorted(weights, most_bytes, "right"))
    rest = iter(uris[:fitting])
    kept = tuple(next(rest, None) if item is not None else None for item in loaded)
    return Made(kept, tuple(reasons), _note(side, len(uris) - fitting))


def more_pictures(wanted: Sequence[Wanted], pictures: Pictures, most_bytes: int) -> Made:
    """Return pictures of one smaller size, the first ones first, until they weigh `most_bytes`; no frame is read after.

    The size is the largest at which all of them would fit, going by the first few.
    """
    uris: list[str | None] = []
    reasons: list[str] = []
    loaded = _load_each(wanted, pictures, reasons)
    tried = list(islice(loaded, _TRIED))
    side, quality = _fitting_step([item for item in tried if item is not None], most_bytes // max(len(wanted), 1))
    weight = 0
    for item in chain(tried, loaded):
        uri = thumbnail_data_uri(item.pixels, item.boxes, side, quality) if item is not None else None
        weight += len(uri or "")
        if weight > most_bytes:
            break
        uris.append(uri)
    left_out = len(wanted) - len(uris)
    return Made((*uris, *([None] * left_out)), tuple(reasons), _left_out(left_out, "pictures of single classes"))


def _fitting_step(loaded: Sequence[_Loaded], most_bytes: int) -> tuple[int, int]:
    """Return the largest size at which pictures like `loaded` weigh `most_bytes` each, else the smallest."""
    for side, quality in _STEPS[1:]:
        uris = [thumbnail_data_uri(item.pixels, item.boxes, side, quality) for item in loaded]
        if sum(map(len, uris)) <= most_bytes * len(uris):
            return side, quality
    return _STEPS[-1]


def _note(side: int, left_out: int) -> str:
    parts = []
    if side != _STEPS[0][0]:
        parts.append(f"Pictures are reduced to {side} px to keep this page under 5 MB.")
    return " ".join([*parts, _left_out(left_out, "pictures")]).strip()


def _left_out(count: int, what: str) -> str:
    if not count:
        return ""
    return f"{count} more {what} are left out to keep this page under 5 MB{NAMED}."


def _load_each(wanted: Sequence[Wanted], pictures: Pictures, reasons: list[str]) -> Iterator[_Loaded | None]:
    """Yield what there is to draw; None, and one of `reasons` more, where a frame cannot be read."""
    for item in wanted:
        loaded = None
        try:
            loaded = _load(item, pictures(item.frame_id))
        except DriveflowError as error:
            reasons.append(f"Frame {short_name(item.frame_id)}: {error}")
        yield loaded


def _load(item: Wanted, pixels: Pixels) -> _Loaded:
    """Cut out what the picture is about and reduce it, so that many large frames are never held at once."""
    height, width = pixels.shape[:2]
    left, top, right, bottom = _window(item.focus, width, height)
    part = pixels[top:bottom, left:right]
    boxes = [_moved(box, left, top) for box in item.boxes if _meets(box, (left, top, right, bottom))]
    scale = _STEPS[0][0] / max(part.shape[:2])
    if scale >= 1:
        return _Loaded(np.ascontiguousarray(part), tuple(boxes))
    from PIL import Image

    size = (max(1, round(part.shape[1] * scale)), max(1, round(part.shape[0] * scale)))
    small = Image.fromarray(np.ascontiguousarray(part)).resize(size, Image.Resampling.LANCZOS, reducing_gap=2.0)
    return _Loaded(np.asarray(small, dtype=np.uint8), tuple(_scaled(box, scale) for box in boxes))


def _window(focus: Area | None, width: int, height: int) -> tuple[int, int, int, int]:
    """Return what to show, in the frame's own shape: all of it, unless the focus is a small part of it."""
    if focus is None:
        return 0, 0, width, height
    share = max((focus[2] - focus[0]) / width, (focus[3] - focus[1]) / height) * _CROP_TIMES
    share = max(share, _LEAST_CROP_PX / max(width, height))
    if not share < 0.75:
        return 0, 0, width, height
    wide, high = max(1, round(width * share)), max(1, round(height * share))
    left = round(min(max((focus[0] + focus[2] - wide) / 2, 0), width - wide))
    top = round(min(max((focus[1] + focus[3] - high) / 2, 0), height - high))
    return left, top, left + wide, top + high


def _meets(box: Box, window: tuple[int, int, int, int]) -> bool:
    return box[0] < window[2] and box[2] > window[0] and box[1] < window[3] and box[3] > window[1]


def _moved(box: Box, left: int, top: int) -> Box:
    return (box[0] - left, box[1] - top, box[2] - left, box[3] - top, *box[4:])


def _scaled(box: Box, scale: float) -> Box:
    return (box[0] * scale, box[1] * scale, box[2] * scale, box[3] * scale, *box[4:])
