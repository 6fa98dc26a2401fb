import csv
import io
import json

import pytest

from driveflow.formats.detect import detect_formats
from driveflow.formats.label_studio import read_label_studio
from driveflow.formats.label_studio_tasks import label_studio_files
from driveflow.formats.sniff import Sniffer
from tests.driveflow.formats.in_memory import InMemory, boxes, looked_for, pictures, problems
from tests.driveflow.formats.on_disk import OnDisk, assert_same_boxes, count_in, found_rows, truth_rows
from tests.shared_data import shared_data

SIZE = {"original_width": 200, "original_height": 100}
CONFIG = """<View><Image name="pic" value="$image"/><RectangleLabels name="label" toName="pic">
<Label value="van"/><Label value="tram"/></RectangleLabels></View>"""


def _rectangle(*labels, x=10, y=20, width=30, height=40, rotation=0, key="r1", size=SIZE, **more):
    value = {"x": x, "y": y, "width": width, "height": height, "rotation": rotation}
    value |= {"rectanglelabels": list(labels or ["van"])}
    return (
        {"id": key, "type": "rectanglelabels", "from_name": "label", "to_name": "image", "value": value} | size | more
    )


def _shape(value, kind="polygonlabels", key="r1"):
    labels = {kind: ["van"]} if kind.endswith("labels") else {}
    return {"id": key, "type": kind, "from_name": "f", "to_name": "image", "value": value | labels} | SIZE


def _task(*results, image="/data/upload/1/0123abcd-a.jpg", **more):
    annotation = {"id": 5, "completed_by": 1, "result": list(results), "was_cancelled": False}
    return {"id": 3, "data": {"image": image}, "annotations": [annotation], "predictions": []} | more


def _files(document, *names, path="export.json", **more):
    text = document if isinstance(document, str) else json.dumps(document)
    return InMemory({path: text, **pictures(*(names or ("a.jpg",))), **more})


def _read(*tasks, names=(), **more):
    return read_label_studio(_files(list(tasks), *names, **more))


def _attributes(labels):
    return [json.loads(text) for text in labels.boxes["attributes"].to_pylist()]


def _of_frames(labels):
    return [json.loads(text) for text in labels.images["attributes"].to_pylist()]


def test_percent_become_pixels_of_the_size_that_the_result_says():
    labels = _read(_task(_rectangle()))

    assert boxes(labels) == [("a.jpg", "van", 20, 20, 80, 60)]
    assert (labels.images["width"].to_pylist(), labels.images["height"].to_pylist()) == ([200], [100])


def test_without_a_size_boxes_are_shares_of_the_picture():
    labels = _read(_task(_rectangle(size={})))

    assert boxes(labels) == [("a.jpg", "van", 0.1, 0.2, 0.4, 0.6)]
    assert labels.boxes["normalised"].to_pylist() == [True]


def test_ac_c20_a_turn_is_clockwise_about_the_top_left_corner_and_in_pixels():
    labels = _read(_task(_rectangle(x=50, y=20, width=10, height=30, rotation=90)))

    assert boxes(labels) == [("a.jpg", "van", 70, 20, 100, 40)]
    assert _attributes(labels) == [{"rotation_deg": 90.0}]


@pytest.mark.parametrize(
    ("result", "corners", "shape"),
    [
        (_shape({"points": [[10, 10], [50, 10], [50, 60]]}), (20, 10, 100, 60), "polygon"),
        (_shape({"x": 50, "y": 50, "radiusX": 10, "radiusY": 20}, "ellipselabels"), (80, 30, 120, 70), "ellipse"),
    ],
)
def test_polygons_and_ellipses_are_the_box_around_them(result, corners, shape):
    labels = _read(_task(result))

    assert boxes(labels) == [("a.jpg", "van", *corners)]
    assert _attributes(labels) == [{"shape": shape}]


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ({"format": "rle", "rle": [1, 2]}, "masks of a brush"),
        ({"sequence": []}, "tracks in videos"),
        ({"x": 1, "y": 2, "width": 0.3}, "points"),
        ({"vertices": [], "closed": False}, "open lines"),
    ],
)
def test_what_is_no_box_is_counted(value, kind):
    labels = _read(_task(_shape(value, "labels")))

    assert labels.boxes_read == 0
    assert labels.notes == (f"1 {kind}: left out, they are no boxes.",)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ({"format": "rle", "rle": [1, 2]}, "brushlabels"),
        ({"imageDataURL": "data:image/png;base64,AA=="}, "bitmasklabels"),
        ({"imageDataURL": "data:image/png;base64,AA=="}, "bitmask"),
    ],
)
def test_a_picture_in_which_an_object_was_painted_is_no_example_of_nothing_to_see(value, kind):
    painted, other = _task(_shape(value, kind)), _task(_rectangle(), image="b.jpg", id=4)

    labels = _read(painted, other, names=("a.jpg", "b.jpg"))

    assert looked_for(labels) == {"b.jpg": ("van",)}
    assert labels.notes == ("1 masks of a brush: left out, they are no boxes.",)


