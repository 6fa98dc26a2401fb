"""A tag means the snapshot it was moved to last, and can be read as it was."""

from datetime import UTC, datetime, timedelta

import pytest

from driveflow.errors import IntegrityError, NotFoundError, UsageError
from driveflow.tags import check_tag_name, current_tags, delete_tag, find_tagged, point_tag, tag_history

NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture
def store(tmp_path):
    return (tmp_path / "store").as_uri()


def move(store, name, snapshot, now):
    return point_tag(store, name, f"{store}/snapshots/{snapshot}", now)


@pytest.fixture
def may(store):
    """A store whose tag `may` meant a, b and c on three days."""
    for days, snapshot in enumerate(["a#1", "b#2", "c#3"]):
        move(store, "may", snapshot, NOON + days * DAY)
    return store


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("may", "c#3"),
        ("may@1", "a#1"),
        ("may@3", "c#3"),
        ("may~0", "c#3"),
        ("may~1", "b#2"),
        ("may~2", "a#1"),
        ("may@2026-11-29", "a#1"),
        ("may@2026-11-30", "b#2"),
        ("may@2027-01-01", "c#3"),
        ("may@2026-11-30T11:59", "a#1"),
        ("may@2026-11-30T12:00", "b#2"),
        ("may@2026-11-30T13:00+02:00", "a#1"),
    ],
)
def test_a_tag_is_read_as_it_was(may, text, meant):
    assert find_tagged(may, text).snapshot == meant


@pytest.mark.parametrize("text", ["may@4", "may@0", "may~3", "may@2026-11-28"])
def test_a_move_that_never_was_is_not_found(may, text):
    with pytest.raises(NotFoundError, match="no such move"):
        find_tagged(may, text)


@pytest.mark.parametrize("text", ["may@2026-13-01", "may@2026-11-29T", "may@12-12"])
def test_a_time_that_is_none_is_a_usage_error(may, text):
    with pytest.raises(UsageError, match="would do"):
        find_tagged(may, text)


@pytest.mark.parametrize("text", ["june", "june@1", "MAY", "may@", "a/b", "", "../may"])
def test_what_is_no_tag_is_nothing(may, text):
    assert find_tagged(may, text) is None


def test_a_tag_that_means_it_already_does_not_move(may):
    entry, moved = move(may, "may", "c#3", NOON + 9 * DAY)

    assert (entry.number, moved) == (3, False)
    assert len(tag_history(may, "may")) == 3


def test_a_deleted_tag_is_not_found_and_its_past_is(may):
    delete_tag(may, "may", NOON + 3 * DAY)

    with pytest.raises(NotFoundError, match="may@3 is what it meant"):
        find_tagged(may, "may")
    assert find_tagged(may, "may~1").snapshot == "c#3"
    assert current_tags(may) == []
    with pytest.raises(NotFoundError):
        delete_tag(may, "may", NOON)


def test_a_deleted_tag_can_come_back(may):
    delete_tag(may, "may", NOON + 3 * DAY)

    entry, moved = move(may, "may", "c#3", NOON + 4 * DAY)

    assert (entry.number, moved) == (5, True)
    assert [tag.name for tag in current_tags(may)] == ["may"]


def test_a_clock_that_goes_back_moves_no_history(may):
    move(may, "may", "d#4", NOON - 9 * DAY)

    assert find_tagged(may, "may@2026-11-29").snapshot == "a#1"
    assert find_tagged(may, "may").snapshot == "d#4"


@pytest.mark.parametrize(("name", "mended"), [("My Data", "my-data"), ("", "my-data"), ("a.b", "a-b"), ("-x", "x")])
def test_a_name_that_cannot_be_is_refused_with_one_that_can(name, mended):
    with pytest.raises(UsageError, match=f"'{mended}' would do"):
        check_tag_name(name)


def test_a_snapshot_of_another_store_gets_no_tag(store):
    with pytest.raises(UsageError, match="another store"):
        point_tag(store, "may", "file:///elsewhere/snapshots/a#1", NOON)


def test_tags_of_two_names_that_begin_alike_are_two(store):
    move(store, "may", "a#1", NOON)
    move(store, "may-2", "b#1", NOON)

    assert [(tag.name, tag.snapshot) for tag in current_tags(store)] == [("may", "a#1"), ("may-2", "b#1")]


@pytest.mark.parametrize("data", ["", "{}", "[1]"])
def test_a_damaged_move_is_named(may, tmp_path, data):
    (tmp_path / "store" / "tags" / "may" / "000003.json").write_text(data)

    with pytest.raises(IntegrityError, match=r"tags/may/000003\.json is no move of a tag"):
        current_tags(may)
