import numpy as np
import pytest

from driveflow.flow.data_validation_section import DataValidationSection
from tests.strategies import box_row, frame_row
from tests.validation.data.made import checked, frame_id, labeled, side
from validation.data.pairs import overlapping


def with_box(**changes):
    """A sound data set with one more box, and the checks of it."""
    frames, boxes = labeled(20)
    last = box_row(frames[0]["frame_id"], "odd", "car", x1=20.0, y1=30.0, x2=30.0, y2=40.0)
    return checked(side(frames, [*boxes, last | changes]))


def test_a_sound_data_set_passes_every_check_that_can_be_judged():
    report, checks = checked(side(*labeled(60)))

    assert report.verdict == "PASS"
    assert {check.outcome for check in checks.values()} == {"PASS", "NOT JUDGED"}
    assert report.reason == "All 11 checks that could be judged are within their limits."


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"x1": float("nan")}, "a corner is no number"),
        ({"y2": None}, "boxes.y2 is missing"),
        ({"x2": 19.0}, "a box ends before it begins"),
        ({"y2": 29.0}, "a box ends before it begins"),
        ({"class_name": "unicorn"}, "a class is not in the taxonomy"),
        ({"frame_id": "nowhere"}, "a box is of no frame"),
        ({"box_id": "b0"}, "two boxes of a frame have one id"),
        ({"attributes": "[1]"}, "attributes of boxes are no JSON object"),
    ],
)
def test_one_row_that_no_snapshot_may_hold_blocks(changes, complaint):
    report, checks = with_box(**changes)

    assert report.verdict == "BLOCK"
    assert complaint in report.reason
    assert complaint in [suspect.detail for suspect in checks["schema"].suspects]
    assert list(checks) == ["schema"]


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"width": 0}, "a picture has no size"),
        ({"split": "test"}, "a split is none of train, val and holdout"),
        ({"annotated_classes": ["unicorn"]}, "an annotated class is not in the taxonomy"),
        ({"attributes": "{"}, "attributes of frames are no JSON object"),
    ],
)
def test_one_frame_that_no_snapshot_may_hold_blocks(changes, complaint):
    frames, boxes = labeled(4)

    report, _ = checked(side([*frames[:-1], frames[-1] | changes], boxes))

    assert report.verdict == "BLOCK"
    assert complaint in report.reason


@pytest.mark.parametrize(("x2", "outside"), [(64.0, 0), (65.0, 0), (65.1, 1), (90.0, 1)])
def test_a_box_may_reach_a_pixel_out_of_its_picture_and_no_more(x2, outside):
    _, checks = with_box(x1=40.0, x2=x2)

    assert checks["boxes_outside"].found == outside


def test_a_box_without_area_is_named_and_one_of_many_asks_for_a_person():
    report, checks = with_box(x2=20.0)

    assert report.verdict == "NEEDS REVIEW"
    assert [(one.box_id, one.detail) for one in checks["boxes_empty"].suspects] == [("odd", "has no area")]


def test_many_boxes_without_area_block():
    frames, boxes = labeled(20)

    report, checks = checked(side(frames, [box | {"x2": box["x1"]} if box["box_id"] == "b0" else box for box in boxes]))

    assert (report.verdict, checks["boxes_empty"].value) == ("BLOCK", pytest.approx(1 / 3))


def test_a_share_of_a_handful_never_blocks():
    frames, boxes = labeled(3)
    section = DataValidationSection(min_class_boxes=0, min_n=30)

    report, _ = checked(side(frames, [box | {"x2": box["x1"]} for box in boxes]), settings=section)

    assert report.verdict == "NEEDS REVIEW"


