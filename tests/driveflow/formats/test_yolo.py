import pytest
import yaml

from driveflow.formats.detect import detect_formats
from driveflow.formats.yolo import read_yolo
from driveflow.formats.yolo_lines import YoloNames, YoloText
from tests.driveflow.formats.in_memory import InMemory, boxes, looked_for, pictures, problems

NAMES = YoloNames({0: "car", 1: "truck"}, "data.yaml")
HALF = (0.25, 0.25, 0.75, 0.75)


def _read(files, *names):
    return read_yolo(InMemory({**files, **pictures(*names)}))


def _line(text, names=NAMES):
    found = YoloText("l.txt", names)
    read = list(found.boxes(enumerate(text.splitlines(), start=1)))
    return [(box.class_name, tuple(round(value, 6) for value in box.corners)) for box in read], found


def _said(text, names=NAMES):
    [box] = YoloText("l.txt", names).boxes([(1, text)])
    return box.attributes


def _splits(labels):
    return {row["path"]: row["source_split"] for row in labels.images.to_pylist()}


@pytest.mark.parametrize(
    "text",
    [
        "0 0.5 0.5 0.5 0.5",
        "0.0 5e-1 .5 .5 .5",
        "  0\t0.5 0.5  0.5 0.5 \r\n\r\n",
        "0 .25 .25 .75 .25 .75 .75",
        "0 .25 .25 .75 .25 .75 .75 .25 .75",
        "0 .5 .25 .75 .5 .5 .75 .25 .5 .5 .5",
    ],
)
def test_boxes_oriented_boxes_and_polygons_are_read_as_their_bounding_box(text):
    found, whole = _line(text)

    assert found == [("car", HALF)]
    assert not whole.problems


def test_a_sixth_field_is_a_confidence():
    assert _said("0 .5 .5 .5 .5 .9") == {"confidence": 0.9}


def test_a_confidence_beyond_one_is_named_as_it_may_be_a_track():
    found, whole = _line("0 .5 .5 .5 .5 7")

    assert found == []
    assert [(problem.reason, problem.boxes) for problem in whole.problems] == [("label_bad_score", 1)]


@pytest.mark.parametrize("track", ["1", "12"])
def test_a_seventh_field_that_is_a_whole_number_is_a_track_and_no_corner(track):
    found, _ = _line(f"0 .5 .5 .5 .5 .9 {track}")

    assert found == [("car", HALF)]
    assert _said(f"0 .5 .5 .5 .5 .9 {track}") == {"confidence": 0.9, "track_id": track}


def test_a_triangle_that_touches_the_lower_edge_is_no_tracked_box():
    assert _line("0 .25 .25 .75 .25 .5 1")[0] == [("car", (0.25, 0.25, 0.75, 1.0))]


def test_keypoints_may_have_a_confidence_after_them():
    text, names = "0 .5 .5 .5 .5 .1 .1 1 .2 .2 1 .8", YoloNames({0: "car"}, "data.yaml", keypoint_values=6)

    assert _line(text, names)[0] == [("car", HALF)]
    assert _said(text, names) == {"confidence": 0.8}


def test_keypoints_may_have_a_confidence_and_a_track_after_them():
    text, names = "0 .5 .5 .5 .5 .1 .1 .2 .2 .8 1", YoloNames({0: "car"}, "data.yaml", keypoint_values=4)

    assert _line(text, names)[0] == [("car", HALF)]
    assert _said(text, names) == {"confidence": 0.8, "track_id": "1"}


@pytest.mark.parametrize(
    "names", ["[030, no, 1:30, 2024-01-01, 1_0]", "{0: 030, 1: no, 2: 1:30, 3: 2024-01-01, 4: 1_0}"]
)
def test_names_are_what_the_file_spells_not_the_numbers_and_days_that_yaml_makes_of_them(names):
    labels = _read({"data.yaml": f"names: {names}\ntrain: images\n", "labels/a.txt": "0 .5 .5 .5 .5\n"}, "images/a.jpg")

    assert [box[1] for box in boxes(labels)] == ["030"]
    assert looked_for(labels) == {"images/a.jpg": ("030", "no", "1:30", "2024-01-01", "1_0")}


