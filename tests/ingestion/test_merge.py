import json

import pytest

from driveflow.errors import InvalidInputError
from driveflow.flow.merge_section import MergeSection
from driveflow.flow.sections import TaxonomySection
from driveflow.images.pixels import PixelReader
from ingestion.merge import MergeRules, merge_snapshots
from tests.ingestion.batches import bring_in, coco, merge, picture, rows, write

NEVER = MergeSection(same_box_min_iou=1.0)


def _labeled(folder, boxes, seed=1, categories=((1, "car"), (2, "truck")), **section):
    annotations = [(number, 1, category, box) for number, (category, box) in enumerate(boxes)]
    document = coco([(1, "a.jpg")], annotations, categories)
    return bring_in(write(folder, {"a.jpg": picture(seed), "labels.json": document}), **section)


def _conflicts(merged):
    rows_ = merged.beside.conflicts.to_pylist()
    return [(row["kind"], json.loads(row["left"]), json.loads(row["right"]), row["winner"]) for row in rows_]


def test_ac_b1_frames_of_two_drives_with_the_same_names_all_stay_425_in_and_425_out(tmp_path):
    drives = [
        bring_in(
            write(tmp_path / name, {f"{turn:06}.jpg": picture(f"{name}{turn}", (16, 12)) for turn in range(count)})
        )
        for name, count in (("first", 300), ("second", 125))
    ]

    merged = merge(*zip(("first", "second"), drives, strict=True))

    assert (merged.counts["frames_in"], merged.counts["frames"], merged.tables.sources.num_rows) == (425, 425, 425)
    assert len(set(rows(merged.tables.sources, "path"))) == 300


def test_ac_b7_x_and_x_0_and_another_x_are_three(tmp_path):
    first = write(tmp_path / "one", {name: picture(name) for name in ("x.jpg", "x-0.jpg")})
    second = write(tmp_path / "two", {"x.jpg": picture("another")})

    merged = merge(("one", bring_in(first)), ("two", bring_in(second)))

    assert rows(merged.tables.sources, "batch", "path") == [("one", "x-0.jpg"), ("one", "x.jpg"), ("two", "x.jpg")]
    assert merged.tables.frames.num_rows == 3


def test_ac_b2_a_merged_snapshot_opens_alone_and_the_picture_of_every_box_exists(tmp_path):
    from driveflow.snapshots import open_snapshot, write_snapshot

    a, b = _labeled(tmp_path / "a", [(1, (1, 1, 9, 9))]), _labeled(tmp_path / "b", [(2, (9, 9, 9, 9))], seed=2)
    merged = merge(("a", a), ("b", b))

    store = (tmp_path / "store").as_uri()
    snapshot = open_snapshot(write_snapshot(store, merged.tables, merged.beside, {"step": "merge"}).uri)

    pixels = PixelReader(snapshot.locations())
    framed = snapshot.boxes()["frame_id"].to_pylist()
    assert len(framed) == 2
    assert set(framed) <= set(snapshot.frames()["frame_id"].to_pylist())
    assert all(pixels.read(frame_id) for frame_id in framed)


def test_the_batch_first_by_name_gives_the_numbers_where_two_drew_the_same_box(tmp_path):
    a = _labeled(tmp_path / "a", [(1, (10, 10, 20, 20))])
    b = _labeled(tmp_path / "b", [(1, (10.4, 10, 20, 20))])

    merged = merge(("a", a), ("b", b))

    assert rows(merged.tables.boxes, "class_name", "x1", "origin") == [("car", 10.0, "batch:a")]
    ((kind, left, right, winner),) = _conflicts(merged)
    assert (kind, left["batch"], left["x1"], right["batch"], right["x1"], winner) == (
        "box",
        "a",
        10.0,
        "b",
        10.4,
        "left",
    )


def test_equal_boxes_of_two_batches_are_no_conflict(tmp_path):
    a, b = (_labeled(tmp_path / name, [(1, (10, 10, 20, 20))]) for name in "ab")

    merged = merge(("a", a), ("b", b))

    assert merged.counts["boxes"] == merged.counts["boxes_united"] == 1
    assert _conflicts(merged) == []


@pytest.mark.parametrize(("shift", "boxes"), [(1.0, 1), (1.2, 2)])
def test_boxes_are_one_from_the_stated_overlap_on(tmp_path, shift, boxes):
    a = _labeled(tmp_path / "a", [(1, (10, 10, 21, 21))])
    b = _labeled(tmp_path / "b", [(1, (10 + shift, 10, 21, 21))])

    merged = merge(("a", a), ("b", b), merge=MergeSection(same_box_min_iou=20 / 22))

    assert merged.counts["boxes"] == boxes


