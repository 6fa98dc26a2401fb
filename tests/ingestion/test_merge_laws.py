"""Laws of the merge. Where the order of arrival may speak, the test says in what."""

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from driveflow.flow.merge_section import ClassMergeSection, MergeSection, SamplingSection
from driveflow.flow.sections import HoldoutSection, SplitSection
from driveflow.snapshots import SnapshotTables, snapshot_id
from ingestion.merge import MergeRules, NamedSnapshot, merge_snapshots
from ingestion.merge_rules import SYMMETRIC
from tests.ingestion.strategies import CLASSES, sequences

NAMES = [f"batch{number}" for number in range(4)]
RULES = ("union", "consensus", "prefer", "newest", "left", "review")
NO_DRAWS = {"splits": SplitSection(val_fraction=0.0)}
_FIXED = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(["train", "val", "holdout"]))
_QUORUMS = st.sampled_from([1, 2, 3, 0.5, 1.0])


@st.composite
def sections(draw, kinds=RULES):
    own = st.builds(ClassMergeSection, rule=st.sampled_from(kinds), quorum=_QUORUMS)
    return MergeSection(
        rule=draw(st.sampled_from(kinds)),
        trust=tuple(draw(st.permutations(NAMES[:3]))[: draw(st.integers(0, 3))]),
        quorum=draw(_QUORUMS),
        per_class=draw(st.dictionaries(st.sampled_from(CLASSES), own, max_size=1)),
        same_box_min_iou=draw(st.sampled_from([0.5, 0.99])),
    )


@st.composite
def rules(draw):
    return MergeRules(
        merge=draw(sections()),
        holdout=HoldoutSection(fraction=draw(st.sampled_from([0.0, 0.3])), seed=draw(st.integers(0, 3))),
        splits=SplitSection(val_fraction=draw(st.sampled_from([0.0, 0.5]))),
        fixed_splits=draw(_FIXED),
        as_of=draw(st.dictionaries(st.sampled_from(NAMES), st.sampled_from(["2026-01-01", "2026-02-01"]))),
    )


def _choosing(found, draw):
    names = [batch.name for batch in found]
    return {
        "where": draw(st.sampled_from(["", "attributes.weather = 'a' or drive <> 'd1'"])),
        "boxes_where": draw(st.sampled_from(["", "x1 > 10"])),
        "sampling": draw(st.sampled_from([(), (SamplingSection(keep=0.5),)])),
        "quotas": draw(st.dictionaries(st.sampled_from(names), st.integers(1, 3))),
    }


@st.composite
def choosy(draw):
    """Draw batches, and rules that also leave frames and boxes out."""
    found, how = draw(sequences()), draw(rules())
    merge = draw(sections())
    values = {name: getattr(merge, name) for name in ("rule", "trust", "quorum", "per_class", "same_box_min_iou")}
    section = MergeSection(**values, **_choosing(found, draw))
    return found, MergeRules(section, how.holdout, how.splits, how.fixed_splits, as_of=how.as_of)


def _everything(merged):
    beside = merged.beside
    tables = (beside.decisions, beside.conflicts, beside.locations, beside.quarantine)
    return snapshot_id(merged.tables), merged.counts, [table.to_pylist() for table in tables]


def _without_groups(merged):
    tables = merged.tables
    return tables.frames.drop_columns(["drive_group", "split"]), tables.sources, tables.boxes


@given(choosy())
@settings(max_examples=5)
def test_merging_twice_is_equal_to_the_last_row(made):
    found, how = made

    assert _everything(merge_snapshots(found, how)) == _everything(merge_snapshots(found, how))


@given(sequences(), rules())
@settings(max_examples=5)
def test_a_batch_that_comes_twice_counts_once(found, how):
    once = merge_snapshots(found, how)

    for again in found:
        twice = merge_snapshots([*found, again], how)
        if how.merge.rule == "newest" or any(own.rule == "newest" for own in how.merge.per_class.values()):
            twice = merge_snapshots([again, *found] if again is found[0] else [*found, again], how)
            if again is not found[-1] and again is not found[0]:
                continue  # what comes again is as new as what came last
        assert twice.tables.frames == once.tables.frames
        assert twice.tables.sources == once.tables.sources
        assert twice.tables.boxes == once.tables.boxes
        assert twice.beside.decisions == once.beside.decisions
        assert twice.beside.conflicts == once.beside.conflicts


