import json
from datetime import datetime

import pyarrow as pa
import pytest

from driveflow import tables
from driveflow.flow.sections import GateSection
from tests.strategies import frame_row, source_row
from tests.validation.data.made import checked, frame_id, labeled, side, signal

NOON_NS = int(datetime.fromisoformat("2023-11-15T11:00:00+00:00").timestamp()) * 10**9
MIDNIGHT_NS = NOON_NS + 12 * 3600 * 10**9
MUNICH = {"lat": 48.1, "lon": 11.5, "clock": "utc"}


def tagged(*said, key="time_of_day", **more):
    """Frames tagged as said, a second apart in one drive."""
    frames = [frame_row(frame_id(n), attributes=json.dumps({key: word} if word else {})) for n, word in enumerate(said)]
    sources = [
        source_row(frame_id(n), path=f"{n}.jpg", captured_ns=NOON_NS + n * 10**9, clock="utc") | more
        for n in range(len(said))
    ]
    return frames, sources


def suspects(check):
    return {suspect.frame_id: suspect.detail for suspect in check.suspects}


def test_a_daytime_frame_that_is_dark_and_a_night_frame_that_is_bright_are_named():
    frames, sources = tagged("daytime", "daytime", "night", "night", "dusk", "dusk")
    signals = [signal(frame_id(n), level) for n, level in enumerate([110, 12, 30, 150, 20, 140])]

    _, checks = checked(side(frames, (), sources, signals))

    assert suspects(checks["tags"]) == {
        frame_id(1): "said to be daytime, but its mean grey is 12 of 255",
        frame_id(3): "said to be night, but its mean grey is 150 of 255",
    }
    assert checks["tags"].value == pytest.approx(2 / 6)


def test_where_place_and_time_are_known_the_sun_is_asked_too():
    frames, _ = tagged("day", "day", "night", "")
    times = [NOON_NS, MIDNIGHT_NS, NOON_NS, NOON_NS]
    sources = [source_row(frame_id(n), drive=f"d{n}", captured_ns=time) | MUNICH for n, time in enumerate(times)]

    _, checks = checked(side(frames, (), sources))

    found = suspects(checks["tags"])
    assert set(found) == {frame_id(1), frame_id(2)}
    assert found[frame_id(1)].startswith("said to be day, but the sun stands at -60")
    assert checks["tags"].n == 3


def test_without_sun_and_picture_no_tag_is_doubted():
    frames, sources = tagged("day", "night")

    _, checks = checked(side(frames, (), sources))

    assert (checks["tags"].outcome, checks["tags"].found) == ("PASS", 0)
    assert "0 can be held against sun or picture" in checks["tags"].reason


@pytest.mark.parametrize("key", ["weather", "time_of_day", "scene"])
def test_a_tag_that_changes_for_one_frame_alone_is_named(key):
    frames, sources = tagged("a", "a", "b", "a", "c", "c", key=key)

    _, checks = checked(side(frames, (), sources))

    assert suspects(checks["tags"]) == {frame_id(2): f"{key} b, unlike both its neighbours"}


def test_neighbours_that_are_far_in_time_or_of_another_camera_say_nothing():
    frames, _ = tagged("rain", "clear", "rain", key="weather")
    hours = [source_row(frame_id(n), captured_ns=NOON_NS + n * 3600 * 10**9) for n in range(3)]
    cameras = [source_row(frame_id(n), captured_ns=NOON_NS + n, camera=f"c{n % 2}") for n in range(3)]

    for sources in (hours, cameras):
        assert checked(side(frames, (), sources))[1]["tags"].found == 0


def test_tags_that_are_mostly_wrong_block():
    frames, sources = tagged(*["daytime"] * 40)
    signals = [signal(frame_id(n), 10 if n < 30 else 100) for n in range(40)]

    report, checks = checked(side(frames, (), sources, signals))

    assert checks["tags"].outcome == report.verdict == "BLOCK"


def timed(times, clock="gps", **more):
    frames = [frame_row(frame_id(n)) for n in range(len(times))]
    sources = [
        source_row(frame_id(n), path=f"img_{n}.jpg", captured_ns=time, clock=clock) | more
        for n, time in enumerate(times)
    ]
    return checked(side(frames, (), sources))[1]["time_order"]


def test_a_frame_that_was_taken_before_the_one_numbered_before_it_is_named():
    steps = [NOON_NS + n * 10**8 for n in range(30)]
    steps[12] -= 5 * 10**8 + 1

    check = timed(steps)

    assert suspects(check) == {frame_id(12): "taken before the frame that is numbered before it: drive-0, img_12.jpg"}
    assert check.outcome == "NEEDS REVIEW"


