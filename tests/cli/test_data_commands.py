"""`driveflow data`, called as a person does: import, inspect, merge, list, show, diff, tag and quarantine."""

import io
import json
import os
import zipfile
from pathlib import Path

import pytest
import yaml

from tests.cli.calling import call
from tests.ingestion.batches import coco, picture, write

BOX = (4.0, 5.0, 20.0, 10.0)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder to work in; the workspace is its .driveflow."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def may(here):
    """A batch of three pictures, one of them unlabeled, and a file that is none."""
    labels = coco([(1, "a.jpg"), (2, "b.jpg")], [(1, 1, 1, BOX), (2, 1, 2, (30, 5, 9, 9))])
    return write(here / "may", {"labels.json": labels, "a.jpg": picture(1), "b.jpg": picture(2), "c.jpg": picture(3),
                                "broken.jpg": picture(4)[:300]})  # fmt: skip


@pytest.fixture
def data(capsys):
    """Call `driveflow data ... -o json`, which has to succeed, and return what it says."""

    def run(*words):
        code, out, err = call(capsys, "data", *map(str, words), "-o", "json")
        assert code == 0, err
        return json.loads(out)

    return run


@pytest.fixture
def refused(capsys):
    """Call `driveflow data ...`, which has to fail, and return its exit code and what it says."""

    def run(*words):
        code, out, err = call(capsys, "data", *map(str, words))
        assert code, out
        return code, err

    return run


def files_of(folder):
    return {str(path): path.stat().st_mtime_ns for path in Path(folder).rglob("*") if path.is_file()}


def test_an_import_says_what_came_in_and_the_counts_add_up(may, data):
    report = data("import", may, "--as", "may")

    assert report["tag"] == "may"
    assert report["format"] == "coco"
    assert (report["frames"], report["sources"], report["boxes"], report["ignored_boxes"]) == (3, 3, 2, 0)
    assert report["classes"] == {"car": 1, "truck": 1}
    assert report["frames_labeled"] == 2
    assert report["drives"] == 3
    assert report["files_in"] == 5 == sum(report[f"files_{way}"] for way in ("kept", "quarantined", "skipped"))
    assert report["skipped"] == {"label": 1}
    assert report["quarantined"]["reasons"] == {"truncated": 1}
    (row,) = report["quarantined"]["rows"]
    assert (row["path"], row["reason"], bool(row["detail"])) == ("broken.jpg", "truncated", True)
    assert report["conflicts"] == 0
    assert report["seconds"] > 0
    assert 10 << 20 < report["peak_memory_bytes"] < 1 << 32


def test_importing_a_batch_again_changes_no_row_writes_nothing_and_says_so(may, data, here):
    first = data("import", may, "--as", "may")
    before = files_of(here / ".driveflow")

    again = data("import", may, "--as", "may")

    assert files_of(here / ".driveflow") == before
    assert again["snapshot"] == first["snapshot"]
    assert (first["tag_moved"], first["reused"]) == (True, False)
    assert (again["tag_moved"], again["reused"], again["tag_number"]) == (False, True, 1)
    same = ("frames", "boxes", "classes", "quarantined", "files_in", "drives", "conflicts")
    assert [again[name] for name in same] == [first[name] for name in same]


def test_equal_files_that_were_written_anew_are_the_same_snapshot_and_no_move(may, data):
    first = data("import", may, "--as", "may")
    for path in may.iterdir():
        os.utime(path, ns=(1, 1))

    again = data("import", may, "--as", "may")

    assert (again["reused"], again["tag_moved"]) == (False, False)
    assert again["uri"] == first["uri"]


def test_a_batch_that_grew_is_a_new_snapshot_and_the_tag_remembers_the_old(may, data):
    first = data("import", may, "--as", "may")
    write(may, {"d.jpg": picture(5)})

    second = data("import", may, "--as", "may")

    assert second["tag_number"] == 2
    assert data("show", "may")["frames"] == 4
    assert data("show", "may~1")["frames"] == data("show", "may@1")["frames"] == 3
    assert data("show", "may@1")["snapshot"].startswith(first["uri"].partition("#")[0])


