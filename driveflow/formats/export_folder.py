"""Export a snapshot into a folder, which is whole, or marked as begun, and refused where it would lose something."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow.compute as pc

from driveflow.canonical import Json, canonical_json
from driveflow.errors import NotFoundError, UsageError
from driveflow.formats.export import Export, Written
from driveflow.formats.export_added import MARKER, added_to
from driveflow.formats.losses import refuse_losses
from driveflow.formats.whole_file import write_text
from driveflow.formats.writers import WRITERS, LabelWriter
from driveflow.progress import Progress, silent
from driveflow.snapshots import Snapshot
from driveflow.storage.local import told
from driveflow.storage.uris import is_address
from driveflow.withdrawn import withdrawn_among

_HALF: Final = "export-begun.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRequest:
    """What to export: a snapshot or one `split` of it, without the frames in `withdrawn`.

    `lossy`: what the format cannot carry is left out and said, not refused. Without `pictures` only labels are written.
    """

    snapshot: Snapshot
    label_format: str
    split: str = ""
    lossy: bool = False
    pictures: bool = True
    withdrawn: frozenset[str] = frozenset()

    def gone(self) -> int:
        """Return how many frames of the snapshot are withdrawn."""
        return len(withdrawn_among(self.snapshot.frames()["frame_id"], self.withdrawn)) if self.withdrawn else 0

    def wanted(self) -> dict[str, Json]:
        """Return what tells this export from others."""
        return {
            "snapshot_id": self.snapshot.snapshot_id,
            "format": self.label_format,
            "split": self.split,
            "lossy": self.lossy,
            "pictures": self.pictures,
        }


def export_to(
    request: ExportRequest, folder: Path, read: Callable[[str], bytes], progress: Progress = silent
) -> dict[str, Json]:
    """Write the export and return what its marker says; one that is there already is left as it is.

    An export that was stopped goes on where it was; what is not refused comes back as it was when it is imported.

    Raises:
        UsageError: the format is unknown, or the folder holds something else.
        InvalidInputError: the format cannot carry all of it, and `lossy` was not asked for.
        NotFoundError: the split has no frames.
        StorageError: nothing can be written there.
    """
    writer = _writer(request.label_format)
    gone = request.gone()
    done = _look_into(folder, request.wanted(), gone)
    if done:
        return done
    export = _export(request, read, progress, writer)
    if not request.lossy:
        refuse_losses(export, writer.carries)
    with told("write", str(folder)):
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / _HALF, canonical_json({**request.wanted(), "withdrawn": gone}))
    written = writer.write(export, folder)
    write_text(folder / MARKER, canonical_json(_told(request, export, writer, written, gone)) + "\n")
    (folder / _HALF).unlink()
    return _read(folder / MARKER)


def _writer(name: str) -> LabelWriter:
    if name not in WRITERS:
        raise UsageError(f"Format {name!r} is not written; {', '.join(WRITERS)} are.")
    return WRITERS[name]


def _look_into(folder: Path, wanted: Mapping[str, Json], gone: int) -> dict[str, Json]:
    """Return the marker of a whole export of this; refuse a folder that holds anything but one that was begun.

    Refused too is one made when other than `gone` frames were withdrawn: it is not ours to purge, and no longer what is
    asked for.
    """
    if is_address(folder):
        raise UsageError(
            f"{str(folder)!r} is an address, and exports go to a local folder; name one, and copy it there."
        )
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file, no folder.")
    if not folder.exists() or not any(folder.iterdir()):
        return {}
    done, begun = _read(folder / MARKER), _read(folder / _HALF)
    known = begun.pop("withdrawn", 0) if begun else done.get("withdrawn", 0)
    is_this = begun == wanted if begun else done.items() >= wanted.items()
    if is_this and known == gone:
        return {} if begun else done
    if is_this:
        raise UsageError(f"{folder} was exported before frames of it were withdrawn; delete it, and name a new folder.")
    what = "holds another export" if done or begun else "is not empty"
    raise UsageError(f"{folder} {what}; name a new or empty folder.")


def _read(path: Path) -> dict[str, Json]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return dict(found) if isinstance(found, dict) else {}


def _export(request: ExportRequest, read: Callable[[str], bytes], progress: Progress, writer: LabelWriter) -> Export:
    snapshot = request.snapshot
    tables = snapshot.tables().without(request.withdrawn)
    if request.split:
        tables = tables.only(tables.frames.filter(pc.equal(tables.frames["split"], request.split))["frame_id"])
    if not tables.frames.num_rows:
        which = f" in split {request.split}" if request.split else ""
        raise NotFoundError(f"Snapshot {snapshot.snapshot_id[:16]} has no frames{which} to export.")
    pictures = read if request.pictures else None
    export = Export(tables.frames, tables.boxes, snapshot.classes, pictures, tables.sources, progress)
    return export if writer.carries.partly else export.narrowed()


def _told(request: ExportRequest, export: Export, writer: LabelWriter, written: Written, gone: int) -> dict[str, Json]:
    left_out = list(written.left_out)
    unknown = [name for name in request.snapshot.classes if name not in export.classes]
    if unknown:
        left_out.append(f"Nobody looked for {', '.join(map(repr, unknown))}: not in the list of classes.")
    if gone:
        left_out.append(f"{gone} frames of the snapshot are withdrawn.")
    counts = {"frames": written.frames, "boxes": written.boxes, "withdrawn": gone}
    adds = added_to(export.boxes, writer.carries)
    return {**request.wanted(), **counts, "adds": adds, "left_out": left_out}
