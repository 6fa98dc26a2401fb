"""Draw boxes on a picture and put it into a page as a small JPEG."""

import base64
import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from driveflow.pages.clip import clipped

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont, ImageFont

Colour: TypeAlias = tuple[int, int, int]
Box: TypeAlias = tuple[float, float, float, float, str, Colour, bool]  # x1, y1, x2, y2, label, RGB, dashed
Point: TypeAlias = tuple[float, float]
Area: TypeAlias = tuple[float, float, float, float]

MAX_LABEL_CHARS = 24
_DASH_PX, _GAP_PX, _LINE_PX, _FONT_PX = 7.0, 5.0, 2, 13


def thumbnail_data_uri(
    image: NDArray[np.uint8], boxes: Sequence[Box] = (), max_side_px: int = 640, quality: int = 80
) -> str:
    """Return `image` (height x width x 3, RGB) with its boxes drawn, as a JPEG data URI.

    Boxes are in pixels of `image`; the picture is made smaller where its long side is over `max_side_px`, never
    larger. Lines and labels are drawn after that, so they stay as thick at any size. Where labels would cover each
    other, those of later boxes are drawn.

    Raises:
        ValueError: `image` is not such an array.
    """
    from PIL import Image, ImageDraw

    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8 or 0 in image.shape:
        raise ValueError(f"a picture is height x width x 3 of uint8, got {image.shape} of {image.dtype}")
    height, width = image.shape[:2]
    scale = min(1.0, max_side_px / max(width, height))
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    # Resizing shares no memory with `image`, so drawing never touches the caller's pixels.
    picture = Image.fromarray(np.ascontiguousarray(image)).resize(size, Image.Resampling.LANCZOS, reducing_gap=2.0)
    draw = ImageDraw.Draw(picture)
    for box in boxes:
        _draw_outline(draw, box, scale, size)
    _draw_labels(draw, boxes, scale, size)  # after all outlines, so that no line runs through a label
    return _jpeg_data_uri(picture, quality)


def printable_label(text: str) -> str:
    """Return what of `text` the built-in font can draw, clipped to MAX_LABEL_CHARS."""
    drawable = "".join(letter if letter.isprintable() and ord(letter) < 0x250 else "?" for letter in text)
    return clipped(drawable, MAX_LABEL_CHARS)


def _jpeg_data_uri(picture: "Image", quality: int) -> str:
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=quality, optimize=True)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()


def _corners(box: Box, scale: float, size: tuple[int, int]) -> Area:
    """Return the box in pixels of the thumbnail, inside it by half a line so that edges stay visible."""
    half = _LINE_PX / 2
    x1, y1, x2, y2 = (min(max(value * scale, -1e6), 1e6) for value in box[:4])
    left, right = (min(max(value, half), size[0] - 1 - half) for value in (min(x1, x2), max(x1, x2)))
    top, bottom = (min(max(value, half), size[1] - 1 - half) for value in (min(y1, y2), max(y1, y2)))
    return left, top, right, bottom


def _draw_outline(draw: "ImageDraw", box: Box, scale: float, size: tuple[int, int]) -> None:
    x1, y1, x2, y2 = _corners(box, scale, size)
    corners = [(x1, y1), (x2, y1), (x2, y2), (x1, y2)]
    for start, end in zip(corners, [*corners[1:], corners[0]], strict=True):
        for piece in _dashes(start, end) if box[6] else [(start, end)]:
            draw.line(piece, fill=box[5], width=_LINE_PX)


def _dashes(start: Point, end: Point) -> Iterator[tuple[Point, Point]]:
    length = float(np.hypot(end[0] - start[0], end[1] - start[1]))
    if length == 0:
        yield start, end
        return
    unit = ((end[0] - start[0]) / length, (end[1] - start[1]) / length)
    for at in np.arange(0.0, length, _DASH_PX + _GAP_PX).tolist():
        stop = min(at + _DASH_PX, length)
        yield (
            (start[0] + unit[0] * at, start[1] + unit[1] * at),
            (start[0] + unit[0] * stop, start[1] + unit[1] * stop),
        )


def _draw_labels(draw: "ImageDraw", boxes: Sequence[Box], scale: float, size: tuple[int, int]) -> None:
    """Draw labels where they cover no other; a box without such a place goes without, the last boxes come first."""
    taken: list[Area] = []
    for box in reversed(boxes):
        if not box[4]:
            continue
        width = draw.textlength(printable_label(box[4]), font=_font()) + 6
        places = _places(box, _corners(box, scale, size), width, size)
        area = next((place for place in places if not any(_overlap(place, other) for other in taken)), None)
        if area is not None:
            taken.append(area)
            _draw_label(draw, box, area)


def _draw_label(draw: "ImageDraw", box: Box, area: Area) -> None:
    red, green, blue = box[5]
    dark_text = 0.299 * red + 0.587 * green + 0.114 * blue > 140
    draw.rectangle(area, fill=box[5])
    ink = (0, 0, 0) if dark_text else (255, 255, 255)
    draw.text((area[0] + 3, area[1] + 1), printable_label(box[4]), fill=ink, font=_font())


def _places(box: Box, corners: Area, width: float, size: tuple[int, int]) -> Iterator[Area]:
    """Yield where a label may stand, best first: truth above its box, a prediction (dashed) below, then inside."""
    left, top, right, bottom = corners
    height = _FONT_PX + 4
    above, below = top - height, bottom + 1
    rows = [*((below, above) if box[6] else (above, below)), top + 1, bottom - height - 1]
    for y in rows:
        for x in (left - 1, right + 1 - width):
            if 0 <= y <= size[1] - height:
                at = max(0.0, min(x, size[0] - width))
                yield at, y, at + width, y + height


def _overlap(first: Area, second: Area) -> bool:
    return first[0] < second[2] and second[0] < first[2] and first[1] < second[3] and second[1] < first[3]


def _font() -> "FreeTypeFont | ImageFont":
    from PIL import ImageFont

    return ImageFont.load_default(size=_FONT_PX)
