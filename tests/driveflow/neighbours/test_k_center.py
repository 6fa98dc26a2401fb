"""Pruned k-center and nearest kept say what the plain loops say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driveflow.neighbours.cosine_kernel import PairsOfRows, distances
from driveflow.neighbours.k_center import k_center, nearest_kept
from tests.driveflow.neighbours.made import walk


def _apart(vectors, row):
    rows = np.arange(len(vectors))
    return distances(PairsOfRows(vectors, vectors, rows, np.full(len(rows), row)), 2.0, 0.0)


def _plain(vectors, count, start=()):
    nearest = np.full(len(vectors), np.inf)
    taken = list(start)
    for row in start:
        nearest = np.minimum(nearest, _apart(vectors, row))
    order, radius = [], []
    for _ in range(min(count, len(vectors) - len(start))):
        nearest[taken] = -1
        best = int(nearest.argmax())
        order.append(best)
        radius.append(nearest[best])
        taken.append(best)
        nearest = np.minimum(nearest, _apart(vectors, best))
    return order, radius


@pytest.mark.parametrize(("dimensions", "start"), [(4, ()), (64, ()), (64, (5, 77))])
def test_the_farthest_row_is_chosen_each_time_as_the_plain_loop_does(dimensions, start):
    vectors = walk(400, dimensions)[np.random.default_rng(0).integers(0, 400, 500)]

    found = k_center(vectors, 120, np.array(start, np.int64))

    assert (found.order.tolist(), found.distance.tolist()) == _plain(vectors, 120, start)


@settings(max_examples=30)
@given(st.integers(0, 2**20), st.integers(1, 40), st.integers(0, 45))
def test_any_rows_are_chosen_as_the_plain_loop_does(seed, rows, count):
    vectors = walk(rows, 3, seed, step=0.01)

    found = k_center(vectors, count)

    assert (found.order.tolist(), found.distance.tolist()) == _plain(vectors, count)


def test_equal_rows_are_chosen_in_their_order_and_rows_without_a_vector_never():
    vectors = np.array([[0, 0], [1, 0], [1, 0], [1, 0]], np.float32)

    found = k_center(vectors, 9)

    assert (found.order.tolist(), found.distance.tolist()) == ([1, 2, 3], [np.inf, 0, 0])


def test_of_no_rows_none_is_chosen():
    assert k_center(np.zeros((0, 8), np.float32), 3).order.tolist() == []


@pytest.mark.parametrize("count", [1, 3])
def test_the_nearest_kept_is_as_far_as_the_plain_search_says(count):
    vectors, kept = walk(150, 48, 1), walk(200, 48, 2)
    both = np.concatenate([vectors, kept])

    found = nearest_kept(vectors, kept, count)

    rows = np.arange(150, 350)
    plain = [
        np.sort(distances(PairsOfRows(both, both, np.full(200, row), rows), 2.0, 0.0))[count - 1] for row in range(150)
    ]
    assert found.tolist() == plain


def test_a_distance_to_what_is_kept_does_not_change_with_new_rows_elsewhere():
    vectors, kept = walk(60, 32, 1), walk(90, 32, 2)

    alone = nearest_kept(vectors[:10], kept, 2)
    among_others = nearest_kept(vectors, kept, 2)

    assert among_others[:10].tolist() == alone.tolist()


def test_where_fewer_are_kept_the_nearest_is_infinitely_far():
    assert nearest_kept(walk(2, 4), walk(2, 4), 3).tolist() == [np.inf, np.inf]


def test_rows_of_ones_own_group_are_not_compared_and_rows_of_zeros_are_no_vectors():
    vectors = np.array([[1, 0], [0, 1], [0, 0]], np.float32)

    alone = nearest_kept(vectors, vectors)
    apart = nearest_kept(vectors, vectors, groups=(np.array([0, 1, 2]), np.array([0, 1, 2])))

    assert alone.tolist()[:2] == [0, 0]
    assert apart.tolist()[:2] == [1, 1]
    assert np.isnan([alone[2], apart[2]]).all()
