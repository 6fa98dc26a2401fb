import threading

import pytest

from driveflow.canonical import digest_bytes
from driveflow.errors import NotFoundError, StorageError
from driveflow.signal_store import SignalStore
from filtering.fingerprint import fingerprint_frames
from tests.driveflow.images.made import encode, scene


class Counting:
    """Pixels that count how often each frame is read."""

    def __init__(self, *pictures: bytes) -> None:
        self.data = {digest_bytes(data): data for data in pictures}
        self.reads: list[str] = []
        self.lock = threading.Lock()

    def read(self, frame_id: str) -> bytes:
        with self.lock:
            self.reads.append(frame_id)
        if frame_id not in self.data:
            raise NotFoundError(f"nothing lies where {frame_id[:8]} should be")
        return self.data[frame_id]


@pytest.fixture
def store(tmp_path) -> SignalStore:
    return SignalStore(tmp_path.as_uri())


def test_a_second_run_reads_no_pixel(store):
    pixels = Counting(*(encode(scene(seed)) for seed in range(5)))

    first = fingerprint_frames(list(pixels.data), pixels, store)
    second = fingerprint_frames(list(pixels.data), pixels, store)

    assert (first.measured, first.reused, second.measured, second.reused) == (5, 0, 0, 5)
    assert second.signals.equals(first.signals)
    assert len(pixels.reads) == 5


def test_only_frames_not_known_yet_are_measured(store):
    pixels = Counting(*(encode(scene(seed)) for seed in range(4)))
    ids = list(pixels.data)
    fingerprint_frames(ids[:2], pixels, store)

    result = fingerprint_frames([*ids, ids[0]], pixels, store)

    assert (result.measured, result.reused) == (2, 2)
    assert result.signals["frame_id"].to_pylist() == sorted(ids)


@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_one_broken_frame_costs_one_row_and_moves_no_other(store, tmp_path, place):
    good = [encode(scene(seed)) for seed in range(4)]
    alone = fingerprint_frames(
        [digest_bytes(data) for data in good], Counting(*good), SignalStore((tmp_path / "x").as_uri())
    )
    at = {"first": 0, "middle": 2, "last": 4}[place]
    pixels = Counting(*good[:at], b"\xff\xd8\xffbroken", *good[at:])

    signals = fingerprint_frames(list(pixels.data), pixels, store).signals.to_pylist()

    assert [row for row in signals if row["error"] is None] == alone.signals.to_pylist()
    assert [row["frame_id"] for row in signals if row["error"] is not None] == [digest_bytes(b"\xff\xd8\xffbroken")]


def test_missing_bytes_are_named_and_looked_for_again(store):
    data = encode(scene())
    frame_id = digest_bytes(data)

    first = fingerprint_frames([frame_id], Counting(), store)
    second = fingerprint_frames([frame_id], Counting(data), store)

    assert "should be" in first.signals["error"][0].as_py()
    assert second.signals["error"][0].as_py() is None


def test_a_storage_that_fails_ends_the_step_and_keeps_what_was_measured(store, monkeypatch):
    monkeypatch.setattr("filtering.fingerprint._CHUNK_FRAMES", 2)
    pixels = Counting(*(encode(scene(seed)) for seed in range(4)))
    ids = sorted(pixels.data)
    pixels.data[ids[3]] = b""

    class Failing(Counting):
        def read(self, frame_id: str) -> bytes:
            if frame_id == ids[3]:
                raise StorageError("the disk is gone")
            return super().read(frame_id)

    with pytest.raises(StorageError, match="the disk is gone"):
        fingerprint_frames(ids, Failing(*(pixels.data[name] for name in ids[:3])), store)

    assert store.load(ids)["frame_id"].to_pylist() == ids[:2]


@pytest.mark.parametrize("workers", [1, 3])
def test_the_number_of_workers_changes_nothing(tmp_path, workers):
    pixels = Counting(*(encode(scene(seed)) for seed in range(9)))
    one = fingerprint_frames(list(pixels.data), pixels, SignalStore((tmp_path / "one").as_uri()), workers=1)

    many = fingerprint_frames(
        list(reversed(pixels.data)), pixels, SignalStore((tmp_path / "many").as_uri()), workers=workers
    )

    assert many.signals.equals(one.signals)


def test_nothing_to_measure_is_an_empty_table(store):
    assert fingerprint_frames([], Counting(), store).signals.num_rows == 0


def test_progress_tells_every_frame_and_how_fast(store):
    pixels = Counting(*(encode(scene(seed)) for seed in range(3)))
    told: list[tuple[int, int]] = []
    words: list[str] = []

    def hear(done: int, total: int, what: str) -> None:
        told.append((done, total))
        words.append(what)

    fingerprint_frames(list(pixels.data), pixels, store, hear)

    assert told == [(0, 3), (1, 3), (2, 3), (3, 3)]
    assert words[0] == "frames measured"
    assert words[-1].endswith(" a second")
