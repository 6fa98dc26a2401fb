"""Slices along dimensions and by condition: who counts in them, and that they add up."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driveflow import tables
from driveflow.errors import UsageError
from driveflow.flow.sections import FloorSection, GateSection, SliceSection, WhereSection
from tests.strategies import source_row
from tests.validation.scenes import boxes_table, frames_table, from_coco, random_coco, simple
from validation.gate_floors import floor_rule
from validation.model.compare import Counts, Draws
from validation.model.evaluate import evaluate
from validation.model.evaluation import Evaluation, SliceResult
from validation.model.scene import EvaluationRequest
from validation.model.scored import scored_of
from validation.model.slice_words import sections_of
from validation.model.slices import inside_of

NEAR, FAR = (0.0, 0.0, 100.0, 100.0), (200.0, 0.0, 220.0, 20.0)  # 100 and 20 px high


def _by(*dimensions: str, name: str = "cut") -> tuple[SliceSection, ...]:
    return (SliceSection(name=name, by=dimensions),)


def _slices(request: EvaluationRequest) -> dict[str, SliceResult]:
    return {part.name: part for part in evaluate(request).per_slice}


def _with_attributes(rows: list[tuple[str, str, tuple[float, ...]]], attributes: list[dict[str, object]]) -> pa.Table:
    said = boxes_table(rows).to_pylist()
    for row, own in zip(said, attributes, strict=True):
        row["attributes"] = json.dumps(own)
    return pa.Table.from_pylist(said, tables.BOXES)


def test_objects_outside_the_size_are_not_missed_and_what_found_them_is_not_wrong():
    truth = [("f", "car", NEAR), ("f", "car", FAR)]

    found = _slices(simple(truth, [("f", "car", NEAR, 0.9)], slices=_by("size")))

    assert set(found) == {"cut/0-25", "cut/80+"}
    assert found["cut/80+"].numbers["AP"] == pytest.approx(1.0)
    assert (found["cut/80+"].counts.found, found["cut/80+"].counts.missed, found["cut/80+"].counts.false) == (1, 0, 0)
    assert found["cut/0-25"].numbers["AP"] == 0.0
    assert (found["cut/0-25"].counts.missed, found["cut/0-25"].counts.false) == (1, 0)


def test_a_false_detection_counts_in_its_own_size_alone():
    truth = [("f", "car", NEAR), ("f", "car", FAR)]
    said = [("f", "car", NEAR, 0.8), ("f", "car", FAR, 0.8), ("f", "car", (500, 0, 510, 20), 0.9)]

    found = _slices(simple(truth, said, slices=_by("size")))

    assert found["cut/80+"].numbers["AP50"] == pytest.approx(1.0)
    assert found["cut/0-25"].numbers["AP50"] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("height", "name"), [(24.9, "0-25"), (25, "25-40"), (39.9, "25-40"), (40, "40-80"), (79.9, "40-80"), (80, "80+")]
)
def test_a_height_belongs_to_the_bin_that_begins_with_it(height, name):
    assert list(_slices(simple([("f", "car", (0, 0, 10, height))], [], slices=_by("size")))) == [f"cut/{name}"]


def test_what_a_model_does_not_say_leaves_no_false_detection_out():
    truth = [("f", "car", NEAR), ("f", "car", FAR)]
    boxes = _with_attributes(truth, [{"occluded": 0}, {"occluded": 2}])
    said = [("f", "car", NEAR, 0.8), ("f", "car", FAR, 0.8), ("f", "car", (500, 0, 600, 100), 0.9)]

    found = _slices(simple([], said, boxes=boxes, slices=_by("occlusion")))

    assert {name: part.numbers["AP50"] for name, part in found.items()} == {
        "cut/visible": pytest.approx(0.5),
        "cut/largely": pytest.approx(0.5),
    }


def test_distance_is_cut_where_it_is_stated():
    boxes = _with_attributes(
        [("f", "car", NEAR), ("f", "car", FAR), ("g", "car", NEAR)],
        [{"location": [3.0, 1.5, 4.0]}, {"distance_m": 80}, {}],
    )

    found = _slices(
        simple(
            [],
            [("g", "car", NEAR, 0.9)],
            boxes=boxes,
            frames=frames_table("fg", ("bus", "car")),
            slices=_by("distance"),
        )
    )

    assert {name: part.objects for name, part in found.items()} == {
        "cut/0-15": 1,
        "cut/80+": 1,
        "cut/not stated": 1,
    }


def test_class_by_size_has_a_slice_for_each_pair_that_has_an_object():
    truth = [("f", "car", NEAR), ("g", "bus", NEAR), ("g", "car", FAR)]

    found = _slices(
        simple(truth, [("f", "car", NEAR, 0.9), ("g", "bus", (0, 0, 100, 90), 0.8)], slices=_by("class", "size"))
    )

    assert {name: (part.objects, part.frames) for name, part in found.items()} == {
        "cut/bus/80+": (1, 1),
        "cut/car/0-25": (1, 1),
        "cut/car/80+": (1, 1),
    }
    assert found["cut/bus/80+"].numbers["AP50"] == pytest.approx(1.0)
    assert found["cut/car/80+"].predicate.boxes == "class_name = 'car' AND height_px >= 80"


def _drive(**columns: dict[str, object]) -> dict[str, object]:
    sources = [source_row(name, camera="left" if name in "ab" else "right", lat=48.137, lon=11.575) for name in "abcd"]
    sources.append(source_row("a", camera="right", batch="again", lat=48.137, lon=11.575))
    said = {
        "a": '{"time_of_day":"night","weather":"rain"}',
        "b": '{"time_of_day":"night"}',
        "c": '{"time_of_day":"day"}',
    }
    return {
        "frames": frames_table("abcd", ("bus", "car"), attributes=said, drive_group={"a": "one", "b": "one"}),
        "sources": pa.Table.from_pylist(sources, tables.SOURCES),
    }


def test_frames_are_cut_by_their_tags_and_what_says_nothing_is_told_apart():
    truth = [(frame, "car", NEAR) for frame in "aabcd"]

    found = _slices(simple(truth, [("a", "car", NEAR, 0.9)], slices=_by("time_of_day"), **_drive()))

    assert {name: (part.frames, part.drive_groups, part.objects) for name, part in found.items()} == {
        "cut/night": (2, 1, 3),
        "cut/day": (1, 1, 1),
        "cut/not stated": (1, 1, 1),
    }
    assert found["cut/night"].predicate.frames == "attributes.time_of_day = 'night'"
    assert found["cut/not stated"].predicate.frames == "attributes.time_of_day IS NULL"


def test_a_frame_of_two_cameras_is_in_the_slice_of_both_and_places_are_cells_where_nothing_names_them():
    truth = [(frame, "car", NEAR) for frame in "abcd"]

    found = _slices(
        simple(truth, [("a", "car", NEAR, 0.9)], slices=(*_by("camera"), *_by("place", name="at")), **_drive())
    )

    assert {name: part.frames for name, part in found.items()} == {"cut/left": 2, "cut/right": 3, "at/48.13 11.57": 4}
    assert found["cut/left"].predicate.frames == "camera = 'left'"


def test_a_condition_a_predicate_and_dimensions_hold_together():
    truth = [(frame, "car", NEAR) for frame in "abcd"]
    section = SliceSection(
        name="wet",
        where=WhereSection(attributes={"time_of_day": ("night",)}),
        expression="attributes.weather = 'rain' AND camera = 'right'",
        by=("size",),
    )

    found = _slices(simple(truth, [("a", "car", NEAR, 0.9)], slices=(section,), **_drive()))

    assert {name: (part.frames, part.objects) for name, part in found.items()} == {"wet/80+": (1, 1)}
    assert found["wet/80+"].predicate.frames == "(attributes.weather = 'rain' AND camera = 'right')"


def test_a_slice_of_frames_has_all_twelve_numbers_and_one_of_boxes_too():
    slices = (SliceSection(name="all", expression="width > 0"), *_by("size"))

    found = _slices(simple([("f", "car", NEAR)], [("f", "car", NEAR, 0.9)], slices=slices))

    assert found["all"].numbers == pytest.approx(found["cut/80+"].numbers)


def test_without_being_asked_an_evaluation_tells_ap50_along_each_dimension_that_is_stated():
    truth = [(frame, "car", NEAR) for frame in "abcd"]

    evaluation = evaluate(simple(truth, [("a", "car", NEAR, 0.9)], **_drive()))

    assert [part.name for part in evaluation.dimensions] == [
        "size=80+",
        "time_of_day=night",
        "time_of_day=day",
        "time_of_day=not stated",
        "weather=rain",
        "weather=not stated",
        "camera=right",
        "camera=left",
        "place=48.13 11.57",
    ]
    assert evaluation.dimensions[0].numbers["AP50"] == pytest.approx(26 / 101)


def _everything(evaluation: Evaluation) -> tuple[int, int, int]:
    points = [part.point for part in evaluation.per_class]
    return sum(p.right for p in points), sum(p.missed for p in points), sum(p.false for p in points)


@settings(max_examples=12)
@given(st.integers(0, 2**32))
def test_the_values_of_a_dimension_add_up_to_the_whole(seed):
    truth, predictions = random_coco(seed)
    request = from_coco(truth, predictions)
    request = replace(request, slices=(*_by("class", "size", name="pairs"), *_by("class", name="classes")))

    evaluation = evaluate(request)

    for name in ("pairs", "classes"):
        parts = [part for part in evaluation.per_slice if part.name.startswith(name)]
        assert sum(part.objects for part in parts) == evaluation.objects
        assert all(part.counts.found + part.counts.missed == part.objects for part in parts)
        assert sum(part.counts.found for part in parts) == _everything(evaluation)[0]
    for part in parts:  # of classes that have an object
        (own,) = (one for one in evaluation.per_class if part.by == (("class", one.class_name),))
        assert part.counts.false == own.point.false
        assert part.numbers["AP"] == pytest.approx(own.numbers["AP"], abs=1e-9)


def test_which_boxes_a_slice_is_about_can_be_asked_again():
    evaluation = evaluate(
        simple([("f", "car", NEAR), ("f", "car", FAR)], [("f", "car", NEAR, 0.9)], slices=_by("size"))
    )
    near = next(part for part in evaluation.per_slice if part.name == "cut/80+")

    inside = inside_of(evaluation.scene, near)

    assert np.flatnonzero(inside.objects).size == near.objects == 1
    assert inside.alone.tolist() == [True]


@pytest.mark.parametrize(
    ("words", "sections", "others"),
    [
        (["size"], ["size"], ()),
        (["size, class * occlusion", "size"], ["size", "class*occlusion"], ()),
        (["weather"], [], ("weather",)),
        (["weather*size"], ["weather*size"], ()),
        (["camera IN ('a', 'b,c')"], [], ("camera IN ('a', 'b,c')",)),
        (["attributes.x = 2 * 3"], [], ("attributes.x = 2 * 3",)),
    ],
)
def test_words_are_dimensions_crossed_dimensions_or_something_else(words, sections, others):
    found, rest = sections_of(words)

    assert ([section.name for section in found], rest) == (sections, others)


@pytest.mark.parametrize(("word", "message"), [("size*color", "'color' is no dimension"), ("size*size", "with itself")])
def test_what_cannot_be_crossed_is_refused(word, message):
    with pytest.raises(UsageError, match=message):
        sections_of([word])


@settings(max_examples=12)
@given(st.integers(0, 2**32))
def test_the_values_counted_in_one_pass_are_those_of_slices_cut_one_by_one(seed):
    truth, predictions = random_coco(seed)
    request = replace(from_coco(truth, predictions), slices=(SliceSection(name="size", by=("size",)),))

    evaluation = evaluate(request)

    at_once = {part.name: part for part in evaluation.dimensions}
    assert set(at_once) == {part.name for part in evaluation.per_slice}
    for part in evaluation.per_slice:
        other = at_once[part.name]
        assert other.numbers["AP50"] == pytest.approx(part.numbers["AP50"], abs=1e-12)
        assert (other.counts, other.objects, other.frames) == (part.counts, part.objects, part.frames)
        assert (other.predicate, other.drive_groups) == (part.predicate, part.drive_groups)


def test_a_floor_on_a_slice_of_boxes_is_about_its_objects_and_counts_the_frames_that_hold_them():
    truth = [("f", "car", NEAR), ("f", "car", FAR), ("g", "car", NEAR)]
    section = SliceSection(name="size", by=("size",))
    evaluation = evaluate(simple(truth, [("f", "car", NEAR, 0.9), ("g", "car", NEAR, 0.8)], slices=(section,)))
    gate = GateSection(min_frames=1, min_drive_groups=1)

    near, far = (
        floor_rule(scored_of(evaluation), FloorSection(slice=f"size={name}", at_least=0.5), gate, Draws(resamples=20))
        for name in ("80+", "0-25")
    )

    assert (near.outcome, near.value, near.counts) == ("PASS", pytest.approx(1.0), Counts(2, 2, 2))
    assert (far.outcome, far.value, far.counts) == ("NEEDS DATA", 0.0, Counts(1, 1, 1))  # of one drive group
