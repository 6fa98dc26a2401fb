"""Made pictures of coloured rectangles, as a training snapshot."""

import hashlib
from pathlib import Path

import cv2
import numpy as np
import pyarrow as pa

from driveflow import tables
from driveflow.images.pixels import PixelReader
from driveflow.snapshots import Beside, Snapshot, SnapshotTables, write_snapshot
from tests.strategies import box_row, frame_row, source_row

CLASSES = ("car", "person", "tram")
_COLOURS = {"car": (200, 60, 40), "person": (40, 80, 210)}
_SIDES = {"car": ((24, 44), (14, 24)), "person": ((8, 14), (20, 34))}
WIDTH, HEIGHT = 96, 64


def draw(seed: int) -> tuple[bytes, list[tuple[str, float, float, float, float]]]:
    """A noisy picture with a few cars (wide, red) and persons (tall, blue), and their boxes."""
    random = np.random.default_rng(seed)
    image = random.integers(90, 140, (HEIGHT, WIDTH, 3)).astype(np.uint8)
    boxes: list[tuple[str, float, float, float, float]] = []
    for _ in range(int(random.integers(1, 4))):
        name = str(random.choice(["car", "person"]))
        width, height = (int(random.integers(*limits)) for limits in _SIDES[name])
        x, y = int(random.integers(0, WIDTH - width)), int(random.integers(0, HEIGHT - height))
        if not any(x < b[3] and b[1] < x + width and y < b[4] and b[2] < y + height for b in boxes):
            image[y : y + height, x : x + width] = _COLOURS[name]
            boxes.append((name, x, y, x + width, y + height))
    return cv2.imencode(".png", image[:, :, ::-1])[1].tobytes(), boxes


def make_snapshot(folder: Path, train: int, val: int = 0, first_seed: int = 0) -> tuple[Snapshot, PixelReader]:
    """A snapshot of drawn pictures under `folder`; nobody looked for trams."""
    frames, sources, boxes, places = [], [], [], []
    for number in range(train + val):
        data, found = draw(first_seed + number)
        frame_id = hashlib.sha256(data).hexdigest()
        path = folder / "pictures" / f"{frame_id}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        split = "train" if number < train else "val"
        shape = {"width": WIDTH, "height": HEIGHT, "media_type": "image/png", "byte_count": len(data)}
        drive = f"drive-{number}"
        frames.append(frame_row(frame_id, **shape, split=split, drive_group=drive, annotated_classes=["car", "person"]))
        sources.append(source_row(frame_id, path=path.name, drive=drive))
        for place, (name, *sides) in enumerate(found):
            boxes.append(
                box_row(frame_id, f"box-{place}", name, **dict(zip(("x1", "y1", "x2", "y2"), sides, strict=True)))
            )
        places.append({"frame_id": frame_id, "uri": path.as_uri(), "offset": 0, "length": len(data)})
    made = SnapshotTables(
        pa.Table.from_pylist(frames, tables.FRAMES),
        pa.Table.from_pylist(sources, tables.SOURCES),
        pa.Table.from_pylist(boxes, tables.BOXES),
        CLASSES,
    )
    locations = pa.Table.from_pylist(places, tables.LOCATIONS)
    snapshot = write_snapshot((folder / "store").as_uri(), made, Beside(locations=locations), {"step": "made"})
    return snapshot, PixelReader(locations)
