"""The leak report of a snapshot, for the commands that show it."""

from cli.data.progress import shown_progress
from driveflow.images.pixels import open_pixels
from driveflow.place import Place
from driveflow.signal_store import SignalStore
from driveflow.snapshots import Snapshot
from filtering.fingerprint import fingerprint_frames
from ingestion.leak_report import LeakLimits, LeakReport, digests_of, leaks_of_splits


def leaks_of(snapshot: Snapshot, place: Place, *, measure: bool = False) -> LeakReport:
    """Return what training shares with val and hold-out; `measure` hashes the frames that have no hash yet."""
    tables = snapshot.tables()
    pixels = open_pixels(snapshot, place)
    store = SignalStore(place.store)
    ids = tables.frames["frame_id"]
    if measure:
        with shown_progress("measure") as progress:
            fingerprint_frames(ids, pixels, store, progress)
    return leaks_of_splits(tables, store.load(ids), LeakLimits(), digests_of(pixels.read))
