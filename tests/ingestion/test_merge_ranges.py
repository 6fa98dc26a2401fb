"""However the frames are shared out, the merge says the same, to the order of its conflicts."""

import polars as pl
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from driveflow.tables import BOXES
from ingestion.disputes import Rule
from ingestion.merge_boxes import BoxRules
from ingestion.merge_ranges import BoxPart, unite_in_ranges
from ingestion.merge_rules import box_rules, line_up
from tests.ingestion.strategies import sequences
from tests.ingestion.test_merge_laws import rules

AT_ONCE = 10_000


def _united(found, how, at_once):
    heard = line_up(found, how)
    parts = [BoxPart(turn, entry.batch.name, entry.batch.tables.boxes) for turn, entry in enumerate(heard)]
    frames = [
        pl.DataFrame(pl.from_arrow(entry.batch.tables.frames)).with_columns(
            turn=pl.lit(turn, pl.Int64), by=pl.lit(entry.batch.name)
        )
        for turn, entry in enumerate(heard)
    ]
    looked = pl.concat(frames).select("frame_id", "annotated_classes", "turn", "by")
    united = unite_in_ranges(parts, looked, looked["frame_id"].unique().sort(), box_rules(heard, how), at_once)
    disputed = sorted(united.disputed.iter_rows())
    return united.boxes.to_pylist(), united.conflicts.to_pylist(), disputed, dict(united.counts)


@settings(max_examples=60, deadline=None)
@given(sequences(), rules(), st.integers(1, 12))
def test_boxes_and_conflicts_do_not_depend_on_how_many_are_looked_at_together(found, how, at_once):
    assert _united(found, how, at_once) == _united(found, how, AT_ONCE)


def test_boxes_of_frames_without_a_place_are_counted_as_leaked():
    boxes = pa.Table.from_pylist(
        [{"frame_id": frame, "box_id": "1", "class_name": "car"} for frame in ("a", "b")],
        schema=BOXES,
    )
    looked = pl.DataFrame({"frame_id": ["a", "b"], "annotated_classes": [["car"]] * 2, "turn": [0, 0], "by": ["x"] * 2})

    united = unite_in_ranges([BoxPart(0, "x", boxes)], looked, pl.Series(["b"]), BoxRules(Rule("union", "union", 0.9)))

    assert (united.boxes["frame_id"].to_pylist(), united.leaked) == (["b"], 1)
