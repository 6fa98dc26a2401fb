"""What goes into an export of a snapshot, whatever its format."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

_EXTENSIONS: Final = {
    "image/jpeg": ".jpg",
    "image/png": ".png",
    "image/webp": ".webp",
    "image/bmp": ".bmp",
    "image/gif": ".gif",
    "image/tiff": ".tif",
    "image/x-portable-anymap": ".ppm",
    "image/avif": ".avif",
    "image/jp2": ".jp2",
}


@dataclass(frozen=True, slots=True)
class Export:
    """Frames and boxes (schemas in `driveflow.tables`), the classes in order, and how to read a frame's bytes."""

    frames: pa.Table
    boxes: pa.Table
    classes: tuple[str, ...]
    read: Callable[[str], bytes]

    def splits(self) -> list[str]:
        """Return the splits that have frames, in order."""
        return sorted(set(self.frames["split"].to_pylist()))

    def frames_of(self, split: str) -> list[dict[str, Any]]:
        """Return the frames of a split as rows, by frame id."""
        rows = [row for row in self.frames.to_pylist() if row["split"] == split]
        return sorted(rows, key=lambda row: str(row["frame_id"]))

    def boxes_by_frame(self) -> dict[str, list[dict[str, Any]]]:
        """Return the boxes as rows, by frame, sorted by box id."""
        found: dict[str, list[dict[str, Any]]] = {}
        for row in sorted(self.boxes.to_pylist(), key=lambda row: (row["frame_id"], row["box_id"])):
            found.setdefault(row["frame_id"], []).append(row)
        return found


def picture_name(frame: dict[str, Any]) -> str:
    """Return the file name of a frame: its id, and the extension that fits its content."""
    return f"{frame['frame_id']}{_EXTENSIONS.get(frame['media_type'], '')}"


def write_pictures(export: Export, folder: Path) -> Iterator[Path]:
    """Write every picture as images/<split>/<frame id>, byte for byte, and yield the paths."""
    for split in export.splits():
        home = folder / "images" / split
        home.mkdir(parents=True, exist_ok=True)
        for frame in export.frames_of(split):
            path = home / picture_name(frame)
            path.write_bytes(export.read(frame["frame_id"]))
            yield path