@pytest.mark.parametrize("path", ["labels/a.txt", "Labels/val/a.txt", "obj_train_data/a.txt"])
def test_labels_none_of_which_has_a_picture_are_named_with_their_boxes(path):
    files = {"data.yaml": "names: [car]\n", path: "0 .5 .5 .5 .5\n0 .5 .5 .1 .1\n", "labels/read.txt": "See the wiki."}

    labels = _read(files, "images/b.jpg")

    assert [(problem.path, problem.reason, problem.boxes) for problem in labels.problems] == [
        (path, "label_missing_picture", 2)
    ]


@pytest.mark.parametrize(("images", "labels"), [("Images", "Labels"), ("IMAGES", "LABELS"), ("images", "labels")])
def test_folders_of_pictures_and_labels_may_be_written_large(images, labels):
    files = {"data.yaml": "names: [car]\n", f"{labels}/a.txt": "0 .5 .5 .5 .5\n"}

    assert [box[0] for box in boxes(_read(files, f"{images}/a.jpg"))] == [f"{images}/a.jpg"]


def test_files_without_names_are_not_parsed(monkeypatch):
    parsed, load = [], yaml.load
    monkeypatch.setattr(yaml, "load", lambda data, Loader: parsed.append(data) or load(data, Loader))  # noqa: N803

    labels = _read({"f/1.yaml": "place: [1.0, 2.0]\n", "data.yaml": "names: [car]\n"}, "images/a.jpg")

    assert labels.files == {"data.yaml"}
    assert parsed == [b"names: [car]\n"]


def test_settings_in_utf_16_are_read():
    files = {"x.yaml": "names: [car]\ntrain: images\n".encode("utf-16"), "labels/a.txt": "0 .5 .5 .5 .5\n"}

    assert [box[1] for box in boxes(_read(files, "images/a.jpg"))] == ["car"]


def test_a_class_without_a_name_is_not_listed():
    files = {"classes.txt": "car\n\nbus\n", "labels/a.txt": "1 .5 .5 .5 .5\n", "labels/b.txt": ""}

    labels = _read(files, "images/a.jpg", "images/b.jpg")

    assert boxes(labels) == []
    assert [problem.reason for problem in labels.problems] == ["label_class_out_of_range"]
    assert looked_for(labels)["images/b.jpg"] == ("car", "bus")


def test_a_label_file_that_may_be_of_pictures_of_two_folders_is_of_neither():
    files = {"data.yaml": "names: [car]\n", "labels/1.txt": "0 .5 .5 .5 .5\n", "labels/2.txt": "0 .5 .5 .5 .5\n"}

    labels = _read(files, "cam0/1.jpg", "cam1/1.jpg", "cam1/2.jpg")

    assert [box[0] for box in boxes(labels)] == ["cam1/2.jpg"]
    assert problems(labels) == [("labels/1.txt", None, "label_ambiguous_picture")]
    assert [problem.boxes for problem in labels.problems] == [1]


def test_a_label_file_with_a_picture_in_its_place_is_not_that_of_a_namesake():
    labels = _read({"data.yaml": "names: [car]\n", "labels/1.txt": "0 .5 .5 .5 .5\n"}, "images/1.jpg", "more/1.jpg")

    assert [box[0] for box in boxes(labels)] == ["images/1.jpg"]
    assert labels.problems == ()


def test_keypoints_after_the_box_are_left_aside():
    found, _ = _line("0 .5 .5 .5 .5 .1 .1 2 .2 .2 1", YoloNames({0: "car"}, "data.yaml", keypoint_values=6))

    assert found == [("car", HALF)]


