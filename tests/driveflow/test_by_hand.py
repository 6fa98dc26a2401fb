from dataclasses import replace
from pathlib import Path

import pytest

from driveflow.by_hand import (
    Said,
    kept_by_hand,
    not_duplicates,
    put_by_hand,
    read_by_hand,
    said_by_hand,
    say_by_hand,
)
from driveflow.errors import IntegrityError

AT = "2026-11-29T08:00:00+00:00"
LATER = "2026-11-29T08:00:01+00:00"
KEEP = Said(about="keep", frame_id="a", who="ada", at=AT)
APART = Said(about="not_duplicate", frame_id="b", twin="a", who="ada", at=AT)


@pytest.fixture
def store(tmp_path: Path) -> str:
    return tmp_path.as_uri()


def test_nothing_was_said_in_a_new_store(store):
    assert said_by_hand(store) == []


def test_rows_are_only_ever_added_and_come_back_oldest_first(store, tmp_path):
    say_by_hand(store, [replace(KEEP, at=LATER, yes=False, why="it was blurred after all")])
    say_by_hand(store, [KEEP, APART])

    assert [row.at for row in said_by_hand(store)] == [AT, AT, LATER]
    assert len(list((tmp_path / "by_hand").iterdir())) == 2


def test_saying_the_same_twice_is_saying_it_once(store):
    say_by_hand(store, [KEEP])
    say_by_hand(store, [KEEP])

    assert said_by_hand(store) == [KEEP]


def test_what_was_said_last_of_a_frame_counts():
    assert kept_by_hand([KEEP]) == {"a"}
    assert kept_by_hand([KEEP, replace(KEEP, at=LATER, yes=False)]) == frozenset()


def test_a_pair_has_no_direction():
    back = replace(APART, frame_id="a", twin="b", at=LATER, yes=False)

    assert not_duplicates([APART]) == {("a", "b")}
    assert not_duplicates([APART, back]) == frozenset()


def test_an_answer_to_a_review_keeps_no_frame():
    review = Said(about="review", frame_id="a", twin="b", rule="blur.dead", score=2.0, yes=False, who="ada", at=AT)

    assert kept_by_hand([review]) == frozenset()
    assert not_duplicates([review]) == frozenset()


def test_a_row_that_was_damaged_is_told_not_passed_over(store, tmp_path):
    say_by_hand(store, [KEEP])
    next((tmp_path / "by_hand").iterdir()).write_text('[{"about": "keep"}]')

    with pytest.raises(IntegrityError, match="not what a person said"):
        said_by_hand(store)


def test_a_run_gets_what_counts_as_one_object_whose_address_tells_what_is_in_it(store):
    say_by_hand(store, [KEEP, APART])
    first = put_by_hand(store)
    say_by_hand(store, [replace(APART, at=LATER, yes=False)])
    second = put_by_hand(store)

    assert read_by_hand(first).kept == {"a"}
    assert read_by_hand(first).pairs().to_pylist() == [{"frame_a": "a", "frame_b": "b"}]
    assert read_by_hand(second).pairs().num_rows == 0
    assert first != second


def test_where_nothing_counts_a_run_gets_no_object(store):
    say_by_hand(store, [KEEP, replace(KEEP, at=LATER, yes=False)])

    assert put_by_hand(store) == ""
    assert read_by_hand("").kept == frozenset()