def test_one_archive_is_imported_as_its_files(may, data, here):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for path in sorted(may.iterdir()):
            archive.write(path, path.name)
    write(here, {"may.zip": stream.getvalue()})

    report = data("import", "may.zip", "--as", "zipped")

    assert (report["frames"], report["boxes"], report["archives"]) == (3, 2, 1)


def test_one_label_file_is_imported_with_the_folder_it_is_in(may, data):
    other = coco([(1, "c.jpg")], [(1, 1, 1, BOX)], categories=((1, "bus"),))
    write(may, {"other.json": other})

    report = data("import", may / "other.json", "--as", "one")

    assert report["classes"] == {"bus": 1}
    assert report["frames"] == 3


def test_a_label_file_in_a_folder_of_labels_alone_finds_the_pictures_beside_it(may, data):
    write(may, {"annotations/all.json": coco([(1, "c.jpg")], [(1, 1, 1, BOX)])})
    (may / "labels.json").unlink()

    report = data("import", may / "annotations" / "all.json", "--as", "one")

    assert (report["frames"], report["boxes"]) == (3, 1)


def test_the_workspace_in_the_folder_that_is_imported_is_no_data(here, data):
    write(here, {"a.jpg": picture(1)})
    first = data("import", ".", "--as", "all")

    again = data("import", ".", "--as", "all")

    assert again["files_in"] == first["files_in"] == 1
    assert again["reused"]


def test_a_stated_split_camera_and_drive_hold_for_every_frame(may, data):
    data("import", may, "--as", "may", "--split", "holdout", "--camera", "front", "--drive", "d1")

    shown = data("show", "may")
    assert shown["splits"] == {"holdout": 3}
    assert [row["name"] for row in shown["by_camera"]["largest"]] == ["front"]
    assert [row["name"] for row in shown["by_drive"]["largest"]] == ["d1"]


def test_frames_that_the_delivery_sets_aside_are_told_with_the_rule_that_holds_them_out(here, data):
    batch = {"train/images/a.jpg": picture(1), "valid/images/b.jpg": picture(2), "test/c.jpg": picture(3)}
    write(here / "may", batch | {"valid/images/copy.jpg": picture(2)})
    rules = "holdout: {source_splits: [test, valid]}"

    told = data("import", "may", "--as", "may")["notes"]
    stated = data("import", "may", "--as", "stated", "--split", "train")["notes"]

    assert [note for note in told if rules in note] == [
        "Frames in splits of the source: test 1, valid 1. They are train here; a merge or a flow whose rules say "
        f"{rules} holds out those it names."
    ]
    assert not any("splits" in note for note in stated)
    write(here, {"rules.yaml": rules})
    assert data("merge", "may", "--as", "all", "--rules", "rules.yaml")["splits"] == {"holdout": 2, "train": 1}


def test_any_other_setting_of_a_batch_can_be_given(may, data):
    settings = ("--set", "attributes={weather: rain}", "--set", "annotated_classes=[car]", "--set", "drive=0012")

    data("import", may, "--as", "may", *settings)

    shown = data("show", "may")
    assert {row["class_name"]: row["frames_annotated"] for row in shown["classes"]} == {"car": 2, "truck": 0}
    assert [row["name"] for row in shown["by_drive"]["largest"]] == ["0012"]


def test_a_map_of_classes_decides_what_becomes_of_each(may, data, here):
    write(here, {"map.yaml": "classes: [vehicle]\naliases: {car: vehicle}\ndrop: [truck]\n"})

    report = data("import", may, "--as", "may", "--map", "map.yaml")

    assert report["classes"] == {"vehicle": 1}


