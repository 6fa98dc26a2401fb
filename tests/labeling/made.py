"""Small frames, campaigns and answers for the tests of labeling."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from driveflow import tables as columns
from driveflow.errors import NotFoundError
from driveflow.flow.sections import LabelingSection
from driveflow.snapshots import SnapshotTables
from labeling.campaigns import RawReturn
from labeling.collect import Collected, CollectRequest, collect
from labeling.hand_off import HandOffRequest
from labeling.manifest import CampaignManifest, SentBox, SentFrame

CLASSES = ("car", "truck")


def frame_id(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


@dataclass
class FakePixels:
    """Bytes of frames by id; counts reads, and fails at the read with number `fail_at`."""

    data: Mapping[str, bytes]
    fail_at: int | None = None
    reads: list[str] = field(default_factory=list)

    def read(self, name: str) -> bytes:
        if self.fail_at is not None and len(self.reads) >= self.fail_at:
            raise KeyboardInterrupt
        self.reads.append(name)
        if name not in self.data:
            raise NotFoundError(f"Frame {name} is gone")
        return self.data[name]


def frame_row(name: str, split: str = "train", annotated: Sequence[str] = ()) -> dict:
    return {
        "frame_id": frame_id(name),
        "width": 100,
        "height": 50,
        "media_type": "image/png" if name.endswith(".png") else "image/jpeg",
        "byte_count": len(name),
        "split": split,
        "drive_group": "g",
        "annotated_classes": sorted(annotated),
        "attributes": "{}",
    }


def source_row(name: str, path: str | None = None, captured_ns: int | None = None) -> dict:
    return {
        "frame_id": frame_id(name),
        "batch": "b",
        "path": path or name,
        "drive": "d1",
        "camera": "front",
        "captured_ns": captured_ns,
        "clock": "none" if captured_ns is None else "utc",
        "source_split": "",
    }


def box_row(name: str, box_id: str, class_name: str = "car", corners: Sequence[float] = (1, 1, 9, 9), **more) -> dict:
    row = {"frame_id": frame_id(name), "box_id": box_id, "class_name": class_name, "origin": "batch:b", "ignore": False}
    return {**row, **dict(zip(("x1", "y1", "x2", "y2"), corners, strict=True)), "attributes": "{}", **more}


def tables(frames: Sequence[dict], boxes: Sequence[dict] = (), sources: Sequence[dict] = ()) -> SnapshotTables:
    return SnapshotTables(
        pa.Table.from_pylist(list(frames), columns.FRAMES),
        pa.Table.from_pylist(list(sources), columns.SOURCES),
        pa.Table.from_pylist(list(boxes), columns.BOXES),
        CLASSES,
    )


def predictions(*rows: dict) -> pa.Table:
    return pa.Table.from_pylist(list(rows), columns.PREDICTIONS)


def selection(*names: str) -> pa.Table:
    return pa.table({"frame_id": pa.array([frame_id(name) for name in names], pa.string())})


def hand_off_request(made: SnapshotTables, names: Sequence[str], folder: Path, **more) -> HandOffRequest:
    settings = {
        "tables": made,
        "selection": selection(*names),
        "classes": CLASSES,
        "pixels": FakePixels({frame_id(name): f"picture {name}".encode() for name in names}),
        "prelabels": None,
        "labeling": LabelingSection(),
        "purpose": "train",
        "store": folder.as_uri(),
    }
    return HandOffRequest(**{**settings, **more})


def sent_frame(name: str, missing: Sequence[str] = CLASSES, prelabels: Sequence[SentBox] = ()) -> SentFrame:
    picture = f"images/{frame_id(name)}.jpg"
    return SentFrame(
        frame_id=frame_id(name),
        picture=picture,
        width=100,
        height=50,
        missing_classes=tuple(missing),
        prelabels=tuple(prelabels),
    )


def sent_box(
    box_id: str, class_name: str = "car", corners: Sequence[float] = (1, 1, 9, 9), origin="model:m"
) -> SentBox:
    x1, y1, x2, y2 = map(float, corners)
    return SentBox(box_id=box_id, class_name=class_name, x1=x1, y1=y1, x2=x2, y2=y2, origin=origin)


def campaign(*frames: SentFrame, campaign_id: str = "c1", purpose: str = "train") -> CampaignManifest:
    return CampaignManifest(
        campaign_id=campaign_id, purpose=purpose, classes=CLASSES, guideline="v1", frames=tuple(frames)
    )


def box(class_name: str = "car", corners: Sequence[float] = (1, 1, 9, 9), box_id: str | None = None, **more) -> dict:
    value = {"class_name": class_name, **dict(zip(("x1", "y1", "x2", "y2"), corners, strict=True)), **more}
    return value if box_id is None else {**value, "box_id": box_id}


def about(name: str, *boxes: dict, classes: Sequence[str] = CLASSES, **more) -> dict:
    return {"frame_id": frame_id(name), "annotated_classes": list(classes), "boxes": list(boxes), **more}


def return_text(*frames: object, **more) -> bytes:
    head = {"campaign_id": "c1", "purpose": "train", "annotator": "ann", "guideline": "v1"}
    return json.dumps({**head, "frames": list(frames), **more}).encode()


def raw(data: bytes, path: str = "returns/a.json", campaign_id: str = "c1") -> RawReturn:
    return RawReturn(campaign_id, path, len(data), data)


def collected(made: SnapshotTables, manifest: CampaignManifest, *files: bytes) -> Collected:
    returns = tuple(raw(data, f"returns/{number}.json") for number, data in enumerate(files))
    return collect(CollectRequest(made, (manifest,), returns))


def labels(made: SnapshotTables, name: str) -> list[tuple[str, tuple[float, ...]]]:
    """Return class and corners of a frame's boxes, sorted."""
    rows = [row for row in made.boxes.to_pylist() if row["frame_id"] == frame_id(name)]
    return sorted((row["class_name"], (row["x1"], row["y1"], row["x2"], row["y2"])) for row in rows)


def annotated(made: SnapshotTables, name: str) -> list[str]:
    return next(row["annotated_classes"] for row in made.frames.to_pylist() if row["frame_id"] == frame_id(name))


def reasons(result: Collected) -> list[str]:
    return sorted(row["reason"] for row in result.quarantine.to_pylist())
