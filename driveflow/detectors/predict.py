"""Run a detector on frames, each frame once for all runs."""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from os import cpu_count
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from driveflow.canonical import digest
from driveflow.detectors.detector import Detections, Detector
from driveflow.images.decode import decode_rgb
from driveflow.images.pixels import PixelReader
from driveflow.part_files import read_parts, write_part
from driveflow.progress import Progress, silent
from driveflow.storage.objects import join
from driveflow.tables import PREDICTIONS

# Raise `version` when the way from pixels to boxes changes: predictions made another way are never mixed in.
PREDICTOR: Final = digest({"name": "predict", "version": 1})[:16]
_PART_FRAMES: Final = 512  # so much is lost at most when a run is killed
_SORT: Final = [("frame_id", "ascending"), ("box_id", "ascending")]


class PredictionStore:
    """Predictions by (frame, model) under `<store>/predictions/<model digest>/`, in parts named by their own digest.

    Parts are only ever added, so several processes may append at once; a damaged part counts as missing. A frame in
    which nothing was found has one row without a class, so that it is known to have been looked at.
    """

    def __init__(self, store: str) -> None:
        self._store = store

    def load(self, model_digest: str, frame_ids: Iterable[str]) -> pa.Table:
        """Return the rows that are known of `frame_ids`, those of frames without boxes included."""
        wanted = pa.array(list(frame_ids), pa.string())
        parts = [part.filter(pc.is_in(part["frame_id"], value_set=wanted)) for part in self._parts(model_digest)]
        found = pa.concat_tables(parts) if parts else PREDICTIONS.empty_table()
        return _first_of_each(found.sort_by(_SORT))

    def append(self, model_digest: str, rows: pa.Table) -> None:
        """Keep `rows`; keeping them twice changes nothing."""
        write_part(self._folder(model_digest), rows.sort_by(_SORT).combine_chunks())

    def _folder(self, model_digest: str) -> str:
        return join(self._store, "predictions", model_digest, PREDICTOR)

    def _parts(self, model_digest: str) -> Iterator[pa.Table]:
        return (part.select(PREDICTIONS.names).cast(PREDICTIONS) for part in read_parts(self._folder(model_digest)))


def predict_frames(
    detector: Detector,
    pixels: PixelReader,
    frame_ids: Iterable[str] | pa.Array | pa.ChunkedArray,
    store: PredictionStore,
    progress: Progress = silent,
) -> pa.Table:
    """Return what `detector` sees in the frames (PREDICTIONS), sorted by frame, best first within one.

    Whatever the order and company of the frames, a frame's rows are the same; what `store` knows is not computed again.

    Raises:
        NotFoundError, IntegrityError: a frame's bytes cannot be read, or the model does not answer as it declares.
        BrokenDataError: a frame cannot be decoded.
    """
    ids = frame_ids.to_pylist() if isinstance(frame_ids, pa.Array | pa.ChunkedArray) else list(frame_ids)
    wanted = sorted(set(ids))
    known = store.load(detector.digest, wanted)
    missing = sorted(set(wanted) - set(known["frame_id"].to_pylist()))
    tables = [known]
    progress(len(wanted) - len(missing), len(wanted), "frames looked at")
    for start in range(0, len(missing), _PART_FRAMES):
        rows: list[dict[str, object]] = []
        for batch in _batches(pixels.read_many(missing[start : start + _PART_FRAMES]), detector.batch_frames):
            rows += _predict_batch(detector, batch)
            progress(len(wanted) - len(missing) + start + _frames_in(rows), len(wanted), "frames looked at")
        tables.append(pa.Table.from_pylist(rows, schema=PREDICTIONS))
        store.append(detector.digest, tables[-1])
    everything = pa.concat_tables(tables).sort_by(_SORT)
    return everything.filter(pc.is_valid(everything["class_name"])).combine_chunks()


def _batches(frames: Iterator[tuple[str, bytes]], size: int) -> Iterator[list[tuple[str, bytes]]]:
    while batch := list(islice(frames, size)):
        yield batch


def _predict_batch(detector: Detector, batch: Sequence[tuple[str, bytes]]) -> Iterator[dict[str, object]]:
    with ThreadPoolExecutor(cpu_count() or 1) as pool:
        images = list(pool.map(lambda frame: decode_rgb(frame[1]), batch))
    for (frame_id, _), found in zip(batch, detector.predict(images), strict=True):
        yield from _rows(frame_id, found, f"model:{detector.digest}")


def _rows(frame_id: str, found: Detections, origin: str) -> Iterator[dict[str, object]]:
    fixed = {"frame_id": frame_id, "origin": origin, "ignore": False, "attributes": "{}"}
    if not found.class_names:
        yield {**fixed, "box_id": ""}
    for rank, (box, score, name) in enumerate(
        zip(found.boxes.tolist(), found.scores.tolist(), found.class_names, strict=True)
    ):
        sides = dict(zip(("x1", "y1", "x2", "y2"), box, strict=True))
        yield {**fixed, **sides, "box_id": f"p{rank:04d}", "class_name": name, "score": score}


def _frames_in(rows: Sequence[dict[str, object]]) -> int:
    return len({row["frame_id"] for row in rows})


def _first_of_each(rows: pa.Table) -> pa.Table:
    """Drop rows that two processes wrote both; they are equal, a model being deterministic."""
    frames, boxes = rows["frame_id"].to_pylist(), rows["box_id"].to_pylist()
    keys = list(zip(frames, boxes, strict=True))
    return rows.filter(pa.array([at == 0 or key != keys[at - 1] for at, key in enumerate(keys)], pa.bool_()))