@pytest.mark.parametrize(
    ("shift", "name", "found"), [(0.0, "car", 1), (0.3, "car", 1), (3.0, "car", 0), (0.0, "bus", 0)]
)
def test_two_boxes_of_one_class_on_one_object_are_there_twice(shift, name, found):
    frames, _ = labeled(20, per_frame=0)
    one = box_row(frames[0]["frame_id"], "one", "car", x1=10.0, y1=10.0, x2=30.0, y2=30.0)
    two = one | {"box_id": "two", "class_name": name, "x1": 10.0 + shift, "x2": 30.0 + shift}

    _, checks = checked(side(frames, [one, two]))

    assert checks["boxes_twice"].found == found
    assert [suspect.other is not None for suspect in checks["boxes_twice"].suspects] == [True] * found


def test_ignore_regions_may_be_as_they_like():
    _, checks = with_box(x1=-50.0, x2=500.0, ignore=True)

    assert checks["boxes_outside"].found == 0


def test_sizes_are_judged_within_the_class():
    """A bus as large as the others is no odd box, a person as large as a bus is one, and one a hair's breadth wide."""
    frames = [frame_row(frame_id(n), width=1920, height=1080) for n in range(60)]
    boxes = []
    for number, frame in enumerate(frames):
        wobble = number % 7
        own = {"frame_id": frame["frame_id"]}
        boxes.append(box_row("", "p", "person", x1=10.0, y1=10.0, x2=30.0 + wobble, y2=60.0 + 2 * wobble) | own)
        boxes.append(box_row("", "b", "bus", x1=400.0, y1=100.0, x2=1300.0 + wobble, y2=900.0) | own)
    boxes[0] |= {"x2": 1400.0, "y2": 900.0}
    boxes[2] |= {"x2": 11.5}
    boxes[4] |= {"x1": 0.0, "x2": 3.0, "y1": 10.0, "y2": 900.0}  # the edge of the picture cuts it

    _, checks = checked(side(frames, boxes))

    odd = {suspect.frame_id: suspect.detail for suspect in checks["boxes_size"].suspects}
    assert set(odd) == {frame_id(0), frame_id(1)}
    assert "robust deviations" in odd[frame_id(0)]
    assert odd[frame_id(1)] == "1.5 px on its smaller side"


def test_pairs_are_those_that_a_plain_double_loop_finds():
    rng = np.random.default_rng(3)
    starts = rng.integers(0, 40, (120, 2)).astype(float)
    corners = np.concatenate([starts, starts + rng.integers(1, 25, (120, 2))], axis=1)
    place = rng.integers(0, 5, 120)

    pairs = overlapping(place, corners, 0.2)

    plain = {}
    for one in range(120):
        for two in range(one + 1, 120):
            inner = np.minimum(corners[one, 2:], corners[two, 2:]) - np.maximum(corners[one, :2], corners[two, :2])
            shared = np.maximum(inner, 0).prod()
            areas = sum((corners[row, 2:] - corners[row, :2]).prod() for row in (one, two))
            if place[one] == place[two] and shared / (areas - shared) >= 0.2:
                plain[one, two] = shared / (areas - shared)
    found = dict(zip(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True), pairs.iou.tolist(), strict=True))
    assert found == pytest.approx(plain)


def test_the_report_does_not_depend_on_the_order_of_rows():
    frames, boxes = labeled(30)
    boxes[4] |= {"x2": 80.0}
    boxes[9] |= {"x2": boxes[9]["x1"]}

    one, _ = checked(side(frames, boxes))
    two, _ = checked(side(frames[::-1], boxes[::-1]))

    assert [(c.name, c.outcome, c.value, c.found) for c in one.checks] == [
        (c.name, c.outcome, c.value, c.found) for c in two.checks
    ]


def test_classes_with_as_many_boxes_are_told_by_both_their_names():
    frames, boxes = labeled(20)
    both = [{**box, "class_name": name, "box_id": f"{box['box_id']}{name}"} for box in boxes for name in ("bus", "car")]

    _, checks = checked(side(frames, both))

    assert checks["class_balance"].reason in {
        f"{one} has 60 boxes, {other} 60: 1.0 to 1." for one, other in (("bus", "car"), ("car", "bus"))
    }
