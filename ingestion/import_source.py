"""Import one batch into a snapshot of its own, from its listing to the name it gets."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime

import pyarrow as pa

from driveflow.canonical import Json, digest
from driveflow.code_digest import code_digest
from driveflow.errors import NotFoundError
from driveflow.flow.sections import BatchSection, TaxonomySection
from driveflow.progress import Progress, silent
from driveflow.reuse import KeptResult, load_result, store_result
from driveflow.snapshots import Snapshot, SnapshotTables, open_snapshot, write_snapshot
from driveflow.storage.objects import ObjectInfo
from driveflow.storage.sweep import noted_writer
from driveflow.tags import TagEntry, check_tag_name, point_tag, tag_history
from driveflow.withdrawn import withdrawn_ids
from ingestion.import_batch import BatchRequest, import_batch
from ingestion.source import list_source

STEP = "import_source"


@dataclass(frozen=True, slots=True)
class SourceRequest:
    """What to import: where it lies, the batch's section, the taxonomy (None: classes as found), and the store.

    With `fresh` everything is read again, also where nothing changed since the last time. `workspace` is the address of
    the folder that the command works in: what lies there is no data.
    """

    uri: str
    section: BatchSection
    taxonomy: TaxonomySection | None
    store: str
    fresh: bool = False
    workspace: str = ""


@dataclass(frozen=True, slots=True)
class SourceImport:
    """The snapshot of a batch, what was counted and said, and how the tag moved.

    `reused`: nothing was read, for listing, settings and code are those of an earlier import that still stands.
    """

    snapshot: Snapshot
    tag: TagEntry
    moved: bool
    reused: bool
    label_format: str
    counts: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def import_source(request: SourceRequest, now: datetime, progress: Progress = silent) -> SourceImport:
    """Import the batch and let the tag of its name mean its snapshot.

    Every write is atomic and named by its content, and the tag moves last: killed at any point and started again, the
    import ends with the same snapshot and nothing else. Of a batch that has not changed, nothing is written.

    Raises:
        NotFoundError: it is not there.
        EmptyBatchError: it has not one usable picture.
        UnmappedClassError: the taxonomy does not know classes that have boxes.
    """
    name = check_tag_name(request.section.name)
    source = list_source(request.uri, request.store, request.workspace)
    section = replace(request.section, annotations=request.section.annotations or source.annotations)
    parts = _parts(request, section, source.objects)
    key = digest(parts)
    with noted_writer(request.store):
        kept = None if request.fresh else load_result(request.store, STEP, key)
        if kept is None:
            result = _import(replace(request, section=section), source.objects, progress)
            store_result(request.store, STEP, key, result, parts)
        else:
            result = kept
        snapshot = open_snapshot(str(result.outputs["snapshot"]))
        snapshot, entry, moved = name_snapshot(request.store, name, snapshot, now)
    label_format = str(result.outputs["format"])
    return SourceImport(snapshot, entry, moved, kept is not None, label_format, result.counts, result.notes)


def name_snapshot(store: str, name: str, snapshot: Snapshot, now: datetime) -> tuple[Snapshot, TagEntry, bool]:
    """Let `name` mean `snapshot`, and return what it means now and whether it moved.

    What differs in nothing but the code that made it is no reason to move.
    """
    history = tag_history(store, name)
    if history and history[-1].snapshot.partition("#")[0] == snapshot.snapshot_id:
        with suppress(NotFoundError):
            known = open_snapshot(history[-1].uri(store))
            if _told(known) == _told(snapshot):
                return known, history[-1], False
    entry, moved = point_tag(store, name, snapshot.uri, now)
    return snapshot, entry, moved


def _told(snapshot: Snapshot) -> dict[str, Json]:
    """Return how a snapshot was made, without when and by which version of the code."""
    return {key: value for key, value in snapshot.made_by().items() if key not in {"code", "written_at"}}


def _parts(request: SourceRequest, section: BatchSection, objects: tuple[ObjectInfo, ...]) -> dict[str, Json]:
    """Return all that decides what the import makes."""
    return {
        "uri": request.uri,
        "section": _plain(section),
        "taxonomy": _plain(request.taxonomy),
        "listing": digest([[entry.path, entry.size, entry.version] for entry in objects]),
        "withdrawn": digest(sorted(withdrawn_ids(request.store))),
        "code": code_digest("ingestion"),
    }


def _import(request: SourceRequest, objects: tuple[ObjectInfo, ...], progress: Progress) -> KeptResult:
    batch = BatchRequest(request.section, request.uri, request.taxonomy, request.store, objects)
    imported = import_batch(batch, progress)
    notes = (*imported.notes, *([] if request.section.split else _foreign_splits(imported.tables.sources)))
    made_by: dict[str, Json] = {
        "step": STEP,
        "batch": request.section.name,
        "uri": request.uri,
        "section": _plain(request.section),
        "taxonomy": _plain(request.taxonomy),
        "format": imported.label_format,
        "counts": dict(imported.counts),
        "notes": list(notes),
        "code": code_digest("ingestion"),
    }
    tables = _in_split(imported.tables, request.section.split)
    snapshot = write_snapshot(request.store, tables, imported.beside, made_by)
    shards = {uri for uri in imported.beside.locations["uri"].to_pylist() if uri.startswith(f"{request.store}/shards/")}
    return KeptResult(
        outputs={"snapshot": snapshot.uri, "format": imported.label_format},
        counts=imported.counts,
        metrics={},
        pages={},
        objects=(snapshot.uri, *sorted(shards)),
        notes=notes,
    )


def _foreign_splits(sources: pa.Table) -> list[str]:
    """Say how many frames the delivery sets aside, which an import puts into train like all others."""
    sides = sources.group_by("source_split").aggregate([("frame_id", "count_distinct")]).sort_by("source_split")
    aside = [
        (name, count) for name, count in zip(*sides.to_pydict().values(), strict=True) if name not in {"", "train"}
    ]
    if not aside:
        return []
    told = ", ".join(f"{name} {count:,}" for name, count in aside)
    rule = ", ".join(name for name, _ in aside)
    return [f"Frames in splits of the source: {told}. They are train here; a merge or a flow whose rules say "
            f"holdout: {{source_splits: [{rule}]}} holds out those it names."]  # fmt: skip


def _in_split(tables: SnapshotTables, split: str) -> SnapshotTables:
    if not split:
        return tables
    frames = tables.frames
    place = frames.schema.get_field_index("split")
    stated = frames.set_column(place, "split", pa.array([split] * frames.num_rows, pa.string()))
    return replace(tables, frames=stated)


def _plain(section: BatchSection | TaxonomySection | None) -> Json:
    """Return a section as JSON holds it."""
    if section is None:
        return None
    return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(section).items()}
