import json

import pytest

from driveflow.formats.detect import detect_format, detect_formats
from driveflow.formats.sniff import Sniffer
from driveflow.formats.voc import read_voc, voc_files
from tests.driveflow.formats.in_memory import InMemory, boxes, looked_for, pictures, problems
from tests.driveflow.formats.on_disk import OnDisk, assert_same_boxes, count_in, found_rows, truth_rows
from tests.shared_data import shared_data


def thing(name="car", corners=(11, 21, 30, 40), more=""):
    x1, y1, x2, y2 = corners
    box = f"<bndbox><xmin>{x1}</xmin><ymin>{y1}</ymin><xmax>{x2}</xmax><ymax>{y2}</ymax></bndbox>"
    return f"<object><name>{name}</name>{more}{box}</object>"


def voc(*things, filename="a.jpg", size="<size><width>100</width><height>80</height><depth>3</depth></size>"):
    return f"<annotation>\n<filename>{filename}</filename>{size}\n" + "\n".join(things) + "\n</annotation>"


def read(content, *names, path="a.xml"):
    return read_voc(InMemory(pictures(*(names or ("a.jpg",))) | {path: content}))


def attributes(labels):
    return [json.loads(text) for text in labels.boxes["attributes"].to_pylist()]


def test_first_corners_count_from_one_and_last_ones_include_their_pixel():
    assert boxes(read(voc(thing()))) == [("a.jpg", "car", 10, 20, 30, 40)]


def test_a_box_of_one_pixel_has_an_area():
    assert boxes(read(voc(thing(corners=(1, 1, 1, 1))))) == [("a.jpg", "car", 0, 0, 1, 1)]


def test_corners_may_be_fractions_of_pixels():
    assert boxes(read(voc(thing(corners=(11.5, 21.25, 30.75, 40))))) == [("a.jpg", "car", 10.5, 20.25, 30.75, 40)]


def test_a_corner_at_zero_stays_on_the_edge_and_is_told():
    labels = read(voc(thing(corners=(0, 5, 30, 40))))

    assert boxes(labels) == [("a.jpg", "car", 0, 4, 30, 40)]
    assert "1 VOC boxes begin at 0" in labels.notes[0]


@pytest.mark.parametrize("corners", [(30, 21, 11, 40), ("nan", 1, 2, 3), ("", 1, 2, 3), (1, 1, "inf", 3)])
def test_corners_without_an_area_cost_one_box(corners):
    labels = read(voc(thing(), thing(corners=corners)))

    assert len(boxes(labels)) == 1
    assert problems(labels) == [("a.xml", 4, "label_bad_box")]
    assert labels.boxes_read == 2


def test_a_picture_all_of_whose_objects_are_useless_is_no_empty_one():
    assert looked_for(read(voc(thing(corners=(3, 3, 1, 1))))) == {}


def test_a_file_without_objects_is_a_labeled_picture_without_objects():
    files = pictures("a.jpg", "b.jpg") | {"a.xml": voc(), "b.xml": voc(thing(), filename="b.jpg")}

    assert looked_for(read_voc(InMemory(files))) == {"a.jpg": ("car",), "b.jpg": ("car",)}


def test_what_is_not_said_of_an_object_is_not_made_up():
    assert attributes(read(voc(thing()))) == [{}]


def test_what_is_said_of_an_object_is_kept():
    more = (
        "<pose>Left</pose><truncated>1</truncated><difficult>0</difficult><occluded>1</occluded><trackid>7</trackid>"
        "<actions><running>1</running><walking>0</walking></actions>"
        "<attributes><attribute><name>colour</name><value>red</value></attribute></attributes>"
    )

    assert attributes(read(voc(thing(more=more)))) == [
        {
            "pose": "Left",
            "truncated": True,
            "difficult": False,
            "occluded": True,
            "track_id": "7",
            "actions": ["running"],
            "colour": "red",
        }
    ]


def test_an_unspecified_pose_says_nothing():
    assert attributes(read(voc(thing(more="<pose>Unspecified</pose>")))) == [{}]