@pytest.mark.parametrize(("value", "reason"), [("1.05", None), ("1.06", "label_not_normalised"), ("-0.05", None)])
def test_boxes_whose_values_are_slightly_over_the_edge_stay_where_they_are(value, reason):
    found, whole = _line(f"0 {value} .5 .2 .2")

    assert [problem.reason for problem in whole.problems] == ([reason] if reason else [])
    assert all(round(corners[0] + 0.1, 6) == float(value) for _, corners in found)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("0 .5 .5 .5", "label_syntax"),
        ("0 .5 .5 .5 .5 .5 .5 .5", "label_syntax"),
        ("car .5 .5 .5 .5", "label_syntax"),
        ("0.5 .5 .5 .5 .5", "label_syntax"),
        ("0 .5 nan .5 .5", "label_bad_box"),
        ("0 .5 .5 0 .5", "label_bad_box"),
        ("0 .5 .5 -.1 .5", "label_bad_box"),
        ("0 .5 .5 .5 .5 .5 .5", "label_bad_box"),
        ("0 320 240 50 50", "label_not_normalised"),
        ("2 .5 .5 .5 .5", "label_class_out_of_range"),
        ("-1 .5 .5 .5 .5", "label_class_out_of_range"),
    ],
)
def test_a_line_that_cannot_be_used_is_named_by_its_number_and_costs_no_other(text, reason):
    found, whole = _line(f"1 .5 .5 .5 .5\n\n{text}\n1 .5 .5 .5 .5")

    assert len(found) == 2
    assert [(problem.line, problem.reason, problem.boxes) for problem in whole.problems] == [(3, reason, 1)]
    assert bool(whole.broken) == (reason == "label_class_out_of_range")


def test_an_empty_file_is_a_negative_and_no_file_is_unlabeled():
    files = {"data.yaml": "names: [car]\ntrain: images", "labels/a.txt": "", "labels/b.txt": "0 .5 .5 .5 .5"}
    labels = _read(files, "images/a.jpg", "images/b.jpg", "images/c.jpg")

    assert looked_for(labels) == {"images/a.jpg": ("car",), "images/b.jpg": ("car",)}


def test_a_file_of_broken_lines_only_is_no_negative():
    labels = _read({"data.yaml": "names: [car]\ntrain: images", "labels/a.txt": "0 .5 .5 .5"}, "images/a.jpg")

    assert looked_for(labels) == {}


@pytest.mark.parametrize(
    "names", ["[car, truck]", "{1: truck, 0: car}", "{car: 0, truck: 1}", '{"0": car, "1": truck}', "\n- car\n- truck"]
)
def test_names_may_be_a_list_or_numbers_in_any_order(names):
    labels = _read({"data.yaml": f"names: {names}\ntrain: images", "labels/a.txt": "1 .5 .5 .5 .5"}, "images/a.jpg")

    assert boxes(labels) == [("images/a.jpg", "truck", *HALF)]


def test_a_gap_in_the_names_is_no_class():
    files = {"data.yaml": "names: {0: car, 2: bus}\ntrain: images", "labels/a.txt": "1 .5 .5 .5 .5"}
    labels = _read(files, "images/a.jpg")

    assert "class id 1, but data.yaml lists 2 classes (ids 0 to 2)" in labels.images["broken"][0].as_py()


@pytest.mark.parametrize("path", [".", "", "./", "../datasets/set", "/home/other/set", "C:\\data\\set"])
def test_ac_b11_path_is_honoured_wherever_the_set_was_made(path):
    files = {
        "set/data.yaml": f"path: '{path}'\ntrain: images/train\nval: images/val\ntest: images/test\nnames: [car]",
        **{f"set/labels/{split}/a.txt": "0 .5 .5 .5 .5" for split in ("train", "val", "test")},
    }
    labels = _read(files, *(f"set/images/{split}/a.jpg" for split in ("train", "val", "test")))

    assert sorted(_splits(labels).values()) == ["test", "train", "valid"]
    assert labels.boxes.num_rows == 3
    assert labels.notes == ()


def test_a_path_that_leads_nowhere_is_said_and_ignored():
    files = {"data.yaml": "path: 'D:\\sets\\gone'\ntrain: images\nnames: [car]", "labels/a.txt": "0 .5 .5 .5 .5"}
    labels = _read(files, "images/a.jpg")

    assert labels.boxes.num_rows == 1
    assert "path: 'D:\\\\sets\\\\gone' leads nowhere in this batch and is ignored." in labels.notes[0]


