"""What a difference counts fits the snapshots that it is of."""

from dataclasses import replace

import pyarrow as pa
from hypothesis import HealthCheck, given, settings

from driveflow.snapshots import Beside, write_snapshot
from ingestion.diff import diff_snapshots
from tests.ingestion.strategies import batches


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
    assert (same and not there["boxes_renamed"] and not there["boxes_other_origin"]) == there["equal"]


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