def test_classes_that_the_map_does_not_know_fail_with_all_counts_and_lines_to_paste(may, refused, data, here):
    write(here, {"map.yaml": "classes: [cars]\n"})

    code, said = refused("import", may, "--as", "may", "--map", "map.yaml")

    assert code == 1
    assert "'car' (1 box), 'truck' (1 box)" in said
    block = said[said.index("aliases:") :]
    assert yaml.safe_load(block) == {"aliases": {"car": "cars", "truck": "CLASS"}}
    assert data("list") == {"tags": [], "untagged": []}
    write(here, {"map.yaml": f"classes: [cars]\n{block.replace('CLASS', 'cars')}"})
    assert data("import", may, "--as", "may", "--map", "map.yaml")["classes"] == {"cars": 2}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("classes: [car]\nalias: {a: car}\n", 'map.yaml:2: alias: unknown key "alias", did you mean "aliases"?'),
        ("classes: [car]\naliases: {a: cra}\n", 'map.yaml:2: aliases.a: no class is called "cra", did you mean "car"?'),
        ("classes: [car]\ndrop: [car]\n", "map.yaml:2: drop[0]: "),
        ("", "map.yaml is empty; to start from,"),
    ],
)
def test_a_map_with_a_mistake_is_refused_by_its_line(may, refused, here, text, said):
    write(here, {"map.yaml": text})

    code, words = refused("import", may, "--as", "may", "--map", "map.yaml")

    assert code == 2
    assert said in words


def test_labels_without_pictures_fail_and_say_what_they_listed(here, refused):
    write(here / "labels", {"a.json": coco([(1, "a.jpg"), (2, "b.jpg")], [(1, 1, 1, BOX), (2, 2, 1, BOX)])})

    code, said = refused("import", "labels", "--as", "labels")

    assert code == 1
    assert "1 label files, 2 boxes and 2 listed pictures; the pictures are missing" in said
    assert "a.jpg" in said


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("import", "nowhere", "--as", "x"), 3, "There is no file or folder"),
        (("import", "may", "--as", "May!"), 2, "'may' would do"),
        (("import", "may", "--as", "x", "--format", "cocos"), 2, "did you mean coco?"),
        (("import", "may", "--as", "x", "--format", "yolo"), 3, "holds no yolo labels"),
        (("import", "may", "--as", "x", "--annotations", "no.json"), 3, "is no file of the batch"),
        (("import", "may", "--as", "x", "--map", "no.yaml"), 3, "There is no file 'no.yaml'"),
        (("import", "may"), 2, "--as"),
        (
            ("import", "may", "--as", "x", "--set", "clok=utc"),
            2,
            'options: clok: unknown key "clok", did you mean "clock"?',
        ),
        (("import", "may", "--as", "x", "--set", "clock"), 2, "has no value"),
        (("import", "may", "--as", "x", "--split", "test"), 2, "holdout"),
        (("inspect", "nowhere"), 3, "There is no file or folder"),
        (("merge", "nothing", "--as", "x"), 3, "has a tag or an id"),
        (("show", "nothing"), 3, "has a tag or an id"),
        (("show", "nothing@3"), 3, "has a tag or an id"),
        (("show", ""), 2, "'' names none"),
        (("diff", "nothing", "nothing"), 3, "has a tag or an id"),
        (("diff", "nothing"), 2, "Missing argument"),
        (("tag", "x", "nothing"), 3, "has a tag or an id"),
        (("tag", "x"), 2, "--delete"),
        (("tag", "--delete", "x"), 3, "There is no tag 'x'"),
        (("list", "x"), 3, "There is no tag 'x'"),
        (("quarantine", "list", "x"), 3, "has a tag or an id"),
        (("quarantine", "retry", "x"), 3, "has a tag or an id"),
    ],
)
def test_exit_codes_tell_failures_apart(may, refused, words, code, said):
    left, told = refused(*words)

    assert (left, said in told) == (code, True), told


def test_a_name_nearly_right_is_told(may, data, refused):
    data("import", may, "--as", "may")

    assert "the tag nearest to it is 'may'" in refused("show", "mai")[1]


def test_inspecting_tells_what_would_be_read_and_imports_nothing(may, data, here):
    found = data("inspect", may)

    assert (found["format"], found["formats_found"]) == ("coco", ["coco"])
    assert found["files_by_kind"] == {"picture": 4, "text": 1}
    assert (found["pictures_listed"], found["pictures_found"], found["pictures_missing"]) == (2, 2, 0)
    assert (found["boxes"], found["classes"]) == (2, {"car": 1, "truck": 1})
    assert found["label_files"]["first"] == ["labels.json"]
    assert not (here / ".driveflow").exists()


