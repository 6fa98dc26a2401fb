import random

import pytest

from ingestion.time_order import Shot, follow_times
from tests.ingestion.batches import bring_in, coco, picture, write

S = 10**9


def _shots(*seconds, camera="front", drive="d", name="f{:03}.jpg", **more):
    return [
        Shot(name.format(number), drive, camera, None if at is None else round(at * S), "utc", **more)
        for number, at in enumerate(seconds)
    ]


def _parts(shots, max_gap_s=60.0):
    drives = follow_times(shots, max_gap_s).drives
    return [drives[shot.place] for shot in shots]


def test_a_clock_that_goes_back_is_recorded_and_the_drive_is_cut_there():
    shots = _shots(1000, 1001, 1002, 5, 6, 7)
    found = follow_times(shots, 60)

    assert [found.drives[shot.place] for shot in shots] == ["d", "d", "d", "d~2", "d~2", "d~2"]
    assert [(jump.path, jump.reason, jump.boxes) for jump in found.jumps] == [("f003.jpg", "time_jump", 0)]
    assert found.jumps[0].detail == (
        "drive d: -997.000 s from 1002000000000 (f002.jpg) to 5000000000; from here on it is d~2"
    )


def test_a_clock_that_goes_back_a_little_is_not_hidden_by_sorting_times():
    assert _parts(_shots(1000, 1010, 1020, 1005, 1015, 1025)) == ["d"] * 3 + ["d~2"] * 3


def test_a_drive_is_cut_where_no_camera_took_a_frame_for_long():
    assert _parts(_shots(0.5, 1, 2, 100, 101)) == ["d", "d", "d", "d~2", "d~2"]
    assert _parts(_shots(0.5, 1, 2, 100, 101), 0) == ["d"] * 5


def test_another_camera_that_went_on_closes_a_gap():
    front = _shots(1, 2, 100, 101)
    rear = _shots(*range(3, 99, 30), camera="rear", name="r{:03}.jpg")

    assert set(_parts([*front, *rear])) == {"d"}


def test_frames_that_are_out_of_order_by_name_but_not_in_time_are_one_drive():
    times = [float(number) for number in range(1, 60)]
    random.Random(7).shuffle(times)

    assert set(_parts(_shots(*times, name="{:x}a.jpg"))) == {"d"}
    assert len(set(_parts(_shots(3, 1, 2)))) == 1


def test_numbers_count_as_numbers_not_as_text():
    assert set(_parts(_shots(*range(1, 30), name="f{}.jpg"))) == {"d"}


def test_frames_a_moment_out_of_order_do_not_cut_a_drive():
    assert set(_parts(_shots(1, 2, 3, 2.95, 4, 5))) == {"d"}


def test_pictures_without_a_time_stay_with_the_one_before_them():
    assert _parts(_shots(1, None, 2, 100, None, 101)) == ["d", "d", "d", "d~2", "d~2", "d~2"]


def test_frames_that_come_later_rename_nothing_before_them():
    rng = random.Random(3)
    at, times = 1000.0, []
    for _ in range(12):
        times += [at + 0.1 * number for number in range(rng.randrange(10, 25))]
        at = times[-1] + rng.choice([90.0, -40.0, -5000.0, 3600.0])
    whole = _parts(_shots(*times))

    assert len(set(whole)) == 12
    for count in range(2, len(times)):
        assert _parts(_shots(*times[:count])) == whole[:count]


def test_drives_that_somebody_named_keep_their_name_and_their_jumps_are_listed():
    shots = _shots(1000, 1001, 1002, 5, 6, stated=True)
    found = follow_times(shots, 60)

    assert set(found.drives.values()) == {"d"}
    assert found.jumps[0].detail.endswith("it is stated and not cut")


def test_the_order_of_a_recording_counts_where_it_is_known():
    times = [1000, 1001, 1002, 5, 6]
    shots = [Shot(f"{at}.jpg", "d", "c", at * S, "utc", recorded=("log", number)) for number, at in enumerate(times)]

    assert _parts(shots, 0) == ["d", "d", "d", "d~2", "d~2"]


def test_parts_of_a_log_follow_each_other_by_their_numbers():
    logs = [("log_2", 1000), ("log_10", 1003), ("log_11", 5)]
    shots = [
        Shot(f"{name}/{at + more}.jpg", "d", "c", (at + more) * S, "utc", recorded=(name, more))
        for name, at in logs
        for more in range(3)
    ]

    assert _parts(shots) == ["d"] * 6 + ["d~2"] * 3


def test_times_of_several_clocks_are_not_compared_and_that_is_said():
    shots = [Shot("a.jpg", "d", "c", 5, "utc"), Shot("b.jpg", "d", "c", 10**18, "gps")]
    found = follow_times(shots, 60)

    assert (set(found.drives.values()), found.jumps) == ({"d"}, [])
    assert found.notes == ["Drive d has times of several clocks (gps, utc); not compared."]


