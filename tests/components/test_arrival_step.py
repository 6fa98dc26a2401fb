"""The filter step over batches that arrive one by one."""

import numpy as np
import pyarrow as pa

from components.work.filter_frames import work
from components.work.settings import write_section
from components.work.table_objects import put_table
from driveflow.flow.sections import FilterSection
from driveflow.images.pixels import open_pixels
from driveflow.signal_store import SignalStore
from driveflow.snapshots import Snapshot, SnapshotTables, open_snapshot, write_snapshot
from filtering.fingerprint import fingerprint_frames
from tests.components.made_steps import context, pictures_snapshot
from tests.driveflow.images.made import scene

DAYS = ("monday", "tuesday")


def arrived(store: str, whole: Snapshot, count: int) -> Snapshot:
    """The first pictures of `whole`, the first two from monday, the others from tuesday."""
    tables = whole.tables()
    number = [int(path.removesuffix(".png")) for path in tables.sources["path"].to_pylist()]
    batches = pa.array([DAYS[at >= 2] for at in number])
    place = tables.sources.column_names.index("batch")
    sources = tables.sources.set_column(place, "batch", batches)
    named = SnapshotTables(tables.frames, sources, tables.boxes, tables.classes)
    come = [name for name, at in zip(sources["frame_id"].to_pylist(), number, strict=True) if at < count]
    return write_snapshot(store, named.only(pa.array(come)), whole.beside(), {})


def run(folder, merged: Snapshot, arrival: tuple[str, ...]):
    settings = {"filters": write_section(FilterSection()), "corner_cases": [], "arrival": list(arrival)}
    step = context(folder, settings)
    pixels = open_pixels(merged, step.place)
    signals = fingerprint_frames(merged.frames()["frame_id"], pixels, SignalStore(step.place.store)).signals
    return work(step, {"snapshot": merged.uri, "signals": put_table(step.place.store, signals)})


def test_a_second_batch_is_judged_against_what_the_first_kept_and_the_first_is_known(tmp_path):
    picture = scene(1, 320, 180)
    turned = np.ascontiguousarray(picture[::-1, ::-1])
    brighter = [np.clip(image.astype(int) + 6, 0, 255).astype(np.uint8) for image in (picture, turned)]
    whole = pictures_snapshot((tmp_path / "other" / "store").as_uri(), images=[picture, turned, *brighter])

    store = (tmp_path / "one" / "store").as_uri()
    (tmp_path / "one").mkdir()
    run(tmp_path / "one", arrived(store, whole, 2), DAYS[:1])
    second = run(tmp_path / "one", arrived(store, whole, 4), DAYS)
    (tmp_path / "two").mkdir()
    at_once = run(tmp_path / "two", arrived((tmp_path / "two" / "store").as_uri(), whole, 4), DAYS)

    made, other = (open_snapshot(str(result.outputs["snapshot"])) for result in (second, at_once))
    assert made.decisions() == other.decisions()
    assert second.counts["dropped"] == 2
    assert "| monday | 2 | 2 | known |" in second.pages["summary"]
    assert "| tuesday | 2 | 0 | judged now |" in second.pages["summary"]
    assert second.metrics["peak_memory_mb"] > 0
    assert made.made_by()["arrival"] == list(DAYS)