@pytest.mark.parametrize(
    ("turn", "corners", "said"),
    [
        ("90.0", (20, 15, 30, 45), {"rotation_deg": 90.0}),
        ("-270", (20, 15, 30, 45), {"rotation_deg": 90.0}),
        ("0.0", (10, 25, 40, 35), {"rotation": "0.0"}),
    ],
)
def test_a_turn_that_cvat_notes_beside_the_box_makes_it_the_box_around(turn, corners, said):
    note = f"<attributes><attribute><name>rotation</name><value>{turn}</value></attribute></attributes>"

    labels = read(voc(thing(corners=(11, 26, 40, 35), more=note)))

    assert boxes(labels) == [("a.jpg", "car", *corners)]
    assert attributes(labels) == [said]


def test_a_box_without_an_area_is_none_however_it_is_turned():
    note = "<attributes><attribute><name>rotation</name><value>45</value></attribute></attributes>"

    labels = read(voc(thing(corners=(41, 26, 10, 35), more=note), thing(corners=(11, 26, 10, 35), more=note)))

    assert boxes(labels) == []
    assert [problem.reason for problem in labels.problems] == ["label_bad_box"] * 2


def test_parts_are_no_boxes_of_their_own():
    head = f"<part>{thing('head', (12, 22, 15, 25))}</part>".replace("<object>", "").replace("</object>", "")
    labels = read(voc(thing("person", more=head)))

    assert boxes(labels) == [("a.jpg", "person", 10, 20, 30, 40)]


@pytest.mark.parametrize(
    "size", ["", "<size><width>0</width><height>0</height></size>", "<size><width>x</width></size>"]
)
def test_a_size_that_is_missing_or_zero_is_not_stated(size):
    image = read(voc(thing(), size=size)).images.to_pylist()[0]

    assert (image["width"], image["height"]) == (None, None)


@pytest.mark.parametrize("filename", ["a", "a.png", "", "C:\\work\\imgs\\a.jpg", "/home/me/other.jpg", "./a.jpg"])
def test_a_wrong_file_name_falls_back_on_the_name_of_the_annotation(filename):
    labels = read(voc(thing(), filename=filename), "JPEGImages/a.jpg", path="Annotations/a.xml")

    assert boxes(labels) == [("JPEGImages/a.jpg", "car", 10, 20, 30, 40)]


def test_a_stale_file_name_does_not_take_the_boxes_to_another_picture():
    labels = read(voc(thing(), filename="b.jpg"), "a.jpg", "b.jpg")

    assert [row[0] for row in boxes(labels)] == ["a.jpg"]
    assert "1 VOC files say another picture's name" in labels.notes[0]


def test_of_pictures_that_differ_in_their_extension_the_one_that_the_file_says_is_meant():
    labels = read(voc(thing(), filename="a.png"), "a.jpg", "a.png")

    assert boxes(labels) == [("a.png", "car", 10, 20, 30, 40)]


def test_an_annotation_with_a_name_of_its_own_speaks_of_the_picture_it_names():
    assert [row[0] for row in boxes(read(voc(thing()), "images/a.jpg", path="labels/8f3c.xml"))] == ["images/a.jpg"]


def test_equal_names_in_two_folders_go_to_the_nearer_picture():
    files = pictures("front/images/1.jpg", "side/images/1.jpg")
    files |= {"front/annotations/1.xml": voc(thing(), filename="1.jpg")}

    assert [row[0] for row in boxes(read_voc(InMemory(files)))] == ["front/images/1.jpg"]


def test_a_missing_and_an_ambiguous_picture_are_problems_with_their_boxes():
    files = pictures("x/b.jpg", "y/b.jpg")
    files |= {"a.xml": voc(thing(), thing()), "b.xml": voc(thing(), filename="b.jpg")}
    labels = read_voc(InMemory(files))

    assert [(problem.path, problem.reason, problem.boxes) for problem in labels.problems] == [
        ("a.xml", "label_missing_picture", 2),
        ("b.xml", "label_ambiguous_picture", 1),
    ]


