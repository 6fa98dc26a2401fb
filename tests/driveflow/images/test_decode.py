import io

import numpy as np
import pytest
from PIL import Image

from driveflow.errors import BrokenDataError
from driveflow.images.decode import decode_gray_reduced, decode_rgb
from driveflow.images.probe import probe
from tests.driveflow.images.made import encode, oriented, scene
from tests.shared_data import shared_data

# What a camera stores so that orientation N shows the scene upright.
STORED = {
    1: lambda upright: upright,
    2: np.fliplr,
    3: lambda upright: np.rot90(upright, 2),
    4: np.flipud,
    5: lambda upright: upright.swapaxes(0, 1),
    6: lambda upright: np.rot90(upright, 1),
    7: lambda upright: np.rot90(upright, 2).swapaxes(0, 1),
    8: lambda upright: np.rot90(upright, 3),
}


@pytest.mark.parametrize("value", sorted(STORED))
def test_every_orientation_shows_the_same_upright_picture(value):
    upright = scene(noise=0)

    shown = decode_rgb(oriented(np.ascontiguousarray(STORED[value](upright)), value))

    assert shown.shape == upright.shape
    assert np.abs(shown.astype(int) - upright).mean() < 3


def test_the_shared_orientation_files_look_alike():
    files = [shared_data("nasty_made") / "files" / f"orientation_{value}.jpg" for value in range(1, 9)]
    shown = [decode_rgb(path.read_bytes()).astype(int) for path in files]

    assert max(np.abs(picture - shown[0]).mean() for picture in shown) < 3.1


@pytest.mark.parametrize("value", sorted(STORED))
def test_probe_and_decode_agree_on_the_size(value):
    data = oriented(np.ascontiguousarray(STORED[value](scene())), value)

    assert decode_rgb(data).shape[:2] == (probe(data).height, probe(data).width)


def test_16_bit_pictures_keep_their_upper_8_bits():
    ramp = np.arange(0, 65536, 16, dtype=np.uint16).reshape(64, 64)

    assert np.array_equal(decode_rgb(encode(ramp, "PNG"))[:, :, 0], ramp >> 8)


def test_cmyk_palette_and_bilevel_pictures_become_rgb():
    picture = Image.fromarray(scene())
    made = [
        _saved(picture.convert("CMYK"), "JPEG"),
        _saved(picture.convert("P"), "PNG"),
        _saved(picture.convert("1"), "PNG"),
        _saved(picture.convert("RGBA"), "PNG"),
    ]

    assert {decode_rgb(data).shape for data in made} == {(48, 64, 3)}


def test_a_jpeg_without_end_marker_shows_the_full_picture():
    whole = encode(scene())

    assert np.array_equal(decode_rgb(whole[:-2]), decode_rgb(whole))


@pytest.mark.parametrize("data", [b"nothing", *(encode(scene())[:size] for size in (3, 20, 100, 200))])
def test_bytes_that_are_no_picture_are_broken_data(data):
    with pytest.raises(BrokenDataError, match="cannot be decoded"):
        decode_rgb(data)


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
@pytest.mark.parametrize(
    ("width", "decoded"), [(100, 100), (767, 767), (768, 384), (1535, 768), (1536, 384), (3072, 384)]
)
def test_a_picture_is_halved_while_its_long_side_stays_large_enough(kind, width, decoded):
    gray = decode_gray_reduced(encode(scene(width=width, height=40), kind), 384)

    assert gray.ndim == 2
    assert gray.shape[1] == decoded


def _saved(picture: Image.Image, kind: str) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, kind)
    return buffer.getvalue()
