"""Import the batches of a flow one by one, each reused on its own."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from components.work.batches import import_parts
from components.work.pages import counts_page, markdown_table
from driveflow.canonical import Json, canonical_json, digest
from driveflow.code_digest import code_digest
from driveflow.reuse import load_result, read_object, store_result
from driveflow.steps import StepContext, StepResult, StepSpec, Value, kept_step

if TYPE_CHECKING:
    from ingestion.import_batch import ImportedBatch

SPEC = StepSpec("import_batches", ("components.work", "ingestion"))


def work(context: StepContext, inputs: Mapping[str, Value]) -> StepResult:  # noqa: ARG001 the face of all work
    """Return one snapshot for each batch, with the counts of all."""
    batches: Any = context.settings["batches"]
    results = [_import_once(context, batch) for batch in batches]
    counts: dict[str, int] = {}
    for result in results:
        for name, count in result.counts.items():
            counts[name] = counts.get(name, 0) + count
    imported = [json.loads(str(result.outputs["batch"])) for result in results]
    return StepResult(
        outputs={"batches": canonical_json(imported)},
        counts=counts,
        pages={"summary": counts_page("Import", counts, "\n".join(result.pages["summary"] for result in results))},
        objects=tuple(entry["snapshot"] for entry in imported),
        notes=tuple(note for result in results for note in result.notes),
    )


def _import_once(context: StepContext, batch: Any) -> StepResult:  # noqa: ANN401 JSON
    parts = import_parts(batch, context.settings["taxonomy"], SPEC.trades)
    key = digest(parts)
    found = load_result(context.place.store, "import_batch", key)
    if found is not None:
        return kept_step(found)
    result = _import(context, batch)
    store_result(context.place.store, "import_batch", key, result, parts)
    return result


def _import(context: StepContext, batch: Any) -> StepResult:  # noqa: ANN401 JSON
    from components.work.settings import read_section
    from driveflow.flow.sections import BatchSection, TaxonomySection
    from driveflow.snapshots import write_snapshot
    from driveflow.storage.objects import ObjectInfo
    from ingestion.import_batch import BatchRequest, import_batch

    section = read_section(BatchSection, batch["section"])
    request = BatchRequest(
        section=section,
        uri=batch["uri"],
        taxonomy=read_section(TaxonomySection, context.settings["taxonomy"]),
        store=context.place.store,
        objects=tuple(ObjectInfo(**entry) for entry in json.loads(read_object(batch["listing"]))),
    )
    imported = import_batch(request, context.progress)
    made_by: dict[str, Json] = {
        "step": "import_batch",
        "batch": section.name,
        "uri": request.uri,
        "section": batch["section"],
        "taxonomy": context.settings["taxonomy"],
        "code": code_digest(*SPEC.trades),
    }
    snapshot = write_snapshot(context.place.store, imported.tables, imported.beside, made_by)
    return StepResult(
        outputs={"batch": canonical_json({"name": section.name, "snapshot": snapshot.uri})},
        counts=imported.counts,
        pages={"summary": _page(section.name, imported)},
        objects=(snapshot.uri,),
        notes=tuple(f"batch {section.name}: {note}" for note in imported.notes),
    )


def _page(name: str, imported: "ImportedBatch") -> str:
    held = [
        (row["path"], row["line"] or "", row["reason"], row["detail"]) for row in imported.beside.quarantine.to_pylist()
    ]
    table = markdown_table(("file", "line", "reason", "detail"), held) if held else "Nothing was quarantined.\n"
    notes = "".join(f"* {note}\n" for note in imported.notes)
    return counts_page(f"Batch {name}", imported.counts, f"{notes}\n{table}")