def test_image_sets_give_the_splits_and_list_what_is_unlabeled():
    files = pictures("d/JPEGImages/a.jpg", "d/JPEGImages/b.jpg", "d/JPEGImages/c.jpg") | {
        "d/Annotations/a.xml": voc(thing()),
        "d/Annotations/b.xml": voc(thing(), filename="b.jpg"),
        "d/ImageSets/Main/train.txt": "a\nb\n",
        "d/ImageSets/Main/val.txt": "b\r\n",
        "d/ImageSets/Main/test.txt": "c\n",
        "d/ImageSets/Main/car_train.txt": "a -1\n",
    }
    labels = read_voc(InMemory(files))

    splits = {row["path"][-5]: row["source_split"] for row in labels.images.to_pylist()}
    assert splits == {"a": "train", "b": "valid", "c": "test"}
    assert set(looked_for(labels)) == {"d/JPEGImages/a.jpg", "d/JPEGImages/b.jpg"}
    assert "d/ImageSets/Main/car_train.txt" in labels.files


def test_a_broken_file_is_named_with_its_line_and_its_objects():
    labels = read("<annotation>\n<object><name>car</name></object>\n<object>")

    assert problems(labels) == [("a.xml", 3, "label_syntax")]
    assert labels.boxes_read == 2


def test_entities_are_refused():
    bomb = (
        '<!DOCTYPE a [<!ENTITY x "ha"><!ENTITY y "&x;&x;">]><annotation><object><name>&y;</name></object></annotation>'
    )

    assert problems(read(bomb)) == [("a.xml", None, "label_syntax")]


def test_names_that_only_say_ignore_are_regions_and_not_looked_for():
    labels = read(voc(thing(), thing("ignore")))

    assert labels.boxes["ignore"].to_pylist() == [False, True]
    assert looked_for(labels) == {"a.jpg": ("car",)}


def test_a_file_in_utf_16_is_told_by_its_content_too():
    content = ('<?xml version="1.0" encoding="UTF-16"?>' + voc(thing(name="für"))).encode("utf-16")

    assert voc_files(Sniffer(InMemory({"a.xml": content}))) == ["a.xml"]
    assert boxes(read(content)) == [("a.jpg", "für", 10, 20, 30, 40)]


def test_only_what_is_named_as_annotations_is_read():
    files = InMemory(pictures("a.jpg") | {"one/a.xml": voc(thing()), "two/a.xml": voc(thing("bus"))})

    assert [row[1] for row in boxes(read_voc(files, "two"))] == ["bus"]
    assert [row[1] for row in boxes(read_voc(files, "one/a.xml"))] == ["car"]


@pytest.mark.parametrize(
    ("content", "is_voc"),
    [
        (voc(thing()), True),
        (voc(), True),
        (voc(thing(more="<polygon><x1>1</x1></polygon>")), True),
        ("<annotation><filename>a.jpg</filename><imagesize><nrows>1</nrows></imagesize></annotation>", False),
        ("<annotations><image/></annotations>", False),
        ("<annotation/>", False),
        ("no xml <annotation><size/>", False),
    ],
)
def test_annotations_are_told_by_content(content, is_voc):
    assert bool(voc_files(Sniffer(InMemory({"x/any.xml": content})))) == is_voc


def test_the_truth_comes_back_to_half_a_pixel_as_voc_rounds_to_whole_ones():
    home = shared_data("fmt_same_truth")
    labels = read_voc(OnDisk(home / "voc"))

    truth = json.loads((home / "truth.json").read_text())
    assert_same_boxes(found_rows(labels), truth_rows(truth["images"]), within_px=0.51)
    assert len(looked_for(labels)) == 13
    assert set(next(iter(looked_for(labels).values()))) == set(truth["classes"])
    assert labels.problems == ()


def test_the_pascal_fixture_has_its_two_objects_and_its_unlabeled_test_picture():
    home = shared_data("fmt_datumaro") / "voc_dataset" / "voc_dataset1"
    labels = read_voc(OnDisk(home))

    assert boxes(labels) == [
        ("JPEGImages/2007_000001.jpg", "cat", 0, 1, 3, 4),
        ("JPEGImages/2007_000001.jpg", "person", 3, 4, 6, 7),
    ]
    assert attributes(labels)[1] == {
        "actions": ["other", "phoning", "reading", "ridinghorse", "takingphoto", "walking"]
    }
    splits = {row["path"]: row["source_split"] for row in labels.images.to_pylist()}
    assert splits == {"JPEGImages/2007_000001.jpg": "train", "JPEGImages/2007_000002.jpg": "test"}