@given(sequences(min_size=1, max_size=1), sections(), st.integers(1, 3))
@settings(max_examples=5)
def test_one_batch_alone_or_with_itself_keeps_every_frame_source_and_box(found, section, times):
    """merge(a) = merge(a, a) = a."""
    merged = merge_snapshots(found * times, MergeRules(merge=section, **NO_DRAWS))

    tables = found[0].tables
    assert _without_groups(merged) == (
        tables.frames.drop_columns(["drive_group", "split"]),
        tables.sources,
        tables.boxes,
    )
    assert merged.beside.conflicts.num_rows == 0


@given(sequences(min_size=2), sections())
@settings(max_examples=5)
def test_what_is_merged_and_merged_again_with_itself_stays_as_it_is(found, section):
    how = MergeRules(merge=section, **NO_DRAWS)
    once = merge_snapshots(found, how)

    again = NamedSnapshot("merged", once.tables)
    assert _without_groups(merge_snapshots([again, again], how)) == _without_groups(once)


@given(sequences(min_size=2), rules(), sections())
@settings(max_examples=8)
def test_a_merged_snapshot_merged_again_keeps_its_splits_and_drive_groups_whatever_the_rules(found, how, section):
    once = NamedSnapshot("merged", merge_snapshots(found, how).tables, placed=True)
    drawn = {"holdout": HoldoutSection(fraction=0.5, seed=9), "splits": SplitSection(val_fraction=0.5, seed=9)}

    again = merge_snapshots([once, once], MergeRules(merge=section, **drawn))

    assert again.tables == once.tables


@given(sequences(min_size=3), rules(), st.sampled_from(["drive_group", "day"]))
@settings(max_examples=8)
def test_a_batch_that_is_merged_onto_a_merged_snapshot_moves_none_of_its_frames(found, how, by):
    first = merge_snapshots(found[:-2], how).tables
    second = merge_snapshots(found[-2:-1], how).tables
    parts = [NamedSnapshot("z", first, placed=True), found[-1], NamedSnapshot("y", second, placed=True)]

    merged = merge_snapshots(parts, MergeRules(splits=SplitSection(val_fraction=0.5, seed=9, by=by), ordered=False))

    splits = dict(zip(*(merged.tables.frames[name].to_pylist() for name in ("frame_id", "split")), strict=True))
    stood = second  # of two, the one first by name
    for frame_id, split in zip(*(stood.frames[name].to_pylist() for name in ("frame_id", "split")), strict=True):
        assert splits[frame_id] == split


@given(sequences(min_size=2), sections(SYMMETRIC), st.randoms(use_true_random=False), st.booleans())
@settings(max_examples=8)
def test_under_symmetric_rules_without_an_order_of_arrival_every_order_gives_the_same_bytes(
    found, section, random, alike
):
    if alike:  # names say nothing then
        found = [NamedSnapshot("same", batch.tables, batch.beside) for batch in found]
    shuffled = list(found)
    random.shuffle(shuffled)
    how = MergeRules(
        merge=section, holdout=HoldoutSection(fraction=0.3), splits=SplitSection(val_fraction=0.5), ordered=False
    )

    assert _everything(merge_snapshots(found, how)) == _everything(merge_snapshots(shuffled, how))


@given(sequences(min_size=2), sections(SYMMETRIC), st.randoms(use_true_random=False))
@settings(max_examples=5)
def test_under_symmetric_rules_arrival_decides_names_and_splits_of_drive_groups_and_nothing_else(
    found, section, random
):
    shuffled = list(found)
    random.shuffle(shuffled)
    how = MergeRules(merge=section, **NO_DRAWS)

    first, second = merge_snapshots(found, how), merge_snapshots(shuffled, how)

    assert _without_groups(first) == _without_groups(second)
    assert first.beside.conflicts == second.beside.conflicts


@given(choosy())
@settings(max_examples=5)
def test_merging_changes_none_of_its_inputs(made):
    found, how = made
    before = [snapshot_id(batch.tables) for batch in found]
    bytes_before = [batch.tables.boxes.to_pylist() for batch in found]

    merge_snapshots(found, how)

    assert [snapshot_id(batch.tables) for batch in found] == before
    assert [batch.tables.boxes.to_pylist() for batch in found] == bytes_before