def test_exporters_that_climb_out_with_dots_mean_the_folder_beside():
    labels = _read({"data.yaml": "train: ../train/images\nnames: [car]"}, "train/images/a.jpg")

    assert _splits(labels) == {"train/images/a.jpg": "train"}


def test_a_split_may_be_a_list_of_folders_or_a_file_of_names():
    files = {
        "data.yaml": "train: [one/images, two/images]\nval: val.txt\nnames: [car]",
        "val.txt": "./three/images/c.jpg\n/elsewhere/set/three/images/d.jpg\n./gone.jpg\n",
    }
    labels = _read(files, "one/images/a.jpg", "two/images/b.jpg", "three/images/c.jpg", "three/images/d.jpg")

    assert _splits(labels) == {
        "one/images/a.jpg": "train",
        "two/images/b.jpg": "train",
        "three/images/c.jpg": "valid",
        "three/images/d.jpg": "valid",
    }
    assert problems(labels) == [("val.txt", 3, "label_missing_picture")]


def test_pictures_that_no_split_names_are_still_read():
    files = {"data.yaml": "train: train/images\nnames: [car]", "extra/labels/b.txt": "0 .5 .5 .5 .5"}
    labels = _read(files, "train/images/a.jpg", "extra/images/b.jpg")

    assert boxes(labels) == [("extra/images/b.jpg", "car", *HALF)]


def test_darknet_files_name_classes_and_pictures():
    files = {
        "obj.data": "classes = 2\ntrain = data/train.txt\nnames = data/obj.names\nbackup = backup/\n",
        "obj.names": "car\ntruck\n",
        "train.txt": "data/obj_train_data/a.JPG\n",
        "obj_train_data/a.txt": "1 .5 .5 .5 .5\r\n",
    }
    labels = _read(files, "obj_train_data/a.JPG")

    assert boxes(labels) == [("obj_train_data/a.JPG", "truck", *HALF)]
    assert _splits(labels) == {"obj_train_data/a.JPG": "train"}
    assert labels.files == set(files)


@pytest.mark.parametrize("home", ["", "labels/"])
def test_a_classes_file_names_classes_for_labels_beside_or_in_a_folder(home):
    files = {f"{home}classes.txt": "car\ntruck", "labels/a.txt": "1 .5 .5 .5 .5", "images/b.txt": "0 .5 .5 .5 .5"}
    labels = _read(files, "images/a.jpg", "images/b.jpg")

    assert boxes(labels) == [("images/a.jpg", "truck", *HALF), ("images/b.jpg", "car", *HALF)]


def test_the_last_images_folder_is_replaced_by_labels():
    labels = _read(
        {"data.yaml": "names: [car]\ntrain: .", "images/x/labels/a.txt": "0 .5 .5 .5 .5"}, "images/x/images/a.jpg"
    )

    assert labels.boxes.num_rows == 1


def test_a_label_file_without_a_picture_is_named_with_its_boxes():
    files = {"data.yaml": "names: [car]\ntrain: images", "labels/a.txt": "", "labels/gone.txt": "0 .5 .5 .5 .5\n"}
    labels = _read(files, "images/a.jpg")

    assert problems(labels) == [("labels/gone.txt", None, "label_missing_picture")]
    assert labels.boxes_read == 1


def test_a_label_file_that_is_no_text_is_a_problem_not_a_negative():
    labels = _read({"data.yaml": "names: [car]\ntrain: images", "labels/a.txt": b"\xff\xfe0"}, "images/a.jpg")

    assert problems(labels) == [("labels/a.txt", None, "label_syntax")]
    assert looked_for(labels) == {}


