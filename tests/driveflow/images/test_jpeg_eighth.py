import io

import numpy as np
import pytest
import simplejpeg
from PIL import Image

from driveflow.images.decode import decode_rgb_reduced
from driveflow.images.jpeg_eighth import decode_eighth


def picture(width: int, height: int, seed: int = 0) -> np.ndarray:
    """Return soft colours under noise, with hard edges and burnt-out and black parts."""
    random = np.random.default_rng(seed)
    rough = random.integers(0, 256, (4, 6, 3), dtype=np.uint8)
    soft = np.asarray(Image.fromarray(rough).resize((width, height), Image.Resampling.BICUBIC)).astype(np.int64)
    soft[: height // 3] += random.integers(-60, 60, (height // 3, width, 3))
    soft[:, width // 2 : width // 2 + 5] = random.choice([0, 255], 3)
    return np.ascontiguousarray(soft.clip(0, 255).astype(np.uint8))


def jpeg(pixels: np.ndarray, quality: int = 90, **how: str) -> bytes:
    return simplejpeg.encode_jpeg(pixels, quality=quality, **{"colorsubsampling": "420", **how})


def by_pillow(pixels: np.ndarray, **how: object) -> bytes:
    sink = io.BytesIO()
    Image.fromarray(pixels).save(sink, "JPEG", **how)
    return sink.getvalue()


def by_libjpeg(data: bytes) -> np.ndarray:
    height, width, _, _ = simplejpeg.decode_jpeg_header(data)
    return simplejpeg.decode_jpeg(data, strict=False, min_height=-(-height // 8), min_width=-(-width // 8))


@pytest.mark.parametrize("size", [(960, 540), (16, 16), (17, 33), (1, 1), (641, 479), (250, 8)])
@pytest.mark.parametrize("quality", [3, 40, 75, 95, 100])
def test_every_level_is_the_one_that_libjpeg_finds(size, quality):
    data = jpeg(picture(*size, seed=quality), quality)

    assert np.array_equal(decode_eighth(data), by_libjpeg(data))


def test_codes_made_for_the_picture_are_read_too():
    data = by_pillow(picture(320, 240), quality=85, optimize=True)

    assert np.array_equal(decode_eighth(data), by_libjpeg(data))


@pytest.mark.parametrize(
    "data",
    [
        by_pillow(picture(64, 48), progressive=True),
        by_pillow(picture(64, 48), restart_marker_blocks=2),
        by_pillow(picture(64, 48)[:, :, 0]),
        jpeg(picture(64, 48), colorsubsampling="444"),
        jpeg(picture(64, 48), colorsubsampling="422"),
        by_pillow(np.zeros((48, 64, 4), np.uint8)[:, :, :3], subsampling=0),
        b"",
        b"\xff\xd8\xff",
        jpeg(picture(64, 48))[:300],
    ],
)
def test_what_is_no_plain_jpeg_with_colour_at_half_size_is_left_to_others(data):
    assert decode_eighth(data) is None


def test_damage_ends_the_reading_or_changes_nothing_that_libjpeg_would_not_change():
    whole, random = jpeg(picture(160, 120)), np.random.default_rng(5)
    read = 0
    for _ in range(400):
        broken = bytearray(whole)
        for place in random.integers(2, len(whole), random.integers(1, 4)):
            broken[place] = random.integers(256)
        found = decode_eighth(bytes(broken))
        if found is not None:
            read += 1
            assert np.array_equal(found, by_libjpeg(bytes(broken)))

    assert read > 20


def test_pictures_that_are_cut_off_are_decoded_as_before():
    data = jpeg(picture(960, 540))

    cut = decode_rgb_reduced(data[: len(data) // 2], 120)

    assert decode_eighth(data[: len(data) // 2]) is None
    assert cut.shape == (68, 120, 3)
