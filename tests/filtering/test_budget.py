import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driveflow import tables
from driveflow.flow.sections import LabelingSection, SliceSection, WhereSection
from filtering.budget import affordable_frames
from filtering.corner_cases import CornerCaseRequest, Selection, find_corner_cases
from filtering.diversity import space_of
from filtering.miners.material import FrameVectors
from filtering.slice_groups import slice_rows
from tests.filtering.made import FAR, Made, measured, snapshot
from tests.filtering.test_miners import material
from tests.strategies import box_row


def select(frames: list[Made], seen: pa.Table | None = None, slices=(), vectors=None, **labeling) -> Selection:
    section = LabelingSection(**({"control_share": 0.0} | labeling))
    return find_corner_cases(
        CornerCaseRequest(snapshot(frames), measured(frames), section, predictions=seen, slices=slices, vectors=vectors)
    )


def chosen(selection: Selection) -> list[str]:
    return selection.table["frame_id"].to_pylist()


def seen(**classes: str) -> pa.Table:
    rows = [box_row(frame, "p", name, score=0.9, origin="model:x") for frame, name in classes.items()]
    return pa.Table.from_pylist(rows, tables.PREDICTIONS)


def distinct(count: int, **changes) -> list[Made]:
    random_ = random.Random(4)
    return [Made(f"f{number:02d}", random_.getrandbits(64), **changes) for number in range(count)]


@pytest.mark.parametrize(("money", "frames"), [(0.69, 6), (0.7, 7), (0.79, 7), (2.0, 10), (0.0, 10)])
def test_money_buys_whole_frames_and_never_more_than_the_budget_in_frames(money, frames):
    selection = select(distinct(20), budget_frames=10, cost_per_frame=0.1, budget_money=money)

    assert len(chosen(selection)) == frames


def test_k_center_takes_the_frame_farthest_from_what_is_labeled():
    frames = [Made("known", 0, labeled=True), Made("near", 1), Made("far", 0xFFFF), Made("middle", 0xFF)]

    assert chosen(select(frames, budget_frames=2, diversity="k_center")) == ["far", "middle"]


def test_k_center_goes_by_vectors_where_there_are_any():
    vectors = np.array([[-1, 0], [1, 0], [0, 1], [0.8, 0.6]], np.float32)
    frames = [Made("far"), Made("known", labeled=True), Made("middle"), Made("near")]
    space = FrameVectors(("far", "known", "middle", "near"), vectors)

    assert chosen(select(frames, vectors=space, budget_frames=2, diversity="k_center")) == ["far", "middle"]


@pytest.mark.parametrize(
    ("money", "cost", "frames"),
    [(0.3, 0.1, 3), (0.2, 0.35, 0), (1e20, 1e-9, 500), (1e-7, 1e-9, 100), (150.0, 0.35, 428)],
)
def test_money_pays_for_whole_frames_whatever_the_sizes_of_the_numbers(money, cost, frames):
    assert affordable_frames(LabelingSection(budget_money=money, cost_per_frame=cost)) == frames


def test_a_balanced_budget_goes_to_classes_that_have_fewest():
    frames = distinct(9)
    guesses = seen(**{f"f{number:02d}": "car" for number in range(8)}, f08="bus")

    taken = chosen(select(frames, guesses, budget_frames=2, balance="classes"))

    assert "f08" in taken


def test_a_balanced_budget_goes_round_the_slices():
    frames = [*distinct(8), Made("dark", 0, attributes={"time_of_day": "night"})]
    night = SliceSection(name="night", where=WhereSection(attributes={"time_of_day": ("night",)}))

    assert chosen(select(frames, slices=(night,), budget_frames=1, balance="slices")) == ["dark"]


def test_a_slice_that_is_cut_along_a_dimension_is_a_group_for_each_value():
    frames = [
        *distinct(8),
        Made("wet", 0, attributes={"weather": "rain"}),
        Made("white", 0, attributes={"weather": "snow"}),
    ]
    weather = SliceSection(name="weather", by=("weather",))

    taken = chosen(select(frames, slices=(weather,), budget_frames=3, balance="slices"))

    assert {"wet", "white"} < set(taken)


