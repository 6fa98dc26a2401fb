"""The vectors of objects: each box is cut out of its picture with a little around it, and embedded once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driveflow.canonical import digest
from driveflow.embeddings.embedder import Embedder
from driveflow.embeddings.vector_store import VectorStore
from driveflow.errors import BrokenDataError, IntegrityError, NotFoundError
from driveflow.images.decode import Pixels, decode_rgb
from driveflow.images.frame_bytes import FrameBytes
from driveflow.progress import Progress, silent
from driveflow.snapshots import SnapshotTables
from filtering.miners.material import ObjectVectors
from filtering.rarity import evidence

_AROUND: Final = 0.1  # of the box's sides, on each side of it
_LEAST_PX: Final = 8  # smaller boxes show nothing that could be compared
_CHUNK_FRAMES: Final = 128
_CORNERS: Final = ("x1", "y1", "x2", "y2")


@dataclass(frozen=True, slots=True)
class ObjectRequest:
    """Whose objects: all labels, and the predictions to believe where nobody looked for their class."""

    tables: SnapshotTables
    predictions: pa.Table | None
    min_score: float

    def boxes(self) -> pa.Table:
        """Return the boxes of train and val that show something, each with the key of its vector."""
        found = evidence(self.tables, self.tables.classes, self.predictions, self.min_score)
        splits = pc.is_in(self.tables.frames["split"], value_set=pa.array(["train", "val"]))
        frames = self.tables.frames["frame_id"].filter(splits).combine_chunks()
        large = [
            pc.greater_equal(pc.subtract(found[high], found[low]), _LEAST_PX)
            for low, high in (("x1", "x2"), ("y1", "y2"))
        ]
        stays = pc.and_(pc.is_in(found["frame_id"], value_set=frames), pc.invert(pc.fill_null(found["ignore"], False)))
        kept = found.filter(pc.and_(stays, pc.and_(*large))).sort_by(
            [("frame_id", "ascending"), ("box_id", "ascending")]
        )
        return kept.append_column("key", pa.array([_key(row) for row in kept.to_pylist()], pa.string()))


def embed_objects(
    request: ObjectRequest, pixels: FrameBytes, embedder: Embedder, store: VectorStore, progress: Progress = silent
) -> ObjectVectors:
    """Return the vector of each object; frames that cannot be read have none."""
    boxes = request.boxes()
    known = store.known(boxes["key"])
    missing = boxes.filter(pc.invert(pc.is_in(boxes["key"], value_set=known)))
    frames = missing["frame_id"].unique().to_pylist()
    for start in range(0, len(frames), _CHUNK_FRAMES):
        _embed_chunk(frames[start : start + _CHUNK_FRAMES], missing, pixels, embedder, store)
        progress(min(start + _CHUNK_FRAMES, len(frames)), len(frames), "frames whose objects are embedded")
    found = store.load(boxes["key"])
    at = pc.index_in(boxes["key"], value_set=found.frame_ids)
    here = boxes.filter(pc.is_valid(at))
    rows = at.drop_null().to_numpy()
    return ObjectVectors(
        tuple(here["frame_id"].to_pylist()), tuple(here["box_id"].to_pylist()), np.asarray(found.vectors[rows])
    )


def cut(image: Pixels, corners: Sequence[float]) -> Pixels:
    """Return the part of `image` in and a tenth around a box, at least a pixel of it."""
    height, width = image.shape[:2]
    x1, y1, x2, y2 = corners
    more_x, more_y = (x2 - x1) * _AROUND, (y2 - y1) * _AROUND
    left, top = (int(np.clip(np.floor(v), 0, side - 1)) for v, side in ((x1 - more_x, width), (y1 - more_y, height)))
    right = int(np.clip(np.ceil(x2 + more_x), left + 1, width))
    bottom = int(np.clip(np.ceil(y2 + more_y), top + 1, height))
    return image[top:bottom, left:right]


def _embed_chunk(
    frames: Sequence[str], boxes: pa.Table, pixels: FrameBytes, embedder: Embedder, store: VectorStore
) -> None:
    keys: list[str] = []
    vectors = []
    for frame_id in frames:
        image = _image(frame_id, pixels)
        rows = boxes.filter(pc.equal(boxes["frame_id"], frame_id)).to_pylist() if image is not None else []
        if image is not None and rows:
            vectors.append(embedder.embed([_png(cut(image, [row[name] for name in _CORNERS])) for row in rows]))
            keys += [row["key"] for row in rows]
    if keys:
        store.append(keys, np.concatenate(vectors))


def _image(frame_id: str, pixels: FrameBytes) -> Pixels | None:
    try:
        return decode_rgb(pixels.read(frame_id))
    except (NotFoundError, IntegrityError, BrokenDataError):
        return None


def _png(image: Pixels) -> bytes:
    import cv2

    return bytes(cv2.imencode(".png", np.ascontiguousarray(image[:, :, ::-1]))[1])


def _key(row: dict[str, object]) -> str:
    return digest(["crop", str(row["frame_id"]), *(round(float(str(row[name])), 3) for name in _CORNERS)])
