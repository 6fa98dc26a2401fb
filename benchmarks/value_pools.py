"""The frames and true labels on which the value experiment runs."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.value_experiment import LEAST_SCORE, Pool
from driveflow import tables
from driveflow.canonical import canonical_json, digest_bytes
from driveflow.embeddings.catalog import BUILT_IN, load_embedder
from driveflow.embeddings.vector_store import VectorStore
from driveflow.flow.sections import BatchSection
from driveflow.images.pixels import PixelReader
from driveflow.signal_store import SignalStore
from driveflow.snapshots import SnapshotTables
from filtering.fingerprint import fingerprint_frames
from filtering.miners.crops import ObjectRequest, embed_objects
from filtering.miners.material import ObjectVectors

_MEDIA = "image/jpeg"


def sample_pool(folder: Path, store: str, frames: int, seed: int) -> tuple[Pool, pa.Table]:
    """Return the sample drives with their whole truth, and where the pictures lie; e-bikes are rare in them."""
    from sample.generate import SampleSettings, generate
    from sample.plan import plan_drives
    from sample.truth import read_truth

    generate(folder, SampleSettings(frames, seed))
    truth = read_truth((folder.absolute() / "truth").as_uri())
    held_out = {plan.name for plan in plan_drives(frames, seed) if plan.holdout}
    frame_rows, source_rows, box_rows, places = [], [], [], {}
    for path in sorted(folder.absolute().rglob("*.jpg")):
        data = path.read_bytes()
        frame_id = digest_bytes(data)
        frame = truth.frames.get(frame_id)
        if frame is None or frame_id in places:
            continue
        places[frame_id] = {"frame_id": frame_id, "uri": path.as_uri(), "offset": 0, "length": len(data)}
        frame_rows.append(
            {
                "frame_id": frame_id,
                "width": frame.width,
                "height": frame.height,
                "media_type": _MEDIA,
                "byte_count": len(data),
                "split": "holdout" if frame.drive in held_out else "train",
                "drive_group": frame.drive,
                "annotated_classes": sorted(truth.classes),
                "attributes": canonical_json({"time_of_day": frame.time_of_day, "weather": frame.weather}),
            }
        )
        source_rows.append(
            {
                "frame_id": frame_id,
                "batch": "sample",
                "path": path.name,
                "drive": frame.drive,
                "camera": "front",
                "clock": "none",
                "source_split": "",
            }
        )
        box_rows += [
            {
                "frame_id": frame_id,
                "box_id": str(number),
                "class_name": box.class_name,
                "x1": box.x1,
                "y1": box.y1,
                "x2": box.x2,
                "y2": box.y2,
                "origin": "batch:sample",
                "ignore": False,
                "attributes": "{}",
            }
            for number, box in enumerate(frame.boxes)
        ]
    built = SnapshotTables(
        pa.Table.from_pylist(frame_rows, tables.FRAMES),
        pa.Table.from_pylist(source_rows, tables.SOURCES),
        pa.Table.from_pylist(box_rows, tables.BOXES),
        tuple(truth.classes),
    )
    locations = pa.Table.from_pylist(list(places.values()), tables.LOCATIONS)
    return _pool(built, locations, store, "ebike"), locations


def bike_pool(store: str) -> tuple[Pool, pa.Table] | None:
    """Return `det_modes_of_transport` with its own test and valid pictures as hold-out; None where it is not there.

    Several files show one photo: training files of a photo that is held out are left out.
    """
    folder = _shared("det_modes_of_transport")
    if folder is None:
        return None
    from ingestion.import_source import SourceRequest, import_source

    section = BatchSection(name="modes", path=folder.as_uri(), drives="stills")
    snapshot = import_source(SourceRequest(folder.as_uri(), section, None, store), datetime.now(UTC)).snapshot
    sources = snapshot.sources().to_pylist()
    split = {row["frame_id"]: "train" if row["source_split"] == "train" else "holdout" for row in sources}
    photo = {row["frame_id"]: Path(row["path"]).name.partition(".rf.")[0] for row in sources}
    judged = {photo[frame_id] for frame_id, where in split.items() if where == "holdout"}
    stays = [name for name, where in split.items() if where == "holdout" or photo[name] not in judged]
    made = snapshot.tables().only(pa.array(sorted(stays), pa.string()))
    frames = made.frames
    splits = pa.array([split[name] for name in frames["frame_id"].to_pylist()], pa.string())
    frames = frames.set_column(frames.column_names.index("split"), "split", splits)
    built = SnapshotTables(frames, made.sources, made.boxes, made.classes)
    return _pool(built, snapshot.locations(), store, "bike"), snapshot.locations()


def _pool(built: SnapshotTables, locations: pa.Table, store: str, rare_class: str) -> Pool:
    labeled = built.frames["frame_id"].filter(pc.greater(pc.list_value_length(built.frames["annotated_classes"]), 0))
    known = built.only(labeled)
    pixels = PixelReader(locations)
    signals = fingerprint_frames(known.frames["frame_id"], pixels, SignalStore(store)).signals
    embedder = load_embedder(BUILT_IN)
    vectors = VectorStore(store, embedder.digest, embedder.dimensions)

    def objects(shown: SnapshotTables, seen: pa.Table) -> ObjectVectors:
        return embed_objects(ObjectRequest(shown, seen, LEAST_SCORE), pixels, embedder, vectors)

    return Pool(known, signals, rare_class, objects)


def _shared(name: str) -> Path | None:
    beside = Path(__file__).resolve().parent.parent.parent / "shared"
    folder = Path(os.environ.get("DRIVEFLOW_SHARED", str(beside))) / "data" / name
    return folder if folder.exists() else None
