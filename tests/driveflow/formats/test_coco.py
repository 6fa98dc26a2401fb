import json

import pytest

from driveflow.errors import NotFoundError
from driveflow.formats.coco import read_coco
from tests.driveflow.formats.in_memory import InMemory, boxes, looked_for, pictures, problems

CATEGORIES = [{"id": 3, "name": "car"}, {"id": 90, "name": "truck"}]


def _image(key=1, name="a.jpg", **more):
    return {"id": key, "file_name": name, "width": 64, "height": 48, **more}


def _box(key=1, image=1, category=3, bbox=(1, 2, 3, 4), **more):
    return {"id": key, "image_id": image, "category_id": category, "bbox": bbox, **more}


def _read(images, annotations=(), *names, path="labels.json", categories=CATEGORIES, **more):
    document = {"images": images, "annotations": list(annotations), "categories": categories, **more}
    return read_coco(InMemory({path: json.dumps(document), **pictures(*(names or ("a.jpg",)))}))


def _details(labels):
    return [problem.detail for problem in labels.problems]


def test_category_ids_may_have_gaps():
    assert boxes(_read([_image()], [_box(category=90)])) == [("a.jpg", "truck", 1, 2, 4, 6)]


@pytest.mark.parametrize(("image", "annotation"), [("7", 7), (7, "7"), (7.0, 7), ("x1", "x1")])
def test_ids_may_be_text_or_numbers(image, annotation):
    assert _read([_image(image)], [_box(image=annotation)]).boxes.num_rows == 1


def test_an_annotation_with_id_0_counts():
    assert _read([_image()], [_box(0)]).boxes["own_id"].to_pylist() == ["0"]


def test_an_id_that_two_annotations_have_is_none():
    assert _read([_image()], [_box(5), _box(5), _box(6)]).boxes["own_id"].to_pylist() == ["", "", "6"]


def test_crowds_and_ignored_boxes_are_ignore_regions_and_missing_flags_are_not():
    annotations = [_box(1, iscrowd=1), _box(2, ignore=True), _box(3, iscrowd=None), _box(4)]

    assert _read([_image()], annotations).boxes["ignore"].to_pylist() == [True, True, False, False]


def test_tracks_scores_and_attributes_are_kept():
    labels = _read([_image()], [_box(track_id=9, score=0.5, attributes={"occluded": True})])

    assert json.loads(labels.boxes["attributes"][0].as_py()) == {"occluded": True, "track_id": 9}
    assert labels.boxes["score"].to_pylist() == [0.5]


@pytest.mark.parametrize("bbox", ["[1, 2, 0, 4]", "[1, 2, 3, -4]", "[NaN, 2, 3, 4]", "[1, 2, 3]", "[1, 2, 3, 1e999]"])
def test_a_box_that_is_none_is_named_and_costs_no_other(bbox):
    text = json.dumps({"images": [_image()], "annotations": [_box(1), _box(2, bbox="BBOX")], "categories": CATEGORIES})
    labels = read_coco(InMemory({"l.json": text.replace('"BBOX"', bbox), "a.jpg": b""}))

    assert boxes(labels) == [("a.jpg", "car", 1, 2, 4, 6)]
    assert problems(labels) == [("l.json", None, "label_bad_box")]
    assert "annotation 2" in _details(labels)[0]
    assert labels.boxes_read == 2


def test_entries_of_the_wrong_shape_are_named_by_their_place():
    labels = _read([_image(), {"id": [], "file_name": "b.jpg"}], [_box(), _box(bbox="none"), 7], "a.jpg", "b.jpg")

    assert labels.boxes.num_rows == 1
    assert [reason for _, _, reason in problems(labels)] == ["label_syntax"] * 3
    assert [detail.partition(":")[0] for detail in sorted(_details(labels))] == [
        "annotations[1]",
        "annotations[2]",
        "images[1]",
    ]


def test_polygons_without_a_box_get_theirs():
    annotation = {"id": 1, "image_id": 1, "category_id": 3, "segmentation": [[1, 2, 4, 2, 4, 6]]}
    flat = {**annotation, "id": 2, "segmentation": [1, 2, 4, 2, 4, 6]}

    assert boxes(_read([_image()], [annotation, flat])) == [("a.jpg", "car", 1, 2, 4, 6)] * 2


def test_files_without_boxes_are_left_aside_and_that_is_said():
    labels = _read([_image()], [{"id": 1, "image_id": 1, "caption": "a street"}])

    assert labels.images.num_rows == 0
    assert labels.notes == ("labels.json holds no boxes and is not read as labels.",)


