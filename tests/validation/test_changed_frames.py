"""What is newly broken and newly fixed is told object by object, and labels that two models doubt are named."""

import pytest

from tests.validation.scenes import simple, square
from validation.model.changed_frames import changes
from validation.model.evaluate import evaluate
from validation.model.suspects import suspects

TRUTH = [("f1", "car", square(0, side=40)), ("f2", "car", square(0, side=40)), ("f2", "bus", square(100, side=60))]
SURE = [(*row, 0.9) for row in TRUTH]
FALSE = ("f1", "car", square(200, side=30), 0.9)


def _two(new, old):
    return evaluate(simple(TRUTH, new)), evaluate(simple(TRUTH, old))


def test_the_same_model_breaks_and_fixes_nothing():
    found = changes(*_two(SURE, SURE), 10)

    assert [found.total(kind) for kind in ("broken", "fixed", "new_false", "gone_false")] == [0, 0, 0, 0]
    assert found.broken == found.fixed == ()


def test_an_object_that_only_the_champion_found_is_newly_broken():
    found = changes(*_two(SURE[1:], SURE), 10)

    assert [(part.class_name, part.broken, part.fixed) for part in found.per_class] == [("bus", 0, 0), ("car", 1, 0)]
    assert [(frame.frame_id, frame.objects[0].height_px) for frame in found.broken] == [("f1", 40.0)]
    assert found.broken_groups == 1
    assert found.fixed == ()


def test_the_picture_of_a_broken_object_shows_how_the_champion_had_found_it():
    (frame,) = changes(*_two(SURE[1:], SURE), 10).broken

    assert [(box.changed, box.right) for box in frame.boxes if box.score is None] == [(True, False)]
    assert [(box.class_name, box.score) for box in frame.boxes if box.by_champion] == [("car", 0.9)]


def test_turned_around_what_was_broken_is_fixed():
    broken, fixed = changes(*_two(SURE[1:], SURE), 10), changes(*_two(SURE, SURE[1:]), 10)

    assert fixed.total("fixed") == broken.total("broken") == 1
    assert [frame.frame_id for frame in fixed.fixed] == ["f1"]
    assert not any(box.by_champion for box in fixed.fixed[0].boxes)


def test_a_false_detection_of_both_models_is_neither_new_nor_gone():
    near = ("f1", "car", square(203, side=30), 0.9)
    found = changes(*_two([*SURE, FALSE], [*SURE, near]), 10)

    assert (found.total("new_false"), found.total("gone_false")) == (0, 0)


def test_a_false_detection_of_one_model_is_new_or_gone():
    new, gone = changes(*_two([*SURE, FALSE], SURE), 10), changes(*_two(SURE, [*SURE, FALSE]), 10)

    assert (new.total("new_false"), gone.total("gone_false")) == (1, 1)
    assert [item.score for item in new.broken[0].objects] == [0.9]
    assert [box.by_champion for box in gone.fixed[0].boxes if not box.right or box.by_champion] == [True]


def test_no_more_frames_are_listed_than_wanted_and_those_with_most_objects_come_first():
    found = changes(*_two([], SURE), 1)

    assert [frame.frame_id for frame in found.broken if frame.ranks.overall is not None] == ["f2"]
    assert {name for frame in found.broken for name in frame.ranks.classes} == {"bus", "car"}
    assert found.total("broken") == 3


def test_what_both_models_see_and_nobody_labeled_is_a_suspect():
    (found,) = suspects(*_two([*SURE, (*FALSE[:3], 0.95)], [*SURE, ("f1", "car", square(202, side=30), 0.9)]))

    assert (found.kind, found.frame_id, found.said, found.score) == ("missing", "f1", "car", 0.9)


def test_what_only_one_model_sees_or_sees_unsurely_is_no_suspect():
    unsure = (*FALSE[:3], 0.4)

    assert suspects(*_two([*SURE, FALSE], SURE)) == ()
    assert suspects(*_two([*SURE, FALSE], [*SURE, unsure])) == ()


def test_an_object_that_both_models_call_by_another_class_is_a_suspect():
    said = [("f1", "bus", square(0, side=40), 0.95), *SURE[1:]]
    (found,) = suspects(*_two(said, said))

    assert (found.kind, found.said, found.labeled) == ("class", "bus", "car")


@pytest.mark.parametrize("shift", [10.0, 25.0])
def test_a_box_that_both_models_place_loosely_on_an_object_is_no_suspect(shift):
    loose = [("f1", "car", square(shift, side=40), 0.95), *SURE[1:]]

    assert [item.kind for item in suspects(*_two(loose, loose)) if item.kind == "missing"] == []
