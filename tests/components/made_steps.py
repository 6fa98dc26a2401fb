"""A small store with pictures, for tests of the work inside steps."""

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlparse

import cv2
import numpy as np
import pyarrow as pa

from driveflow import tables
from driveflow.canonical import Json, digest_bytes
from driveflow.ledger.ledger import open_ledger
from driveflow.place import Place
from driveflow.snapshots import Beside, Snapshot, SnapshotTables, write_snapshot
from driveflow.steps import StepContext, StepProgress
from tests.strategies import CLASSES, box_row, frame_row, source_row


def context(folder: Path, settings: dict[str, Json]) -> StepContext:
    """What a step gets whose store, ledger and scratch lie in `folder`."""
    ledger = f"sqlite:///{folder}/ledger.db"
    place = Place("local", (folder / "store").as_uri(), ledger, str(folder / "scratch"))
    return StepContext(place, "run-1", open_ledger(ledger), settings, StepProgress())


def pictures_snapshot(store: str, count: int = 4, images: Sequence[np.ndarray] = ()) -> Snapshot:
    """A snapshot of pictures of noise, or of `images`; the first half is labeled, each with one car."""
    folder = Path(unquote(urlparse(store).path)).parent / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    frames, sources, boxes, locations = [], [], [], []
    for number, image in enumerate(images or [_noise(number) for number in range(count)]):
        data = cv2.imencode(".png", image)[1].tobytes()
        frame_id, path = digest_bytes(data), folder / f"{number}.png"
        path.write_bytes(data)
        labeled = number < (len(images) or count) // 2
        frames.append(frame_row(frame_id, annotated_classes=list(CLASSES) if labeled else []))
        sources.append(source_row(frame_id, path=f"{number}.png", drive=f"d{number}"))
        if labeled:
            boxes.append(box_row(frame_id, "b", "car", x1=8.0, y1=8.0, x2=40.0, y2=40.0))
        locations.append({"frame_id": frame_id, "uri": path.as_uri(), "offset": 0, "length": len(data)})
    built = SnapshotTables(
        pa.Table.from_pylist(frames, tables.FRAMES),
        pa.Table.from_pylist(sources, tables.SOURCES),
        pa.Table.from_pylist(boxes, tables.BOXES),
        CLASSES,
    )
    return write_snapshot(store, built, Beside(locations=pa.Table.from_pylist(locations, tables.LOCATIONS)), {})


def _noise(seed: int) -> np.ndarray:
    coarse = np.random.default_rng(seed).integers(0, 256, (6, 8, 3), dtype=np.uint8)
    return cv2.resize(coarse, (64, 48))