@pytest.mark.parametrize(
    "name", ["sub/a.jpg", "sub\\a.jpg", "./sub/a.jpg", "http://host/set/sub/a.jpg", "/home/x/sub/a.jpg"]
)
def test_file_names_lead_to_their_picture_however_they_are_spelled(name):
    labels = _read([_image(name=name)], [_box()], "images/sub/a.jpg", "images/other/a.jpg")

    assert boxes(labels)[0][0] == "images/sub/a.jpg"


def test_names_in_two_unicode_forms_are_one_name():
    labels = _read([_image(name="caf\u00e9.jpg")], [_box()], "cafe\u0301.jpg")

    assert labels.boxes.num_rows == 1


def test_a_picture_of_another_split_is_not_taken_for_a_missing_one():
    labels = _read([_image(name="train/a.jpg")], [_box()], "val/a.jpg")

    assert labels.boxes.num_rows == 0
    assert problems(labels) == [("labels.json", None, "label_missing_picture")]
    assert labels.boxes_read == 1


def test_a_name_that_fits_two_pictures_goes_by_the_split_of_the_label_file():
    names = ("images/train/a.jpg", "images/val/a.jpg")
    labels = _read([_image()], [_box()], *names, path="annotations/instances_val2017.json")

    assert [(row["path"], row["source_split"]) for row in labels.images.to_pylist()] == [("images/val/a.jpg", "valid")]


def test_a_name_that_fits_two_pictures_and_nothing_decides_is_quarantined():
    labels = _read([_image()], [_box()], "x/a.jpg", "y/a.jpg")

    assert labels.boxes.num_rows == 0
    assert "may be x/a.jpg or y/a.jpg" in _details(labels)[0]


def test_an_image_id_that_two_files_have_says_nothing_about_either():
    labels = _read(
        [_image(1, "a.jpg"), _image(1, "b.jpg"), _image(2, "c.jpg")], [_box(), _box(2, 2)], "a.jpg", "b.jpg", "c.jpg"
    )

    assert [row[0] for row in boxes(labels)] == ["c.jpg"]
    assert set(looked_for(labels)) == {"c.jpg"}
    assert problems(labels) == [("labels.json", None, "label_ambiguous_picture")]
    assert labels.boxes_read == 2


def test_a_picture_listed_twice_has_two_listings():
    labels = _read([_image(1), _image(2)], [_box(1, 1), _box(2, 2)])

    assert labels.boxes["listing"].to_pylist() == [0, 1]


def test_an_annotation_of_no_image_is_named_once_for_all_of_it():
    labels = _read([_image()], [_box(1, 99), _box(2, 99)])

    assert [(problem.reason, problem.boxes) for problem in labels.problems] == [("label_unknown_picture", 2)]


def test_ac_b13_a_category_that_the_file_does_not_list_breaks_its_picture():
    labels = _read([_image(), _image(2, "b.jpg")], [_box(category=4), _box(2, 2)], "a.jpg", "b.jpg")

    broken = dict(zip(labels.images["path"].to_pylist(), labels.images["broken"].to_pylist(), strict=True))
    assert broken["b.jpg"] == ""
    assert "labels.json: annotation 1: category id 4, but this file lists 2 categories (ids 3, 90" in broken["a.jpg"]


def test_a_listed_picture_without_annotations_is_a_negative_and_an_unlisted_one_is_unlabeled():
    labels = _read([_image(), _image(2, "b.jpg")], [_box()], "a.jpg", "b.jpg", "c.jpg")

    assert looked_for(labels) == {"a.jpg": ("car", "truck"), "b.jpg": ("car", "truck")}


@pytest.mark.parametrize(("path", "looked"), [("image_info_test.json", False), ("night.json", True)])
def test_a_mere_list_of_images_is_unlabeled(path, looked):
    assert bool(looked_for(_read([_image()], path=path))) == looked


def test_videos_and_frame_numbers_are_hints_of_drives():
    images = [
        _image(1, "a.jpg", video_id=5, frame_id=0),
        _image(2, "b.jpg", video_id=6),
        _image(3, "c.jpg", frame_id=3),
    ]
    labels = _read(images, [_box()], "a.jpg", "b.jpg", "c.jpg", videos=[{"id": 5, "name": "clip"}])

    rows = [(row["drive"], row["sequence"]) for row in labels.images.to_pylist()]
    assert rows == [("clip", "labels.json"), ("6", ""), ("", "labels.json")]


