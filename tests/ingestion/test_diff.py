"""What a difference counts fits the snapshots that it is of."""

import time
from dataclasses import replace
from itertools import product

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from driveflow.snapshots import Beside, write_snapshot
from ingestion.diff import diff_snapshots
from ingestion.diff_places import pair_places
from ingestion.disputes import CORNERS
from tests.ingestion.strategies import batches
from tests.ingestion.test_merge_rules import person


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
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


@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(one=batches())
def test_nothing_leads_from_a_snapshot_to_itself(tmp_path, one):
    snapshot = write_snapshot(tmp_path.as_uri(), one.tables, Beside(), {})

    found = diff_snapshots(snapshot, snapshot)

    assert found["equal"]
    assert found["by_class"] == found["by_drive"]["largest"] == found["annotated"] == []
    assert not any(found["examples"].values())


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
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


def test_many_boxes_at_the_very_same_place_take_time_by_their_number_not_by_its_square(tmp_path):
    drawn, moved = ([("car", x1)] * 4_000 for x1 in (0.0, 0.5))
    before = time.process_time()

    found = _diff(tmp_path, [*drawn, ("truck", 0.0)], [*moved, ("truck", 0.0), ("car", 1.0)])

    assert _counts(found) == (1, 0, 4_000, 1)
    assert time.process_time() - before < 10


@given(st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_boxes_on_one_another_are_paired_as_if_every_pair_were_looked_at(random):
    sides = [_crowd(random, name) for name in "ab"]

    placed = pair_places(*sides)

    assert placed.pairs.select("box_id", "box_id_b").rows() == sorted(_looked_at(*sides), key=lambda pair: int(pair[0]))


def _crowd(random, name):
    """Return boxes at few places of one frame; ids are numbers in their order."""
    drawn = [
        (random.choice(["car", "truck"]), random.choice([0.0, 0.5, 1.0, 40.0]), {"box_id": str(number)})
        for number in range(random.randint(0, 20))
    ]
    return pl.DataFrame(pl.from_arrow(person(name, *drawn).tables.boxes)).sort(pl.col("box_id").cast(pl.Int64))


def _looked_at(first, second):
    def rank(pair):
        one, other = pair
        off = max(abs(one[name] - other[name]) for name in CORNERS)
        sums = sorted(sum(box[name] for name in CORNERS) for box in pair)
        return (one["class_name"] != other["class_name"], off, *sums, int(one["box_id"]), int(other["box_id"]))

    pairs = sorted(product(first.to_dicts(), second.to_dicts()), key=rank)
    taken = {}
    for one, other in pairs:
        near = rank((one, other))[1] <= 1
        if near and one["box_id"] not in taken and other["box_id"] not in taken.values():
            taken[one["box_id"]] = other["box_id"]
    return taken.items()


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
