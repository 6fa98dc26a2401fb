"""The frames of a flow's batches as a run would merge them, without writing a snapshot of them."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from driveflow.canonical import digest
from driveflow.flow.sections import BatchSection, Flow
from driveflow.place import Place
from driveflow.progress import Progress
from driveflow.reuse import load_result, object_uri
from driveflow.snapshots import SnapshotTables, open_snapshot
from driveflow.storage.objects import ObjectInfo
from driveflow.withdrawn import withdrawn_ids

if TYPE_CHECKING:
    from ingestion.merge import NamedSnapshot


@dataclass(frozen=True, slots=True)
class FlowFrames:
    """Merged tables, where the bytes of their frames lie, and how many batches a run had imported before."""

    tables: SnapshotTables
    locations: pa.Table
    batches: int
    reused: int


@dataclass(frozen=True, slots=True)
class Reader:
    """Where batches lie and what they are read with; members of archives are unpacked under `scratch`."""

    place: Place
    scratch: Path
    progress: Progress


def flow_frames(flow: Flow, addresses: dict[str, str], reader: Reader) -> FlowFrames:
    """Return the frames of all batches of `flow`, which lie at `addresses`, as `driveflow run` would merge them.

    A batch that a run has imported as it is now is taken from the store; any other is read, and nothing of it kept.
    """
    from ingestion.merge import MergeRules, merge_snapshots

    found = [_batch(flow, section, addresses[section.name], reader) for section in flow.batches]
    rules = MergeRules(
        merge=flow.merge,
        holdout=flow.holdout,
        splits=flow.splits,
        fixed_splits={batch.name: batch.split for batch in flow.batches if batch.split},
        as_of={batch.name: batch.as_of for batch in flow.batches if batch.as_of},
        withdrawn=withdrawn_ids(reader.place.store),
    )
    merged = merge_snapshots([batch for batch, _ in found], rules)
    return FlowFrames(merged.tables, merged.beside.locations, len(found), sum(reused for _, reused in found))


def _batch(flow: Flow, section: BatchSection, uri: str, reader: Reader) -> "tuple[NamedSnapshot, bool]":
    from ingestion.import_batch import BatchRequest, import_batch
    from ingestion.listing import list_batch
    from ingestion.merge import NamedSnapshot

    objects = list_batch(uri)
    known = _imported_before(flow, section, uri, objects, reader.place.store)
    if known:
        snapshot = open_snapshot(known)
        return NamedSnapshot(section.name, snapshot.tables(), snapshot.beside()), True
    request = BatchRequest(section, uri, flow.taxonomy, reader.scratch.as_uri(), objects)
    imported = import_batch(request, reader.progress)
    return NamedSnapshot(section.name, imported.tables, imported.beside), False


def _imported_before(flow: Flow, section: BatchSection, uri: str, objects: tuple[ObjectInfo, ...], store: str) -> str:
    """Return the snapshot that a run made of the same files under the same settings by the same code; "" for none."""
    from components.work.batches import batch_entry, import_parts, listing_of
    from components.work.import_batches import SPEC
    from components.work.settings import write_section

    batch = batch_entry(section, uri, object_uri(store, listing_of(objects), ".json"), len(objects))
    found = load_result(store, "import_batch", digest(import_parts(batch, write_section(flow.taxonomy), SPEC.trades)))
    return "" if found is None else str(json.loads(str(found.outputs["batch"]))["snapshot"])
