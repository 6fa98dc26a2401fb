"""Pictures fit into what a page may weigh: smaller first, then fewer, and small things are shown cut out."""

import base64
import io

import numpy as np
import pytest
from PIL import Image

from driveflow.errors import NotFoundError
from validation.pages.album import Wanted, make_pictures

NOISE = np.random.default_rng(0).integers(0, 255, (240, 320, 3)).astype(np.uint8)
ALL = [Wanted(f"f{number}", ()) for number in range(6)]


def _size(uri: str) -> tuple[int, int]:
    return Image.open(io.BytesIO(base64.b64decode(uri.partition(",")[2]))).size


def _weight(uris) -> int:
    return sum(len(uri) for uri in uris if uri is not None)


def test_pictures_that_fit_are_shown_as_large_as_they_are():
    made = make_pictures(ALL, lambda frame_id: NOISE, 10_000_000)

    assert [_size(uri) for uri in made.uris] == [(320, 240)] * 6
    assert made.note == ""


def test_large_frames_are_reduced_to_a_long_side_of_900():
    made = make_pictures(ALL[:1], lambda frame_id: np.zeros((1000, 2000, 3), np.uint8), 10_000_000)

    assert _size(made.uris[0]) == (900, 450)


def test_pictures_are_made_smaller_before_any_is_left_out():
    large = np.kron(NOISE, np.ones((3, 3, 1), np.uint8))
    whole = _weight(make_pictures(ALL, lambda frame_id: large, 10_000_000).uris)

    made = make_pictures(ALL, lambda frame_id: large, whole // 3)

    assert None not in made.uris
    assert _weight(made.uris) <= whole // 3
    assert made.note.startswith("Pictures are reduced to")


def test_what_does_not_fit_at_the_smallest_size_is_left_out_from_the_end():
    one = _weight(make_pictures(ALL[:1], lambda frame_id: NOISE, 1).uris) or 60_000

    made = make_pictures(ALL, lambda frame_id: NOISE, 2 * one)

    kept = [uri is not None for uri in made.uris]
    assert kept == sorted(kept, reverse=True)
    assert 0 < sum(kept) < 6
    assert f"{6 - sum(kept)} more pictures are left out" in made.note


def test_a_frame_that_cannot_be_read_is_named_and_the_others_are_shown():
    def read(frame_id: str) -> np.ndarray:
        if frame_id == "f1":
            raise NotFoundError("gone")
        return NOISE

    made = make_pictures(ALL[:3], read, 10_000_000)

    assert [uri is not None for uri in made.uris] == [True, False, True]
    assert made.reasons == ("Frame f1: gone",)


@pytest.mark.parametrize(
    ("focus", "size"),
    [
        ((1000.0, 500.0, 1020.0, 510.0), (280, 210)),
        ((0.0, 0.0, 100.0, 100.0), (467, 350)),
        ((0.0, 0.0, 1500.0, 1100.0), (900, 675)),
        ((5000.0, 5000.0, 5010.0, 5010.0), (280, 210)),
        (None, (900, 675)),
    ],
)
def test_a_small_focus_is_cut_out_in_the_shape_of_the_frame_and_a_large_one_is_not(focus, size):
    frame = np.zeros((1200, 1600, 3), np.uint8)

    (uri,) = make_pictures([Wanted("f", (), focus)], lambda frame_id: frame, 10_000_000).uris

    assert _size(uri) == size


def test_boxes_are_where_they_were_after_cutting_and_reducing():
    frame = np.zeros((1200, 1600, 3), np.uint8)
    box = (1000.0, 600.0, 1040.0, 630.0, "", (255, 0, 0), False)

    (uri,) = make_pictures([Wanted("f", (box,), box[:4])], lambda frame_id: frame, 10_000_000).uris
    red = np.asarray(Image.open(io.BytesIO(base64.b64decode(uri.partition(",")[2]))))[:, :, 0] > 120

    rows, columns = np.flatnonzero(red.any(axis=1)), np.flatnonzero(red.any(axis=0))
    assert (columns[0], columns[-1]) == pytest.approx((120, 160), abs=3)
    assert (rows[0], rows[-1]) == pytest.approx((90, 120), abs=3)
