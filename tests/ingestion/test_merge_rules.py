"""What each merge rule decides, and what quotas, sampling and conditions leave out."""

import json
import os
import time
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from driveflow import tables as columns
from driveflow.errors import UsageError
from driveflow.flow.merge_section import ClassMergeSection, MergeSection, SamplingSection
from driveflow.flow.sections import SplitSection
from driveflow.snapshots import SnapshotTables
from ingestion.disputes import Rule
from ingestion.merge import MergeRules, NamedSnapshot, merge_snapshots
from ingestion.merge_boxes import BoxRules, Claims, unite_boxes
from tests.ingestion.batches import bring_in, coco, merge, picture, write

CLASSES = ("car", "truck")
FRAME = "f" * 64
TURNS = {"turn": pl.Int64, "by": pl.String}


def rows_of(name, boxes, looked=CLASSES, frame_id=FRAME, attributes="{}", drive="d", **more):
    """Return a frame, a source and boxes; boxes are (class, x1) or (class, x1, what differs)."""
    seen = {"frame_id": frame_id, "width": 100, "height": 100, "media_type": "image/jpeg", "byte_count": 1}
    frame = {**seen, "split": "train", "drive_group": drive, "annotated_classes": sorted(looked)}
    found = {"frame_id": frame_id, "batch": name, "path": "a/b.jpg", "drive": drive, "camera": "front"}
    rows = []
    for number, (class_name, x1, *rest) in enumerate(boxes):
        row = {"frame_id": frame_id, "box_id": f"{name}{number}", "class_name": class_name, "x1": x1, "y1": 0.0}
        row |= {"x2": x1 + 10.0, "y2": 10.0, "origin": f"batch:{name}", "ignore": False, "attributes": "{}"}
        rows.append({**row, **(rest[0] if rest else {})})
    return {**frame, "attributes": attributes}, {**found, "clock": "none", "source_split": "", **more}, rows


def snapshot_of(name, parts):
    frames, sources, boxes = zip(*parts, strict=True)
    tables = SnapshotTables(
        pa.Table.from_pylist(frames, columns.FRAMES),
        pa.Table.from_pylist(sources, columns.SOURCES),
        pa.Table.from_pylist([row for rows in boxes for row in rows], columns.BOXES),
        CLASSES,
    )
    return NamedSnapshot(name, tables)


def person(name, *boxes, **more):
    """Return one contributor who looked for classes in one frame."""
    return snapshot_of(name, [rows_of(name, boxes, **more)])


def merged(*people, as_of=None, **section):
    rules = MergeRules(merge=MergeSection(**section), splits=SplitSection(val_fraction=0.0), as_of=as_of or {})
    return merge_snapshots(people, rules)


def boxes(result):
    return sorted((row["class_name"], row["x1"]) for row in result.tables.boxes.to_pylist())


def conflicts(result, kind="box"):
    rows = [row for row in result.beside.conflicts.to_pylist() if row["kind"] == kind]
    return [(row["rule"], json.loads(row["left"]), json.loads(row["right"]), row["winner"]) for row in rows]


def annotated(result):
    return result.tables.frames["annotated_classes"].to_pylist()[0]


def test_consensus_keeps_what_a_quorum_drew_as_the_box_most_like_the_others():
    result = merged(
        person("a", ("car", 1.0), ("car", 50.0)), person("b", ("car", 0.0)), person("c", ("car", 2.0)), rule="consensus"
    )

    assert boxes(result) == [("car", 1.0)]
    assert (result.counts["boxes_united"], result.counts["boxes_overruled"]) == (2, 1)
    told = conflicts(result)
    assert {rule for rule, *_ in told} == {"consensus"}
    assert [(left.get("x1"), right.get("x1"), winner) for _, left, right, winner in told] == [
        (1.0, 0.0, "left"),
        (1.0, 2.0, "left"),
        (50.0, None, "right"),
    ]


