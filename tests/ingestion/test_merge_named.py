from datetime import UTC, datetime
from itertools import permutations

import pytest

from driveflow.flow.part import RulesFile
from driveflow.snapshots import Snapshot, open_snapshot, write_snapshot
from driveflow.withdrawn import Tombstone, write_tombstone
from ingestion.merge_named import MergeRequest, merge_named, part_names
from tests.ingestion.batches import bring_in, coco, picture, write


def _snapshot(name):
    return Snapshot(f"file:///store/snapshots/{name}", name * 8, (), {})


def _named(*texts):
    return {
        name: snapshot.snapshot_id[0] for name, snapshot in part_names(texts, [_snapshot(t[-1]) for t in texts]).items()
    }


def test_names_of_parts_do_not_depend_on_their_order():
    found = {tuple(sorted(_named(*texts).items())) for texts in permutations(["may", "may~1", "may~2", "june"])}

    assert found == {(("june", "e"), ("may", "y"), ("may-2", "1"), ("may-3", "2"))}


def test_a_tag_that_is_asked_for_by_its_name_has_it():
    assert _named("may", "may~1", "may-2") == {"may": "y", "may-3": "1", "may-2": "2"}


def test_parts_stay_in_the_order_in_which_they_are_given():
    assert list(_named("may~1", "may")) == ["may-2", "may"]


def test_the_same_snapshot_twice_has_two_names():
    assert list(_named("may", "may")) == ["may", "may-2"]


def _written(folder, tables, beside, store):
    return write_snapshot((folder / store).as_uri(), tables, beside, {"step": "import_source", "batch": store})


def _merged(store, parts):
    made = merge_named(MergeRequest("all", parts, RulesFile(), store), datetime(2026, 11, 30, tzinfo=UTC))
    return open_snapshot(made.snapshot.uri)


def test_a_frame_that_was_withdrawn_where_a_part_lies_comes_into_no_other_store(tmp_path):
    batch = bring_in(write(tmp_path / "b", {"a.jpg": picture(1), "b.jpg": picture(2)}))
    foreign = _written(tmp_path, batch.tables, batch.beside, "theirs")
    gone = batch.tables.frames["frame_id"][0].as_py()
    tombstone = Tombstone(frame_id=gone, reason="asked", who="me", at="2026-11-30T00:00:00+00:00", state="done")
    write_tombstone((tmp_path / "theirs").as_uri(), tombstone)

    merged = _merged((tmp_path / "ours").as_uri(), {"theirs": foreign})

    assert gone not in merged.frames()["frame_id"].to_pylist()
    assert merged.frames().num_rows == 1


@pytest.mark.parametrize(("other", "differ"), [(1, True), (True, False), (1.0, True), ([1], True)])
def test_yes_and_one_are_two_values_of_an_attribute(tmp_path, other, differ):
    parts = {}
    for name, value in (("a", True), ("b", other)):
        labels = coco([(1, "x.jpg")])
        labels["images"][0]["attributes"] = {"wet": value}
        batch = bring_in(write(tmp_path / name, {"labels.json": labels, "x.jpg": picture(1)}))
        parts[name] = _written(tmp_path, batch.tables, batch.beside, "store")

    conflicts = _merged((tmp_path / "store").as_uri(), parts).conflicts()

    assert (conflicts.num_rows == 1) is differ