def test_annotations_and_predictions_that_are_ids_alone_label_nothing():
    labels = _read(_task(annotations=[12], predictions=[7]))

    assert looked_for(labels) == {}
    assert labels.images["path"].to_pylist() == ["a.jpg"]
    assert [problem.detail for problem in labels.problems] == ["task 3: 1 annotations are ids alone"]


def test_results_of_one_id_are_one_region_with_what_was_said_of_it():
    shape = {**_rectangle(), "type": "rectangle"}
    del shape["value"]["rectanglelabels"]
    said = [
        {**shape, "type": "labels", "value": {**shape["value"], "labels": ["van"]}},
        {"id": "r1", "type": "choices", "from_name": "state", "to_name": "image", "value": {"choices": ["parked"]}},
    ]
    labels = _read(_task(shape, *said))

    assert [row[1] for row in boxes(labels)] == ["van"]
    assert _attributes(labels) == [{"state": "parked"}]
    assert labels.boxes["own_id"].to_pylist() == ["r1"]


def test_a_region_with_two_labels_is_two_boxes():
    labels = _read(_task(_rectangle("van", "taxi")))

    assert [row[1] for row in boxes(labels)] == ["taxi", "van"]
    assert labels.boxes["own_id"].to_pylist() == ["r1", "r1/taxi"]


def test_choices_about_the_whole_picture_are_attributes_of_the_frame():
    results = [
        {"id": key, "type": kind, "from_name": name, "to_name": "image", "value": {kind: value}}
        for key, kind, name, value in (
            ("c", "choices", "weather", ["rain"]),
            ("t", "taxonomy", "place", [["a", "b"], ["c"]]),
        )
    ]
    labels = _read(_task(*results, meta={"route": "north"}))

    assert _of_frames(labels) == [{"place": [["a", "b"], ["c"]], "route": "north", "weather": "rain"}]


def test_predictions_have_scores_and_do_not_make_a_picture_labeled():
    guesses = [
        {"model_version": "m1", "score": 0.7, "result": [_rectangle(key="p1"), _rectangle(key="p2", score=0.4)]},
        {"model_version": "m2", "score": None, "result": [_rectangle(key="p3")]},
    ]
    labels = _read(_task(annotations=[], predictions=guesses))

    assert labels.boxes["score"].to_pylist() == [0.7, 0.4, 0.0]
    assert labels.boxes["annotator"].to_pylist() == ["m1", "m1", "m2"]
    assert _attributes(labels) == [{}, {}, {"unscored": True}]
    assert looked_for(labels) == {}


def test_what_a_person_took_over_from_a_model_has_no_score():
    assert _read(_task(_rectangle(score=0.3, origin="prediction"))).boxes["score"].to_pylist() == [None]


def test_each_annotator_is_a_listing_and_the_ground_truth_comes_first():
    work = [
        {"completed_by": 1, "result": [_rectangle()]},
        {"completed_by": {"id": 2, "email": "b@x.org"}, "result": [], "ground_truth": True},
        {"completed_by": 3, "result": [_rectangle()], "was_cancelled": True},
    ]
    labels = _read(_task(annotations=work))

    assert labels.images["listing"].to_pylist() == [0, 1]
    assert labels.boxes["listing"].to_pylist() == [1]
    assert labels.boxes["annotator"].to_pylist() == ["1"]
    assert "1 cancelled annotations were skipped" in labels.notes[0]


