"""Laws of the merge. Where the order of arrival may speak, the test says in what."""

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from driveflow.flow.merge_section import MergeSection
from driveflow.flow.sections import HoldoutSection, SplitSection
from driveflow.snapshots import snapshot_id
from ingestion.merge import MergeRules, merge_snapshots
from tests.ingestion.batches import rows
from tests.ingestion.strategies import sequences

_FIXED = st.dictionaries(st.sampled_from([f"batch{n}" for n in range(4)]), st.sampled_from(["train", "val", "holdout"]))


@st.composite
def rules(draw):
    trust = draw(st.permutations(["batch0", "batch1", "batch2"]))
    return MergeRules(
        merge=MergeSection(
            rule=draw(st.sampled_from(["union", "prefer"])), trust=tuple(trust[: draw(st.integers(0, 3))])
        ),
        holdout=HoldoutSection(fraction=draw(st.sampled_from([0.0, 0.3])), seed=draw(st.integers(0, 3))),
        splits=SplitSection(val_fraction=draw(st.sampled_from([0.0, 0.5]))),
        fixed_splits=draw(_FIXED),
    )


def _everything(merged):
    beside = merged.beside
    return snapshot_id(merged.tables), beside.decisions, beside.conflicts, beside.locations, beside.quarantine


@given(sequences(), rules())
@settings(deadline=None, max_examples=10)
def test_merging_twice_is_equal_to_the_last_row(found, how):
    assert _everything(merge_snapshots(found, how)) == _everything(merge_snapshots(found, how))


@given(sequences(), rules())
@settings(deadline=None, max_examples=10)
def test_a_batch_that_comes_twice_counts_once(found, how):
    once = merge_snapshots(found, how)

    for again in found:
        twice = merge_snapshots([*found, again], how)
        assert twice.tables.frames == once.tables.frames
        assert twice.tables.sources == once.tables.sources
        assert twice.tables.boxes == once.tables.boxes
        assert twice.beside.decisions == once.beside.decisions


@given(sequences(min_size=1, max_size=1))
@settings(deadline=None, max_examples=10)
def test_one_batch_alone_keeps_every_frame_source_and_box(found):
    merged = merge_snapshots(found, MergeRules(splits=SplitSection(val_fraction=0.0)))

    tables = found[0].tables
    assert merged.tables.sources == tables.sources
    assert merged.tables.boxes == tables.boxes
    assert merged.tables.frames.drop_columns("drive_group") == tables.frames.drop_columns("drive_group")


@given(sequences(), rules())
@settings(deadline=None, max_examples=10)
def test_merging_changes_none_of_its_inputs(found, how):
    before = [snapshot_id(batch.tables) for batch in found]
    bytes_before = [batch.tables.boxes.to_pylist() for batch in found]

    merge_snapshots(found, how)

    assert [snapshot_id(batch.tables) for batch in found] == before
    assert [batch.tables.boxes.to_pylist() for batch in found] == bytes_before


@given(sequences(), rules())
@settings(deadline=None, max_examples=10)
def test_what_comes_in_is_kept_shared_or_left_out(found, how):
    merged = merge_snapshots(found, how)
    counts = merged.counts

    assert counts["frames_in"] == counts["frames"] + counts["frames_shared"] + counts["frames_leaked"]
    assert counts["sources_in"] == counts["sources"] + counts["sources_repeated"] + counts["sources_leaked"]
    went = ("boxes", "boxes_united", "boxes_overruled", "boxes_leaked")
    assert counts["boxes_in"] == sum(counts[name] for name in went)
    assert counts["frames_leaked"] == merged.beside.decisions.num_rows
    assert counts["frames"] == sum(counts[f"frames_{split}"] for split in ("train", "val", "holdout"))


@given(sequences(), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=10)
def test_the_union_is_the_same_set_in_every_order_but_for_whose_numbers_stand(found, random):
    """Frames, sources, annotated classes and how many boxes of a class: no order speaks there.

    Which of two like boxes stays (its corners, id, origin, flags), which attribute value stands, the names of groups
    and drawn splits go by the order of arrival; boxes here are alike or far apart, so that pairs are never in doubt.
    """
    shuffled = list(found)
    random.shuffle(shuffled)
    how = MergeRules(merge=MergeSection(same_box_min_iou=0.5), splits=SplitSection(val_fraction=0.0))

    first, second = merge_snapshots(found, how), merge_snapshots(shuffled, how)

    assert first.tables.sources == second.tables.sources
    assert first.tables.frames.select(["frame_id", "annotated_classes"]) == second.tables.frames.select(
        ["frame_id", "annotated_classes"]
    )
    names = ("frame_id", "class_name")
    assert rows(first.tables.boxes, *names) == rows(second.tables.boxes, *names)


@given(sequences(), rules())
@settings(deadline=None, max_examples=10)
def test_every_box_has_its_frame_and_every_frame_a_source(found, how):
    tables = merge_snapshots(found, how).tables

    frames = set(tables.frames["frame_id"].to_pylist())
    assert set(tables.boxes["frame_id"].to_pylist()) <= frames
    assert set(tables.sources["frame_id"].to_pylist()) == frames


@given(sequences(), rules())
@settings(deadline=None, max_examples=10)
def test_every_frame_left_out_is_named_once_with_a_reason(found, how):
    merged = merge_snapshots(found, how)

    decisions = merged.beside.decisions
    left_out = {frame for batch in found for frame in batch.tables.frames["frame_id"].to_pylist()}
    left_out -= set(merged.tables.frames["frame_id"].to_pylist())
    assert sorted(decisions["frame_id"].to_pylist()) == sorted(left_out)
    assert pa.compute.all(pa.compute.equal(decisions["reason"], "leak")).as_py() is not False
