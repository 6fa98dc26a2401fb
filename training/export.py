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
from driveflow.formats.export import Export, Written, write_pictures
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
    written = WRITERS[shape](export, folder)
    counts = {"frames": export.frames.num_rows, "boxes": export.boxes.num_rows}
    text = canonical_json({**wanted, **counts, "lost": list(written.left_out)})
    (folder / MARKER).write_text(text, encoding="utf-8")


def write_tables(export: Export, folder: Path) -> Written:
    """Write pictures, tables and classes as they are: nothing is lost."""
    write_pictures(export, export.walk(), folder)
    pq.write_table(export.frames, folder / "frames.parquet", compression="zstd")
    pq.write_table(export.boxes, folder / "boxes.parquet", compression="zstd")
    (folder / "classes.json").write_text(canonical_json(list(export.classes)), encoding="utf-8")
    return Written(export.frames.num_rows, export.boxes.num_rows)


WRITERS: Final[Mapping[Shape, Callable[[Export, Path], Written]]] = {
    "tables": write_tables,
    "coco": write_coco,
    "yolo": write_yolo,
}


def _export_of(snapshot: Snapshot, pixels: PixelReader, progress: Progress) -> Export:
    tables = snapshot.tables()
    return Export(tables.frames, tables.boxes, tables.classes, pixels.read, progress=progress)


def _marker(folder: Path) -> dict[str, object]:
    try:
        found = json.loads((folder / MARKER).read_bytes())
    except (OSError, ValueError):
        return {}
    return dict(found) if isinstance(found, dict) else {}
