"""Pictures of frames for the pages that the filters write."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from driveflow.errors import DriveflowError
from driveflow.images.decode import Pixels, decode_rgb
from driveflow.images.frame_bytes import FrameBytes
from driveflow.pages import html
from driveflow.pages.pictures import Box, Colour, thumbnail_data_uri
from driveflow.snapshots import SnapshotTables

_SIDE_PX, _QUALITY = 280, 70
_PAIR_HEIGHT_PX, _GAP_PX = 200, 6
_TRUTH: Colour = (80, 200, 80)
_GUESS: Colour = (255, 160, 40)


@dataclass(slots=True)
class Album:
    """Makes pictures of frames with their boxes; frames that cannot be read are left out."""

    tables: SnapshotTables
    pixels: FrameBytes
    predictions: pa.Table | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    boxes: dict[str, list[Box]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        sources = self.tables.sources
        columns = [sources[name].to_pylist() for name in ("frame_id", "batch", "path")]
        # The last one written wins, so the first source of a frame names it.
        self.names = {frame: f"{batch}/{path}" for frame, batch, path in reversed(list(zip(*columns, strict=True)))}
        self._note_boxes(self.tables.boxes, _TRUTH)
        if self.predictions is not None:
            self._note_boxes(self.predictions, _GUESS)

    def row(self, items: Iterable[tuple[str, str, str]], caption: str) -> html.Html:
        """Return the pictures of (frame, role, more) side by side."""
        return _gallery([self._figure(*item) for item in items], caption)

    def pairs(self, items: Iterable[tuple[str, str, str]], caption: str, right: str = "dropped") -> html.Html:
        """Return for each (kept, other, more) one picture: the kept frame left, on the right one that is `right`."""
        return _gallery([self._pair(*item, right) for item in items], caption)

    def _figure(self, frame_id: str, role: str, more: str) -> html.Picture | None:
        image = self._image(frame_id)
        if image is None:
            return None
        uri = thumbnail_data_uri(image, self.boxes.get(frame_id, ()), _SIDE_PX, _QUALITY)
        caption = html.join([html.badge(role), " ", html.path(self._name(frame_id)), f" {more}"])
        return html.Picture(uri, f"{role}: {self._name(frame_id)}", caption)

    def _pair(self, kept: str, other: str, more: str, right: str) -> html.Picture | None:
        images = [self._image(kept), self._image(other)]
        if images[0] is None or images[1] is None:
            return None
        uri = thumbnail_data_uri(_side_by_side(images[0], images[1]), (), 2 * _SIDE_PX, _QUALITY)
        names = self._name(kept), self._name(other)
        caption = html.join([html.path(names[0]), " | ", html.path(names[1]), f" {more}"])
        return html.Picture(uri, f"kept {names[0]}, {right} {names[1]}", caption)

    def _image(self, frame_id: str) -> Pixels | None:
        try:
            return decode_rgb(self.pixels.read(frame_id))
        except DriveflowError:
            return None

    def _name(self, frame_id: str) -> str:
        return self.names.get(frame_id, frame_id[:12])

    def _note_boxes(self, table: pa.Table, colour: Colour) -> None:
        names = ("frame_id", "x1", "y1", "x2", "y2", "class_name", "score")
        for frame_id, *box, score in zip(*(table[name].to_pylist() for name in names), strict=True):
            label = box[4] if score is None else f"{box[4]} {score:.2f}"
            self.boxes.setdefault(frame_id, []).append((*box[:4], label, colour, score is not None))


def _gallery(pictures: Sequence[html.Picture | None], caption: str) -> html.Html:
    shown = [picture for picture in pictures if picture is not None]
    return html.gallery(shown, caption) if shown else html.paragraph("No picture to show.")


def _side_by_side(left: Pixels, right: Pixels) -> Pixels:
    import cv2

    parts = []
    for image in (left, right):
        width = max(1, round(image.shape[1] * _PAIR_HEIGHT_PX / image.shape[0]))
        parts.append(cv2.resize(image, (width, _PAIR_HEIGHT_PX), interpolation=cv2.INTER_AREA))
    gap = np.full((_PAIR_HEIGHT_PX, _GAP_PX, 3), 255, np.uint8)
    return np.asarray(np.hstack([parts[0], gap, parts[1]]), dtype=np.uint8)