def test_a_file_cut_short_is_named_with_its_line_and_labels_nothing():
    text = json.dumps({"images": [_image()], "annotations": [_box()]}, indent=1)[:-20]
    labels = read_coco(InMemory({"l.json": text, "a.jpg": b""}))

    ((path, line, reason),) = problems(labels)
    assert (path, reason) == ("l.json", "label_syntax")
    assert line > 10
    assert labels.images.num_rows == 0


def test_text_that_utf8_cannot_hold_survives():
    text = json.dumps({"images": [_image()], "annotations": [_box()], "categories": [{"id": 3, "name": "X"}]})
    labels = read_coco(InMemory({"l.json": text.replace('"X"', '"car\\ud800"'), "a.jpg": b""}))

    assert labels.boxes["class_name"].to_pylist() == ["car\\ud800"]


def test_a_stated_file_that_is_not_there_is_an_error():
    with pytest.raises(NotFoundError, match=r"'x.json' is no file of the batch"):
        read_coco(InMemory({"a.jpg": b""}), "x.json")


@pytest.mark.parametrize("key", [2**53 + 1, 2**62, "07"])
def test_an_id_that_no_plain_number_holds_is_kept_as_it_is(key):
    labels = _read([_image(key), _image(7, "b.jpg")], [_box(key, image=key)], "a.jpg", "b.jpg")

    assert (labels.boxes["path"].to_pylist(), labels.boxes["own_id"].to_pylist()) == (["a.jpg"], [str(key)])


def test_a_file_of_nothing_but_numbers_is_read_like_any_other():
    images = [_image(1), _image(2, "b.jpg")]
    plain = [_box(1, iscrowd=1), _box(1.0, bbox=(1.5, 2, 3, 4)), _box(3, image=2, category=90), _box(4, image=3)]
    patient = _read(images, [*plain, _box("text", bbox=(9, 9, 0, 0))], "a.jpg", "b.jpg")

    labels = _read(images, [*plain, _box(5, bbox=(9, 9, 0, 0))], "a.jpg", "b.jpg")

    assert labels.boxes.to_pylist() == patient.boxes.to_pylist()
    assert [problem.reason for problem in labels.problems] == [problem.reason for problem in patient.problems]


@pytest.mark.parametrize(
    ("rotation", "corners"), [(90.0, (20, 10, 40, 50)), (450, (20, 10, 40, 50)), (180, (10, 20, 50, 40))]
)
def test_a_box_that_cvat_says_is_turned_is_the_box_around_it(rotation, corners):
    attributes = {"occluded": False, "rotation": rotation}
    labels = _read([_image()], [_box(bbox=(10, 20, 40, 20), attributes=attributes)])

    assert boxes(labels) == [("a.jpg", "car", *corners)]
    assert json.loads(labels.boxes["attributes"][0].as_py()) == {"occluded": False, "rotation_deg": rotation % 360}


@pytest.mark.parametrize(
    "attributes", [{"rotation": 90.0}, {"occluded": True, "rotation": 0}, {"occluded": 1, "rotation": "90"}]
)
def test_a_rotation_that_is_none_of_cvats_is_an_attribute_like_others(attributes):
    labels = _read([_image()], [_box(attributes=attributes)])

    assert boxes(labels) == [("a.jpg", "car", 1, 2, 4, 6)]
    assert json.loads(labels.boxes["attributes"][0].as_py()) == attributes


def test_scores_that_are_no_probabilities_are_told():
    labels = _read([_image()], [_box(1, score=7.5), _box(2, score=-3.0)])

    assert "COCO scores reach from -3 to 7.5: no probabilities." in labels.notes


def _roboflow(annotations):
    categories = [{"id": number, "name": name, "supercategory": above} for number, name, above in
                  ((0, "vehicles", "none"), (1, "car", "vehicles"), (2, "bus", "vehicles"))]  # fmt: skip
    return looked_for(_read([_image()], annotations, categories=categories))


def test_the_category_that_roboflow_puts_above_all_is_no_class_but_where_a_box_is_of_it():
    assert _roboflow([_box(category=1)]) == {"a.jpg": ("car", "bus")}
    assert _roboflow([_box(category=0)]) == {"a.jpg": ("vehicles", "car", "bus")}