def test_names_in_no_order_of_time_say_nothing():
    steps = [NOON_NS + (n * 7919 % 30) * 10**8 for n in range(30)]

    assert timed(steps).found == 0


def test_two_frames_of_one_camera_at_one_moment_are_named():
    check = timed([NOON_NS, NOON_NS + 1, NOON_NS + 1])

    assert suspects(check) == {frame_id(2): "taken at the moment of another frame of its camera: drive-0, img_2.jpg"}


@pytest.mark.parametrize(("clock", "found"), [("utc", 1), ("gps", 1), ("drive_relative", 0)])
def test_a_clock_that_was_never_set_is_named(clock, found):
    check = timed([5 * 10**9], clock=clock)

    assert check.found == found


def test_pictures_that_cannot_be_read_are_named():
    frames, boxes = labeled(3)
    signals = [signal(frames[0]["frame_id"], 100), signal(frames[1]["frame_id"], None, "truncated")]

    _, checks = checked(side(frames, boxes, signals=signals))

    assert suspects(checks["pictures"]) == {frames[1]["frame_id"]: "truncated"}
    assert (checks["pictures"].value, checks["pictures"].outcome) == (0.5, "NEEDS REVIEW")


def test_what_the_import_left_out_is_counted_by_its_reason_and_remarks_are_not():
    rows = [{"batch": "b", "path": f"{n}.jpg", "reason": reason, "detail": ""} for n, reason in enumerate(
        ["truncated", "truncated", "label_outside_picture", "time_jump"])]  # fmt: skip
    quarantine = pa.Table.from_pylist(rows, tables.QUARANTINE)

    _, checks = checked(side(*labeled(10)), quarantine=quarantine)

    assert checks["left_out"].found == 3
    assert checks["left_out"].reason == (
        "The import could not use 3 files and lines: 2 truncated, 1 label_outside_picture."
    )


def test_a_class_with_few_boxes_one_never_looked_for_and_one_that_nothing_judges_are_named():
    frames, boxes = labeled(60)
    frames = [frame | {"annotated_classes": ["car", "person"]} for frame in frames]
    held = {frame["frame_id"] for frame in frames if frame["split"] == "holdout"}
    kept = [box for box in boxes if box["class_name"] == "car" or (
        box["class_name"] == "person" and box["frame_id"] not in held)]  # fmt: skip

    report, checks = checked(side(frames, kept))

    assert checks["class_support"].reason == (
        "Fewer than 10 training boxes: bus; none in the hold-out, so not judged: bus, person."
    )
    assert checks["classes_looked_for"].reason == "Nobody looked for bus."
    assert report.verdict == "NEEDS REVIEW"
    assert [(row.class_name, row.looked_for) for row in report.classes] == [("bus", 0.0), ("car", 1.0), ("person", 1.0)]


@pytest.mark.parametrize(
    ("frames", "groups", "outcome"), [(12, 2, "PASS"), (13, 2, "NEEDS REVIEW"), (12, 3, "NEEDS REVIEW")]
)
def test_a_hold_out_that_cannot_satisfy_the_gate_is_told_before_anything_is_trained(frames, groups, outcome):
    gate = GateSection(min_frames=frames, min_drive_groups=groups)

    _, checks = checked(side(*labeled(60)), gate=gate)

    assert checks["holdout"].outcome == outcome
    assert checks["holdout"].reason.startswith("The hold-out has 12 labeled frames of 2 drive groups")


def test_boxes_of_a_class_that_nobody_looked_for_do_not_count_and_are_named():
    frames, boxes = labeled(20)
    frames[0] |= {"annotated_classes": ["car"]}

    _, checks = checked(side(frames, boxes))

    assert {suspect.frame_id for suspect in checks["boxes_unannotated"].suspects} == {frames[0]["frame_id"]}
    assert checks["boxes_unannotated"].found == 2


def test_labeled_frames_without_one_box_block_and_frames_without_labels_wait():
    frames, _ = labeled(40)

    assert checked(side(frames))[0].verdict == "BLOCK"
    waiting, checks = checked(side([frame | {"annotated_classes": []} for frame in frames]))
    assert waiting.verdict == "NEEDS REVIEW"
    assert checks["labels"].reason == "0 of 40 frames are labeled, with 0 boxes: nobody looked yet."


def test_where_no_frame_has_a_time_none_is_said_to_be_in_order():
    check = timed([None] * 30, clock="none")

    assert check.outcome == "NOT JUDGED"
    assert check.reason.startswith("No frame has a time.")
    assert "in order" not in check.reason