@given(choosy())
@settings(max_examples=8)
def test_what_comes_in_is_kept_shared_or_left_out(made):
    found, how = made
    counts = merge_snapshots(found, how).counts

    ways = ("", "_shared", "_leaked", "_withdrawn", "_where", "_sampling", "_quota")
    assert counts["frames_in"] == sum(counts[f"frames{way}"] for way in ways)
    ways = ("", "_repeated", "_leaked", "_withdrawn", "_left_out")
    assert counts["sources_in"] == sum(counts[f"sources{way}"] for way in ways)
    ways = ("", "_united", "_overruled", "_in_review", "_leaked", "_withdrawn", "_left_out", "_filtered")
    assert counts["boxes_in"] == sum(counts[f"boxes{way}"] for way in ways)
    assert counts["frames"] == sum(counts[f"frames_{split}"] for split in ("train", "val", "holdout"))


@given(sequences(), rules(), st.randoms(use_true_random=False))
@settings(max_examples=5)
def test_the_snapshot_is_the_same_for_any_order_and_sharding_of_the_rows_and_any_place(found, how, random):
    def scattered(table):
        rows = list(range(table.num_rows))
        random.shuffle(rows)
        mixed = table.take(pa.array(rows, pa.int64()))
        cut = random.randint(0, table.num_rows)
        return pa.concat_tables([mixed.slice(0, cut), mixed.slice(cut)])

    others = [
        NamedSnapshot(
            batch.name,
            SnapshotTables(*(scattered(table) for table in (batch.tables.frames, batch.tables.sources,
                                                            batch.tables.boxes)), batch.tables.classes),
        )
        for batch in found
    ]  # fmt: skip

    assert _everything(merge_snapshots(others, how)) == _everything(merge_snapshots(found, how))


@given(sequences(min_size=2), sections(), st.integers(0, 3), st.booleans())
@settings(max_examples=10)
def test_a_batch_that_is_appended_moves_no_frame_to_another_split(found, section, seed, balance):
    splits = SplitSection(val_fraction=0.5, balance=balance)
    how = MergeRules(merge=section, holdout=HoldoutSection(fraction=0.3, seed=seed), splits=splits)

    before, after = (merge_snapshots(some, how).tables.frames for some in (found[:-1], found))

    splits = dict(zip(after["frame_id"].to_pylist(), after["split"].to_pylist(), strict=True))
    for frame_id, split in zip(before["frame_id"].to_pylist(), before["split"].to_pylist(), strict=True):
        assert splits[frame_id] == split


@given(choosy())
@settings(max_examples=5)
def test_every_box_has_its_frame_and_every_frame_a_source(made):
    found, how = made
    tables = merge_snapshots(found, how).tables

    frames = set(tables.frames["frame_id"].to_pylist())
    assert set(tables.boxes["frame_id"].to_pylist()) <= frames
    assert set(tables.sources["frame_id"].to_pylist()) == frames


@given(choosy())
@settings(max_examples=5)
def test_every_frame_left_out_is_named_once_with_a_reason(made):
    found, how = made
    merged = merge_snapshots(found, how)

    decisions = merged.beside.decisions
    left_out = {frame for batch in found for frame in batch.tables.frames["frame_id"].to_pylist()}
    left_out -= set(merged.tables.frames["frame_id"].to_pylist())
    assert sorted(decisions["frame_id"].to_pylist()) == sorted(left_out)
    assert set(decisions["reason"].to_pylist()) <= {"leak", "where", "sampling", "quota"}


@given(sequences(min_size=2), rules())
@settings(max_examples=5)
def test_predictions_stay_each_once_and_make_no_class_annotated(found, how):
    def guesses(tables):
        said = ("frame_id", "class_name", "x1", "x2", "ignore", "score", "origin")
        rows = tables.boxes.filter(pa.compute.is_valid(tables.boxes["score"])).to_pylist()
        return {tuple(row[name] for name in said) for row in rows}

    merged = merge_snapshots(found, how).tables

    frames = set(merged.frames["frame_id"].to_pylist())
    expected = {row for batch in found for row in guesses(batch.tables) if row[0] in frames}
    assert guesses(merged) == expected
    looked = {}
    for batch in found:
        frames_ = batch.tables.frames
        for frame_id, names in zip(
            frames_["frame_id"].to_pylist(), frames_["annotated_classes"].to_pylist(), strict=True
        ):
            looked.setdefault(frame_id, set()).update(names)
    for row in merged.frames.to_pylist():
        assert set(row["annotated_classes"]) <= looked[row["frame_id"]]
