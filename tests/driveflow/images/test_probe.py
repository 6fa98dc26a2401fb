import gzip
import json
import struct
import warnings
import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from driveflow.errors import BrokenDataError
from driveflow.images.decode import decode_rgb
from driveflow.images.probe import Probe, probe
from tests.driveflow.images.made import encode, oriented, scene
from tests.shared_data import shared_data

KINDS_OF_JPEG = [
    {},
    {"optimize": True},
    {"subsampling": 0},
    {"restart_marker_blocks": 2},
    {"quality": 5},
]
NASTY_SETS = ["nasty_pillow", "nasty_jpegturbo", "nasty_heic", "nasty_mapillary"]
REAL_SETS = [
    "seq_udacity_shadow",
    "seq_intel_cars",
    "seq_night_driveway",
    "dedup_derived",
    "quality_derived",
    "stills_opencv",
]
CODES = {
    "empty",
    "not_an_image",
    "lfs_pointer",
    "truncated",
    "too_large",
    "too_small",
    "unsupported",
    "corrupt",
}


def code_of(data: bytes) -> str:
    try:
        probe(data)
    except BrokenDataError as error:
        return error.code
    return ""


def png_header(width: int, height: int) -> bytes:
    body = b"IHDR" + struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    end = b"IDAT" + zlib.compress(bytes(100))
    chunks = [struct.pack(">I", len(part) - 4) + part + struct.pack(">I", zlib.crc32(part)) for part in (body, end)]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def test_every_stated_verdict_of_the_nasty_files_is_met():
    folder = shared_data("nasty_made")
    cases = [
        case
        for case in json.loads((folder / "cases.json").read_text())
        if not case["file"].startswith(("names", "zips"))
    ]
    got = {
        case["file"]: "quarantine" if code_of((folder / "files" / case["file"]).read_bytes()) else "keep"
        for case in cases
    }

    assert len(got) == 45
    assert {
        case["file"]: got[case["file"]] for case in cases if case["verdict"] not in {"either", got[case["file"]]}
    } == {}


@pytest.mark.parametrize("name", NASTY_SETS)
def test_no_nasty_file_raises_anything_but_a_reason(name):
    files = [path for path in sorted(shared_data(name).iterdir()) if path.suffix not in {".md", ".csv", ".txt", ""}]

    codes = {path.name: code_of(path.read_bytes()) for path in files}

    assert len(codes) >= 7
    assert set(codes.values()) <= CODES | {""}


@pytest.mark.parametrize("name", REAL_SETS)
def test_no_real_picture_is_refused(name):
    files = [path for path in sorted(shared_data(name).rglob("*")) if path.suffix in {".jpg", ".png"}]

    assert {path.name: code for path in files if (code := code_of(path.read_bytes()))} == {}


@pytest.mark.parametrize("options", KINDS_OF_JPEG, ids=str)
def test_a_cut_jpeg_passes_only_where_no_pixel_is_lost(options):
    whole = encode(scene(), **options)
    pixels = decode_rgb(whole)
    passed = [data for end in range(1, len(whole)) if not code_of(data := whole[:end])]

    assert len(passed) >= 2  # the end marker, whole or half, is all that is missing
    assert all(np.array_equal(decode_rgb(data), pixels) for data in passed)


@pytest.mark.parametrize("options", KINDS_OF_JPEG, ids=str)
def test_a_jpeg_whose_tail_is_zeros_passes_only_where_no_pixel_is_lost(options):
    whole = encode(scene(), **options)
    pixels = decode_rgb(whole)
    holed = [whole[:end] + bytes(len(whole) - end) for end in range(1, len(whole))]

    assert all(np.array_equal(decode_rgb(data), pixels) for data in holed if not code_of(data))


@pytest.mark.parametrize("options", [{}, {"subsampling": 0}, {"restart_marker_blocks": 2}], ids=str)
def test_a_hole_of_64_zero_bytes_inside_a_jpeg_is_found(options):
    whole = encode(scene(), **options)
    start = whole.index(b"\xff\xda") + 14
    holed = [whole[:at] + bytes(64) + whole[at + 64 :] for at in range(start, len(whole) - 70, 11)]

    assert {code_of(data) for data in holed} <= {"corrupt", "truncated"}


def test_a_progressive_jpeg_without_end_marker_is_truncated():
    assert code_of(encode(scene(), progressive=True)[:-2]) == "truncated"


@pytest.mark.parametrize("optimize", [False, True])
@pytest.mark.parametrize("level", [0, 128, 255])
def test_a_picture_of_one_colour_is_no_hole(level, optimize):
    assert code_of(encode(np.full((480, 640, 3), level, np.uint8), optimize=optimize)) == ""


@pytest.mark.parametrize("padding", [b"\0" * 300, b"\xff" * 300])
def test_fill_before_the_end_marker_is_no_damage(padding):
    whole = encode(scene())

    assert code_of(whole[:-2] + padding + whole[-2:]) == ""


def test_junk_after_the_end_marker_is_no_damage():
    assert code_of(encode(scene()) + b"anything" * 100) == ""


