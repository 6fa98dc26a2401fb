"""The leak report of a snapshot, for the commands that show it."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from cli.data.progress import shown_progress
from driveflow.images.pixels import PixelReader, open_pixels
from driveflow.place import Place
from driveflow.signal_store import SignalStore
from driveflow.snapshots import Snapshot
from filtering.fingerprint import fingerprint_frames
from ingestion.leak_report import LeakLimits, LeakReport, digests_of, leaks_between, leaks_of_splits


def leaks_of(snapshot: Snapshot, place: Place, *, measure: bool = False, against: Snapshot | None = None) -> LeakReport:
    """Return what training shares with val and hold-out, and with all frames of another snapshot.

    With `measure` the frames that have no hash yet are hashed.
    """
    sides = [snapshot, against] if against else [snapshot]
    readers = [open_pixels(side, place) for side in sides]
    store = SignalStore(place.store)
    signals = []
    for side, pixels in zip(sides, readers, strict=True):
        ids = side.frames()["frame_id"]
        if measure:
            with shown_progress("measure") as progress:
                fingerprint_frames(ids, pixels, store, progress)
        signals.append(store.load(ids))
    digests = digests_of(lambda frame_id: _read(frame_id, readers))
    tables, known = snapshot.tables(), pa.concat_tables(signals)
    report = leaks_of_splits(tables, known, LeakLimits(), digests)
    if against is None:
        return report
    training = tables.only(tables.frames.filter(pc.equal(tables.frames["split"], "train"))["frame_id"])
    others = {against.snapshot_id[:16]: against.tables()}
    return LeakReport((*report.borders, *leaks_between(training, others, known, LeakLimits(), digests).borders))


def _read(frame_id: str, readers: Sequence[PixelReader]) -> bytes:
    return next((pixels for pixels in readers if frame_id in pixels), readers[0]).read(frame_id)
