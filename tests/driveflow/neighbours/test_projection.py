"""Coordinates bound cosines from above, whatever the rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driveflow.neighbours.cosine import quantised, slack
from driveflow.neighbours.projection import fit
from tests.driveflow.neighbours.made import walk


@settings(max_examples=30)
@given(st.integers(0, 2**20), st.integers(25, 90), st.sampled_from([0.001, 0.05, 0.3]), st.none() | st.floats(0, 0.5))
def test_products_of_coordinates_are_no_less_than_the_cosines(seed, dimensions, step, limit):
    rows, others = walk(120, dimensions, seed, step), walk(60, dimensions, seed + 1, step)
    projection = fit(rows, limit)

    bounds = projection.coordinates(rows) @ projection.coordinates(others).T

    cosines = rows.astype(np.float64) @ others.T.astype(np.float64)
    assert (bounds + slack(dimensions) >= cosines).all()


def test_rows_that_lie_in_few_axes_get_few_coordinates():
    random = np.random.default_rng(0)
    rows = random.normal(size=(500, 6)) @ random.normal(size=(6, 200))
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

    assert fit(rows, 0.05).coordinates(rows).shape == (500, 9)


@pytest.mark.parametrize(("rows", "dimensions"), [(0, 100), (3, 100), (100, 8)])
def test_few_rows_or_few_dimensions_stay_as_they_are(rows, dimensions):
    vectors = walk(rows, dimensions)

    assert fit(vectors).coordinates(vectors) is vectors


def test_a_limit_is_told_in_the_steps_that_distances_have():
    assert (quantised(0.05), quantised(0.0500004), quantised(0.0500006)) == (0.05, 0.05, 0.050001)
