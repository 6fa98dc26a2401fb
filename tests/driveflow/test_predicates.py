import pyarrow as pa
import pytest

from driveflow import tables
from driveflow.flow.sections import WhereSection
from driveflow.predicates import attribute, matches
from tests.strategies import box_row, frame_row


@pytest.fixture
def frames() -> pa.Table:
    said = {"a": '{"time_of_day":"night","weather":"rain"}', "b": '{"time_of_day":"day"}', "c": "{}"}
    return pa.Table.from_pylist([frame_row(name, attributes=text) for name, text in said.items()], tables.FRAMES)


@pytest.fixture
def boxes() -> pa.Table:
    rows = [box_row("a", "1", "car"), box_row("b", "2", "bus"), box_row("b", "3", "car", ignore=True)]
    return pa.Table.from_pylist(rows, tables.BOXES)


@pytest.mark.parametrize(
    ("where", "found"),
    [
        (WhereSection(classes=("car",)), [True, False, False]),
        (WhereSection(classes=("car", "bus")), [True, True, False]),
        (WhereSection(attributes={"time_of_day": ("night", "dusk")}), [True, False, False]),
        (WhereSection(attributes={"time_of_day": ("night", "day"), "weather": ("rain",)}), [True, False, False]),
        (WhereSection(classes=("bus",), attributes={"time_of_day": ("night",)}), [False, False, False]),
        (WhereSection(attributes={"road": ("wet",)}), [False, False, False]),
        (WhereSection(), [True, True, True]),
    ],
)
def test_a_predicate_means_any_class_and_every_attribute(frames, boxes, where, found):
    assert matches(frames, boxes, where).tolist() == found


def test_no_frames_match_nothing(boxes):
    assert matches(tables.FRAMES.empty_table(), boxes, WhereSection(classes=("car",))).tolist() == []


def test_an_attribute_that_is_no_text_is_compared_as_json():
    frames = pa.Table.from_pylist([frame_row("a", attributes='{"lanes":3,"wet":true}')], tables.FRAMES)

    assert attribute(frames, "lanes").tolist() == ["3"]
    assert matches(frames, tables.BOXES.empty_table(), WhereSection(attributes={"wet": ("true",)})).tolist() == [True]
