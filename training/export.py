"""Write a training snapshot into a local folder, in the shape a trainer asks for.

Every shape has the pictures in `images/<split>/<frame id>.<extension>`, byte for byte. "tables" adds `frames.parquet`,
`boxes.parquet` (schemas in `driveflow.tables`) and `classes.json`; "coco" and "yolo" are as `driveflow.formats` writes
them. `export.json` is written last: shape, snapshot, counts, and what the shape cannot carry, as sentences.
"""

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Literal, TypeAlias

import pyarrow.parquet as pq

from driveflow.canonical import canonical_json
from driveflow.formats.export import Export, write_pictures
from driveflow.formats.write_coco import write_coco
from driveflow.formats.write_yolo import write_yolo
from driveflow.images.pixels import PixelReader
from driveflow.progress import Progress, silent
from driveflow.snapshots import Snapshot

Shape: TypeAlias = Literal["tables", "coco", "yolo"]
MARKER: Final = "export.json"


def export_snapshot(
    snapshot: Snapshot, pixels: PixelReader, shape: Shape, folder: Path, progress: Progress = silent
) -> None:
    """Write `snapshot` to `folder`; what an interrupted export left there is made anew, a whole one is kept."""
    wanted = {"shape": shape, "snapshot_id": snapshot.snapshot_id}
    if _marker(folder).items() >= wanted.items():
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    export = _export_of(snapshot, pixels, progress)
    lost = WRITERS[shape](export, folder)
    counts = {"frames": export.frames.num_rows, "boxes": export.boxes.num_rows}
    text = canonical_json({**wanted, **counts, "lost": list(lost)})
    (folder / MARKER).write_text(text, encoding="utf-8")


def write_tables(export: Export, folder: Path) -> tuple[str, ...]:
    """Write pictures, tables and classes as they are, and return that nothing is lost."""
    for _ in write_pictures(export, folder):
        pass
    pq.write_table(export.frames, folder / "frames.parquet", compression="zstd")
    pq.write_table(export.boxes, folder / "boxes.parquet", compression="zstd")
    (folder / "classes.json").write_text(canonical_json(list(export.classes)), encoding="utf-8")
    return ()


WRITERS: Final[Mapping[Shape, Callable[[Export, Path], tuple[str, ...]]]] = {
    "tables": write_tables,
    "coco": write_coco,
    "yolo": write_yolo,
}


def _export_of(snapshot: Snapshot, pixels: PixelReader, progress: Progress) -> Export:
    tables = snapshot.tables()
    total = tables.frames.num_rows
    done = 0

    def read(frame_id: str) -> bytes:
        nonlocal done
        done += 1
        progress(done, total, "frames exported")
        return pixels.read(frame_id)

    return Export(tables.frames, tables.boxes, tables.classes, read)


def _marker(folder: Path) -> dict[str, object]:
    try:
        found = json.loads((folder / MARKER).read_bytes())
    except (OSError, ValueError):
        return {}
    return dict(found) if isinstance(found, dict) else {}
