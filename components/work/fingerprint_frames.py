"""Measure the pixels of every frame, once."""

from collections.abc import Mapping

from components.work.pages import counts_page
from driveflow.steps import StepContext, StepResult, StepSpec, Value

SPEC = StepSpec("fingerprint_frames", ("components.work", "filtering"))


def work(context: StepContext, inputs: Mapping[str, Value]) -> StepResult:
    """Return what the pixels of the snapshot's frames measured."""
    from components.work.table_objects import put_table
    from driveflow.images.pixels import open_pixels
    from driveflow.signal_store import SignalStore
    from driveflow.snapshots import open_snapshot
    from filtering.fingerprint import fingerprint_frames

    snapshot = open_snapshot(str(inputs["snapshot"]))
    pixels = open_pixels(snapshot, context.place)
    result = fingerprint_frames(
        snapshot.frames()["frame_id"],
        pixels,
        SignalStore(context.place.store),
        context.progress,
    )
    uri = put_table(context.place.store, result.signals)
    unreadable = result.signals["error"].length() - result.signals["error"].null_count
    counts = {
        "frames_in": result.signals.num_rows,
        "measured": result.measured,
        "known": result.reused,
        "unreadable": unreadable,
    }
    return StepResult(
        outputs={"signals": uri},
        counts=counts,
        pages={"summary": counts_page("Fingerprints", counts)},
        objects=(uri,),
        notes=pixels.cache_note(),
        lasting=not result.absent,
    )
