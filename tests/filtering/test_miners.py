import random

import numpy as np
import pyarrow as pa
import pytest

from driveflow import tables
from driveflow.errors import InvalidInputError
from driveflow.flow.miner_section import MinerSection
from driveflow.flow.sections import CornerCaseSection, WhereSection
from driveflow.next_curation import Query
from driveflow.snapshots import SnapshotTables
from filtering.finds import find
from filtering.miners.catalog import MINERS, miner_of
from filtering.miners.errors import mistakes
from filtering.miners.matching import Boxes
from filtering.miners.material import FrameVectors, Material, ObjectVectors
from tests.filtering.made import FAR, Made, measured, snapshot
from tests.strategies import box_row

RARE = MinerSection()


def material(frames: list[Made], boxes: list[dict] | None = None, **more) -> Material:
    made = snapshot(frames)
    built = SnapshotTables(made.frames, made.sources, pa.Table.from_pylist(boxes or [], tables.BOXES), made.classes)
    return Material(built, measured(frames), **more)


def case(miner: str, **settings) -> CornerCaseSection:
    return CornerCaseSection(name="case", miner=miner, settings=MinerSection(**settings))


def scores(made: Material, miner: str, **settings) -> dict[str, float]:
    """What the miner found, and each score."""
    found = find(made, case(miner, **settings), seed=0)
    return dict(zip(found.frame_ids, found.scores, strict=True))


def detections(*rows: tuple[str, str, float, tuple[float, float, float, float]]) -> pa.Table:
    made = [
        box_row(frame, f"p{number}", name, score=score, origin="model:x", x1=x1, y1=y1, x2=x2, y2=y2)
        for number, (frame, name, score, (x1, y1, x2, y2)) in enumerate(rows)
    ]
    return pa.Table.from_pylist(made, tables.PREDICTIONS)


def label(frame: str, name: str, box: tuple[float, float, float, float], **changes) -> dict:
    return box_row(frame, f"l{box}", name, x1=box[0], y1=box[1], x2=box[2], y2=box[3], **changes)


HERE, THERE = (0.0, 0.0, 10.0, 10.0), (30.0, 30.0, 40.0, 40.0)


