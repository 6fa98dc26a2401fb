"""However the frames are shared out, the merge says the same, to the order of its conflicts."""

import polars as pl
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from driveflow.tables import BOXES, FRAMES, SOURCES
from ingestion.disputes import Rule
from ingestion.merge_boxes import BoxRules
from ingestion.merge_choose import Part
from ingestion.merge_frames import Voice
from ingestion.merge_ranges import UnionRules, unite_in_ranges
from ingestion.merge_rules import box_rules, line_up
from tests.ingestion.strategies import sequences
from tests.ingestion.test_merge_laws import rules

AT_ONCE = 10_000


def _places(frame_ids):
    ids = pl.DataFrame({"frame_id": frame_ids}, schema={"frame_id": pl.String})
    return ids.with_columns(split=pl.lit("train"), drive_group=pl.lit("d"))


def _united(found, how, at_once, voice):
    heard = line_up(found, how)
    parts = {
        turn: Part(entry.batch.name, tables.frames, tables.sources, tables.boxes)
        for turn, entry in enumerate(heard)
        for tables in [entry.batch.tables]
    }
    ids = sorted({key for part in parts.values() for key in part.frames["frame_id"].to_pylist()})
    united = unite_in_ranges(parts, _places(ids[1:]), UnionRules(box_rules(heard, how), voice), at_once)
    tables = [united.frames, united.sources, united.boxes, *united.conflicts]
    return [table.to_pylist() for table in tables], dict(united.once), dict(united.box_counts), united.boxes_leaked


@settings(max_examples=60)
@given(sequences(), rules(), st.integers(1, 24), st.sampled_from(["first", "most", "none"]))
def test_tables_and_conflicts_do_not_depend_on_how_many_are_looked_at_together(found, how, at_once, whose):
    voice = Voice(whose, {}, "first")

    assert _united(found, how, at_once, voice) == _united(found, how, AT_ONCE, voice)


def test_what_is_of_frames_without_a_place_is_left_out_and_boxes_are_counted_as_leaked():
    keys = [{"frame_id": frame, "annotated_classes": ["car"], "attributes": "{}"} for frame in ("a", "b")]
    boxes = [{"frame_id": key["frame_id"], "box_id": "1", "class_name": "car"} for key in keys]
    sources = [{"frame_id": key["frame_id"], "batch": "x", "path": "1.jpg"} for key in keys]
    rows = ((keys, FRAMES), (sources, SOURCES), (boxes, BOXES))
    part = Part("x", *(pa.Table.from_pylist(told, schema=schema) for told, schema in rows))

    how = UnionRules(BoxRules(Rule("union", "union", 0.9)), Voice())
    united = unite_in_ranges({0: part}, _places(["b"]), how)

    for table in (united.frames, united.sources, united.boxes):
        assert table["frame_id"].to_pylist() == ["b"]
    assert (united.once, united.boxes_leaked) == ({"frames": 2, "sources": 2}, 1)


def test_conflicts_of_more_frames_than_are_settled_together_come_in_the_same_order():
    ids = [f"{number:05}" for number in range(10_300)]
    parts = {turn: _drawn(ids, 0.01 * turn) for turn in (0, 1)}
    how = UnionRules(BoxRules(Rule("union", "union", 0.9)), Voice())

    some, whole = (unite_in_ranges(parts, _places(ids), how, at_once) for at_once in (5_000, 100_000))

    assert sum(table.num_rows for table in whole.conflicts) == len(ids)
    assert [table.to_pylist() for table in some.conflicts] == [table.to_pylist() for table in whole.conflicts]


def _drawn(ids, shift_px):
    """Return a part with one box a frame, the later ones shifted more."""
    keys = [{"frame_id": key, "annotated_classes": ["car"], "attributes": "{}"} for key in ids]
    boxes = [
        {"frame_id": key, "box_id": "1", "class_name": "car", "x1": shift_px * (number % 7 + 1), "y1": 0.0, "x2": 50.0,
         "y2": 50.0, "ignore": False, "attributes": "{}"}
        for number, key in enumerate(ids)
    ]  # fmt: skip
    rows = ((keys, FRAMES), ([], SOURCES), (boxes, BOXES))
    return Part(f"p{shift_px}", *(pa.Table.from_pylist(told, schema=schema) for told, schema in rows))