@pytest.mark.parametrize(("quorum", "kept"), [(1, 3), (2, 2), (3, 1), (9, 1), (0.3, 3), (0.5, 2), (0.67, 1), (1.0, 1)])
def test_a_quorum_is_a_number_of_those_who_looked_or_a_share_of_them(quorum, kept):
    people = [
        person("a", ("car", 0.0), ("car", 30.0), ("car", 60.0)),
        person("b", ("car", 0.0), ("car", 30.0)),
        person("c", ("car", 0.0)),
        person("d", looked=("truck",)),
    ]

    result = merged(*people, rule="consensus", quorum=quorum)

    assert len(boxes(result)) == kept


def test_who_alone_looked_for_a_class_needs_no_second_under_consensus():
    result = merged(person("a", ("car", 0.0)), person("b", looked=("truck",)), rule="consensus", quorum=2)

    assert boxes(result) == [("car", 0.0)]
    assert conflicts(result) == []


@pytest.mark.parametrize("quorum", [2, 1.0])
def test_who_did_not_look_for_a_class_is_not_asked_under_consensus(quorum):
    looked, drew, other = person("a", ("car", 0.0)), (("car", 50.0),), (("car", 80.0),)
    silent = person("b", *drew, looked=("truck",))

    one = merged(looked, silent, rule="consensus", quorum=quorum)
    nobody = merged(silent, person("c", *other, looked=()), rule="consensus", quorum=quorum)

    assert boxes(one) == [("car", 0.0)]
    assert [(left, right["x1"], winner) for _, left, right, winner in conflicts(one)] == [
        ({"batch": "a", "box": None}, 50.0, "left")
    ]
    assert (boxes(nobody), conflicts(nobody)) == ([("car", 50.0), ("car", 80.0)], [])


def test_two_boxes_of_one_contributor_are_never_one_cluster():
    people = [person(name, ("car", 0.0), ("car", 3.0)) for name in "ab"]
    people.append(person("c", ("car", 1.0), ("car", 4.0)))

    result = merged(*people, rule="consensus", quorum=3, consensus_min_iou=0.3)

    assert len(boxes(result)) == 2


def test_a_copy_of_a_contributor_has_no_second_voice():
    once = merged(person("a", ("car", 0.0)), person("b"), rule="consensus", quorum=2)
    copy = NamedSnapshot("z", person("a", ("car", 0.0)).tables)
    twice = merged(person("a", ("car", 0.0)), person("b"), copy, rule="consensus", quorum=2)

    assert boxes(once) == boxes(twice) == []
    assert once.tables.frames == twice.tables.frames


def test_newest_takes_the_latest_day_then_what_arrived_last():
    old, new, late = person("z", ("car", 0.0)), person("a", ("car", 40.0)), person("b", ("car", 80.0))

    assert boxes(merged(old, new, late, rule="newest")) == [("car", 80.0)]
    days = {"z": "2026-03-01", "a": "2026-03-02"}
    assert boxes(merged(old, new, late, rule="newest", as_of=days)) == [("car", 40.0)]


def test_left_takes_what_arrived_first_of_those_who_looked():
    people = person("z", looked=()), person("b", ("car", 0.0)), person("a", ("car", 50.0), ("truck", 0.0))

    result = merged(*people, rule="left")

    assert boxes(result) == [("car", 0.0)]
    assert {winner for *_, winner in conflicts(result)} == {"left"}
    assert result.counts["boxes_overruled"] == 2


def test_review_decides_nothing_takes_disputed_boxes_out_and_asks_for_their_class_again():
    a = person("a", ("car", 0.0), ("car", 50.0), ("truck", 20.0))
    b = person("b", ("car", 0.0), ("truck", 20.0))

    result = merged(a, b, rule="review")

    assert boxes(result) == [("car", 0.0), ("truck", 20.0)]
    assert annotated(result) == ["truck"]
    ((rule, left, right, winner),) = conflicts(result)
    assert (rule, left["x1"], right, winner) == ("review", 50.0, {"batch": "b", "box": None}, "review")
    assert result.counts["boxes_in_review"] == 1


