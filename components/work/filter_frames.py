"""Drop the training frames that any filter rejects."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from components.work.pages import counts_page
from driveflow.code_digest import code_digest
from driveflow.steps import StepContext, StepResult, StepSpec, Value

if TYPE_CHECKING:
    import pyarrow as pa

    from driveflow.embeddings.vector_store import FrameVectors
    from driveflow.flow.sections import NearDuplicateSection
    from driveflow.images.pixels import PixelReader

SPEC = StepSpec("filter_frames", ("components.work", "filtering"))


def work(context: StepContext, inputs: Mapping[str, Value]) -> StepResult:
    """Return the snapshot of the kept frames, with a decision for every frame."""
    from components.work.settings import read_section
    from components.work.table_objects import read_table
    from driveflow.by_hand import read_by_hand
    from driveflow.flow.sections import CornerCaseSection, FilterSection
    from driveflow.images.pixels import open_pixels
    from driveflow.snapshots import Beside, open_snapshot, write_snapshot
    from filtering.filter_frames import FilterRequest, filter_frames
    from filtering.gallery import filter_gallery

    settings: Any = context.settings
    snapshot = open_snapshot(str(inputs["snapshot"]))
    filters = read_section(FilterSection, settings["filters"])
    pixels = open_pixels(snapshot, context.place)
    request = FilterRequest(
        tables=snapshot.tables(),
        signals=read_table(str(inputs["signals"])),
        filters=filters,
        corner_cases=tuple(read_section(CornerCaseSection, case) for case in settings["corner_cases"]),
        pixels=pixels,
        by_hand=read_by_hand(settings.get("by_hand", "")),
        vectors=_vectors(context, filters.near_duplicates, snapshot.frames(), pixels),
    )
    outcome = filter_frames(request)
    made_by = {
        "step": SPEC.name,
        "code": code_digest(*SPEC.trades),
        "parents": [snapshot.uri.rpartition("/")[2]],
        "settings": settings["filters"],
    }
    beside = Beside(locations=snapshot.locations(), decisions=outcome.decisions, quarantine=outcome.quarantine)
    kept = write_snapshot(context.place.store, outcome.kept_tables, beside, made_by)
    return StepResult(
        outputs={"snapshot": kept.uri},
        counts=outcome.counts,
        pages={
            "summary": counts_page("Filter", outcome.counts),
            "gallery": filter_gallery(request, outcome, pixels),
        },
        objects=(kept.uri,),
    )


def _vectors(
    context: StepContext, section: "NearDuplicateSection", frames: "pa.Table", pixels: "PixelReader"
) -> "FrameVectors | None":
    """Return the vectors of the training frames, made where they are lacking; None where frames go by hash alone."""
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
    return store.load(wanted)