def test_inspecting_counts_pictures_that_are_listed_and_missing(here, data):
    write(here / "labels", {"a.json": coco([(1, "a.jpg"), (2, "b.jpg")], [(1, 1, 1, BOX)]), "b.jpg": picture(1)})

    found = data("inspect", "labels")

    assert (found["pictures_listed"], found["pictures_found"], found["pictures_missing"]) == (2, 1, 1)
    assert found["problems"]["reasons"] == {"label_missing_picture": 1}


def test_the_map_that_inspecting_writes_imports_the_source(here, data, refused):
    names = ((1, "Car"), (2, "car"), (3, "DontCare"), (4, 'odd "name"'))
    boxes = [(number, 1, category, BOX) for number, category in enumerate((1, 2, 2, 3, 4), start=1)]
    write(here / "may", {"labels.json": coco([(1, "a.jpg")], boxes, names), "a.jpg": picture(1)})

    data("inspect", "may", "--write-map", "map.yaml")

    text = Path("map.yaml").read_text()
    assert '"Car": "car"' in text
    assert '  - "DontCare"' in text[text.index("ignore:") :]
    report = data("import", "may", "--as", "may", "--map", "map.yaml")
    assert set(report["classes"]) == {"car", 'odd "name"'}
    assert refused("inspect", "may", "--write-map", "map.yaml")[0] == 2


def test_a_source_without_classes_has_no_map(here, refused):
    write(here / "plain", {"a.jpg": picture(1)})

    assert refused("inspect", "plain", "--write-map", "map.yaml")[0] == 1


@pytest.fixture
def two(may, here, data):
    """Tags `may` and `june`, whose batches share a picture, on which they disagree."""
    labels = coco([(1, "a.jpg"), (2, "z.jpg")], [(1, 1, 1, (40, 30, 9, 9)), (2, 2, 1, BOX)], ((1, "car"), (2, "bus")))
    write(here / "june", {"labels.json": labels, "a.jpg": picture(1), "z.jpg": picture(9)})
    return data("import", may, "--as", "may"), data("import", "june", "--as", "june")


def test_a_merge_of_tags_adds_up_and_names_its_conflicts(two, data):
    report = data("merge", "may", "june", "--as", "both")

    counts = report["counts"]
    assert report["merged"] == ["may", "june"]
    went = ("frames", "frames_shared", "frames_leaked", "frames_where", "frames_sampling", "frames_quota")
    assert counts["frames_in"] == 5 == sum(counts[name] for name in went)
    ways = ("", "_united", "_overruled", "_in_review", "_leaked", "_left_out", "_filtered")
    assert counts["boxes_in"] == sum(counts[f"boxes{way}"] for way in ways)
    assert report["conflicts"] == sum(report["conflict_kinds"].values()) > 0
    example = report["conflict_examples"][0]
    assert {"left", "right", "rule", "winner", "see"} <= set(example)
    assert set(report["classes"]) == {"car", "truck", "bus"}
    assert sum(report["splits"].values()) == report["frames"]


def test_conflicts_of_a_merge_are_listed_and_the_merge_says_by_what(two, data, capsys):
    _, merged, _ = call(capsys, "data", "merge", "may", "june", "--as", "all")
    every = data("conflicts", "all")
    one = data("conflicts", "all", "--kind", "box", "--limit", "0")
    _, words, _ = call(capsys, "data", "conflicts", "all")
    _, none, _ = call(capsys, "data", "conflicts", "all", "--kind", "boxes")

    assert "`driveflow data conflicts all` lists them" in merged
    assert (every["kinds"], len(every["rows"])) == ({"box": 2}, 2)
    assert every["rows"][0]["see"].startswith("driveflow data explain ")
    assert (one["total"], one["rows"]) == (2, [])
    assert "june/a.jpg: box, left stays by rule union\n  left: batch june, box 1, class_name car, x1 40.0," in words
    assert (
        "june/a.jpg: box, right stays by rule union\n  left: batch june, box none\n  right: batch may, box 1," in words
    )
    assert none == "No conflicts of kind 'boxes'; kinds here: box.\n"


