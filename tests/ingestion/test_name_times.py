import pytest

from ingestion.name_times import times_in_names
from tests.ingestion.batches import bring_in, picture, rows, write

SECOND_NS = 10**9


def _told(*places):
    return {place: (found.sequence, found.captured_ns, found.clock) for place, found in times_in_names(places).items()}


def test_stamps_of_any_unit_are_utc_since_1970():
    for digits in ("1700000000", "1700000000000", "1700000000000000", "1700000000000000000"):
        step = 10 ** (len(digits) - 10)
        places = [f"cam/{int(digits) + number * step}.jpg" for number in range(3)]

        assert _told(*places)[places[1]] == ("cam", 1_700_000_001 * SECOND_NS, "utc")


@pytest.mark.parametrize(
    ("names", "sequence", "clock"),
    [
        ([f"a/cam_2026-03-02T10-00-0{n}.png" for n in range(3)], "a/cam", ""),
        ([f"a/2026-03-02T10:00:0{n}Z.png" for n in range(3)], "a", "utc"),
        ([f"20260302_10000{n}_front.jpg" for n in range(3)], "front", ""),
        ([f"20260302_10000{n}.jpg" for n in range(3)], "timed", ""),
    ],
)
def test_dates_in_names_are_of_a_clock_on_a_wall_but_for_a_z(names, sequence, clock):
    assert _told(*names)[names[2]] == (sequence, 1_772_445_602 * SECOND_NS, clock)


def test_stamps_of_a_clock_that_did_not_begin_in_1970_have_no_zone():
    places = [f"ring/{315_966_253_649_927_214 + number * 50_000_000}.jpg" for number in range(3)]

    assert _told(*places)[places[0]] == ("ring", 315_966_253_649_927_214, "")


@pytest.mark.parametrize(
    "places",
    [
        ["cam/1700000000000.jpg", "cam/1700000001000.jpg"],
        [f"ids/{number}.jpg" for number in (1012345678901234, 1498763468214164, 1933525276802129)],
        [f"{name}/1700000000000.jpg" for name in ("a", "b", "c")],
        [f"image_02/data/{number:010}.png" for number in range(40, 60)],
        [f"{9 * 10**18 + number}.jpg" for number in range(3)],
        [f"IMG_20260302_10000{number}_jpg.rf.1f3870be274f6c49b3e31a0c6728957f.jpg" for number in range(3)],
    ],
    ids=[
        "two",
        "numbers of photos",
        "three folders",
        "frames of KITTI",
        "no year that comes soon",
        "photos of Roboflow",
    ],
)
def test_other_numbers_are_no_times(places):
    assert _told(*places) == {}


def test_the_stamp_of_a_picture_goes_before_the_date_of_its_recording():
    names = [f"n015-2018-07-24-11-22-45+0800__CAM_FRONT__{1532402927612460 + n * 500_000}.jpg" for n in range(4)]

    assert _told(*names)[names[1]][1:] == (1532402928112460_000, "utc")


@pytest.mark.parametrize("form", ["{time}_{count:02}", "frame_{number:06}_{time}", "{time}-{count}_front"])
def test_numbers_that_count_frames_beside_a_time_part_no_recording(form):
    frames = [(second, count) for second in range(4) for count in range(10)]
    names = [
        form.format(time=f"20260302_10000{second}", count=count, number=10 * second + count) + ".jpg"
        for second, count in frames
    ]

    assert len({told[0] for told in _told(*names).values()}) == 1
    assert len(_told(*names)) == 40


def test_cameras_that_look_at_nearly_one_moment_have_times():
    places = [
        f"log/{camera}/{1_700_000_000_000_000 + n * 100_000 + late}.jpg"
        for camera, late in (("front", 0), ("left", 13), ("right", 40))
        for n in range(5)
    ]

    assert len(_told(*places)) == 15


def test_the_date_of_a_whole_recording_is_the_time_of_no_frame():
    names = [f"20260302_10{minute:02}00_{n:06}.jpg" for minute in range(3) for n in range(300)]

    assert _told(*names) == {}


def test_cameras_whose_names_are_in_those_of_their_pictures_are_one_drive(tmp_path):
    files = {
        f"{camera}/{camera}_{1_700_000_000_000 + n}.jpg": picture(n) for camera in ("left", "right") for n in range(3)
    }
    batch = bring_in(write(tmp_path / "b", files))

    assert set(rows(batch.tables.sources, "drive")) == {("b/timed",)}
    assert {camera for (camera,) in rows(batch.tables.sources, "camera")} == {"left", "right"}


def test_a_recording_that_was_dealt_out_keeps_its_times():
    places = [f"{'valid' if n == 2 else 'train'}/{1_700_000_000_000 + n * 100}.jpg" for n in range(5)]

    assert {told[0] for told in _told(*places).values()} == {"timed"}
    assert len(_told(*places)) == 5


def test_pictures_named_by_their_time_are_a_drive_with_times_cut_where_nobody_took_any(tmp_path):
    stamps = [1_700_000_000_000, 1_700_000_000_100, 1_700_000_000_200, 1_700_000_300_000, 1_700_000_300_100]
    batch = bring_in(write(tmp_path / "b", {f"cam/{ms}.jpg": picture(ms) for ms in stamps}))

    told = rows(batch.tables.sources, "captured_ns", "clock", "drive")
    assert told == [(ms * 10**6, "utc", "b/cam" if ms < 1_700_000_200_000 else "b/cam~2") for ms in stamps]
    assert "Pictures with a time by their names: 5." in batch.notes


def test_the_batch_says_from_when_a_clock_of_its_own_counts(tmp_path):
    stamps = [315_966_253_649_927_214 + number * 50_000_000 for number in range(3)]
    files = write(tmp_path / "b", {f"{stamp}.jpg": picture(stamp) for stamp in stamps})
    batch = bring_in(files, clock="utc", epoch_ns=10**18)

    assert rows(batch.tables.sources, "captured_ns", "clock") == [(stamp + 10**18, "utc") for stamp in stamps]


def test_cameras_that_look_at_moments_of_their_own_are_one_drive_and_are_told_apart(tmp_path):
    stamps = {
        camera: [1_700_000_000_000 + 100 * n + late for n in range(3)] for camera, late in (("left", 0), ("right", 7))
    }
    files = {f"log/{camera}/{ms}.jpg": picture(ms) for camera, times in stamps.items() for ms in times}
    batch = bring_in(write(tmp_path / "b", files))

    assert set(rows(batch.tables.sources, "drive")) == {("b/log",)}
    assert rows(batch.tables.sources, "camera", "captured_ns") == sorted(
        (camera, ms * 10**6) for camera, times in stamps.items() for ms in times
    )
