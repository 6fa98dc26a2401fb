"""Every object is learned by a level of its size."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.builtin.levels import LEVELS, Level

LEVEL = Level(8, 10.0, 20.0)


@pytest.mark.parametrize(("side", "taken"), [(9.5, False), (10.0, True), (20.0, True), (20.5, False)])
def test_a_level_takes_sizes_from_its_least_to_its_most(side, taken):
    assert LEVEL.takes(np.array([[0, 0, side, 5]], np.float32)).tolist() == [taken]
    assert LEVEL.takes(np.array([[0, 0, 5, side]], np.float32)).tolist() == [taken]


@given(st.floats(0.5, 4096, width=32), st.floats(0.5, 4096, width=32))
def test_no_object_is_left_out(width, height):
    box = np.array([[0, 0, width, height]], np.float32)

    assert any(level.takes(box)[0] for level in LEVELS)


def test_a_frame_without_boxes_has_none_of_any_size():
    assert LEVEL.takes(np.zeros((0, 4), np.float32)).shape == (0,)
    assert LEVELS[-1].most_px == math.inf


def test_grids_cover_the_picture():
    assert [level.grid((256, 160)) for level in LEVELS] == [(40, 64), (10, 16)]