def test_an_empty_box_is_made_from_the_outline():
    outline = [[5, 5, 15, 5, 15, 25]]

    assert boxes(_read([_image()], [_box(bbox=[], segmentation=outline)])) == [("a.jpg", "car", 5, 5, 15, 25)]


@pytest.mark.parametrize("width", [-5, 0])
def test_a_box_without_an_area_is_none_however_it_is_turned(width):
    labels = _read([_image()], [_box(bbox=(10, 20, width, 20), attributes={"occluded": False, "rotation": 45})])

    assert problems(labels) == [("labels.json", None, "label_bad_box")]


def test_a_class_of_lvis_was_looked_for_where_it_is_drawn_or_said_not_to_be_there():
    categories = [*CATEGORIES, {"id": 5, "name": "bus"}, {"id": 6, "name": "tram"}]
    images = [
        _image(1, "a.jpg", neg_category_ids=[5], not_exhaustive_category_ids=[]),
        _image(2, "b.jpg", neg_category_ids=[], not_exhaustive_category_ids=[90]),
    ]
    labels = _read(images, [_box(1), _box(2, 2), _box(3, 2, 90)], "a.jpg", "b.jpg", categories=categories)

    assert looked_for(labels) == {"a.jpg": ("car", "bus"), "b.jpg": ("car",)}
    assert labels.boxes.num_rows == 3
    assert "1 pictures have a class that is not labeled to the end" in labels.notes[0]


@pytest.mark.parametrize(
    ("flag", "ignored"), [("0", False), ("false", False), ("1", True), ("True", True), (1.0, True)]
)
@pytest.mark.parametrize("key", ["iscrowd", "ignore"])
def test_flags_may_be_text_as_some_tools_write_all_values(key, flag, ignored):
    labels = _read([_image()], [_box(**{key: flag})])

    assert labels.boxes["ignore"].to_pylist() == [ignored]
    assert labels.boxes["attributes"].to_pylist() == ['{"iscrowd":true}' if ignored and key == "iscrowd" else "{}"]


def test_a_score_that_is_text_makes_a_prediction_too():
    labels = _read([_image()], [_box(score="0.75")])

    assert labels.boxes["score"].to_pylist() == [0.75]


def test_pictures_of_lvis_have_an_address_and_no_name():
    address = "http://images.cocodataset.org/train2017/000000000007.jpg"
    image = {"id": 7, "coco_url": address, "flickr_url": "http://farm.example/1.jpg", "width": 64, "height": 48}

    found = _read([image], [_box(image=7)], "train2017/000000000007.jpg")
    lost = _read([image], [_box(image=7)], "val2017/000000000008.jpg")

    assert boxes(found) == [("train2017/000000000007.jpg", "car", 1, 2, 4, 6)]
    assert found.images["source_split"].to_pylist() == ["train"]
    assert _details(lost) == [f"file_name {address!r} is no file of this batch"]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"iscrowd": 1, "attributes": {"occluded": False}}, 1),
        ({"iscrowd": 1}, 0),
        ({"attributes": {"occluded": True}}, 0),
    ],
)
def test_masks_of_cvat_are_crowds_and_a_note_says_so(more, told):
    labels = _read([_image()], [_box(**more)])

    assert len(labels.notes) == told
    assert all("1 annotations with iscrowd are ignore regions. CVAT writes" in note for note in labels.notes)


def test_a_picture_whose_annotations_are_none_is_no_example_of_nothing_to_see():
    broken = _box(bbox={"x": 1, "y": 2, "width": 3, "height": 4})

    alone = _read([_image(), _image(2, "b.jpg")], [broken], "a.jpg", "b.jpg")
    among = _read([_image(), _image(2, "b.jpg")], [broken, _box(2), "x"], "a.jpg", "b.jpg")

    assert looked_for(alone) == {"b.jpg": ("car", "truck")}
    assert alone.notes == ()
    assert looked_for(among) == dict.fromkeys(("a.jpg", "b.jpg"), ("car", "truck"))
    assert [reason for _, _, reason in problems(among)] == ["label_syntax", "label_syntax"]


def test_annotations_may_be_a_folder():
    document = {"images": [_image()], "annotations": [_box()], "categories": CATEGORIES}
    other = document | {"annotations": [_box(category=90)]}
    files = {"new/a.json": json.dumps(document), "old/a.json": json.dumps(other), **pictures("a.jpg")}

    found = read_coco(InMemory(files), "new")

    assert boxes(found) == [("a.jpg", "car", 1, 2, 4, 6)]
    assert found.files == {"new/a.json"}