@pytest.mark.parametrize(
    ("task", "labeled"),
    [
        (_task(), True),
        (_task(annotations=[]), False),
        (_task(annotations=[{"result": [_rectangle()], "was_cancelled": True}]), False),
    ],
    ids=["empty result", "no annotation", "cancelled"],
)
def test_an_empty_result_is_labeled_and_empty_and_no_annotation_is_unlabeled(task, labeled):
    labels = _read(task, _task(_rectangle(), image="b.jpg"), names=("a.jpg", "b.jpg"))

    assert ("a.jpg" in looked_for(labels)) is labeled
    assert labels.images.num_rows == 2


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("/data/upload/12/0123abcd-a.jpg", "a.jpg"),
        ("/data/upload/12/0123abcd-a.jpg", "0123abcd-a.jpg"),
        ("/data/upload/12/0123abcd-my_photo_1.jpg", "raw/my photo (1).jpg"),
        ("/data/local-files/?d=set%2Fone/a%20b.jpg", "set/one/a b.jpg"),
        ("s3://bucket/set/a.jpg", "set/a.jpg"),
        ("https://host/set/a%20b.jpg?X-Sig=1%2F2", "set/a b.jpg"),
        ("gs://bucket/odd/what?.jpg", "odd/what?.jpg"),
        ("http://[broken/a.jpg", "a.jpg"),
    ],
)
def test_addresses_of_pictures_lead_to_their_files(image, name):
    labels = _read(_task(_rectangle(), image=image), names=(name, "z.jpg"))

    assert [row[0] for row in boxes(labels)] == [name]


def test_the_name_of_the_upload_helps_where_the_address_does_not():
    task = _task(_rectangle(), image="/proxy/77", file_upload="0123abcd-a.jpg")

    assert boxes(_read(task))[0][0] == "a.jpg"


def test_the_configuration_beside_the_export_says_classes_and_pictures():
    task = _task(_rectangle() | {"to_name": "pic"})
    labels = read_label_studio(_files([task], **{"config.xml": CONFIG}))

    assert looked_for(labels) == {"a.jpg": ("van", "tram")}
    assert labels.files == {"config.xml", "export.json"}


def test_a_project_without_controls_for_boxes_leaves_its_pictures_unlabeled():
    config = '<View><Image name="image" value="$image"/><Choices name="c" toName="image"/></View>'
    labels = read_label_studio(_files([_task(), _task(_rectangle(), image="b.jpg")], "a.jpg", **{"c.xml": config}))

    assert looked_for(labels) == {}


def test_two_pictures_of_one_task_get_what_is_about_them():
    data = {"left": "l.jpg", "right": "r.jpg"}
    results = [_rectangle() | {"to_name": "left"}, _rectangle(key="r2") | {"to_name": "right"}]
    labels = _read(_task(*results, data=data), names=("l.jpg", "r.jpg"))

    assert [row[0] for row in boxes(labels)] == ["l.jpg", "r.jpg"]


def test_a_list_of_pictures_is_told_by_the_place_in_it():
    results = [_rectangle(item_index=1)]

    assert boxes(_read(_task(*results, image=["a.jpg", "b.jpg"]), names=("a.jpg", "b.jpg")))[0][0] == "b.jpg"


MIN = {"id": 1, "image": "a.jpg", "annotator": 4, "annotation_id": 9, "lead_time": 1.5, "created_at": "2026-01-01"}
MIN_LABEL = [{"x": 10, "y": 20, "width": 30, "height": 40, "rotation": 0, "rectanglelabels": ["van"], **SIZE}]


def test_json_min_and_csv_say_the_same_as_json():
    row = MIN | {"label": MIN_LABEL, "weather": "rain"}
    text = io.StringIO()
    writer = csv.DictWriter(text, list(row), delimiter="\t", quoting=csv.QUOTE_NONNUMERIC)
    writer.writeheader()
    writer.writerow(row | {"label": json.dumps(MIN_LABEL)})
    for files in (_files([row]), _files(text.getvalue(), path="export.csv")):
        assert detect_formats(files) == ["label_studio"]
        labels = read_label_studio(files)
        assert boxes(labels) == [("a.jpg", "van", 20, 20, 80, 60)]
        assert labels.boxes["annotator"].to_pylist() == ["4"]
        assert _of_frames(labels) == [{"weather": "rain"}]


def test_a_line_of_json_min_without_results_is_labeled_and_empty():
    labels = _read(MIN, MIN | {"image": "b.jpg", "label": MIN_LABEL}, names=("a.jpg", "b.jpg"))

    assert list(looked_for(labels)) == ["a.jpg", "b.jpg"]


