import numpy as np
import pytest
from mcap.writer import CompressionType

from driveflow.images.decode import decode_rgb
from driveflow.images.pixels import PixelReader
from tests.ingestion.batches import adds_up, quarantined
from tests.ingestion.recorded import START_NS, Ros2, mcap
from tests.ingestion.recorded_batches import one

RAW = {
    "rgb8": lambda rgb: rgb,
    "bgr8": lambda rgb: rgb[:, :, ::-1],
    "rgba8": lambda rgb: np.dstack([rgb, np.full(rgb.shape[:2], 255, np.uint8)]),
    "bgra8": lambda rgb: np.dstack([rgb[:, :, ::-1], np.full(rgb.shape[:2], 255, np.uint8)]),
    "rgb16": lambda rgb: rgb.astype(np.uint16) << 8 | 0xFF,
}


@pytest.mark.parametrize("encoding", RAW)
def test_raw_pictures_come_out_in_their_colours(tmp_path, encoding):
    rgb = np.zeros((48, 64, 3), np.uint8)
    rgb[:24, :, 0], rgb[24:, :, 2], rgb[:, 32:, 1] = 200, 150, 90
    ros = Ros2()
    message = ros.raw(RAW[encoding](rgb), encoding, START_NS, step=64 * 10)
    batch = one(tmp_path, mcap([("/raw", START_NS, message)], ros))

    (frame,) = batch.tables.frames.to_pylist()
    assert (frame["width"], frame["height"], frame["media_type"], frame["byte_count"]) == (64, 48, "image/jpeg", 9216)
    found = decode_rgb(PixelReader(batch.beside.locations).read(frame["frame_id"]))
    assert np.abs(found.astype(int) - rgb).mean() < 2


@pytest.mark.parametrize(("depth", "big"), [(8, 0), (12, 0), (16, 0), (16, 1)])
def test_deep_grey_pictures_are_bright_for_every_depth(tmp_path, depth, big):
    gray = np.tile(np.linspace(0, 255, 64).astype(np.uint16), (48, 1))
    deep = (gray << (depth - 8)).astype(">u2" if big else "<u2")
    ros = Ros2()
    batch = one(tmp_path, mcap([("/raw", START_NS, ros.raw(deep, "mono16", START_NS, big=big))], ros))

    (frame,) = batch.tables.frames.to_pylist()
    found = decode_rgb(PixelReader(batch.beside.locations).read(frame["frame_id"]))[:, :, 0]
    assert np.abs(found.astype(int) - gray).mean() < 3


@pytest.mark.parametrize("pattern", ["rggb", "bggr", "gbrg", "grbg"])
def test_mosaics_of_every_pattern_come_out_red(tmp_path, pattern):
    mosaic = np.zeros((48, 64), np.uint8)
    at = pattern.index("r")
    mosaic[at // 2 :: 2, at % 2 :: 2] = 200
    ros = Ros2()
    batch = one(tmp_path, mcap([("/raw", START_NS, ros.raw(mosaic, f"bayer_{pattern}8", START_NS))], ros))

    (frame,) = batch.tables.frames.to_pylist()
    red, green, blue = decode_rgb(PixelReader(batch.beside.locations).read(frame["frame_id"]))[8:-8, 8:-8].mean((0, 1))
    assert red > 150
    assert max(green, blue) < 30


def test_a_raw_frame_is_the_same_frame_in_every_copy_of_its_recording(tmp_path):
    ros = Ros2()
    pixels = np.full((48, 64, 3), 77, np.uint8)
    entries = [("/raw", START_NS, ros.raw(pixels, "rgb8", START_NS))]
    first = one(tmp_path / "a", mcap(entries, ros))
    other = one(tmp_path / "b", mcap(entries, ros, CompressionType.NONE), "other.mcap")

    assert first.tables.frames["frame_id"].to_pylist() == other.tables.frames["frame_id"].to_pylist()


def test_raw_pictures_that_make_no_sense_are_refused_by_name(tmp_path):
    ros = Ros2()
    good = ros.raw(np.full((48, 64, 3), 77, np.uint8), "rgb8", START_NS)
    odd = ros.raw(np.full((48, 64), 1, np.uint8), "nv99", START_NS + 1)
    short = ros.raw(np.full((48, 64), 1, np.uint8), "rgb8", START_NS + 2)
    huge = ros.raw(np.full((48, 64), 1, np.uint8), "rgb8", START_NS + 3)
    huge[1].height = huge[1].width = 2**31
    batch = one(
        tmp_path, mcap([("/raw", START_NS + turn, item) for turn, item in enumerate((good, odd, short, huge))], ros)
    )

    assert batch.counts["frames"] == 1
    assert sorted(quarantined(batch).values()) == ["too_large", "truncated", "unsupported"]
    adds_up(batch)