def test_a_png_with_one_flipped_bit_of_picture_data_is_corrupt():
    data = bytearray(encode(scene(), "PNG"))
    data[len(data) // 2] ^= 1

    assert code_of(bytes(data)) == "corrupt"


@pytest.mark.parametrize(("width", "height"), [(30_000, 30_000), (65_000, 65_000), (100_001, 1_000)])
def test_a_bomb_is_refused_from_its_header(width, height):
    with pytest.raises(BrokenDataError, match="at most 100"):
        probe(png_header(width, height))


def test_a_picture_under_the_limit_but_of_hardly_any_bytes_is_refused():
    with pytest.raises(BrokenDataError, match=r"90 megapixels from \d+ bytes: a bomb"):
        probe(png_header(9_000, 10_000))


@pytest.mark.parametrize(
    ("data", "code", "word"),
    [
        (b"", "empty", "no bytes"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "lfs_pointer", "git lfs pull"),
        (b"<!DOCTYPE html><title>404</title>", "not_an_image", "HTML"),
        (b"404 Not Found", "not_an_image", "34 30 34"),
        (bytes(5000), "not_an_image", "all of them zero"),
        (b"7z\xbc\xaf\x27\x1c" + bytes(40), "not_an_image", "a 7-Zip archive, which is not opened; pack"),
        (b"\x89MCAP0\r\n" + bytes(40), "not_an_image", "is read where its name ends in .mcap"),
        (b"PAR1" + bytes(40), "not_an_image", "a Parquet table"),
        (gzip.compress(b"{}", mtime=0), "not_an_image", "a file packed by gzip, which is not opened; pack"),
        (b"BZh91AY&SY", "not_an_image", "a file packed by bzip2"),
        (b"PK\x07\x08PK\x03\x04", "not_an_image", "a part of a split zip archive"),
        (b"\x37\x7f\x06\x82" + bytes(28), "not_an_image", "PRAGMA wal_checkpoint"),
        ((b"G" + bytes(187)) * 2, "not_an_image", "an MPEG transport stream"),
        (b"\0\0\0\x18ftypcrx " + bytes(40), "unsupported", "a raw photo (CR3)"),
        (b"FUJIFILMCCD-RAW " + bytes(40), "unsupported", "a raw photo (RAF)"),
        (b"\0\0\0\x18ftypheic" + bytes(40), "unsupported", "convert it to JPEG"),
        (b"\0\0\0\x18ftypisom" + bytes(40), "not_an_image", "isom"),
        (b"%PDF-1.7", "unsupported", "PDF"),
        (encode(scene())[:200], "truncated", ""),
        (encode(scene(width=1, height=1)), "too_small", "1x1"),
    ],
)
def test_what_is_no_picture_is_told_by_kind(data, code, word):
    with pytest.raises(BrokenDataError) as caught:
        probe(data)

    assert caught.value.code == code
    assert word in caught.value.detail


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF", "PPM", "AVIF"])
def test_the_media_type_is_read_from_the_bytes(kind):
    found = probe(encode(scene(), kind))

    assert (found.width, found.height, found.frames) == (64, 48, 1)
    assert found.media_type == ("image/x-portable-anymap" if kind == "PPM" else f"image/{kind.lower()}")


@pytest.mark.parametrize(("value", "size"), [(1, (64, 48)), (3, (64, 48)), (6, (48, 64)), (8, (48, 64)), (9, (64, 48))])
def test_width_and_height_are_those_of_the_upright_picture(value, size):
    found = probe(oriented(scene(), value))

    assert (found.width, found.height) == size


def test_of_several_pages_the_first_is_the_frame():
    pages = [Image.fromarray(scene(seed)) for seed in range(3)]
    data = encode(scene(0), "TIFF", save_all=True, append_images=pages[1:])

    assert probe(data) == Probe(64, 48, "image/tiff", 3)


@pytest.mark.parametrize(("tag", "value"), [(254, 1), (255, 2), (50706, b"\1\4\0\0")])
def test_the_preview_of_a_raw_photo_is_not_taken_for_the_photo(tag, value):
    data = encode(scene(), "TIFF", tiffinfo={tag: value})

    with pytest.raises(BrokenDataError, match=r"unsupported: a raw photo.* only a preview of 64x48 can be read"):
        probe(data)


@pytest.mark.parametrize(("tag", "value"), [(254, 0), (254, 2), (255, 1)])
def test_a_tiff_that_says_it_is_the_picture_itself_is_one(tag, value):
    assert probe(encode(scene(), "TIFF", tiffinfo={tag: value})).media_type == "image/tiff"


def test_no_warning_escapes_from_any_thread():
    noisy = (shared_data("nasty_pillow") / "sugarshack_bad_mpo_header.jpg").read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(code_of, [noisy] * 64))

        assert set(found) == {""}
        assert warnings.filters[0][0] == "error"


@given(st.binary(max_size=400))
def test_any_bytes_give_a_probe_or_a_reason(data):
    assert code_of(data) in CODES | {""}


@settings(max_examples=150)
@given(
    kind=st.sampled_from(["JPEG", "PNG", "WEBP", "GIF", "TIFF", "BMP"]),
    edits=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=6),
)
def test_a_damaged_picture_gives_a_probe_or_a_reason(kind, edits):
    data = bytearray(encode(scene(), kind))
    for place, value in edits:
        data[int(place * len(data))] = value

    assert code_of(bytes(data)) in CODES | {""}