def test_one_file_an_annotation_as_storages_get_them_is_read():
    stored = {
        "id": 9,
        "completed_by": {"id": 1},
        "result": [_rectangle()],
        "task": {"id": 3, "data": {"image": "a.jpg"}},
    }
    files = _files(stored, path="9.json")

    assert label_studio_files(Sniffer(files)) == ["9.json"]
    assert boxes(read_label_studio(files)) == [("a.jpg", "van", 20, 20, 80, 60)]


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (_rectangle(width=0), "label_bad_box"),
        (_rectangle(x=None), "label_bad_box"),
        (_rectangle(rotation=30, size={}), "label_bad_box"),
        (_shape({"points": [[1, 1], [2, "x"]]}), "label_bad_box"),
        (_rectangle(image_rotation=90), "label_turned_view"),
        (_rectangle() | {"value": {"x": 1, "y": 1, "width": 5, "height": 5}}, "label_no_class"),
    ],
)
def test_a_region_of_no_use_is_named_and_is_no_example_of_nothing_to_see(result, reason):
    labels = _read(_task(result), _task(_rectangle(), image="b.jpg"), names=("a.jpg", "b.jpg"))

    assert problems(labels) == [("export.json", None, reason)]
    assert labels.boxes_read == 2
    assert list(looked_for(labels)) == ["b.jpg"]


def test_a_score_beyond_one_is_named():
    labels = _read(_task(annotations=[], predictions=[{"score": 87, "result": [_rectangle()]}]))

    assert problems(labels) == [("export.json", None, "label_bad_score")]


def test_tasks_without_pictures_are_counted():
    task = {
        "id": 1,
        "data": {"text": "hello. jpg"},
        "annotations": [{"result": [{"to_name": "text", "value": {"choices": ["x"]}}]}],
    }

    labels = _read(task)
    assert labels.notes == ("export.json: 1 tasks show no picture.",)
    assert labels.problems == ()


def test_a_missing_picture_costs_its_boxes_by_name():
    labels = _read(_task(_rectangle("van", "taxi"), image="gone.jpg"))

    assert problems(labels) == [("export.json", None, "label_missing_picture")]
    assert labels.boxes_read == 2


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[",
        "[3, null]",
        '[{"data": 3, "annotations": [7, {"result": "x"}, {"result": [8, {"value": []}]}], "predictions": 1}]',
        '[{"data": {"image": [3]}, "annotations": [{"result": [{"value": {"x": {}, "radiusX": 1, "radiusY": 1}}]}]}]',
        '[{"data": {"image": "a.jpg"}, "annotations": [{"result": [{"value": {"x": NaN, "points": [[NaN, 9]]}}]}]}]',
    ],
)
def test_no_content_makes_the_reader_raise(text):
    assert read_label_studio(_files(text), "export.json").boxes.num_rows == 0
    assert read_label_studio(_files(text, path="export.csv"), "export.csv").boxes.num_rows == 0


def test_the_truth_comes_back_exactly_but_for_the_last_digits_of_percent():
    home = shared_data("fmt_same_truth")
    files = OnDisk(home / "label_studio")
    labels = read_label_studio(files)

    truth = json.loads((home / "truth.json").read_text())["images"]
    assert_same_boxes(found_rows(labels), truth_rows(truth), within_px=1e-9)
    assert len(looked_for(labels)) == 13
    assert labels.problems == ()
    assert detect_formats(files) == ["label_studio"]


def test_real_exports_have_as_many_boxes_as_their_text():
    home = shared_data("fmt_labelstudio_converter")
    yolo = read_label_studio(OnDisk(home / "test_export_yolo"))
    table = read_label_studio(OnDisk(home / "test_export_csv", "csv_test.json"))

    assert yolo.boxes_read == count_in(home / "test_export_yolo", "data.json", rb'"rectanglelabels": \[') == 6
    drawn = count_in(home / "test_export_csv", "csv_test.json", rb'"rectanglelabels": \[')
    repeated = count_in(home / "test_export_csv", "csv_test.json", rb'"prediction": \{"id"')  # a copy in the annotation
    assert table.boxes_read == drawn - repeated == 5
    assert {problem.reason for problem in (*yolo.problems, *table.problems)} == {"label_missing_picture"}


def test_a_real_export_with_its_configuration_has_two_listings_of_a_picture_that_two_people_drew():
    folder = shared_data("fmt_labelstudio_converter") / "test_export_yolo"
    files = {name: (folder / name).read_bytes() for name in ("data.json", "label_config.xml")}
    labels = read_label_studio(InMemory({**files, **pictures("image1", "image2")}))

    assert labels.images["listing"].to_pylist() == [0, 1, 0]
    assert labels.boxes["annotator"].to_pylist() == ["2", "2", "1", "1", "1", "1"]
    assert set(looked_for(labels).values()) == {("parasites", "white")}


def test_the_csv_exports_are_told_by_content_and_hold_no_pictures():
    home = shared_data("fmt_labelstudio_converter") / "test_export_csv"
    files = OnDisk(home)

    assert set(label_studio_files(Sniffer(files))) == set(files.paths)
    for name in files.paths:
        assert read_label_studio(files, name).boxes.num_rows == 0