def full(**changes) -> Material:
    """Material with everything that any miner looks at."""
    frames = [
        Made(f"f{number}", FAR[number % 5], drive=f"d{number % 2}", taken_s=number * 0.1, labeled=number % 2 == 0)
        for number in range(8)
    ]
    seen = detections(*((f"f{number}", "car", 0.4 + number / 20, HERE) for number in range(0, 8, 3)))
    random_ = np.random.default_rng(0)
    vectors = random_.normal(size=(8, 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    names = tuple(f"f{number}" for number in range(8))
    objects = ObjectVectors(names, ("b",) * 8, vectors)
    more = {"vectors": FrameVectors(names, vectors), "objects": objects} | changes
    part = Query(name="cars", where=WhereSection(classes=("car",)))
    labels = [box_row("f0", "b", "bus"), box_row("f2", "b", "car")]
    return material(frames, labels, predictions=(seen, detections()), failed_slices=(part,), **more)


def asked(miner: str) -> CornerCaseSection:
    examples = {"frames": ("f0",), "boxes": ("f1#b",)} if miner == "like_these" else {}
    examples |= {"classes": ("bus",)} if miner == "like_labels" else {}
    where = WhereSection(classes=("car",)) if miner == "rule" else WhereSection()
    return CornerCaseSection(name="case", where=where, miner=miner, settings=MinerSection(**examples))


@pytest.mark.parametrize("name", MINERS)
def test_every_miner_scores_each_frame_and_says_how(name):
    made = full()
    miner = miner_of(asked(name))

    found = miner.score(made)

    assert found.shape == (made.count,)
    assert np.isfinite(found).any()
    assert all((miner.formula, miner.unit, miner.reference))


@pytest.mark.parametrize("name", MINERS)
def test_every_miner_finds_nothing_among_no_frames_and_without_a_champion(name):
    empty = material([])
    examples = MinerSection()

    assert miner_of(CornerCaseSection(name="case", miner=name, settings=examples)).score(empty).shape == (0,)


@pytest.mark.parametrize("name", MINERS)
def test_what_a_miner_finds_has_no_order_of_its_own(name):
    made = full()
    mixed = Material(
        made.tables,
        made.signals.take(random.Random(1).sample(range(8), 8)),
        tuple(table.take(pa.array(range(table.num_rows - 1, -1, -1), pa.int64())) for table in made.predictions),
        vectors=made.vectors,
        objects=made.objects,
        failed_slices=made.failed_slices,
    )

    assert find(made, asked(name), seed=3) == find(mixed, asked(name), seed=3)


def test_a_rare_frame_is_as_far_as_its_nearest_kept_frame():
    frames = [Made("a", 0), Made("b", 1), Made("c", 0xFFFF)]

    assert scores(material(frames), "rare_frames") == {"c": 15.0, "a": 1.0, "b": 1.0}


def test_ac_a15_new_data_elsewhere_changes_no_old_score():
    """AC-A15: a score is a distance, not a share of the largest one of the run."""
    old = [Made("a", 0), Made("b", 3), Made("c", 0xFFFF)]
    new = [*old, Made("odd", 0xFFFF_FFFF_FFFF_0000, drive="elsewhere")]

    before, after = (scores(material(frames), "rare_frames") for frames in (old, new))

    assert {name: after[name] for name in before} == before


def test_rarity_against_labeled_frames_does_not_count_what_nobody_labeled():
    frames = [Made("known", 0, labeled=True), Made("new", 0xFF), Made("twin", 0xFF)]

    found = scores(material(frames), "rare_frames", reference="labeled")

    assert found == {"new": 8.0, "twin": 8.0}


def test_rarity_against_other_drives_does_not_count_the_frame_before():
    frames = [Made("a", 0xFF, drive="d"), Made("b", 0xFF, drive="d"), Made("c", 0, drive="e")]

    assert scores(material(frames), "rare_frames", reference="other_drives") == {"a": 8.0, "b": 8.0, "c": 8.0}


def test_hold_out_frames_are_neither_found_nor_compared_with():
    frames = [Made("a", 0), Made("b", 0xFF), Made("judge", 0xFF, split="holdout")]

    assert scores(material(frames), "rare_frames") == {"a": 8.0, "b": 8.0}


@pytest.mark.parametrize("count", [0, 1])
def test_with_nothing_to_compare_nothing_is_rare(count):
    assert scores(material([Made("a", 0)][:count]), "rare_frames") == {}


def test_where_frames_have_vectors_rarity_goes_by_them():
    vectors = np.array([[1, 0], [0.8, 0.6], [-1, 0]], np.float32)
    made = material([Made("a"), Made("b"), Made("c")], vectors=FrameVectors(("a", "b", "c"), vectors))

    assert scores(made, "rare_frames") == pytest.approx({"c": 1.8, "a": 0.2, "b": 0.2})


def test_the_rarest_object_of_a_frame_makes_it_rare():
    vectors = np.array([[1, 0], [1, 0], [0, 1]], np.float32)
    made = material([Made("a"), Made("b")], objects=ObjectVectors(("a", "b", "b"), ("1", "2", "3"), vectors))

    assert scores(made, "rare_objects") == {"b": 1.0, "a": 0.0}


def test_an_even_score_is_one_bit_of_uncertainty_and_a_sure_one_none():
    seen = detections(("a", "car", 0.5, HERE), ("a", "car", 0.5, THERE), ("b", "car", 1.0, HERE))

    found = scores(material([Made("a"), Made("b")], predictions=(seen,)), "uncertainty")

    assert found == {"a": 2.0}


def test_two_classes_on_one_object_leave_a_small_margin():
    seen = detections(("a", "car", 0.9, HERE), ("a", "bus", 0.8, HERE), ("b", "car", 0.9, HERE))

    found = scores(material([Made("a"), Made("b")], predictions=(seen,)), "uncertainty", measure="margin")

    assert found == pytest.approx({"a": 0.9, "b": 0.2})


def test_models_that_see_different_things_disagree():
    one = detections(("a", "car", 0.9, HERE), ("b", "car", 0.9, HERE), ("c", "car", 0.9, HERE))
    other = detections(
        ("a", "car", 0.7, HERE), ("b", "car", 0.9, THERE), ("c", "car", 0.9, HERE), ("c", "bus", 1, THERE)
    )

    made = material([Made("a"), Made("b"), Made("c")], predictions=(one, other))

    assert scores(made, "uncertainty", measure="disagreement") == pytest.approx({"b": 1.0, "c": 1 / 3})


def test_detections_under_the_least_score_are_not_looked_at():
    seen = detections(("a", "car", 0.19, HERE), ("b", "car", 0.2, HERE))

    assert set(scores(material([Made("a"), Made("b")], predictions=(seen,)), "uncertainty")) == {"b"}


def test_errors_are_missed_false_and_confused_boxes_of_labeled_frames():
    labels = [label("a", "car", HERE), label("b", "car", HERE), label("c", "car", HERE)]
    seen = detections(
        ("a", "car", 0.9, HERE), ("b", "bus", 0.9, HERE), ("b", "car", 0.9, THERE), ("new", "car", 0.9, HERE)
    )
    frames = [Made("a", labeled=True), Made("b", labeled=True), Made("c", labeled=True), Made("new")]

    made = material(frames, labels, predictions=(seen,))

    assert scores(made, "errors") == {"b": 2.0, "c": 1.0}
    assert scores(made, "errors", mistakes=("missed",)) == {"c": 1.0}
    assert scores(made, "errors", mistakes=("confused",)) == {"b": 1.0}


def test_what_lies_in_an_ignore_region_is_no_error():
    made = material(
        [Made("a", labeled=True)],
        [label("a", "car", (0, 0, 50, 50), ignore=True)],
        predictions=(detections(("a", "car", 0.9, HERE)),),
    )

    assert scores(made, "errors") == {}


def test_without_a_champion_nobody_is_wrong():
    assert scores(material([Made("a", labeled=True)], [label("a", "car", HERE)]), "errors") == {}


def test_a_frame_that_no_model_looked_at_is_no_error():
    made = material(
        [Made("a", labeled=True)],
        [label("a", "car", HERE)],
        predictions=(detections(),),
        looked=np.array([False]),
    )

    assert scores(made, "errors") == {}


@pytest.mark.parametrize(("min_iou", "missed"), [(0.5, 0), (0.51, 1)])
def test_boxes_are_of_one_object_from_the_least_overlap_on(min_iou, missed):
    half = (0.0, 0.0, 10.0, 5.0)
    seen, truth = (Boxes(np.array([box]), np.array(["car"]), np.ones(1), np.zeros(1, np.bool_)) for box in (half, HERE))

    assert mistakes(seen, truth, min_iou)["missed"] == missed


def test_what_is_seen_before_and_after_flickers_in_between():
    frames = [Made(f"f{number}", taken_s=number * 0.1) for number in range(4)]
    seen = detections(("f0", "car", 0.9, HERE), ("f2", "car", 0.6, HERE), ("f3", "car", 0.9, HERE))

    assert scores(material(frames, predictions=(seen,)), "flicker") == {"f1": 0.6}


def test_a_hole_may_be_several_frames_wide_but_no_longer_than_the_limit():
    frames = [Made(f"f{number}", taken_s=number * 0.5) for number in range(4)]
    seen = detections(("f0", "car", 0.9, HERE), ("f3", "car", 0.9, HERE))

    made = material(frames, predictions=(seen,))

    assert scores(made, "flicker", max_gap_s=1.5) == {"f1": 0.9, "f2": 0.9}
    assert scores(made, "flicker", max_gap_s=1.4) == {}


def test_cameras_and_drives_have_tracks_of_their_own():
    frames = [
        Made("a", taken_s=0.0),
        Made("b", taken_s=0.1, camera="rear"),
        Made("c", taken_s=0.1, drive="other"),
        Made("d", taken_s=0.2),
    ]
    seen = detections(("a", "car", 0.9, HERE), ("d", "car", 0.9, HERE))

    assert scores(material(frames, predictions=(seen,)), "flicker") == {}


def test_without_times_nothing_flickers():
    seen = detections(("a", "car", 0.9, HERE), ("c", "car", 0.9, HERE))

    assert scores(material([Made("a"), Made("b"), Made("c")], predictions=(seen,)), "flicker") == {}


def test_the_frames_most_like_an_example_come_first_and_the_example_does_not():
    frames = [Made("example", 0), Made("near", 1), Made("far", 0xFFFF)]

    found = find(material(frames), case("like_these", frames=("example",)), seed=0)

    assert found.frame_ids == ("near", "far")
    assert found.scores == (1 - 1 / 64, 1 - 16 / 64)


def test_an_example_box_finds_frames_with_an_object_like_it():
    vectors = np.array([[1, 0], [0.6, 0.8], [0, 1], [1, 0]], np.float32)
    objects = ObjectVectors(("a", "b", "b", "c"), ("1", "2", "3", "4"), vectors)
    made = material([Made("a", code=None, error="x"), Made("b"), Made("c")], objects=objects)

    assert scores(made, "like_these", boxes=("a#1",)) == pytest.approx({"c": 1.0, "b": 0.6})


@pytest.mark.parametrize("examples", [{"frames": ("judge",)}, {"boxes": ("judge#1",)}])
def test_an_example_from_the_hold_out_is_refused_by_name(examples):
    made = material([Made("a"), Made("judge", split="holdout")])

    with pytest.raises(InvalidInputError, match="frame judge lies in the hold-out"):
        scores(made, "like_these", **examples)


def like_labels(labels: list[dict], vectors: list[tuple[float, float]], **changes) -> dict[str, float]:
    """Score frames a, b, c ..., each with one object of id 1, by the labels of the class bus."""
    names = tuple("abcdef"[: len(vectors)])
    objects = ObjectVectors(names, ("1",) * len(vectors), np.array(vectors, np.float32))
    frames = [Made(name, **changes.get(name, {})) for name in names]
    return scores(material(frames, labels, objects=objects), "like_labels", classes=("bus",))


def test_an_object_is_as_like_a_class_as_it_lies_from_the_other_labels_to_those_of_the_class():
    labels = [box_row("a", "1", "bus"), box_row("b", "1", "car")]

    found = like_labels(labels, [(1, 0), (0, 0), (0.8, 0.3), (0.1, 0.9)])

    assert found == pytest.approx({"c": 0.8, "d": 0.1, "b": 0.0})


def test_a_direction_in_which_labels_differ_among_themselves_counts_less():
    labels = [box_row("a", "1", "bus"), box_row("b", "1", "car"), box_row("c", "1", "car")]

    found = like_labels(labels, [(1, 0), (0, 1), (0, -1), (0.5, 0), (0.5, 5)])

    assert found["d"] == found["e"] == 0.5


@pytest.mark.parametrize("name", ["bus", "car"])
def test_without_labels_of_a_class_and_of_another_nothing_is_like_them(name):
    assert like_labels([box_row("a", "1", name)], [(1, 0), (0, 1)]) == {}


def test_labels_of_one_place_tell_nothing_apart():
    labels = [box_row("a", "1", "bus"), box_row("b", "1", "car")]

    assert like_labels(labels, [(1, 0), (1, 0), (0, 1)]) == {"b": 0.0, "c": 0.0}


def test_ignore_regions_and_detections_are_no_examples():
    labels = [
        box_row("a", "1", "bus"),
        box_row("b", "1", "car"),
        box_row("c", "1", "bus", ignore=True),
        box_row("d", "2", "bus"),
    ]

    found = like_labels(labels, [(1, 0), (0, 0), (0.4, 0), (0.2, 0)])

    assert found == pytest.approx({"c": 0.4, "d": 0.2, "b": 0.0})


def test_of_the_hold_out_nothing_is_found_by_its_likeness():
    labels = [box_row("a", "1", "bus"), box_row("b", "1", "car")]

    assert set(like_labels(labels, [(1, 0), (0, 0), (1, 0)], c={"split": "holdout"})) == {"b"}


def test_an_example_that_is_not_there_is_refused_by_name():
    with pytest.raises(InvalidInputError, match="frame gone is not among the kept frames"):
        scores(material([Made("a")]), "like_these", frames=("gone",))


def test_an_example_box_that_is_not_there_is_refused_by_name():
    objects = ObjectVectors(("a",), ("1",), np.ones((1, 1), np.float32))

    with pytest.raises(InvalidInputError, match="No box 'x' was found"):
        scores(material([Made("a")], objects=objects), "like_these", boxes=("a#x",))


def test_slices_that_failed_are_looked_for_by_their_predicates():
    night = {"time_of_day": "night"}
    frames = [Made("a", attributes=night), Made("b"), Made("c"), Made("judge", attributes=night, split="holdout")]
    parts = (
        Query(name="night", where=WhereSection(attributes={"time_of_day": ("night",)})),
        Query(name="bus", where=WhereSection(classes=("bus",))),
    )

    made = material(frames, predictions=(detections(("b", "bus", 0.8, HERE)),), failed_slices=parts)

    assert scores(made, "failed_slices") == {"b": 0.8, "a": 0.0}


def test_a_rule_may_be_a_condition_on_frames_and_one_on_boxes():
    frames = [Made("a", camera="front", labeled=True), Made("b", camera="rear", labeled=True), Made("c", labeled=True)]
    labels = [label("a", "car", HERE), label("b", "car", HERE), label("c", "car", (0, 0, 1, 1))]
    rule = CornerCaseSection(name="big", expression="camera = 'front'", boxes_expression="area_px >= 100")

    assert find(material(frames, labels), rule, seed=0).frame_ids == ("a",)


def test_a_miner_finds_only_what_its_rule_allows_and_what_reaches_its_least_score():
    frames = [Made("a", 0), Made("b", 0xFF, camera="rear"), Made("c", 0xF_0000)]
    rear = CornerCaseSection(name="r", miner="rare_frames", expression="camera = 'rear'")

    assert find(material(frames), rear, seed=0).frame_ids == ("b",)
    assert set(scores(material(frames), "rare_frames", at_least=5.0)) == {"b"}