def test_review_puts_aside_what_only_some_call_an_ignore_region():
    result = merged(person("a", ("car", 0.0)), person("b", ("car", 0.0, {"ignore": True})), rule="review")

    assert (boxes(result), annotated(result)) == ([], ["truck"])
    assert [winner for *_, winner in conflicts(result)] == ["review"]


def test_a_box_drawn_in_two_ways_that_a_third_did_not_draw_is_under_review_on_every_row():
    people = person("a", ("car", 0.0)), person("b", ("car", 0.2)), person("c")

    result = merged(*people, rule="review")

    assert boxes(result) == []
    assert [winner for *_, winner in conflicts(result)] == ["review", "review"]


def test_a_class_can_have_a_rule_of_its_own():
    a, b = person("a", ("car", 0.0), ("truck", 0.0)), person("b", ("car", 50.0), ("truck", 50.0))

    result = merged(a, b, rule="union", per_class={"car": ClassMergeSection(rule="consensus", quorum=2)})

    assert boxes(result) == [("truck", 0.0), ("truck", 50.0)]
    assert {rule for rule, *_ in conflicts(result)} == {"consensus", "union"}


def test_a_rule_for_a_class_that_nobody_has_is_refused():
    own = {"Car": ClassMergeSection(rule="left")}

    with pytest.raises(UsageError, match=r"merge\.per_class: no class is called 'Car'; known are car, truck\."):
        merged(person("a", ("car", 0.0)), person("b", ("car", 50.0)), rule="union", per_class=own)


@pytest.mark.parametrize(
    ("rule", "weather"),
    [("union", "dry"), ("consensus", "rain"), ("left", "fog"), ("newest", "rain"), ("review", None)],
)
def test_attributes_of_a_frame_follow_the_rule(rule, weather):
    people = [
        person("z", attributes='{"road":"city","weather":"fog"}'),
        person("a", attributes='{"weather":"dry"}'),
        person("c", attributes='{"weather":"rain"}'),
        person("b", attributes='{"weather":"rain"}'),
    ]

    result = merged(*people, rule=rule)

    found = json.loads(result.tables.frames["attributes"][0].as_py())
    assert (found.get("weather"), found["road"]) == (weather, "city")
    assert conflicts(result, "attribute")


def test_one_number_written_in_two_ways_has_the_votes_of_both_under_consensus():
    values = {"a": "2", "b": "1", "c": "1.0", "d": "true"}
    people = [person(name, attributes=f'{{"lanes":{value}}}') for name, value in values.items()]

    result = merged(*people, rule="consensus")

    assert result.tables.frames["attributes"].to_pylist() == ['{"lanes":1}']
    assert [(left["value"], right["value"], winner) for _, left, right, winner in conflicts(result, "attribute")] == [
        (2, 1, "right"),
        (1, True, "left"),
    ]


def test_a_conflict_names_a_picture_in_which_to_see_it():
    result = merged(person("b", ("car", 0.0)), person("a"))

    assert result.beside.conflicts["where"].to_pylist() == ["a/a/b.jpg"]


def test_predictions_overrule_nobody_and_nobody_overrules_them():
    guess = {"score": 0.4}
    model = person("m", ("car", 0.2, guess), ("truck", 60.0, guess), looked=())
    again = person("n", ("truck", 60.0, {**guess, "origin": "batch:m"}), looked=())

    for rule in ("union", "consensus", "prefer", "newest", "left", "review"):
        result = merged(person("a", ("car", 0.0), looked=("car",)), model, again, rule=rule)
        assert boxes(result) == [("car", 0.0), ("car", 0.2), ("truck", 60.0)]
        assert annotated(result) == ["car"]
        assert conflicts(result) == []


