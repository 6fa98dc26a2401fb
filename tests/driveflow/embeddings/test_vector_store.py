import numpy as np
import pyarrow as pa
import pytest

from driveflow.embeddings.vector_store import VectorStore


def rows(*values):
    return np.array([[value, 1.0, -value] for value in values], np.float32)


@pytest.fixture
def store(tmp_path):
    return VectorStore(tmp_path.as_uri(), "model", 3)


def test_what_was_kept_is_found_again_sorted_by_frame(store):
    store.append(["b", "a"], rows(2, 1))
    store.append(["d"], rows(4))

    found = store.load(["d", "c", "b", "a", "a"])

    assert (found.frame_ids.to_pylist(), found.vectors.tolist()) == (["a", "b", "d"], rows(1, 2, 4).tolist())
    assert store.known(["c", "d"]).to_pylist() == ["d"]


def test_many_frames_of_which_some_are_not_known_keep_their_rows(store):
    names = [f"{number:05}" for number in range(10_000)]
    store.append(names[::2], rows(*range(0, 10_000, 2)))

    found = store.load(names)

    assert found.frame_ids.to_pylist() == names[::2]
    assert np.array_equal(found.vectors, rows(*range(0, 10_000, 2)))


def test_an_empty_store_knows_nothing(store):
    assert (len(store.load(["a"]).frame_ids), store.load([]).vectors.shape) == (0, (0, 3))


def test_keeping_twice_changes_nothing(store, tmp_path):
    store.append(["a", "b"], rows(1, 2))
    store.append(["b", "a"], rows(2, 1))

    assert len(list(tmp_path.rglob("*.parquet"))) == 1
    assert store.load(["a", "b"]).vectors.tolist() == rows(1, 2).tolist()


def test_vectors_of_another_model_are_not_mixed_in(store, tmp_path):
    VectorStore(tmp_path.as_uri(), "other", 3).append(["a"], rows(1))

    assert len(store.known(["a"])) == 0


def test_a_damaged_part_counts_as_missing_until_it_is_written_again(store, tmp_path):
    store.append(["a"], rows(1))
    (part,) = tmp_path.rglob("*.parquet")
    part.write_bytes(part.read_bytes()[:-9])

    assert len(store.known(["a"])) == 0

    store.append(["a"], rows(1))

    assert store.known(["a"]).to_pylist() == ["a"]


def test_rows_of_another_size_are_refused(store):
    with pytest.raises(ValueError, match=r"got \(1, 2\)"):
        store.append(["a"], np.zeros((1, 2), np.float32))


def test_rows_come_in_the_order_that_is_asked_and_of_zeros_where_a_frame_has_none(store):
    store.append(["b", "a"], rows(2, 1))
    store.append(["c"], rows(3))
    asked = pa.array(["c", "x", "a"])
    wanted = np.array([rows(3)[0], [0, 0, 0], rows(1)[0]])

    assert np.array_equal(store.rows(asked), wanted)
    assert np.array_equal(store.load(["a", "b", "c"]).rows(asked), wanted)


@pytest.mark.parametrize("held", [False, True])
def test_parts_are_bounded_and_bring_every_known_row_once(store, held):
    names = [f"{number:05}" for number in range(20_000)]
    for start in range(0, 20_000, 5_000):
        store.append(names[start : start + 5_000], rows(*range(start, start + 5_000)))
    asked = pa.array(names[::-1])
    parts = list((store.load(names) if held else store).parts(asked))

    places = np.concatenate([at for at, _ in parts])
    assert sorted(places.tolist()) == list(range(20_000))
    assert max(len(at) for at, _ in parts) <= 10_000
    for at, vectors in parts:
        assert np.array_equal(vectors, rows(*(19_999 - at)))
