"""Pictures and boxes change together."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.builtin.augment import Augmentation, Scene, flip, move
from training.builtin.examples import IGNORED


def _scene(box=(10, 20, 30, 40)):
    image = np.zeros((64, 96, 3), np.uint8)
    image[box[1] : box[3], box[0] : box[2]] = 255
    return Scene(image, np.array([box], np.float32), np.array([0]))


def _bright(image):
    rows, columns = np.nonzero(image[:, :, 0] > 128)
    return [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]


@pytest.mark.parametrize("box", [(10, 20, 30, 40), (0, 0, 96, 64), (95, 0, 96, 1)])
def test_a_box_still_holds_its_object_in_the_mirror(box):
    mirrored = flip(_scene(box))

    assert mirrored.boxes[0].tolist() == _bright(mirrored.image)


def test_a_mirror_of_a_mirror_is_the_picture():
    scene = _scene()

    again = flip(flip(scene))

    assert np.array_equal(again.image, scene.image)
    assert np.array_equal(again.boxes, scene.boxes)


@pytest.mark.parametrize("matrix", [[[1, 0, 7], [0, 1, -5]], [[1.5, 0, 0], [0, 1.25, 0]], [[0.5, 0, 20], [0, 0.5, 10]]])
def test_a_box_still_holds_its_object_after_a_move(matrix):
    moved = move(_scene(), np.array(matrix, np.float32))

    assert np.abs(moved.boxes[0] - _bright(moved.image)).max() <= 1.0


@pytest.mark.parametrize(("shift", "number"), [(-23, 0), (-24, 0), (-25, IGNORED)])
def test_an_object_of_which_too_little_is_left_is_neither_object_nor_background(shift, number):
    moved = move(_scene((10, 20, 30, 40)), np.array([[1, 0, shift], [0, 1, 0]], np.float32))

    assert moved.numbers.tolist() == [number]


def test_an_object_out_of_view_is_gone():
    moved = move(_scene((10, 20, 30, 40)), np.array([[1, 0, -31], [0, 1, 0]], np.float32))

    assert moved.boxes.shape == (0, 4)


@given(st.integers(0, 2**32), st.integers(0, 3))
def test_the_same_random_numbers_give_the_same_scene_and_boxes_stay_in_it(seed, count):
    random = np.random.default_rng(seed)
    low = random.uniform(0, 50, (count, 2))
    boxes = np.concatenate([low, low + random.uniform(1, 14, (count, 2))], axis=1).astype(np.float32)
    scene = Scene(random.integers(0, 256, (64, 96, 3)).astype(np.uint8), boxes, np.zeros(count, np.int64))

    one, other = (Augmentation().apply(scene, np.random.default_rng(seed)) for _ in range(2))

    assert np.array_equal(one.image, other.image)
    assert np.array_equal(one.boxes, other.boxes)
    assert (one.boxes >= 0).all()
    assert (one.boxes <= [96, 64, 96, 64]).all()
    assert (one.boxes[:, 2:] > one.boxes[:, :2]).all()
    assert one.image.dtype == np.uint8
