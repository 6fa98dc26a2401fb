"""Drop the training frames that any filter rejects."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from components.work.pages import counts_page, markdown_table
from driveflow.code_digest import code_digest
from driveflow.processes import peak_memory_bytes
from driveflow.steps import StepContext, StepResult, StepSpec, Value

if TYPE_CHECKING:
    import pyarrow as pa

    from driveflow.embeddings.vector_store import VectorStore
    from driveflow.flow.sections import NearDuplicateSection
    from driveflow.images.pixels import PixelReader
    from driveflow.snapshots import Snapshot
    from filtering.arrivals import BatchNote
    from filtering.filter_frames import FilterRequest

SPEC = StepSpec("filter_frames", ("components.work", "filtering"))


def work(context: StepContext, inputs: Mapping[str, Value]) -> StepResult:
    """Return the snapshot of the kept frames, with a decision for every frame."""
    from components.work.table_objects import read_table
    from driveflow.images.pixels import open_pixels
    from driveflow.snapshots import Beside, open_snapshot, write_snapshot
    from filtering.filter_frames import filter_frames
    from filtering.gallery import filter_gallery
    from filtering.idle_settings import idle_settings

    settings: Any = context.settings
    snapshot = open_snapshot(str(inputs["snapshot"]))
    pixels = open_pixels(snapshot, context.place)
    request = _request(context, snapshot, pixels, read_table(str(inputs["signals"])))
    outcome = filter_frames(request)
    idle = idle_settings(request.filters, request.tables)
    made_by = {
        "step": SPEC.name,
        "code": code_digest(*SPEC.trades),
        "parents": [snapshot.uri.rpartition("/")[2]],
        "settings": settings["filters"],
        "arrival": list(request.arrival),
        "signals": str(inputs["signals"]).rpartition("/")[2],
    }
    beside = Beside(locations=snapshot.locations(), decisions=outcome.decisions, quarantine=outcome.quarantine)
    kept = write_snapshot(context.place.store, outcome.kept_tables, beside, made_by)
    return StepResult(
        outputs={"snapshot": kept.uri},
        counts=outcome.counts,
        notes=idle,
        pages={
            "summary": counts_page(
                "Filter", outcome.counts, _batches_page(outcome.batches) + "".join(f"\n{note}\n" for note in idle)
            ),
            "gallery": filter_gallery(request, outcome, pixels),
        },
        objects=(kept.uri,),
        metrics={"peak_memory_mb": peak_memory_bytes() / 1e6},
    )


def _batches_page(batches: "tuple[BatchNote, ...]") -> str:
    """Return what came of each batch, in the order in which they were judged."""
    if not batches:
        return ""
    rows = [
        (note.batch or "no batch", f"{note.frames:,}", f"{note.kept:,}", "known" if note.known else "judged now")
        for note in batches
    ]
    memory = f"At most {peak_memory_bytes() / 1e6:,.0f} MB of memory were in use.\n"
    return f"## Batches, in order of arrival\n\n{markdown_table(('batch', 'frames', 'kept', 'how'), rows)}\n{memory}"


def _request(context: StepContext, snapshot: "Snapshot", pixels: "PixelReader", signals: "pa.Table") -> "FilterRequest":
    from components.work.settings import read_section
    from driveflow.by_hand import read_by_hand
    from driveflow.flow.sections import CornerCaseSection, FilterSection
    from filtering.filter_frames import FilterRequest
    from filtering.kept_index import KeptIndex
    from filtering.pixel_digests import PixelDigests

    settings: Any = context.settings
    filters = read_section(FilterSection, settings["filters"])
    return FilterRequest(
        tables=snapshot.tables(),
        signals=signals,
        filters=filters,
        corner_cases=tuple(read_section(CornerCaseSection, case) for case in settings["corner_cases"]),
        predictions=_predictions(context, snapshot.frames(), signals, pixels),
        pixels=pixels,
        by_hand=read_by_hand(settings.get("by_hand", "")),
        vectors=_vectors(context, filters.near_duplicates, snapshot.frames(), pixels),
        arrival=tuple(settings.get("arrival", ())),
        index=KeptIndex(context.place.store),
        digests=PixelDigests(context.place.store),
    )


def _vectors(
    context: StepContext, section: "NearDuplicateSection", frames: "pa.Table", pixels: "PixelReader"
) -> "VectorStore | None":
    """Return where the vectors of the training frames are, made where lacking; None where frames go by hash alone."""
    if not section.enabled or not section.embedding:
        return None
    import pyarrow.compute as pc

    from driveflow.embeddings.catalog import load_embedder
    from driveflow.embeddings.vector_store import VectorStore
    from filtering.embed_frames import embed_frames

    embedder = load_embedder(section.embedding)
    store = VectorStore(context.place.store, embedder.digest, embedder.dimensions)
    wanted = frames["frame_id"].filter(pc.equal(frames["split"], "train"))
    embed_frames(wanted, pixels, embedder, store, context.progress)
    return store


def _predictions(
    context: StepContext, frames: "pa.Table", signals: "pa.Table", pixels: "PixelReader"
) -> "pa.Table | None":
    """Return what the champion sees in training frames without labels; None where rules do not ask, or none is there.

    What it sees is kept by frame, so that the search for corner cases after this step does not look again.
    """
    champion = str(context.settings.get("champion", ""))
    if not champion:
        return None
    import pyarrow.compute as pc

    from driveflow.detectors.catalog import load_detector
    from driveflow.detectors.predict import PredictionStore, predict_frames

    lacking = pc.less(pc.list_value_length(frames["annotated_classes"]), 1)
    wanted = frames["frame_id"].filter(pc.and_(lacking, pc.equal(frames["split"], "train")))
    measured = signals["frame_id"].filter(pc.is_null(signals["error"])).combine_chunks()
    readable = wanted.filter(pc.is_in(wanted, value_set=measured))
    detector = load_detector(champion, context.scratch)
    return predict_frames(detector, pixels, readable, PredictionStore(context.place.store), context.progress)