def test_a_file_of_detections_makes_no_picture_labeled(tmp_path):
    document = coco([(1, "a.jpg"), (2, "b.jpg")], [(1, 1, 1, (1, 1, 9, 9))])
    document["annotations"][0]["score"] = 0.8
    found = bring_in(write(tmp_path / "in", {"a.jpg": picture(1), "b.jpg": picture(2), "l.json": document}))

    frames = dict(
        zip(found.tables.sources["frame_id"].to_pylist(), found.tables.sources["path"].to_pylist(), strict=True)
    )
    looked = {frames[row["frame_id"]]: row["annotated_classes"] for row in found.tables.frames.to_pylist()}
    assert looked["a.jpg"] == []
    assert found.tables.boxes["score"].to_pylist() == [0.8]


def many(name, count, drives=5):
    """Return a batch of frames with a box each, `lat` their number, in so many drives."""
    box = [("car", 0.0)]
    numbered = ((f"{number:064d}", f"{name}{number % drives}", float(number)) for number in range(count))
    return snapshot_of(name, [rows_of(name, box, frame_id=key, drive=drive, lat=lat) for key, drive, lat in numbered])


def kept(result):
    return set(result.tables.frames["frame_id"].to_pylist())


def reasons(result):
    rows = result.beside.decisions.to_pylist()
    assert {row["verdict"] for row in rows} <= {"dropped"}
    return sorted(row["reason"] for row in rows)


def test_a_quota_takes_whole_drive_groups_and_names_what_it_leaves_out():
    result = merged(many("a", 50), quotas={"a": 25})

    groups = result.tables.frames["drive_group"].to_pylist()
    assert sorted(groups.count(name) for name in set(groups)) == [5, 10, 10]
    assert reasons(result) == ["quota"] * 25
    assert result.counts["frames_quota"] == result.counts["boxes_left_out"] == 25


def test_a_quota_that_grows_keeps_what_was_taken_and_moves_no_split():
    less, more = merged(many("a", 50), quotas={"a": 12}), merged(many("a", 50), quotas={"a": 31})

    assert kept(less) <= kept(more)
    assert (len(kept(less)), len(kept(more))) == (12, 31)


def test_sampling_keeps_about_the_stated_share_the_same_every_time_and_more_of_it_includes_less():
    half, most = (merged(many("a", 200), sampling=(SamplingSection(keep=share),)) for share in (0.5, 0.8))

    assert 70 < len(kept(half)) < 130
    assert kept(half) < kept(most)
    assert reasons(half) == ["sampling"] * (200 - len(kept(half)))


def test_sampling_asks_only_the_frames_of_its_condition_and_batch():
    sample = SamplingSection(keep=0.0, batch="a", where="lat >= 10")
    other = NamedSnapshot("b", many("b", 30).tables)

    result = merged(many("a", 20), other, sampling=(sample,))

    assert result.counts["frames_sampling"] == 10
    assert len(kept(result)) == 30
    assert reasons(result) == []  # the other batch brings them


def test_conditions_leave_frames_of_all_batches_or_of_one_out():
    result = merged(
        many("a", 20), person("b", frame_id="9" * 64), where="lat < 15 or batch = 'b'", batch_where={"a": "lat > 4"}
    )

    assert len(kept(result)) == 11
    assert reasons(result) == ["where"] * 10


def test_a_frame_that_one_batch_leaves_out_and_another_brings_in_is_told_as_the_leak_it_is():
    bridge = snapshot_of("c", [rows_of("c", [], frame_id=key * 64, drive="f") for key in "123"])
    parts = [person("a", frame_id="1" * 64), person("b", frame_id="2" * 64, drive="e"), bridge]
    parts.append(person("d", frame_id="3" * 64, drive="f"))
    section = MergeSection(batch_where={"c": f"frame_id <> '{'3' * 64}'"})

    result = merge_snapshots(parts, MergeRules(section, fixed_splits={"a": "train", "b": "val"}))

    assert (result.counts["frames_where"], result.counts["frames_leaked"]) == (1, 1)
    assert [(row["frame_id"][0], row["reason"]) for row in result.beside.decisions.to_pylist()] == [("3", "leak")]


