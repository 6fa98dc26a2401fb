import io
import random
import sys
from fractions import Fraction

import numpy as np
import pytest
from PIL import Image

from driveflow.images.decode import decode_rgb
from driveflow.images.pixels import PixelReader
from tests.ingestion.batches import adds_up, bring_in, coco, merge, picture, quarantined, rows, write
from tests.ingestion.recorded import gray_levels, video
from tests.shared_data import shared_data

av = pytest.importorskip("av", reason="video is an extra")

KINDS = {
    "a.mp4": {"bf": 3},
    "a.mov": {"bf": 2},
    "a.mkv": {"bf": 3},
    "a.avi": {"bf": 3},
    "a.h264": {"bf": 3, "container": "h264"},
    "a.webm": {"codec": "libvpx-vp9"},
}
"""Containers, most of them with B-frames: what is decoded last is not what is shown last."""


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "batch"
    made.mkdir()
    return made


def levels(batch):
    """Return (captured_ns, how many grey levels of ten) of every frame, in the order of time."""
    pixels = PixelReader(batch.beside.locations)
    return [
        (stamp, round(decode_rgb(pixels.read(frame)).mean() / 10))
        for stamp, frame in rows_by_time(batch.tables.sources)
    ]


def rows_by_time(sources):
    return sorted(zip(sources["captured_ns"].to_pylist(), sources["frame_id"].to_pylist(), strict=True))


@pytest.mark.parametrize("name", KINDS)
def test_every_frame_comes_once_in_the_order_in_which_it_is_shown(folder, name):
    video(folder / name, gray_levels(20), **KINDS[name])
    batch = bring_in(folder, taxonomy=None)

    found = levels(batch)
    assert [level for _, level in found] == list(range(20))
    first = found[0][0]
    assert [stamp - first for stamp, _ in found] == [turn * 40_000_000 for turn in range(20)]
    assert set(batch.tables.sources["clock"].to_pylist()) == {"drive_relative"}
    assert set(batch.tables.sources["drive"].to_pylist()) == {"batch/a"}
    adds_up(batch)