def test_class_names_keep_their_blanks_commas_and_bare_numbers():
    home = shared_data("det_aura_bike")
    labels = read_voc(OnDisk(home))

    assert labels.boxes_read == labels.boxes.num_rows == count_in(home, "**/*.xml", rb"<object>") == 55
    names = set(labels.boxes["class_name"].to_pylist())
    assert {"30", "31", "35", "42"} <= names
    assert any(" " in name for name in names)
    assert len(looked_for(labels)) == 8


def test_two_voc_folders_of_one_batch_have_one_list_of_classes():
    assert len(set(looked_for(read_voc(OnDisk(shared_data("det_aura_bike")))).values())) == 1


def test_real_pascal_files_without_pictures_are_all_reported():
    home = shared_data("eval_padilla") / "toyexample" / "gts_vocpascal_format"
    labels = read_voc(OnDisk(home))

    assert {problem.reason for problem in labels.problems} == {"label_missing_picture"}
    assert labels.boxes_read == count_in(home, "*.xml", rb"<object>")


def test_real_pascal_files_have_the_boxes_of_the_same_set_in_coco():
    home = shared_data("eval_padilla") / "toyexample"
    files = OnDisk(home, "gts_vocpascal_format/*.xml")
    stems = [path.rpartition("/")[2][:-4] for path in files.paths]
    batch = InMemory(pictures(*(f"{stem}.jpg" for stem in stems)) | {path: files.read(path) for path in files.paths})
    coco = json.loads(next(home.glob("gts_coco_format/*")).read_text())
    names = {image["id"]: image["file_name"].rpartition(".")[0] + ".jpg" for image in coco["images"]}
    # whoever made the COCO file took the first corners over without counting them from 0
    expected = sorted(
        (names[entry["image_id"]], x - 1, y - 1, x + w, y + h)
        for entry in coco["annotations"]
        for x, y, w, h in [entry["bbox"]]
    )

    assert sorted((path, *corners) for path, _, *corners in boxes(read_voc(batch))) == expected


def test_voc_sets_are_found_as_voc():
    assert detect_format(OnDisk(shared_data("det_aura_bike"))) == "voc"
    assert detect_formats(OnDisk(shared_data("fmt_datumaro") / "voc_dataset")) == ["voc"]


@pytest.mark.parametrize(
    ("corners", "told"),
    [
        ((30, 40, 11, 21), "xmin 30, ymin 40, xmax 11, ymax 21"),
        ((11, "nan", 30, ""), "ymin nan, xmax 30, ymax missing"),
    ],
)
def test_a_box_without_an_area_is_told_with_its_corners(corners, told):
    ((_, reason, detail, _),) = [(item.path, item.reason, item.detail, item.line) for item in
                                 read(voc(thing(corners=corners))).problems]  # fmt: skip

    assert reason == "label_bad_box"
    assert detail.endswith(f"{told}: no box with an area")


@pytest.mark.parametrize("said", ["IMG_1.JPG", "http://host/set/img%5F1.jpg?size=2", "other/img_1.png"])
def test_a_picture_that_is_missing_is_told_with_the_one_that_is_called_nearly_so(said):
    (problem,) = read(voc(thing(), filename=said), "set/Img_1.jpeg", path="labels/x.xml").problems

    assert problem.reason == "label_missing_picture"
    assert problem.detail == f"{said!r} is no file of this batch; 'set/Img_1.jpeg' is called nearly so"


def test_masks_of_segmentation_are_part_of_the_labels_and_no_pictures():
    names = ("JPEGImages/a.jpg", "SegmentationClass/a.png", "SegmentationObject/a.png")
    labels = read(voc(thing()), *names, path="Annotations/a.xml")

    assert {"SegmentationClass/a.png", "SegmentationObject/a.png"} < labels.files
    assert list(looked_for(labels)) == ["JPEGImages/a.jpg"]
    assert labels.notes == ("2 masks of segmentation are no pictures of a camera and are not read.",)