def test_a_box_that_only_one_of_two_annotators_drew_stays_and_is_named(tmp_path):
    a = _labeled(tmp_path / "a", [(1, (1, 1, 9, 9))])
    b = _labeled(tmp_path / "b", [(1, (1, 1, 9, 9)), (1, (30, 30, 9, 9))])

    merged = merge(("a", a), ("b", b))

    assert merged.counts["boxes"] == 2
    ((_, left, right, winner),) = _conflicts(merged)
    assert (left, right["x1"], winner) == ({"batch": "a", "box": None}, 30.0, "right")


def test_two_names_for_one_place_are_one_conflict_and_both_stay(tmp_path):
    a, b = _labeled(tmp_path / "a", [(1, (1, 1, 9, 9))]), _labeled(tmp_path / "b", [(2, (1, 1, 9, 9))])

    merged = merge(("a", a), ("b", b))

    ((_, left, right, winner),) = _conflicts(merged)
    assert (left["class_name"], right["class_name"], winner) == ("car", "truck", "both")
    assert merged.counts["boxes"] == 2


def test_boxes_of_two_batches_that_bear_one_id_both_stay(tmp_path):
    a, b = _labeled(tmp_path / "a", [(1, (1, 1, 9, 9))]), _labeled(tmp_path / "b", [(1, (30, 30, 9, 9))])

    merged = merge(("a", a), ("b", b))

    ids = merged.tables.boxes["box_id"].to_pylist()
    assert len(set(ids)) == 2
    assert "0" in ids


def test_ac_b25_each_frame_says_which_classes_somebody_looked_for_also_after_a_merge(tmp_path):
    cars = _labeled(tmp_path / "cars", [(1, (1, 1, 9, 9))], categories=((1, "car"),))
    trucks = _labeled(tmp_path / "trucks", [(2, (30, 1, 9, 9))], categories=((2, "truck"),))
    unlabeled = bring_in(write(tmp_path / "plain", {"x.jpg": picture(7)}))

    assert cars.tables.frames["annotated_classes"].to_pylist() == [["car"]]
    merged = merge(("cars", cars), ("trucks", trucks), ("plain", unlabeled))
    assert sorted(merged.tables.frames["annotated_classes"].to_pylist()) == [[], ["car", "truck"]]
    assert _conflicts(merged) == []


def test_with_prefer_the_most_trusted_batch_that_looked_for_a_class_wins_it(tmp_path):
    a = _labeled(tmp_path / "a", [(1, (1, 1, 9, 9)), (2, (40, 1, 9, 9))])
    b = _labeled(tmp_path / "b", [(1, (30, 30, 9, 9))], categories=((1, "car"),))

    merged = merge(("a", a), ("b", b), merge=MergeSection(rule="prefer", trust=("b",)))

    assert rows(merged.tables.boxes, "class_name", "origin") == [("car", "batch:b"), ("truck", "batch:a")]
    assert merged.counts["boxes_overruled"] == 1
    winners = [(left.get("box"), right.get("box"), winner) for _, left, right, winner in _conflicts(merged)]
    assert sorted(winners, key=str) == [("0", None, "right"), (None, "0", "right")]


def test_with_prefer_a_trusted_empty_frame_overrules_boxes(tmp_path):
    a = _labeled(tmp_path / "a", [(1, (1, 1, 9, 9))])
    b = _labeled(tmp_path / "b", [])

    merged = merge(("a", a), ("b", b), merge=MergeSection(rule="prefer", trust=("b", "a")))

    assert merged.counts["boxes"] == 0
    assert merged.counts["boxes_overruled"] == 1


def test_an_attribute_that_two_batches_give_differently_is_a_conflict(tmp_path):
    a = bring_in(write(tmp_path / "a", {"x.jpg": picture(1)}), attributes={"weather": "rain"})
    b = bring_in(write(tmp_path / "b", {"x.jpg": picture(1)}), attributes={"weather": "dry", "road": "city"})

    merged = merge(("a", a), ("b", b))

    assert json.loads(merged.tables.frames["attributes"][0].as_py()) == {"weather": "rain", "road": "city"}
    ((kind, left, right, winner),) = _conflicts(merged)
    assert (kind, left["value"], right["value"], winner) == ("attribute", "rain", "dry", "left")
    trusted = merge(("a", a), ("b", b), merge=MergeSection(rule="prefer", trust=("b",)))
    assert json.loads(trusted.tables.frames["attributes"][0].as_py())["weather"] == "dry"