def test_merging_the_same_again_changes_nothing(two, data, here):
    first = data("merge", "may", "june", "--as", "both")
    before = files_of(here / ".driveflow")

    again = data("merge", "may", "june", "--as", "both")

    assert files_of(here / ".driveflow") == before
    assert (again["snapshot"], again["tag_moved"]) == (first["snapshot"], False)


def test_a_merge_in_another_order_is_the_same_and_moves_no_tag(two, data):
    first = data("merge", "may", "june", "--as", "both")

    other = data("merge", "june", "may", "--as", "both")

    assert (other["uri"], other["tag_moved"]) == (first["uri"], False)


def test_new_data_moves_no_frame_of_what_was_merged_before(here, data):
    rules = {"rules.yaml": "splits: {val_fraction: 0.5}\n"}
    write(here, rules | {f"old/{number}.jpg": picture(number) for number in range(12)})
    write(here, {f"a-new/{number}.jpg": picture(number) for number in range(6, 18)})
    data("import", "old", "--as", "old", "--drives", "stills")
    data("merge", "old", "--as", "all", "--rules", "rules.yaml")
    data("import", "a-new", "--as", "a-new", "--drives", "batch")

    data("merge", "a-new", "all", "--as", "all", "--rules", "rules.yaml")

    found = data("diff", "all~1", "all")
    assert found["splits"] == {}
    assert found["frames"]["removed"] == 0
    assert set(data("show", "all~1")["splits"]) == {"train", "val"}


def test_a_merge_in_order_takes_the_parts_as_they_are_named(two, data):
    report = data("merge", "may", "june", "--as", "both", "--in-order")

    other = data("merge", "june", "may", "--as", "both", "--in-order")

    assert (report["merged"], other["merged"]) == (["may", "june"], ["june", "may"])
    assert report["frames"] == other["frames"] == 4


def test_a_merge_leaves_its_parts_as_they_are(two, data):
    data("merge", "may", "june", "--as", "both")

    assert [data("show", name)["frames"] for name in ("may", "june")] == [3, 2]


def test_rules_of_a_file_decide_a_merge(two, data, here):
    write(here, {"rules.yaml": "merge: {rule: prefer, trust: [june]}\nholdout: {fraction: 0.95}\n"})

    report = data("merge", "may", "june", "--as", "both", "--rules", "rules.yaml")

    assert report["counts"]["boxes_overruled"] > 0
    assert report["splits"].get("holdout", 0) > 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("merge: {trust: [juni]}\n", 'rules.yaml:1: merge.trust[0]: no batch is called "juni", did you mean "june"?'),
        ("holdouts: {fraction: 1}\n", 'rules.yaml:1: holdouts: unknown key "holdouts", did you mean "holdout"?'),
        ("merge:\n  rule: unio\n", "rules.yaml:2: merge.rule: must be "),
    ],
)
def test_rules_with_a_mistake_are_refused_by_their_line(two, refused, here, text, said):
    write(here, {"rules.yaml": text})

    code, words = refused("merge", "may", "june", "--as", "both", "--rules", "rules.yaml")

    assert (code, said in words) == (2, True), words


def test_classes_that_differ_in_nothing_but_case_fail_a_merge(here, data, refused):
    for name, spelled in (("one", "Car"), ("two", "car")):
        write(here / name, {"l.json": coco([(1, "a.jpg")], [(1, 1, 1, BOX)], ((1, spelled),)), "a.jpg": picture(1)})
        data("import", name, "--as", name)

    code, said = refused("merge", "one", "two", "--as", "both")

    assert (code, "nothing but case" in said, "`data import --map`" in said) == (1, True, True)
    assert [row["tag"] for row in data("list")["tags"]] == ["one", "two"]


def test_an_import_that_fails_moves_no_tag(may, data, refused):
    first = data("import", may, "--as", "may")
    for path in may.glob("*.jpg"):
        path.unlink()

    assert refused("import", may, "--as", "may")[0] == 1
    assert data("list", "may")["moves"][-1]["snapshot"] == first["snapshot"]