def test_two_sets_in_one_batch_keep_their_own_classes():
    files = {
        "a/data.yaml": "names: [car]\ntrain: images",
        "b/data.yaml": "names: [bus, van]\ntrain: images",
        "a/labels/1.txt": "0 .5 .5 .5 .5",
        "b/labels/1.txt": "1 .5 .5 .5 .5",
    }
    labels = _read(files, "a/images/1.jpg", "b/images/1.jpg")

    assert [row[:2] for row in boxes(labels)] == [("a/images/1.jpg", "car"), ("b/images/1.jpg", "van")]
    assert looked_for(labels)["a/images/1.jpg"] == ("car",)


def test_without_names_classes_are_called_by_the_numbers_that_are_used():
    labels = _read(
        {"labels/a.txt": "7 .5 .5 .5 .5\n2.0 .5 .5 .1 .1", "labels/b.txt": ""}, "images/a.jpg", "images/b.jpg"
    )

    assert looked_for(labels) == {"images/a.jpg": ("2", "7"), "images/b.jpg": ("2", "7")}
    assert [row[1] for row in boxes(labels)] == ["2", "7"]


def test_a_data_yaml_of_names_alone_is_known_and_names_the_classes_of_its_own_folder():
    files = {"data.yaml": "names: [car]", "old/data.yaml": "names: [bus]",
             "labels/a.txt": "0 .5 .5 .5 .5", "old/labels/b.txt": "0 .5 .5 .5 .5"}  # fmt: skip
    batch = InMemory({**files, **pictures("images/a.jpg", "old/images/b.jpg")})

    assert detect_formats(batch) == ["yolo"]
    assert looked_for(read_yolo(batch)) == {"images/a.jpg": ("car",), "old/images/b.jpg": ("bus",)}


@pytest.mark.parametrize(
    ("settings", "why"),
    [("nc: 2", "it has no list 'names'"), ("", "it has no list 'names'"), ("names: [car\nnc: 2", "line 2: expected")],
)
def test_labels_beside_a_data_yaml_that_names_no_classes_are_not_passed_over(settings, why):
    batch = InMemory({"data.yaml": settings, "labels/a.txt": "0 .5 .5 .5 .5", **pictures("images/a.jpg")})

    assert detect_formats(batch) == ["yolo"]
    (broken,) = read_yolo(batch).images["broken"].to_pylist()
    assert f"labels/a.txt:1: class id 0, but data.yaml names no classes: {why}" in broken


def test_a_list_of_names_beside_a_broken_data_yaml_names_the_classes():
    files = {"data.yaml": "names: [car", "classes.txt": "van", "labels/a.txt": "0 .5 .5 .5 .5"}

    assert looked_for(_read(files, "images/a.jpg")) == {"images/a.jpg": ("van",)}


@pytest.mark.parametrize("names", ["[car, *a59]", "{1: *a59, 0: car}"])
def test_names_that_are_lists_of_lists_are_no_classes_and_are_never_spelled_out(names):
    doubled = "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 60))
    labels = _read({"data.yaml": f"nc: 2\na0: &a0 [x, x]\n{doubled}names: {names}", "labels/a.txt": ""}, "images/a.jpg")

    assert looked_for(labels) == {"images/a.jpg": ("car",)}


@pytest.mark.parametrize(("code", "taken_for"), [("cp1252", "Windows-1252"), ("utf-16", "UTF-16"), ("utf-8-sig", "")])
def test_names_as_windows_writes_them_keep_their_letters_and_what_they_were_taken_for_is_told(code, taken_for):
    labels = _read({"classes.txt": "Fußgänger\r\nAuto\r\n".encode(code), "a.txt": "0 .5 .5 .5 .5"}, "a.jpg")

    assert looked_for(labels) == {"a.jpg": ("Fußgänger", "Auto")}
    assert labels.notes == ((f"classes.txt is no UTF-8 text and is read as {taken_for}.",) if taken_for else ())


def test_the_last_letter_of_names_as_windows_writes_them_is_no_character_that_was_cut():
    labels = _read({"classes.txt": "Auto\nMenü".encode("cp1252"), "a.txt": "0 .5 .5 .5 .5"}, "a.jpg")

    assert looked_for(labels) == {"a.jpg": ("Auto", "Menü")}
    assert labels.notes == ("classes.txt is no UTF-8 text and is read as Windows-1252.",)


