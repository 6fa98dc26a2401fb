"""A thumbnail shows the picture and its boxes and leaves the caller's pixels alone."""

import base64
import io

import numpy as np
import pytest
from PIL import Image

from driveflow.pages.pictures import MAX_LABEL_CHARS, printable_label, thumbnail_data_uri
from tests.driveflow.pages.hostile import HOSTILE_NAMES

RED = (255, 0, 0)


def _decode(uri: str) -> np.ndarray:
    data = base64.b64decode(uri.removeprefix("data:image/jpeg;base64,"))
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def _grey(height: int = 400, width: int = 800) -> np.ndarray:
    return np.full((height, width, 3), 90, np.uint8)


def _red_share(strip: np.ndarray) -> float:
    return float(((strip[..., 0] > 150) & (strip[..., 1] < 110)).mean())


def test_a_large_picture_is_made_smaller_and_keeps_its_shape():
    assert _decode(thumbnail_data_uri(_grey(), max_side_px=200)).shape == (100, 200, 3)


def test_a_small_picture_is_not_made_larger():
    assert _decode(thumbnail_data_uri(_grey(30, 40))).shape == (30, 40, 3)


def test_a_box_is_drawn_where_it_is_after_scaling():
    drawn = _decode(thumbnail_data_uri(_grey(), [(200, 100, 600, 300, "", RED, False)], max_side_px=400))

    assert _red_share(drawn[60:140, 99:102]) > 0.6
    assert _red_share(drawn[60:140, 130:270]) == 0


def test_a_dashed_box_has_gaps_and_a_solid_one_none():
    solid, dashed = (
        _decode(thumbnail_data_uri(_grey(), [(100, 100, 700, 300, "", RED, flag)], 800)) for flag in (False, True)
    )

    assert _red_share(solid[100:101, 110:690]) == 1.0
    assert 0.3 < _red_share(dashed[100:101, 110:690]) < 0.8


def test_boxes_outside_and_turned_round_are_drawn_at_the_edge():
    uri = thumbnail_data_uri(_grey(50, 50), [(-1e9, -5, 1e9, 5, "a", RED, True), (40, 40, 10, 10, "b", RED, False)])

    assert _decode(uri).shape == (50, 50, 3)


def test_the_pixels_of_the_caller_stay_as_they_are():
    image = _grey(50, 50)

    thumbnail_data_uri(image, [(1, 1, 40, 40, "a", RED, False)])

    assert (image == 90).all()


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_a_hostile_label_is_drawn_short(name):
    assert len(printable_label(name)) <= MAX_LABEL_CHARS
    assert thumbnail_data_uri(_grey(50, 50), [(1, 1, 40, 40, name, RED, False)]).startswith("data:image/jpeg;base64,")


@pytest.mark.parametrize("image", [np.zeros((4, 4), np.uint8), np.zeros((4, 4, 3)), np.zeros((0, 4, 3), np.uint8)])
def test_what_is_no_picture_is_refused(image):
    with pytest.raises(ValueError, match="a picture is height x width x 3 of uint8"):
        thumbnail_data_uri(image)


def test_of_labels_that_would_cover_each_other_only_some_are_drawn():
    crowd = [(20 + shift, 20 + shift, 40 + shift, 40 + shift, "pedestrian", RED, False) for shift in range(30)]

    one, many = (_decode(thumbnail_data_uri(_grey(60, 90), boxes)) for boxes in (crowd[-1:], crowd))

    assert _red_share(many) < 0.9
    assert _red_share(one) > 0.1
