import numpy as np
import pytest

from driveflow.embeddings.vector_store import VectorStore
from driveflow.errors import BrokenDataError, IntegrityError, NotFoundError, StorageError
from filtering.embed_frames import EmbedCounts, embed_frames


class Pixels:
    """Frames whose bytes are their own name; `lost` ones are gone, and `failing` ones stop the storage."""

    def __init__(self, lost=(), failing=()):
        self.lost, self.failing, self.reads = lost, failing, []

    def read(self, frame_id):
        self.reads.append(frame_id)
        if frame_id in self.failing:
            raise StorageError("down")
        if frame_id in self.lost:
            raise NotFoundError("gone")
        return frame_id.encode()


class Model:
    """An embedder of 2 dimensions; bytes with an x are no picture, with a y they break the model."""

    digest, dimensions = "model", 2

    def embed(self, pictures):
        (data,) = pictures
        if b"x" in data:
            raise BrokenDataError("corrupt", "no picture")
        if b"y" in data:
            raise IntegrityError("the model is broken")
        angle = sum(data)
        return np.array([[np.cos(angle), np.sin(angle)]], np.float32)


@pytest.fixture
def store(tmp_path):
    return VectorStore(tmp_path.as_uri(), "model", 2)


def test_every_frame_gets_a_vector_once(store):
    pixels = Pixels()
    embed_frames(["a", "b"], pixels, Model(), store)

    counts = embed_frames(["a", "b", "c"], pixels, Model(), store)

    assert (counts, sorted(pixels.reads)) == (EmbedCounts(1, 2, 0), ["a", "b", "c"])
    assert store.load(["a", "b", "c"]).vectors.tolist() == [
        Model().embed([name])[0].tolist() for name in (b"a", b"b", b"c")
    ]


def test_a_frame_that_cannot_be_read_has_no_vector_and_costs_no_other(store):
    counts = embed_frames(["a", "lost", "x"], Pixels(lost=["lost"]), Model(), store)

    assert counts == EmbedCounts(1, 0, 2)
    assert store.known(["a", "lost", "x"]).to_pylist() == ["a"]


def test_a_run_that_is_stopped_keeps_the_chunks_it_finished(store):
    names = [f"{number:04}" for number in range(400)]

    with pytest.raises(StorageError):
        embed_frames(names, Pixels(failing=["0399"]), Model(), store)

    assert store.known(names).to_pylist() == names[:256]


def test_a_model_that_breaks_is_told_not_counted(store):
    with pytest.raises(IntegrityError, match="broken"):
        embed_frames(["y"], Pixels(), Model(), store)


def test_progress_counts_what_was_known(store):
    told = []
    embed_frames(["a"], Pixels(), Model(), store)

    embed_frames(["a", "b"], Pixels(), Model(), store, lambda done, total, what: told.append((done, total, what)))

    assert told == [(1, 2, "frames embedded"), (2, 2, "frames embedded")]