def test_ac_b6_merging_changes_no_input_and_merging_twice_is_byte_equal(tmp_path):
    from driveflow.snapshots import snapshot_id

    a = _labeled(tmp_path / "a", [(1, (1, 1, 9, 9))], categories=((1, "car"),))
    b = _labeled(tmp_path / "b", [(1, (1, 1, 9, 9))], categories=((1, "truck"), (2, "car")))
    before = [snapshot_id(batch.tables) for batch in (a, b)]

    first = merge(("a", a), ("b", b))
    second = merge(("a", a), ("b", b))

    assert [snapshot_id(batch.tables) for batch in (a, b)] == before
    assert rows(first.tables.boxes, "class_name") == [("car",), ("truck",)]
    assert snapshot_id(first.tables) == snapshot_id(second.tables)
    assert (first.tables, first.beside.conflicts) == (second.tables, second.beside.conflicts)


def test_ac_b9_two_rows_of_one_path_merge_by_rule_and_the_run_goes_on(tmp_path):
    a = bring_in(write(tmp_path / "a", {"x.jpg": picture(1)}), camera="front", name="same")
    b = bring_in(write(tmp_path / "a", {"x.jpg": picture(1)}), camera="rear", name="same")

    merged, other = merge(("same", a), ("same", b)), merge(("same", b), ("same", a))

    ((path, camera),) = rows(merged.tables.sources, "path", "camera")
    ((_, left, right, winner),) = _conflicts(merged)
    assert (path, left["camera"], winner) == ("x.jpg", camera, "left")
    assert {left["camera"], right["camera"]} == {"front", "rear"}
    assert (merged.tables.sources, merged.beside.conflicts) == (other.tables.sources, other.beside.conflicts)


def test_ac_b10_merging_cameras_of_one_drive_and_time_again_adds_no_frame(tmp_path):
    metadata = "path,drive,camera,captured_ns\nf.jpg,d,front,1000\nr.jpg,d,rear,1000\n"
    batch = bring_in(write(tmp_path / "a", {"f.jpg": picture(1), "r.jpg": picture(2), "metadata.csv": metadata}))

    once, twice = merge(("a", batch)), merge(("a", batch), ("a", batch))

    assert once.tables.sources == twice.tables.sources
    assert rows(once.tables.sources, "drive", "camera", "captured_ns") == [("d", "front", 1000), ("d", "rear", 1000)]


def test_ac_b25_classes_of_two_taxonomies_are_united_and_each_frame_keeps_those_that_were_looked_for(tmp_path):
    a = _labeled(tmp_path / "a", [(1, (1, 1, 9, 9))], taxonomy=TaxonomySection(classes=("car", "truck")))
    b = _labeled(tmp_path / "b", [(1, (1, 1, 9, 9))], 2, ((1, "bus"),), taxonomy=TaxonomySection(classes=("bus",)))

    merged = merge(("a", a), ("b", b))

    assert merged.tables.classes == ("bus", "car", "truck")
    assert sorted(merged.tables.frames["annotated_classes"].to_pylist()) == [["bus"], ["car", "truck"]]


def test_classes_that_differ_in_nothing_but_case_or_blanks_are_refused_with_both_names(tmp_path):
    a = bring_in(write(tmp_path / "a", {"x.jpg": picture(1)}), taxonomy=TaxonomySection(classes=("trafficlight",)))
    b = bring_in(write(tmp_path / "b", {"y.jpg": picture(2)}), taxonomy=TaxonomySection(classes=("Traffic Light",)))

    with pytest.raises(InvalidInputError, match="'a' has the class 'trafficlight', batch 'b' has 'Traffic Light'"):
        merge(("a", a), ("b", b))


def test_nothing_to_merge_is_said():
    with pytest.raises(InvalidInputError, match="no batch was given"):
        merge_snapshots([], MergeRules())


def test_bytes_are_found_at_any_of_their_places(tmp_path):
    a = bring_in(write(tmp_path / "a", {"x.jpg": picture(1)}))
    b = bring_in(write(tmp_path / "b", {"y.jpg": picture(1)}))
    merged = merge(("a", a), ("b", b))
    (tmp_path / "a" / "x.jpg").unlink()

    (frame_id,) = merged.tables.frames["frame_id"].to_pylist()
    assert PixelReader(merged.beside.locations).read(frame_id) == picture(1)