def _tracked(*texts):
    """Return classes, scores and attributes of the boxes of pictures with these labels, and the notes."""
    labels = {f"labels/{number}.txt": text for number, text in enumerate(texts)}
    found = _read({"data.yaml": "names: [car]", **labels}, *(f"images/{number}.jpg" for number in range(len(texts))))
    return [(row["score"], row["attributes"]) for row in found.boxes.to_pylist()], found.notes


@pytest.mark.parametrize("tracks", [(0, 1), (0, 7), (12, 3)])
def test_numbers_after_boxes_are_the_tracks_that_cvat_writes_there(tracks):
    first, second = (f"0 .5 .5 .5 .5 {track}\n" for track in tracks)

    found, notes = _tracked(first, f"{first}{second}0 .5 .5 .5 .5\n")

    tracked = [(None, f'{{"track_id":"{track}"}}') for track in (tracks[0], *tracks)]
    assert found == [*tracked, (None, "{}")]
    assert notes == ("data.yaml: whole numbers after its boxes are read as tracks, not as confidences.",)


@pytest.mark.parametrize("texts", [("0 .5 .5 .5 .5 1", "0 .5 .5 .5 .5 .9"), ("0 .5 .5 .5 .5 1", "0 .5 .5 .5 .5 1")])
def test_a_confidence_of_one_stays_a_confidence_among_others(texts):
    found, notes = _tracked(*texts)

    assert [attributes for _, attributes in found] == ["{}", "{}"]
    assert found[0][0] == 1.0
    assert notes == ()


def test_two_boxes_of_one_picture_have_no_track_in_common():
    found, _ = _tracked("0 .5 .5 .5 .5 0\n0 .4 .4 .5 .5 0\n")

    assert found == [(0.0, "{}"), (0.0, "{}")]


def test_roboflow_names_the_classes_of_darknet_in_a_list_of_its_own():
    names = "head\nhelmet\n"
    files = {"train/_darknet.labels": names, "train/a.txt": "1 .5 .5 .5 .5", "valid/_darknet.labels": names,
             "valid/b.txt": ""}  # fmt: skip
    batch = InMemory(files | pictures("train/a.jpg", "valid/b.jpg"))

    found = read_yolo(batch)

    assert detect_formats(batch) == ["yolo"]
    assert boxes(found) == [("train/a.jpg", "helmet", *HALF)]
    assert looked_for(found) == dict.fromkeys(("train/a.jpg", "valid/b.jpg"), ("head", "helmet"))
    assert found.files == set(files)


@pytest.mark.parametrize(("annotations", "class_name"), [("other.yaml", "bus"), ("data.yaml", "car"), ("", "car")])
def test_of_two_lists_of_classes_the_stated_one_counts_and_else_a_note_names_both(annotations, class_name):
    files = {"data.yaml": "names: [car, bus]\ntrain: images", "other.yaml": "names: [bus, car]\ntrain: images",
             "labels/a.txt": "0 .5 .5 .5 .5"}  # fmt: skip

    found = read_yolo(InMemory(files | pictures("images/a.jpg")), annotations)

    assert boxes(found) == [("images/a.jpg", class_name, *HALF)]
    assert [note[:27] for note in found.notes] == ([] if annotations else ["data.yaml and other.yaml na"])


def test_sets_of_other_folders_keep_their_classes_whatever_is_stated():
    files = {"a/data.yaml": "names: [car]", "b/data.yaml": "names: [bus]", "a/labels/a.txt": "0 .5 .5 .5 .5",
             "b/labels/b.txt": "0 .5 .5 .5 .5"}  # fmt: skip

    found = read_yolo(InMemory(files | pictures("a/images/a.jpg", "b/images/b.jpg")), "b")

    assert boxes(found) == [("a/images/a.jpg", "car", *HALF), ("b/images/b.jpg", "bus", *HALF)]
    assert found.notes == ()
