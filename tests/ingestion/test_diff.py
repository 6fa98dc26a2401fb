"""What a difference counts fits the snapshots that it is of."""

from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings

from driveflow.snapshots import Beside, write_snapshot
from ingestion.diff import diff_snapshots
from tests.ingestion.strategies import batches
from tests.ingestion.test_merge_rules import person


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(one=batches(), other=batches())
def test_what_went_what_came_and_what_stayed_add_up(tmp_path, one, other):
    first, second = (write_snapshot(tmp_path.as_uri(), part.tables, Beside(), {}) for part in (one, other))

    there, back = diff_snapshots(first, second), diff_snapshots(second, first)

    for name in ("frames", "sources", "boxes"):
        told = there[name]
        assert told["removed"] + told["changed"] + told["unchanged"] == getattr(one.tables, name).num_rows
        assert told["added"] + told["changed"] + told["unchanged"] == getattr(other.tables, name).num_rows
        assert (told["added"], told["removed"]) == (back[name]["removed"], back[name]["added"])
        assert told["changed"] == back[name]["changed"]
    for way in ("added", "removed", "changed"):
        assert sum(row[way] for row in there["by_class"]) == there["boxes"][way]
        assert sum(row[f"boxes_{way}"] for row in there["by_drive"]["largest"]) == there["boxes"][way]
        assert sum(row[f"frames_{way}"] for row in there["by_drive"]["largest"]) == there["frames"][way]
    same = all(
        there[name][way] == 0 for name in ("frames", "sources", "boxes") for way in ("added", "removed", "changed")
    )
    otherwise = ("boxes_renamed", "boxes_other_origin", "boxes_rounded")
    assert (same and not any(there[name] for name in otherwise)) == there["equal"]
    assert [there[name] for name in otherwise] == [back[name] for name in otherwise]
    assert there["boxes_changed"] == back["boxes_changed"]


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(one=batches())
def test_nothing_leads_from_a_snapshot_to_itself(tmp_path, one):
    snapshot = write_snapshot(tmp_path.as_uri(), one.tables, Beside(), {})

    found = diff_snapshots(snapshot, snapshot)

    assert found["equal"]
    assert found["by_class"] == found["by_drive"]["largest"] == found["annotated"] == []
    assert not any(found["examples"].values())


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(one=batches())
def test_boxes_that_came_another_way_are_what_they_were(tmp_path, one):
    boxes = one.tables.boxes
    elsewhere = pa.array(["batch:elsewhere"] * boxes.num_rows, pa.string())
    moved = boxes.set_column(boxes.column_names.index("origin"), "origin", elsewhere)
    tables = replace(one.tables, boxes=moved)
    first, second = (write_snapshot(tmp_path.as_uri(), part, Beside(), {}) for part in (one.tables, tables))

    found = diff_snapshots(first, second)

    assert found["boxes"] == {"added": 0, "removed": 0, "changed": 0, "unchanged": boxes.num_rows}
    assert found["boxes_other_origin"] == boxes.num_rows
    assert found["by_class"] == found["examples"]["boxes_changed"] == []


def _diff(tmp_path, boxes, boxes_b):
    """Compare two who drew `boxes` and `boxes_b` in one frame: (class, x1) or (class, x1, what differs)."""
    snapshots = [write_snapshot(tmp_path.as_uri(), person(name, *drawn).tables, Beside(), {})
                 for name, drawn in (("a", boxes), ("b", boxes_b))]  # fmt: skip
    return diff_snapshots(*snapshots)


def _counts(found):
    return tuple(found["boxes"][kind] for kind in ("added", "removed", "changed", "unchanged"))


@pytest.mark.parametrize(
    ("off", "counts", "rounded"),
    [(1e-7, (0, 0, 0, 1), 1), (0.01, (0, 0, 0, 1), 1), (0.02, (0, 0, 1, 0), 0), (1.0, (0, 0, 1, 0), 0),
     (1.01, (1, 1, 0, 0), 0)],
)  # fmt: skip
def test_a_box_of_another_id_at_one_place_is_unchanged_within_rounding_and_changed_within_a_pixel(
    tmp_path, off, counts, rounded
):
    found = _diff(tmp_path, [("car", 0.0)], [("car", off, {"x2": 10.0})])

    assert (_counts(found), found["boxes_rounded"]) == (counts, rounded)
    assert found["most_rounding_px"] == pytest.approx(off if rounded else 0.0)


def test_what_changed_in_boxes_at_one_place_is_counted_without_what_is_rounding(tmp_path):
    found = _diff(
        tmp_path,
        [("car", 0.0), ("car", 50.0), ("car", 80.0)],
        [("truck", 80.0, {"x2": 90.0 + 1e-9}), ("car", 0.0, {"attributes": '{"occluded":true}'}), ("car", 50.5)],
    )

    assert _counts(found) == (0, 0, 3, 0)
    assert {name: count for name, count in found["boxes_changed"].items() if count} == {
        "corners": 1, "class_name": 1, "attributes": 1
    }  # fmt: skip
    assert found["class_changes"] == {"car -> truck": 1}


def test_of_boxes_on_one_another_those_of_one_class_and_then_the_nearest_are_one(tmp_path):
    found = _diff(
        tmp_path, [("car", 0.0), ("truck", 0.0), ("truck", 0.5)], [("truck", 0.5), ("truck", 0.0), ("car", 0.4)]
    )

    assert _counts(found) == (0, 0, 1, 2)
    assert found["boxes_changed"]["class_name"] == 0


@pytest.mark.parametrize(("key", "x1"), [("p", 0.0), ("a0", 0.0), ("a0", 5.0)])
def test_a_prediction_is_never_taken_for_what_somebody_drew(tmp_path, key, x1):
    found = _diff(tmp_path, [("car", 0.0)], [("car", x1, {"score": 0.9, "box_id": key})])

    assert _counts(found) == (1, 1, 0, 0)


def test_boxes_of_one_id_from_two_batches_are_one_only_where_they_overlap(tmp_path):
    found = _diff(
        tmp_path,
        [("car", 0.0, {"box_id": "1"}), ("car", 50.0, {"box_id": "2"})],
        [("car", 5.0, {"box_id": "1"}), ("car", 80.0, {"box_id": "2"})],
    )

    assert _counts(found) == (1, 1, 1, 0)