def test_a_batch_imported_as_holdout_stays_holdout_in_a_merge(two, data):
    data("import", "june", "--as", "june", "--split", "holdout", "--drive", "june-drive")

    report = data("merge", "june", "may", "--as", "both")

    assert report["splits"]["holdout"] >= 2


def test_tags_move_and_go_and_are_listed(two, data, refused):
    data("tag", "release", "may")
    data("tag", "release", "june")
    data("tag", "release", "release~1")

    moves = data("list", "release")["moves"]
    assert [move["number"] for move in moves] == [1, 2, 3]
    assert moves[2]["snapshot"] == two[0]["snapshot"]
    listed = {row["tag"]: row for row in data("list")["tags"]}
    assert (listed["release"]["frames"], listed["june"]["boxes"]) == (3, 2)
    data("tag", "--delete", "release")
    assert refused("show", "release")[0] == 3
    assert set(listed) - {row["tag"] for row in data("list")["tags"]} == {"release"}


def test_snapshots_without_a_tag_are_listed_as_such(two, data):
    data("tag", "--delete", "june")

    assert [row["snapshot"] for row in data("list")["untagged"]] == [two[1]["snapshot"]]


def test_a_tag_goes_before_a_folder_of_its_name(two, data):
    assert Path("may").is_dir()

    assert data("show", "may")["frames"] == 3


def test_the_difference_of_two_snapshots_is_told_by_class_and_drive(may, data):
    data("import", may, "--as", "may")
    labels = coco([(1, "a.jpg"), (3, "c.jpg")], [(1, 1, 1, (5, 5, 20, 10)), (3, 3, 2, BOX)])
    write(may, {"labels.json": labels, "d.jpg": picture(5)})
    (may / "b.jpg").unlink()
    data("import", may, "--as", "may")

    found = data("diff", "may~1", "may")

    assert found["frames"] == {"added": 1, "removed": 1, "changed": 1, "unchanged": 1}
    assert found["boxes"] == {"added": 1, "removed": 1, "changed": 1, "unchanged": 0}
    assert found["by_class"] == [
        {"class_name": "car", "added": 0, "removed": 0, "changed": 1},
        {"class_name": "truck", "added": 1, "removed": 1, "changed": 0},
    ]
    assert {row["drive"]: row["boxes_added"] for row in found["by_drive"]["largest"]}["may/c.jpg"] == 1
    assert {row["class_name"]: row["looked_for_now"] for row in found["annotated"]} == {"car": 1, "truck": 1}
    (changed,) = found["examples"]["boxes_changed"]
    assert (changed["before"]["x1"], changed["after"]["x1"]) == (4.0, 5.0)


def test_a_difference_in_words_has_values_and_no_python(may, data, capsys):
    data("import", may, "--as", "may")
    far = "a_still_whose_name_is_as_long_as_those_of_exports_are_and_of_others_too.jpg"
    labels = coco([(1, "a.jpg"), (2, "b.jpg")], [(1, 1, 1, (5, 5, 20, 10))])
    write(may, {"labels.json": labels, far: picture(5)})
    data("import", may, "--as", "may")

    _, words, _ = call(capsys, "data", "diff", "may~1", "may")

    lines = [line.strip() for line in words.splitlines()]
    assert "boxes changed: may/a.jpg x1 4 -> 5, x2 24 -> 25" in lines
    assert "boxes removed: may/a.jpg truck at 30 5 39 14" in lines
    assert f"frames added: may/{far}" in lines
    assert "frames added  boxes removed  boxes changed  drive" in lines
    assert f"1              0              0  may/{far}" in lines


def test_a_box_that_only_got_another_id_did_not_change(two, data):
    data("merge", "may", "june", "--as", "both")

    found = data("diff", "may", "both")

    assert found["boxes"] == {"added": 2, "removed": 0, "changed": 0, "unchanged": 2}


