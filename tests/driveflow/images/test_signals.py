import csv

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driveflow.images.hashes import hamming_bits, phash64
from driveflow.images.signals import Signals, measure, measure_pixels
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
    pixels = scene(5, 200, 150)
    gray = np.floor((pixels @ np.array([77, 150, 29]) + 128) / 256)

    found = measure(encode(pixels, "PNG"))

    assert found.brightness == pytest.approx(gray.mean())
    assert found.contrast == pytest.approx(gray.std())
    assert found.green_cast == pytest.approx((pixels @ np.array([-0.5, 1, -0.5])).mean())
    assert found.red_blue == pytest.approx((pixels @ np.array([1, 0, -1])).mean())
    assert found.saturation == pytest.approx(np.ptp(pixels, axis=2).mean())


def test_signals_are_those_of_the_upright_picture():
    upright = scene(7, 200, 100, noise=3)

    assert (
        measure(oriented(np.ascontiguousarray(np.rot90(upright)), 6)).phash64 == measure(oriented(upright, 1)).phash64
    )


def test_blur_lowers_sharpness_and_the_edge_ratio_at_any_size():
    import cv2

    for width in (320, 960, 1920):
        pixels = cv2.resize(scene(1, 160, 90, noise=40), (width, width * 9 // 16), interpolation=cv2.INTER_CUBIC)
        blurred = cv2.GaussianBlur(pixels, (0, 0), width / 100)

        assert measure(encode(blurred)).sharpness < 0.6 * measure(encode(pixels)).sharpness
        assert measure(encode(blurred)).edge_ratio < 0.7 * measure(encode(pixels)).edge_ratio


def quality(*defects: str) -> list[Signals]:
    folder = shared_data("quality_derived")
    rows = csv.DictReader((folder / "labels.csv").read_text().splitlines())
    return [measure((folder / "images" / row["file"]).read_bytes()) for row in rows if row["defect"] in defects]


def test_the_edge_ratio_tells_blur_from_little_light_and_little_contrast():
    blurred = quality("defocus", "motion_blur")
    sharp = quality("clean", "dark", "low_contrast", "over_exposed", "fog", "rain_streaks", "heavy_noise", "sun_flare")

    assert max(found.edge_ratio for found in blurred) < 0.6
    assert min(found.edge_ratio for found in sharp) > 1.0


def test_a_missing_lower_half_is_a_tail_and_whole_pictures_have_none():
    assert [found.tail_share for found in quality("half_missing")] == [pytest.approx(0.45, abs=0.05)]
    assert {found.tail_share for found in quality("clean", "fog", "over_exposed", "dirty_lens")} == {0.0}


@pytest.mark.parametrize("size", [(2, 2), (3, 2), (2, 400), (31, 33), (121, 120), (4000, 3)])
def test_pictures_of_any_size_are_measured(size):
    found = measure(encode(scene(2, *size), "PNG"))

    assert len(found.phash256) == len(found.steepness_grid) == len(found.red_blue_grid) == 32
    assert found.edge_ratio > 0


@given(seed=st.integers(0, 2**20), width=st.integers(3, 200), height=st.integers(3, 200))
def test_sums_of_compiled_code_are_those_of_plain_numpy(seed, width, height):
    pixels = scene(seed, width, height, noise=20)
    gray = np.floor((pixels @ np.array([77, 150, 29]) + 128) / 256)

    found = measure_pixels(pixels)

    assert found.brightness == pytest.approx(gray.mean())
    assert found.contrast == pytest.approx(gray.std())
    assert found.dark_share == pytest.approx((gray < 10).mean())
    assert found.bright_share == pytest.approx((gray > 245).mean())
    if max(width, height) <= 120:
        inner = gray[1:-1, 1:-1]
        laplacian = gray[1:-1, 2:] + gray[1:-1, :-2] + gray[2:, 1:-1] + gray[:-2, 1:-1] - 4 * inner
        assert found.sharpness == pytest.approx(laplacian.var(), abs=1e-6)


def test_the_print_of_a_picture_changes_with_any_pixel():
    pixels = scene(9, 90, 61)
    changed = pixels.copy()
    changed[60, 89] ^= 4

    assert measure_pixels(pixels).thumbnail_print == measure_pixels(pixels.copy()).thumbnail_print
    assert measure_pixels(pixels).thumbnail_print != measure_pixels(changed).thumbnail_print


def test_swapped_channels_turn_the_colours_of_every_cell_around():
    pixels = scene(4, 120, 80)
    straight = np.frombuffer(measure_pixels(pixels).red_blue_grid, np.uint8).astype(int) - 128
    swapped = np.frombuffer(measure_pixels(np.ascontiguousarray(pixels[:, :, ::-1])).red_blue_grid, np.uint8)

    assert np.abs(swapped.astype(int) - 128 + straight).max() <= 1
    assert measure_pixels(pixels).red_blue == -measure_pixels(np.ascontiguousarray(pixels[:, :, ::-1])).red_blue
