"""Find corner cases among the kept frames, and spend the labeling budget."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from components.work.pages import counts_page
from driveflow.canonical import canonical_json
from driveflow.reuse import put_object
from driveflow.steps import StepContext, StepResult, StepSpec, Value

if TYPE_CHECKING:
    import pyarrow as pa

    from components.work.mining import Search
    from filtering.corner_cases import CornerCaseRequest

SPEC = StepSpec("find_corner_cases", ("components.work", "filtering"))


def work(context: StepContext, inputs: Mapping[str, Value]) -> StepResult:
    """Return the frames to label in order, and what the champion sees in frames without labels."""
    from components.work.mining_page import empty_notes, mining_page, outlook_metrics
    from components.work.next_curation import steered_notes, steered_page
    from components.work.table_objects import put_table, read_table
    from filtering.budget import unaffordable
    from filtering.corner_cases import find_corner_cases
    from filtering.gallery import selection_gallery, told_counts

    search = _search(context, str(inputs["snapshot"]))
    request = _request(context, search, read_table(str(inputs["signals"])))
    selection = find_corner_cases(request)
    selected = put_table(context.place.store, selection.table)
    predicted = "" if request.predictions is None else put_table(context.place.store, request.predictions)
    told = canonical_json([find.to_json() for find in selection.finds])
    finds = put_object(context.place.store, told.encode(), ".json")
    poor = unaffordable(search.labeling)
    more = mining_page(selection, search.labeling) + steered_page(request.failed_slices, context.settings)
    return StepResult(
        outputs={"selection": selected, "predictions": predicted, "finds": finds},
        counts=selection.counts,
        metrics=outlook_metrics(selection),
        pages={
            "summary": counts_page("Corner cases and labeling budget", told_counts(selection), more),
            "gallery": selection_gallery(request, selection, search.pixels),
        },
        objects=tuple(uri for uri in (selected, predicted, finds) if uri),
        notes=(
            *steered_notes(request.failed_slices, context.settings),
            *empty_notes(selection),
            *((f"{poor}.",) if poor else ()),
        ),
    )


def _search(context: StepContext, snapshot_uri: str) -> "Search":
    from components.work.mining import Search
    from components.work.settings import read_section
    from driveflow.flow.sections import CornerCaseSection, LabelingSection
    from driveflow.images.pixels import open_pixels
    from driveflow.snapshots import open_snapshot

    settings: Any = context.settings
    snapshot = open_snapshot(snapshot_uri)
    return Search(
        tables=snapshot.tables(),
        pixels=open_pixels(snapshot, context.place),
        corner_cases=tuple(read_section(CornerCaseSection, case) for case in settings["corner_cases"]),
        labeling=read_section(LabelingSection, settings["labeling"]),
        champion=settings["champion"],
    )


def _request(context: StepContext, search: "Search", signals: "pa.Table") -> "CornerCaseRequest":
    from components.work.mining import frame_vectors, look_at_frames, object_vectors
    from components.work.settings import read_section
    from components.work.steering import read_answered, read_reviews
    from driveflow.flow.sections import SliceSection
    from driveflow.next_curation import Query
    from filtering.corner_cases import CornerCaseRequest

    settings: Any = context.settings
    seen = look_at_frames(context, search)
    return CornerCaseRequest(
        tables=search.tables,
        signals=signals,
        labeling=search.labeling,
        corner_cases=search.corner_cases,
        predictions=seen.sure,
        seen=seen.by_model,
        looked=seen.looked,
        vectors=frame_vectors(context, search),
        objects=object_vectors(context, search, seen.sure),
        slices=tuple(read_section(SliceSection, part) for part in settings.get("slices", ())),
        failed_slices=tuple(read_section(Query, part) for part in settings.get("failed_slices", ())),
        reviews=read_reviews(settings.get("reviews", "")),
        answered=read_answered(settings.get("answered", "")),
    )
