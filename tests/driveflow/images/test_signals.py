import csv

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driveflow.images.decode import decode_gray_reduced
from driveflow.images.hashes import hamming_bits, phash64
from driveflow.images.signals import measure
from tests.driveflow.images.made import encode, oriented, scene
from tests.shared_data import shared_data


@pytest.fixture(scope="module")
def derived() -> dict[str, int]:
    folder = shared_data("dedup_derived") / "images"
    return {path.name: measure(path.read_bytes()).phash64 for path in sorted(folder.iterdir())}


def relations(derived: dict[str, int]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for row in csv.DictReader((shared_data("dedup_derived") / "pairs.csv").read_text().splitlines()):
        distance = hamming_bits(derived[row["base"]], derived[row["variant"]])
        found.setdefault(row["relation"], []).append(distance)
    return found


@pytest.mark.parametrize("relation", ["exact_bytes", "same_pixels"])
def test_equal_pixels_have_equal_hashes(derived, relation):
    assert set(relations(derived)[relation]) == {0}


@pytest.mark.parametrize(("bits", "recall"), [(2, 0.65), (4, 0.75)])
def test_near_copies_have_near_hashes(derived, bits, recall):
    near = np.array(relations(derived)["near"])

    assert len(near) == 120
    assert (near <= bits).mean() >= recall


def test_mirrored_and_look_alike_pictures_are_far_apart(derived):
    pairs = list(csv.DictReader((shared_data("dedup_derived") / "hard_pairs.csv").read_text().splitlines()))

    assert min(relations(derived)["mirrored"]) > 16
    assert min(hamming_bits(derived[pair["a"]], derived[pair["b"]]) for pair in pairs) > 16


@settings(deadline=None)
@given(seed=st.integers(0, 2**20), width=st.integers(2, 90), height=st.integers(2, 90))
def test_a_hash_depends_on_pixels_only(seed, width, height):
    pixels = scene(seed, width, height)[:, :, 0]

    assert phash64(pixels) == phash64(np.asfortranarray(pixels).copy(order="C")) < 2**64


def test_brighter_light_hardly_changes_the_hash():
    pixels = scene(3, 640, 360)[:, :, 0] // 2

    assert hamming_bits(phash64(pixels), phash64(pixels + 40)) == 0


@pytest.mark.parametrize(
    ("level", "dark", "bright"), [(0, 1.0, 0.0), (9, 1.0, 0.0), (10, 0.0, 0.0), (245, 0.0, 0.0), (246, 0.0, 1.0)]
)
def test_dark_is_under_10_and_bright_is_over_245(level, dark, bright):
    found = measure(encode(np.full((64, 64, 3), level, np.uint8), "PNG"))

    assert (found.brightness, found.contrast, found.sharpness) == (level, 0.0, 0.0)
    assert (found.dark_share, found.bright_share) == (dark, bright)


def test_brightness_and_contrast_are_mean_and_deviation_of_the_grey_picture():
    data = encode(scene(5, 300, 200), "PNG")
    gray = decode_gray_reduced(data, 384).astype(np.float64)

    found = measure(data)

    assert found.brightness == round(gray.mean(), 2)
    assert found.contrast == pytest.approx(gray.std(), abs=0.006)


def test_signals_are_those_of_the_upright_picture():
    upright = scene(7, 200, 100, noise=3)

    assert (
        measure(oriented(np.ascontiguousarray(np.rot90(upright)), 6)).phash64 == measure(oriented(upright, 1)).phash64
    )


def test_blur_lowers_sharpness_at_any_size():
    import cv2

    for width in (320, 960, 1920):
        pixels = cv2.resize(scene(1, 160, 90, noise=40), (width, width * 9 // 16), interpolation=cv2.INTER_CUBIC)
        blurred = cv2.GaussianBlur(pixels, (0, 0), width / 200)

        assert measure(encode(blurred)).sharpness < 0.6 * measure(encode(pixels)).sharpness


def test_defects_that_leave_no_edges_fall_under_the_dead_limit():
    folder = shared_data("quality_derived")
    rows = list(csv.DictReader((folder / "labels.csv").read_text().splitlines()))
    sharp = {row["file"]: measure((folder / "images" / row["file"]).read_bytes()).sharpness for row in rows}

    assert all(sharp[row["file"]] < 4 for row in rows if row["defect"] in {"defocus", "black", "green"})
    assert all(sharp[row["file"]] > 100 for row in rows if row["defect"] == "clean")