def test_a_condition_on_boxes_leaves_boxes_out_and_counts_them():
    result = merged(person("a", ("car", 0.0), ("truck", 0.0)), boxes_where="class_name <> 'truck'")

    assert boxes(result) == [("car", 0.0)]
    assert result.counts["boxes_filtered"] == 1


@pytest.mark.parametrize(
    ("section", "says"),
    [
        ({"where": "widht > 3"}, r'merge.where: Condition, character 1 .*did you mean "width"'),
        ({"batch_where": {"a": "width >"}}, r"merge.batch_where.a: Condition"),
        ({"boxes_where": "width > 3"}, r"merge.boxes_where: .*no column \"width\""),
        ({"quotas": {"x": 3}}, r"no batch is called 'x'; known are a"),
        ({"sampling": (SamplingSection(keep=0.5, where="1"),)}, r"merge.sampling\[0\].where"),
    ],
)
def test_a_wrong_wish_is_refused_with_the_key_that_holds_it(section, says):
    with pytest.raises(UsageError, match=says):
        merged(person("a"), **section)


def test_splits_are_drawn_before_anything_is_left_out():
    rules = {"splits": SplitSection(val_fraction=0.5)}
    whole = merge(("a", many("a", 60, drives=12)), **rules)
    some = merge(("a", many("a", 60, drives=12)), merge=MergeSection(where="lat > 20"), **rules)

    splits = dict(
        zip(whole.tables.frames["frame_id"].to_pylist(), whole.tables.frames["split"].to_pylist(), strict=True)
    )
    assert all(splits[row["frame_id"]] == row["split"] for row in some.tables.frames.to_pylist())


def test_memory_of_conflicts_does_not_grow_with_the_square_of_the_boxes_of_a_frame():
    """Each box that another did not draw is held beside all that the other drew alone: pairs that are many."""
    status, clear = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if not os.access(clear, os.W_OK):
        pytest.skip("this system does not tell how much memory was in use at most")
    names = [f"{number:064}" for number in range(100)]
    drawn = [
        {"frame_id": frame_id, "box_id": f"{turn}-{number}", "class_name": "car", "turn": turn, "by": "ab"[turn]}
        | {"x1": 20.0 * number + 10 * turn, "y1": 0.0, "x2": 20.0 * number + 10 * turn + 9, "y2": 9.0, "score": None}
        | {"origin": "", "ignore": False, "attributes": "{}", "annotator": None, "guideline": None}
        for turn in (0, 1)
        for frame_id in names
        for number in range(300)
    ]
    boxes = pl.DataFrame(drawn, schema={**dict(pl.from_arrow(columns.BOXES.empty_table()).schema), **TURNS})
    looked = [
        {"frame_id": name, "annotated_classes": ["car"], "turn": t, "by": "ab"[t]} for t in (0, 1) for name in names
    ]
    claims = Claims(boxes, pl.DataFrame(looked, schema_overrides=TURNS))
    clear.write_text("5")  # forget the peak so far
    before = _peak_mib(status)

    united = unite_boxes(claims, BoxRules(Rule("union", "union", 0.9)))

    assert united.conflicts.num_rows == 60_000
    assert _peak_mib(status) - before < 400


def _peak_mib(status):
    return next(int(line.split()[1]) // 1024 for line in status.read_text().splitlines() if line.startswith("VmHWM"))


def test_ac_b3_consensus_of_three_keeps_a_rate_of_100_000_frames_of_ten_boxes_in_ten_minutes():
    frames = 2_000
    people = [
        snapshot_of(
            name,
            [
                rows_of(name, [("car", 20.0 * place + off) for place in range(10)], frame_id=f"{turn:064x}")
                for turn in range(frames)
            ],
        )
        for name, off in (("a", 0.0), ("b", 1.0), ("c", -1.0))
    ]
    began_s = time.process_time()

    found = merged(*people, rule="consensus", quorum=2)

    assert time.process_time() - began_s < frames * 600 / 100_000
    assert (found.counts["frames"], found.counts["boxes"]) == (frames, 10 * frames)
