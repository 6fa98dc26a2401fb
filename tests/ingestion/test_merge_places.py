"""Whole tables are placed as frame after frame would be."""

from dataclasses import astuple

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from driveflow.flow.sections import HoldoutSection, SplitSection
from ingestion.merge_places import place_tables
from ingestion.merge_splits import place_frames
from ingestion.split_board import Sighting, SplitRules

_SIGHTINGS = st.lists(
    st.tuples(
        st.sampled_from([f"frame{number}" for number in range(9)]),
        st.sampled_from([f"drive{number}" for number in range(7)]),
        st.sampled_from(["", "", "train", "valid"]),
    ),
    max_size=8,
)


@given(
    arrivals=st.lists(st.tuples(st.sampled_from("abcd"), _SIGHTINGS), min_size=1, max_size=4),
    fixed=st.dictionaries(st.sampled_from("abcd"), st.sampled_from(["train", "val", "holdout"]), max_size=2),
    fraction=st.sampled_from([0.0, 0.4]),
    held=st.booleans(),
)
@settings(max_examples=60)
def test_tables_are_placed_as_the_frames_one_after_the_other(arrivals, fixed, fraction, held):
    sightings = [(name, [Sighting(*seen) for seen in some]) for name, some in arrivals]
    drives = sorted({seen[1] for _, some in arrivals for seen in some})
    splits = {seen[2] for _, some in arrivals for seen in some}
    holdout = HoldoutSection(
        fraction=fraction,
        drives=tuple(drives[:1]) if held else (),
        source_splits=("val",) if held and "valid" in splits else (),
    )
    rules = SplitRules(holdout, SplitSection(val_fraction=0.4), fixed)
    schema = {"frame_id": pl.String, "drive": pl.String, "source_split": pl.String}
    tables = [(name, pl.DataFrame(some, schema=schema, orient="row")) for name, some in arrivals]

    one, other = place_frames(sightings, rules), place_tables(tables, rules)

    assert {row[0]: row[1] for row in other.table.iter_rows()} == dict(one.splits)
    assert {row[0]: row[2] for row in other.table.iter_rows()} == dict(one.groups)
    assert dict(other.leaks.iter_rows()) == dict(one.leaks)
    assert sorted(map(astuple, other.conflicts)) == sorted(map(astuple, one.conflicts))
