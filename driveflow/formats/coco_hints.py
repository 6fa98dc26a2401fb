"""What a COCO file may say beside names, sizes and boxes, which most files do not."""

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from driveflow.canonical import canonical_json
from driveflow.formats.coco_records import CocoImage, key_text, plain_json
from driveflow.formats.scores import odd_scores


def image_hints(images: Sequence[CocoImage], videos: Mapping[str, str], label_file: str) -> dict[str, Sequence[object]]:
    """Return the columns of what most files do not say, where this one does."""
    hints: dict[str, Sequence[object]] = {}
    if not any(map(_is_hinted, images)):
        return hints
    if any(image.drive is not None or image.video_id is not None for image in images):
        hints["drive"] = [_drive(image, videos) for image in images]
    if any(map(_is_numbered, images)):
        hints["sequence"] = [label_file if _is_numbered(image) else "" for image in images]
    if any(image.camera for image in images):
        hints["camera"] = [str(image.camera or "") for image in images]
    if any(image.captured_ns is not None for image in images):
        hints["captured_ns"] = [_nanoseconds(image.captured_ns) for image in images]
    if any(image.attributes for image in images):
        hints["attributes"] = [_image_attributes(image) for image in images]
    return hints


def row_notes(rows: pl.DataFrame, label_file: str) -> Iterator[str]:
    """Yield sentences on annotations as `annotation_columns` has them: odd scores, and masks that CVAT calls crowds."""
    yield from odd_scores("COCO", [rows["score"].min(), rows["score"].max()])
    said = pl.col("attributes").str
    count = rows.filter(pl.col("ignore") & said.contains('"iscrowd":true') & said.contains('"occluded":')).height
    if count:
        told = f"{label_file}: {count} annotations with iscrowd are ignore regions."
        yield f"{told} CVAT writes all masks so, those of one object too; in its own XML these are objects."


def _is_hinted(image: CocoImage) -> bool:
    """Tell whether any hint is there; asked of every picture, and nearly always no."""
    silent = image.drive is None and image.video_id is None and image.frame_id is None and image.frame_index is None
    return not (silent and image.captured_ns is None and not image.camera and not image.attributes)


def _drive(image: CocoImage, videos: Mapping[str, str]) -> str:
    if image.drive is None and image.video_id is None:
        return ""
    video = key_text(image.video_id)
    return str(image.drive or videos.get(video, video))


def _is_numbered(image: CocoImage) -> bool:
    return image.frame_id is not None or image.frame_index is not None


def _nanoseconds(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 else None


def _image_attributes(image: CocoImage) -> str:
    value = plain_json(image.attributes) if image.attributes else None
    return canonical_json(value) if isinstance(value, dict) else "{}"
