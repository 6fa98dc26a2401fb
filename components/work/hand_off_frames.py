"""Write the picked frames as a labeling campaign."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from components.work.pages import counts_page, markdown_table
from driveflow.steps import StepContext, StepResult, StepSpec, Value

if TYPE_CHECKING:
    from labeling.campaigns import Campaign
    from labeling.hand_off import HandOffRequest

SPEC = StepSpec("hand_off_frames", ("labeling",), touches_world=True, ends=("curate",))


def work(context: StepContext, inputs: Mapping[str, Value]) -> StepResult:
    """Hand the selected frames off, and remember the campaign in the ledger."""
    from components.work.settings import read_section
    from components.work.table_objects import read_table
    from driveflow.flow.sections import LabelingSection
    from driveflow.images.pixels import open_pixels
    from driveflow.snapshots import open_snapshot
    from labeling.hand_off import HandOffRequest, hand_off

    settings: Any = context.settings
    snapshot = open_snapshot(str(inputs["snapshot"]))
    predictions = str(inputs["predictions"])
    pixels = open_pixels(snapshot, context.place)
    request = HandOffRequest(
        tables=snapshot.tables(),
        selection=read_table(str(inputs["selection"])),
        classes=snapshot.classes,
        pixels=pixels,
        prelabels=read_table(predictions) if predictions else None,
        labeling=read_section(LabelingSection, settings["labeling"]),
        purpose=settings["purpose"],
        store=context.place.store,
        aliases=settings["aliases"],
    )
    handed_off = hand_off(request, context.progress, partial(_remember, context))
    uri = handed_off.campaign.uri if handed_off.campaign else ""
    none = "" if uri else _why_none(request, handed_off.counts["frames_already_out"])
    where = f"The campaign lies at {uri}\n" if uri else f"{none}\n"
    rows = [(row["path"], row["reason"], row["detail"]) for row in handed_off.quarantine.to_pylist()]
    held = f"\n{markdown_table(('picture', 'reason', 'detail'), rows)}" if rows else ""
    return StepResult(
        outputs={"campaign": uri},
        counts=handed_off.counts,
        pages={"summary": counts_page("Hand-off", handed_off.counts, where + held)},
        notes=(*pixels.cache_note(), *filter(None, [none, _out_elsewhere(context, request)])),
    )


def _why_none(request: "HandOffRequest", awaited: int) -> str:
    """Say why nothing goes to annotators; where everything has its labels, that is good news."""
    import pyarrow.compute as pc

    if awaited:
        out = f"{awaited} selected frames are out in other campaigns; `driveflow label close` frees what stays out"
        return f"Nothing was left to send, so there is no new campaign. {out}."
    frames = request.tables.frames
    lacking = pc.less(pc.list_value_length(frames["annotated_classes"]), len(request.classes))
    asked = pc.and_(lacking, pc.not_equal(frames["split"], "holdout"))
    why = "" if pc.any(asked).as_py() else " Every kept frame of train and val has its labels."
    return f"Nothing was left to label, so there is no campaign.{why}"


def _out_elsewhere(context: StepContext, request: "HandOffRequest") -> str:
    """Say which other flows handed selected frames off: their labels come to those flows alone; empty for none."""
    from labeling.campaigns import open_those_there

    flow: Any = context.settings["flow"]
    theirs = {
        row.campaign_id: row.flow for row in context.ledger.campaigns(purpose=request.purpose) if row.flow != flow
    }
    selected = set(request.selection["frame_id"].to_pylist())
    shared: dict[str, set[str]] = {}
    for manifest in open_those_there(request.store, theirs)[0]:
        found = selected.intersection(frame.frame_id for frame in manifest.frames)
        if found:
            shared.setdefault(theirs[manifest.campaign_id], set()).update(found)
    if not shared:
        return ""
    told = ", ".join(f"{len(found)} of flow {name!r}" for name, found in sorted(shared.items()))
    return (
        f"Selected frames are out in campaigns of other flows ({told}), and their labels come back to those alone, "
        "not to this flow; the same name, or a store of its own, would do."
    )


def _remember(context: StepContext, campaign: "Campaign") -> None:
    from driveflow.ledger.rows import CampaignRow

    flow: Any = context.settings["flow"]
    row = CampaignRow(
        campaign_id=campaign.campaign_id,
        flow=flow,
        run_id=context.run_id,
        uri=campaign.uri,
        purpose=campaign.purpose,
        frames=len(campaign.frames),
        classes=campaign.classes,
    )
    context.ledger.record_campaign(row)
