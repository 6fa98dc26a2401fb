"""What goes into an export of a snapshot, whatever its format, and what every export has beside its labels."""

import csv
import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from driveflow import tables as columns
from driveflow.canonical import Json
from driveflow.formats.frame_walk import Frame, FrameWalk, Place, class_lists, extension_of
from driveflow.formats.whole_file import whole_file
from driveflow.progress import Progress, silent

SPLIT_FOLDERS: Final = {"train": "train", "val": "val", "holdout": "test"}
"""What other tools, and our own readers, call the splits."""

METADATA: Final = "metadata.csv"
_METADATA_COLUMNS: Final = ("drive", "camera", "captured_ns", "clock", "lat", "lon", "speed_mps", "heading_deg")
_OTHER_COLUMNS: Final = frozenset(["path", "captured_us", "captured_ms", "captured_s", "captured_at", "epoch_ns"])
"""What else an import takes for more than an attribute: as such, no attribute of that name would come back."""
_THREADS: Final = 8  # copies wait for storage, not for the processor
_AT_ONCE: Final = 8 * _THREADS


@dataclass(frozen=True, slots=True)
class Export:
    """Frames and boxes (schemas in `driveflow.tables`), the classes in order, and how to read a frame's bytes.

    Without `read` no picture is written. With `sources` there is a metadata.csv, which brings drives and times back.
    """

    frames: pa.Table
    boxes: pa.Table
    classes: tuple[str, ...]
    read: Callable[[str], bytes] | None
    sources: pa.Table = field(default_factory=columns.SOURCES.empty_table)
    progress: Progress = silent

    def walk(self) -> FrameWalk:
        """Return a walk through the frames with their boxes; it puts the tables in order, so keep it."""
        return FrameWalk(self.frames, self.boxes, self.sources)

    def narrowed(self) -> "Export":
        """Return the export without the classes that nobody looked for, where all labeled frames agree on that."""
        looked = {tuple(sorted(names)) for names in class_lists(self.frames) if names}
        drawn = set(self.boxes["class_name"].unique().to_pylist())
        only = next(iter(looked), ())
        if len(looked) != 1 or not drawn <= set(only):
            return self
        return replace(self, classes=tuple(name for name in self.classes if name in only))


@dataclass(frozen=True, slots=True)
class Written:
    """What was written, and as sentences what of the snapshot was left out."""

    frames: int
    boxes: int
    left_out: tuple[str, ...] = ()


def picture_name(frame: Mapping[str, Any]) -> str:
    """Return the file name of a frame: its id, and the extension that fits its content."""
    return f"{frame['frame_id']}{extension_of(frame['media_type'])}"


def write_pictures(export: Export, walk: FrameWalk, folder: Path, home: str = "images/{split}") -> None:
    """Write every picture under `home`, byte for byte, and the metadata.csv that names it; what is there stays.

    A picture appears at its whole length or not at all, so what an interrupted export left is not copied again.
    """
    total = export.frames.num_rows
    if export.sources.num_rows:
        _write_metadata(export, walk, folder, home)
    if export.read is None:
        return
    for split in walk.splits():
        (folder / home.format(split=SPLIT_FOLDERS[split])).mkdir(parents=True, exist_ok=True)
    frames, done = walk.frames(with_boxes=False), 0
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="pictures") as pool:
        while some := list(islice(frames, _AT_ONCE)):
            for _ in pool.map(lambda frame: _write_picture(export, folder / picture_path(frame, home), frame), some):
                done += 1
                export.progress(done, total, "frames exported")


def picture_path(frame: Frame, home: str) -> str:
    """Return the path of a frame's picture in the export."""
    return f"{home.format(split=SPLIT_FOLDERS[frame.split])}/{frame.picture_name}"


def frame_texts(export: Export) -> tuple[str, ...]:
    """Return the names of the frame attributes that are text somewhere, and so have a place in metadata.csv."""
    texts = export.frames["attributes"].unique()
    return tuple(sorted({name for text in texts.to_pylist() for name, value in json.loads(text or "{}").items()
                         if has_cell(name, value)}))  # fmt: skip


def has_cell(name: str, value: Json) -> bool:
    """Tell whether a frame attribute comes back from metadata.csv as it was."""
    plain = isinstance(value, str) and bool(value) and value == value.strip() and "\0" not in value
    return plain and bool(name) and name == name.strip() and name not in _OTHER_COLUMNS.union(_METADATA_COLUMNS)


def _write_picture(export: Export, path: Path, frame: Frame) -> None:
    if path.exists() or export.read is None:
        return
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(export.read(frame.frame_id))
    part.replace(path)


def _write_metadata(export: Export, walk: FrameWalk, folder: Path, home: str) -> None:
    names = frame_texts(export)
    with whole_file(folder / METADATA) as stream:
        rows = csv.writer(stream, lineterminator="\n")
        rows.writerow(["path", *_METADATA_COLUMNS, *names])
        for frame in walk.frames(with_boxes=False):
            texts = [value if has_cell(name, value := frame.attributes.get(name)) else "" for name in names]
            rows.writerow([picture_path(frame, home), *_cells(frame.place), *texts])


def _cells(place: Place) -> list[str]:
    return [
        "" if value is None else repr(value) if isinstance(value, float) else str(value) for value in astuple(place)
    ]