def test_a_snapshot_does_not_differ_from_itself(two, data):
    found = data("diff", "may", "may")

    assert found["equal"]
    assert found["by_class"] == []
    assert found["frames"]["unchanged"] == 3


def test_a_limit_bounds_the_examples_and_not_the_counts(two, data):
    found = data("diff", "may", "june", "--limit", "1")

    assert found["frames"]["removed"] == 2
    assert len(found["examples"]["frames_removed"]) == 1


def test_what_a_snapshot_holds_is_told_by_class_batch_and_drive(two, data):
    shown = data("show", "may")

    assert shown["boxes"] == {"car": 1, "truck": 1}
    assert shown["classes"][0] == {
        "class_name": "car", "boxes": 1, "ignored": 0, "frames_with": 1, "frames_annotated": 2,
    }  # fmt: skip
    assert shown["by_batch"]["largest"] == [{"name": "may", "frames": 3, "sources": 3, "boxes": 2}]
    assert shown["by_drive"]["total"] == 3
    assert shown["sizes"] == [{"width": 64, "height": 48, "frames": 3}]
    assert shown["time"] == {"untimed": 3}


def test_a_page_shows_the_frames_with_their_boxes(two, data, here):
    data("show", "may", "--html", "may.html")

    page = Path("may.html").read_text("utf-8")
    assert page.count("data:image/jpeg;base64,") == 3
    assert "2 boxes, train" in page
    assert "may/a.jpg" in page


def test_a_quarantine_is_listed_and_filtered_by_reason(may, data):
    write(may, {"text.jpg": "not a picture"})
    data("import", may, "--as", "may")

    every, some = data("quarantine", "list", "may"), data("quarantine", "list", "may", "--reason", "truncated")

    assert (every["total"], some["total"]) == (2, 1)
    assert [row["path"] for row in some["rows"]] == ["broken.jpg"]


def test_an_import_in_words_says_where_the_boxes_went_that_it_read(here, capsys):
    boxes = [(1, 1, 1, BOX), (2, 1, 2, (200, 200, 5, 5)), (3, 2, 1, BOX), (4, 1, 2, (30, 5, 9, 9))]
    labels = coco([(1, "a.jpg"), (2, "gone.jpg")], boxes)
    write(here / "b", {"labels.json": labels, "a.jpg": picture(1), "map.yaml": "classes: [car]\ndrop: [truck]\n"})

    code, out, _ = call(capsys, "data", "import", "b", "--as", "b", "--map", "b/map.yaml")

    assert code == 0
    assert "boxes read 4 = kept 1 + dropped 1 + quarantined 2" in out


def test_a_merge_whose_rules_leave_nothing_says_so(may, data, here, capsys):
    data("import", may, "--as", "may")
    write(here, {"rules.yaml": "merge: {where: width > 9999}\n"})

    code, out, _ = call(capsys, "data", "merge", "may", "--as", "none", "--rules", "rules.yaml")

    assert code == 0
    assert "Nothing is left: the rules leave every frame out." in out


def test_a_reason_for_which_nothing_was_quarantined_is_told_with_those_there_are(may, data, capsys):
    data("import", may, "--as", "may")

    code, out, _ = call(capsys, "data", "quarantine", "list", "may", "--reason", "blurred")

    assert (code, out) == (0, "Nothing was quarantined for 'blurred'; reasons here: truncated.\n")


def test_a_file_that_is_no_frame_because_it_was_quarantined_is_told_as_such(may, data, refused):
    data("import", may, "--as", "may")

    code, words = refused("explain", "broken.jpg")

    assert code == 3
    assert "The file may/broken.jpg was quarantined: truncated (" in words


def test_options_that_would_count_for_nothing_are_refused(may, data, refused):
    data("import", may, "--as", "may")

    assert refused("show", "may", "--against", "may") == (
        2, "driveflow: --against may says what train shares with it, which is told with --leaks; give both.\n"
    )  # fmt: skip
    code, words = refused("split", "may", "--as", "cut", "--place-attribute", "zone")
    assert code == 2
    assert "--place-attribute zone counts with --by place or --by place_and_day" in words