def test_a_program_stream_of_mpeg_gives_every_frame_at_the_times_that_ffmpeg_shows(folder):
    path = video(folder / "a.mpg", gray_levels(20), codec="mpeg2video", container="mpeg")
    with av.open(str(path)) as opened:
        shown = [frame.pts * 10**9 // 90_000 for frame in opened.decode(video=0)]
    batch = bring_in(folder, taxonomy=None)

    assert levels(batch) == list(zip(shown, range(20), strict=True))


def test_times_of_a_variable_rate_are_those_of_the_file_to_the_nanosecond(folder):
    stamps = [0, 1001, 5005, 6006, 17017]
    video(folder / "a.mp4", gray_levels(5), stamps=stamps, unit=Fraction(1, 30_000), bf=2)
    batch = bring_in(folder, taxonomy=None)

    assert [stamp for stamp, _ in levels(batch)] == [stamp * 10**9 // 30_000 for stamp in stamps]


def test_a_rotated_video_is_brought_upright(folder):
    pixels = np.zeros((48, 64, 3), np.uint8)
    pixels[:, :20, 0] = 220  # red at the left
    video(folder / "a.mp4", [pixels] * 3, rotation=-90)  # to be shown a quarter turn clockwise: red on top
    batch = bring_in(folder, taxonomy=None)

    frame = batch.tables.frames.to_pylist()[0]
    shown = decode_rgb(PixelReader(batch.beside.locations).read(frame["frame_id"]))
    assert (frame["width"], frame["height"]) == (48, 64)
    assert shown[:16, :, 0].mean() > 180
    assert shown[-16:, :, 0].mean() < 30


def test_full_range_and_studio_range_give_the_same_greys(folder):
    pictures = [np.full((48, 64, 3), level, np.uint8) for level in (0, 60, 128, 250)]
    video(folder / "studio.mp4", pictures)
    video(folder / "full.avi", pictures, codec="mjpeg", pixel_format="yuvj420p")
    batch = bring_in(folder, taxonomy=None)

    pixels = PixelReader(batch.beside.locations)
    means = {
        path: decode_rgb(pixels.read(frame)).mean() for path, frame in rows(batch.tables.sources, "path", "frame_id")
    }
    for kind in ("studio.mp4", "full.avi"):
        found = sorted(mean for path, mean in means.items() if path.startswith(kind))
        assert np.abs(np.array(found) - [0, 60, 128, 250]).max() < 4


def test_a_time_of_creation_makes_the_clock_utc(folder):
    video(folder / "a.mp4", gray_levels(2), metadata={"creation_time": "2023-11-14T22:13:20.000000Z"})
    video(folder / "b.mp4", gray_levels(3), metadata={"creation_time": "1904-01-01T00:00:00.000000Z"})
    batch = bring_in(folder, taxonomy=None)

    times = {path: (stamp, clock) for path, stamp, clock in rows(batch.tables.sources, "path", "captured_ns", "clock")}
    assert times["a.mp4!video/frame_000001.jpg"] == (1_700_000_000_040_000_000, "utc")
    assert times["b.mp4!video/frame_000001.jpg"] == (40_000_000, "drive_relative")


def test_frames_can_be_taken_at_least_some_seconds_apart(folder):
    video(folder / "a.mp4", gray_levels(20))
    batch = bring_in(folder, taxonomy=None, every_s=0.1)

    assert [stamp for stamp, _ in levels(batch)] == [turn * 120_000_000 for turn in range(7)]
    assert any("7 of 20 frames are taken, every 0.1 s" in note for note in batch.notes)


def test_frames_are_the_same_under_another_name_and_in_another_selection(folder, tmp_path):
    video(folder / "a.mp4", gray_levels(6))
    other = write(tmp_path / "other", {"deep/b.mp4": (folder / "a.mp4").read_bytes()})
    first, second = bring_in(folder, taxonomy=None), bring_in(other, taxonomy=None, every_s=0.08)

    assert set(second.tables.frames["frame_id"].to_pylist()) < set(first.tables.frames["frame_id"].to_pylist())


def test_real_video_has_the_frames_and_times_that_ffmpeg_shows(folder):
    source = shared_data("fmt_datumaro") / "cvat_dataset/test.mp4"
    write(folder, {"test.mp4": source.read_bytes()})
    with av.open(str(source)) as opened:
        shown = [frame.pts * frame.time_base.numerator * 10**9 // frame.time_base.denominator
                 for frame in opened.decode(video=0)]  # fmt: skip
    batch = bring_in(folder, taxonomy=None)

    assert sorted(batch.tables.sources["captured_ns"].to_pylist()) == shown
    assert len(shown) == 30


def test_a_video_cut_short_gives_its_frames_and_names_the_loss(folder):
    noise = random.Random(1)
    pictures = [np.frombuffer(noise.randbytes(48 * 64 * 3), np.uint8).reshape(48, 64, 3) for _ in range(20)]
    video(folder / "a.mp4", pictures, movflags="faststart")
    video(folder / "a.mkv", pictures)
    for name in ("a.mp4", "a.mkv"):
        data = (folder / name).read_bytes()
        (folder / name).write_bytes(data[: len(data) // 2])
    batch = bring_in(folder, taxonomy=None)

    assert quarantined(batch)["a.mkv"] == "recording_cut_short"
    assert batch.counts["frames"] > 5
    adds_up(batch)


def test_a_playlist_that_calls_itself_a_video_opens_no_other_file(folder):
    secret = folder.parent / "secret.mp4"
    video(secret, gray_levels(3))
    script = f"ffconcat version 1.0\nfile {secret}\n"
    write(folder, {"list.mp4": f"#EXTM3U\n#EXTINF:1,\n{secret}\n", "script.mp4": script, "good.jpg": picture(1)})
    batch = bring_in(folder, taxonomy=None)

    assert quarantined(batch) == {"list.mp4": "recording_broken", "script.mp4": "recording_broken"}


def test_frames_are_named_by_their_turn_so_that_tracks_of_a_labeling_tool_find_them(folder):
    video(folder / "clip.mp4", gray_levels(6), bf=2)
    shapes = "".join(
        f'<box frame="{turn}" outside="{int(turn == 4)}" keyframe="1" occluded="0" xtl="1" ytl="2" xbr="{20 + turn}" '
        'ybr="30"></box>'
        for turn in (0, 1, 2, 3, 4)
    )
    task = "<task><size>6</size><mode>interpolation</mode><source>clip.mp4</source><start_frame>0</start_frame></task>"
    tracks = f'<annotations><meta>{task}</meta><track id="0" label="car">{shapes}</track></annotations>'
    write(folder, {"annotations.xml": tracks})
    batch = bring_in(folder, every_s=0.08)

    times = dict(rows(batch.tables.sources, "frame_id", "captured_ns"))
    found = sorted((times[frame], x2) for frame, x2 in rows(batch.tables.boxes, "frame_id", "x2"))
    assert found == [(0, 20), (80_000_000, 22)]
    adds_up(batch)


def test_a_video_in_a_batch_of_other_labels_comes_with_its_times(folder):
    video(folder / "a.mp4", gray_levels(3))
    write(folder, {"1.jpg": picture(1), "labels.json": coco([(1, "1.jpg")], [(1, 1, 1, (1, 1, 20, 20))])})
    batch = bring_in(folder)

    assert batch.counts["frames"] == 4
    assert sorted(batch.tables.sources["captured_ns"].to_pylist(), key=str) == [0, 40_000_000, 80_000_000, None]
    adds_up(batch)


def test_frames_of_videos_can_still_be_read_after_a_merge(folder, tmp_path):
    video(folder / "a.mp4", gray_levels(3))
    other = write(tmp_path / "other", {"1.jpg": picture(1)})
    merged = merge(("a", bring_in(folder)), ("b", bring_in(other)))

    pixels = PixelReader(merged.beside.locations)
    assert len([pixels.read(frame) for frame in merged.tables.frames["frame_id"].to_pylist()]) == 4


def test_without_the_extra_a_video_is_refused_with_what_would_read_it(folder, monkeypatch):
    video(folder / "a.mp4", gray_levels(2))
    write(folder, {"good.jpg": picture(1)})
    monkeypatch.setitem(sys.modules, "av", None)  # as where it is not installed
    batch = bring_in(folder, taxonomy=None)

    (row,) = batch.beside.quarantine.to_pylist()
    assert (row["path"], row["reason"]) == ("a.mp4", "needs_extra")
    assert "pip install driveflow[video]" in row["detail"]


def animated(count, delay_ms=70):
    """Return a GIF of `count` grey frames."""
    stream = io.BytesIO()
    first, *others = [Image.fromarray(pixels) for pixels in gray_levels(count)]
    first.save(stream, "GIF", save_all=True, append_images=others, duration=delay_ms)
    return stream.getvalue()


def test_an_animated_gif_is_a_recording_where_that_is_stated(folder):
    write(folder, {"a.gif": animated(5)})
    batch = bring_in(folder, taxonomy=None, format="recording")

    assert levels(batch) == [(turn * 70_000_000, turn) for turn in range(5)]
    adds_up(batch)


def test_an_animated_gif_among_pictures_is_one_picture(folder):
    write(folder, {"a.gif": animated(5)})
    batch = bring_in(folder, taxonomy=None)

    assert batch.counts["frames"] == 1
    assert batch.tables.frames["media_type"].to_pylist() == ["image/gif"]