def test_a_slice_that_is_cut_along_objects_goes_by_the_same_object():
    boxes = {"y1": 0.0, "x1": 0.0, "x2": 10.0}
    labels = [
        box_row("a", "1", "car", y2=30.0, **boxes),
        box_row("a", "2", "bus", y2=100.0, **boxes),
        box_row("b", "3", "car", y2=10.0, **boxes),
        box_row("b", "4", "car", y2=10.0, ignore=True, **boxes),
    ]
    cameras = [Made("a", FAR[0], camera="front"), Made("b", FAR[1], camera="rear"), Made("c", FAR[2], camera="rear")]
    parts = (
        SliceSection(name="kinds", by=("class", "size", "occlusion")),
        SliceSection(name="view", by=("camera",), where=WhereSection(classes=("car",))),
        SliceSection(name="hidden", by=("occlusion",)),
    )

    found = slice_rows(material(cameras, labels), parts)

    assert found.rows() == [
        ("kinds/bus/80+", 0),
        ("kinds/car/0-25", 1),
        ("kinds/car/25-40", 0),
        ("view/front", 0),
        ("view/rear", 1),
    ]


def test_the_control_sample_is_the_same_whatever_the_rest_is_chosen_by():
    frames = distinct(30)

    plain, far = (
        {
            row["frame_id"]
            for row in select(frames, budget_frames=20, control_share=0.3, diversity=way).table.to_pylist()
            if row["reason"] == "control"
        }
        for way in ("none", "k_center")
    )

    assert plain == far
    assert len(plain) == 6


@settings(max_examples=25)
@given(
    codes=st.lists(st.integers(0, 15), max_size=14),
    diversity=st.sampled_from(["none", "k_center"]),
    balance=st.sampled_from(["drives", "classes", "slices", "all"]),
    seed=st.integers(0, 5),
)
def test_a_diverse_selection_depends_on_no_order_keeps_to_the_budget_and_takes_no_frame_twice(
    codes, diversity, balance, seed
):
    frames = [Made(f"f{number}", code, drive=f"d{number % 3}") for number, code in enumerate(codes)]
    mixed = random.Random(seed).sample(frames, len(frames))

    one, other = (select(group, budget_frames=7, diversity=diversity, balance=balance) for group in (frames, mixed))

    assert one.table.equals(other.table)
    assert one.outlook == other.outlook
    assert len(set(chosen(one))) == len(chosen(one)) == min(7, len(codes))


def test_the_outlook_tells_the_coverage_radius_before_and_after():
    frames = [Made("known", FAR[0], labeled=True), *(Made(f"f{number}", FAR[number]) for number in range(1, 5))]

    found = select(frames, budget_frames=3, diversity="k_center").outlook

    assert found.unit == "bits of 64"
    assert (found.before.radius, found.after.radius, found.beyond.radius) == (16.0, 16.0, 0.0)
    assert (found.before.frames, found.after.frames, found.beyond.frames) == (1, 4, 5)
    assert found.next_frames == 1


def test_the_outlook_names_what_is_reached_for_the_first_time():
    frames = [
        Made("known", FAR[0], drive="old", labeled=True),
        Made("a", FAR[1], drive="new"),
        Made("b", FAR[2], drive="later"),
    ]

    found = select(frames, seen(a="bus"), budget_frames=1, balance="classes").outlook

    assert found.new_groups == ("class bus", "drive new")
    assert found.next_groups == ("drive later",)


def test_without_labels_there_is_no_radius_before_the_first():
    found = select(distinct(3), budget_frames=1).outlook

    assert found.before.radius is None
    assert found.after.radius is not None


def test_without_measured_frames_there_is_no_outlook():
    frames = [Made("a", None, error="broken")]

    assert select(frames).outlook is None


def test_a_frame_that_was_not_measured_lies_nowhere():
    frames = [Made("a", 5), Made("b", None, error="broken")]
    request = CornerCaseRequest(snapshot(frames), measured(frames), LabelingSection())

    assert space_of(request.material()).known.tolist() == [True, False]