def test_a_drive_is_cut_where_its_clock_becomes_another():
    times = [(10**18, "utc"), (10**18 + S, "utc"), (0, "drive_relative"), (S, "drive_relative")]
    shots = [Shot(f"f{number}.jpg", "d", "c", *time) for number, time in enumerate(times)]

    assert _parts(shots) == ["d", "d", "d~2", "d~2"]


def _batch(folder, rows, **section):
    pictures = {f"f{number}.jpg": picture(number) for number in range(len(rows))}
    lines = [f"f{number}.jpg,{row}" for number, row in enumerate(rows)]
    write(folder, {**pictures, "metadata.csv": "\n".join(["path,captured_s", *lines])})
    return bring_in(folder, **section)


def test_an_import_cuts_drives_counts_jumps_and_keeps_every_frame(tmp_path):
    found = _batch(tmp_path / "b", [1000, 1001, 1002, 500, 501, 502])

    assert sorted(set(found.tables.sources["drive"].to_pylist())) == ["b/f", "b/f~2"]
    assert sorted(set(found.tables.frames["drive_group"].to_pylist())) == ["b/f", "b/f~2"]
    assert (found.counts["time_jumps"], found.counts["frames"], found.counts["label_problems"]) == (1, 6, 0)
    assert [(row["path"], row["reason"]) for row in found.beside.quarantine.to_pylist()] == [("f3.jpg", "time_jump")]


def test_zero_stamps_are_no_times_unless_a_drive_counts_from_its_beginning(tmp_path):
    zeros = _batch(tmp_path / "a", [0, 0, 5], clock="utc")
    relative = _batch(tmp_path / "b", [0, 1, 2], clock="drive_relative")

    assert zeros.tables.sources["captured_ns"].to_pylist().count(None) == 2
    assert "2 stamps of zero are of a clock that was not set: no times." in zeros.notes
    assert sorted(relative.tables.sources["captured_ns"].to_pylist()) == [0, S, 2 * S]
    assert set(relative.tables.sources["clock"].to_pylist()) == {"drive_relative"}


@pytest.mark.parametrize(("clock", "stored"), [("gps", "gps"), ("", "none")])
def test_a_batch_may_say_what_its_times_count_from(tmp_path, clock, stored):
    epoch_ns = 315_964_800 * S
    found = _batch(tmp_path / "b", ["315969904.359876", 2, 3], epoch_ns=epoch_ns, clock=clock, max_gap_s=0)

    assert max(found.tables.sources["captured_ns"].to_pylist()) == 631_934_704_359_876_000
    assert set(found.tables.sources["clock"].to_pylist()) == {stored}


def test_the_epoch_of_a_batch_does_not_move_times_whose_source_names_a_clock(tmp_path):
    write(tmp_path / "b", {"a.jpg": picture(1), "metadata.csv": "path,captured_at\na.jpg,1970-01-01T00:00:05Z\n"})
    found = bring_in(tmp_path / "b", epoch_ns=10**18, clock="gps")

    assert found.tables.sources["captured_ns"].to_pylist() == [5 * S]
    assert found.tables.sources["clock"].to_pylist() == ["utc"]


def test_labels_that_name_a_time_a_little_off_find_their_picture_and_the_import_lists_it(tmp_path):
    labels = coco([(1, "1700000000000002.jpg")], [(1, 1, 1, (1, 2, 30, 40))])
    write(tmp_path / "b", {"1700000000000001.jpg": picture(1), "labels.json": labels})

    joined = bring_in(tmp_path / "b", join_tolerance_ms=0.005)
    apart = bring_in(tmp_path / "b")

    assert joined.counts["boxes"] == 1
    assert [row["reason"] for row in joined.beside.quarantine.to_pylist()] == ["label_nearest_picture"]
    assert (apart.counts["boxes"], apart.counts["boxes_quarantined"]) == (0, 1)


def test_a_place_of_zero_and_zero_is_none(tmp_path):
    rows = ["path,lat,lon", "a.jpg,0,0", "b.jpg,0.0,11.5", "c.jpg,48.1,0"]
    write(tmp_path / "b", {**{f"{name}.jpg": picture(name) for name in "abc"}, "metadata.csv": "\n".join(rows)})

    found = bring_in(tmp_path / "b")

    places = zip(*(found.tables.sources.sort_by("path")[name].to_pylist() for name in ("lat", "lon")), strict=True)
    assert list(places) == [(None, None), (0.0, 11.5), (48.1, 0.0)]
    assert "1 places of latitude 0, longitude 0 are of a receiver without a fix: no places." in found.notes