def test_trying_a_quarantine_again_says_which_files_are_usable_now(may, data):
    write(may, {"text.jpg": "not a picture"})
    data("import", may, "--as", "may", "--camera", "rear", "--format", "coco")
    write(may, {"broken.jpg": picture(4)})

    report = data("quarantine", "retry", "may")

    assert report["retried"]["usable"] == {"total": 1, "paths": ["broken.jpg"]}
    assert (report["retried"]["still_quarantined"], report["retried"]["newly_quarantined"]) == (1, 0)
    assert [row["name"] for row in data("show", "may")["by_camera"]["largest"]] == ["rear"]
    assert data("show", "may@1")["frames"] == 3


def test_only_an_import_can_be_tried_again(two, data, refused):
    data("merge", "may", "june", "--as", "both")

    code, said = refused("quarantine", "retry", "both")

    assert (code, "is no import" in said) == (2, True)


@pytest.mark.parametrize(
    "words",
    [("import", "may", "--as", "may"), ("inspect", "may"), ("merge", "may", "june", "--as", "both"), ("list",),
     ("list", "may"), ("show", "may"), ("diff", "may", "june"), ("tag", "x", "may"), ("quarantine", "list", "may"),
     ("quarantine", "retry", "may")],
)  # fmt: skip
def test_words_for_a_person_come_where_no_json_is_asked_for(two, capsys, words):
    code, out, _ = call(capsys, "data", *words)

    assert code == 0
    assert out.strip()
    assert not out.lstrip().startswith("{")


@pytest.mark.parametrize("address", ["s3://bucket/work", "file:///somewhere/work"])
@pytest.mark.parametrize("words", [("data", "import", "may", "--as", "may"), ("runs", "list"), ("run", "flow.yaml")])
def test_an_address_is_no_workspace(may, monkeypatch, capsys, words, address):
    monkeypatch.chdir(may.parent)
    write(may.parent, {"flow.yaml": "name: roads\nclasses: [car, truck]\nbatches: [may]\n"})

    code, out, err = call(capsys, *words, "-w", address)

    assert (code, out) == (2, "")
    assert "is an address, and a workspace is a local folder" in err
    assert {path.name for path in may.parent.iterdir()} == {"may", "flow.yaml"}


def test_a_workspace_in_the_folder_that_is_imported_is_no_data(may, data):
    work = may / "work"
    first = data("import", may, "--as", "may", "-w", work)
    write(work, {"scratch/training/job/data/images/train/x.jpg": picture(9), "runs/r1/pages/p.html": "page"})

    again = data("import", may, "--as", "may", "-w", may / "nowhere" / ".." / "work")
    retried = data("quarantine", "retry", "may", "-w", work)

    assert [made["snapshot"] for made in (again, retried)] == [first["snapshot"]] * 2
    assert again["reused"]
    assert retried["counts"] == first["counts"]


def test_a_folder_in_the_workspace_is_data(may, data):
    counts = data("import", may, "--as", "may", "-w", may.parent)["counts"]

    assert counts["frames"] == 3


def test_a_workspace_spelled_in_two_ways_is_one_store(may, data):
    work, other = may.parent / "work", may / ".." / "work"
    made = data("import", may, "--as", "may", "-w", work)

    assert data("tag", "release", made["uri"], "-w", other)["uri"] == made["uri"]
    assert data("merge", "may", "release", "--as", "both", "-w", other)["uri"].startswith(f"{work.as_uri()}/store/")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--set", "as_of=2026-02-30"], "as_of: '2026-02-30' is no day of the calendar; 2026-11-29 would do"),
        (["--set", "as_of=yesterday"], "as_of: must be empty, or a day such as 2026-11-29, got 'yesterday'"),
        (["--set", "camera=front"], "--set 'camera=front': camera has an option or an argument of its own"),
        (["--drive", "one", "--drives", "folder"], "drives: 'folder' contradicts drive"),
    ],
)
def test_settings_of_an_import_are_refused_as_those_of_a_flow_file_are(may, refused, words, says):
    code, err = refused("import", may, "--as", "may", *words)

    assert (code, says in err) == (2, True)
