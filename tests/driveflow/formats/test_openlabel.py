import json

import pytest

from driveflow.formats.detect import detect_formats
from driveflow.formats.openlabel import openlabel_files, read_openlabel
from driveflow.formats.sniff import Sniffer
from tests.driveflow.formats.in_memory import InMemory, boxes, looked_for, pictures, problems
from tests.driveflow.formats.on_disk import OnDisk, assert_same_boxes, found_rows, truth_rows
from tests.shared_data import shared_data

CAMERAS = {"front": {"type": "camera", "uri": "front"}, "rear": {"type": "camera", "uri": "rear"}}


def _bbox(val=(10, 20, 4, 6), name="shape", **more):
    return {"name": name, "val": list(val), **more}


def _data(*boxes_, **more):
    return {"object_data": {"bbox": list(boxes_ or [_bbox()]), **more}}


def _frame(objects=None, picture="a.jpg", **properties):
    said = {"streams": {"front": {"uri": picture}}} if picture else {}
    found = {} if objects is None else {"objects": objects}
    return {"frame_properties": {**said, **properties}, **found}


def _document(frames=None, objects=None, root="openlabel", **more):
    known = objects if objects is not None else {"7": {"name": "van1", "type": "van"}}
    said = {"metadata": {"schema_version": "1.0.0"}, "streams": CAMERAS, "objects": known, **more}
    return {root: said | ({"frames": frames} if frames is not None else {})}


def _files(document, *names, path="l.json"):
    text = document if isinstance(document, str) else json.dumps(document)
    return InMemory({path: text, **pictures(*(names or ("a.jpg",)))})


def _read(document, *names, path="l.json"):
    return read_openlabel(_files(document, *names, path=path), path)


def _attributes(labels):
    return [json.loads(text) for text in labels.boxes["attributes"].to_pylist()]


def _images(labels, *names):
    return [tuple(row[name] for name in names) for row in labels.images.to_pylist()]


@pytest.mark.parametrize("root", ["openlabel", "vcd"])
def test_documents_are_told_by_their_root(root):
    files = _files(_document({"0": _frame({"7": _data()})}, root=root))

    assert openlabel_files(Sniffer(files)) == ["l.json"]
    assert detect_formats(files) == ["openlabel"]


def test_boxes_are_given_by_their_centre():
    assert boxes(_read(_document({"0": _frame({"7": _data()})}))) == [("a.jpg", "van", 8, 17, 12, 23)]


@pytest.mark.parametrize(
    ("root", "said", "left"),
    [
        ("vcd", {"version": "4.2.0", "metadata": {}}, 10),
        ("vcd", {"metadata": {"schema_version": "4.3.1"}}, 8),
        ("openlabel", {"metadata": {"schema_version": "1.0.0"}}, 8),
    ],
)
def test_before_vcd_4_3_boxes_are_given_by_their_corner(root, said, left):
    assert boxes(_read(_document({"0": _frame({"7": _data()})}, root=root, **said)))[0][2] == left


def test_turned_boxes_are_the_box_around_and_the_turn():
    turned = {"rbbox": [{"name": "shape", "val": [10, 20, 4, 2, 1.5707963267948966]}]}
    labels = _read(_document({"0": _frame({"7": {"object_data": turned}})}))

    assert boxes(labels) == [("a.jpg", "van", 9, 18, 11, 22)]
    assert _attributes(labels)[0]["rotation_deg"] == 90


def test_closed_outlines_are_the_box_around_them_and_other_lines_are_counted():
    lines = [
        {"name": "hull", "val": [1, 2, 9, 2, 9, 7], "mode": "MODE_POLY2D_ABSOLUTE", "closed": True},
        {"name": "lane", "val": [1, 2, 9, 2, 9, 7], "mode": "MODE_POLY2D_ABSOLUTE", "closed": False},
        {"name": "code", "val": ["5", "5", "1", "mBIIOIII"], "mode": "MODE_POLY2D_SRF6DCC", "closed": True},
    ]
    labels = _read(_document({"0": _frame({"7": {"object_data": {"poly2d": lines}}})}))

    assert boxes(labels) == [("a.jpg", "van", 1, 2, 9, 7)]
    assert _attributes(labels)[0]["shape"] == "polygon"
    assert labels.notes == (
        "1 open lines: left out, they are no boxes.",
        "1 outlines in a code of differences: left out, they are no boxes.",
    )


def test_an_outline_beside_the_box_of_the_same_object_is_no_second_box():
    lines = [{"name": "hull", "val": [1, 2, 9, 2, 9, 7], "closed": True}]

    assert _read(_document({"0": _frame({"7": _data(poly2d=lines)})})).boxes.num_rows == 1


def test_cuboids_are_no_boxes_and_are_counted():
    data = {"object_data": {"cuboid": [{"name": "shape", "val": [0] * 10}]}}
    labels = _read(_document({"0": _frame({"7": data})}))

    assert (labels.boxes_read, labels.notes) == (0, ("1 cuboids: left out, they are no boxes.",))


def test_ac_b20_numbers_of_frames_and_ids_of_objects_may_be_text_or_not_and_tracks_are_the_objects():
    frames = {"0": _frame({"7": _data()}), "1": _frame({"7": _data()}, "b.jpg")}
    labels = _read(_document(frames), "a.jpg", "b.jpg")

    assert {row["track_id"] for row in _attributes(labels)} == {"7"}
    assert _images(labels, "sequence") == [("l.json",)] * 2


def test_values_of_the_object_and_of_the_box_are_attributes_under_their_own_names():
    whole = {"type": "#van", "object_data": {"text": [{"name": "colour", "val": "red"}]}}
    said = {"boolean": [{"name": "occluded", "val": True}], "num": [{"name": "speed", "val": 3.5}]}
    more = {"vec": [{"name": "signals", "val": [1, 2]}]}
    labels = _read(_document({"0": _frame({"7": _data(_bbox(attributes=said), **more)})}, {"7": whole}))

    known = {"colour": "red", "occluded": True, "speed": 3.5, "signals": [1, 2], "track_id": "7"}
    assert _attributes(labels) == [known]
    assert boxes(labels)[0][1] == "van"


def test_several_boxes_of_one_object_keep_the_names_of_its_parts():
    labels = _read(_document({"0": _frame({"7": _data(_bbox(name="head"), _bbox(name="body"))})}))

    assert [row["part"] for row in _attributes(labels)] == ["head", "body"]
    assert labels.boxes["own_id"].to_pylist() == ["7/head", "7/body"]


def test_a_frame_without_objects_is_unlabeled_and_one_with_none_is_empty():
    frames = {"0": _frame({"7": _data()}), "1": _frame({}, "b.jpg"), "2": _frame(None, "c.jpg")}
    labels = _read(_document(frames), "a.jpg", "b.jpg", "c.jpg")

    assert looked_for(labels) == {"a.jpg": ("van",), "b.jpg": ("van",)}
    assert labels.images.num_rows == 3


def test_an_ontology_with_a_boundary_says_what_was_looked_for():
    ontology = {"0": {"uri": "http://x", "boundary_list": ["#van", "#tram"], "boundary_mode": "include"}}
    labels = _read(_document({"0": _frame({"7": _data()})}, ontologies=ontology))

    assert looked_for(labels) == {"a.jpg": ("van", "tram")}


def test_boxes_of_two_cameras_go_to_their_pictures():
    named = {"front": {"uri": "1.jpg"}, "rear": {"uri": "1.jpg"}}
    shapes = [_bbox(coordinate_system="front"), _bbox((5, 5, 2, 2), coordinate_system="rear")]
    frame = {"frame_properties": {"streams": named}, "objects": {"7": _data(*shapes)}}
    labels = _read(_document({"0": frame}), "front/1.jpg", "rear/1.jpg")

    assert boxes(labels) == [("front/1.jpg", "van", 8, 17, 12, 23), ("rear/1.jpg", "van", 4, 4, 6, 6)]
    assert _images(labels, "path", "camera") == [("front/1.jpg", "front"), ("rear/1.jpg", "rear")]


def test_a_box_that_does_not_say_its_camera_among_two_is_lost_by_name():
    named = {"front": {"uri": "1.jpg"}, "rear": {"uri": "1.jpg"}}
    frame = {"frame_properties": {"streams": named}, "objects": {"7": _data()}}
    labels = _read(_document({"0": frame}), "front/1.jpg", "rear/1.jpg")

    assert problems(labels) == [("l.json", None, "label_missing_picture")]
    assert labels.boxes_read == 1


@pytest.mark.parametrize(
    ("properties", "name"),
    [
        ({"file": "a.jpg"}, "a.jpg"),
        ({"uri": "front/a.jpg"}, "front/a.jpg"),
        ({"streams": {"front": {"stream_properties": {"uri": "a.jpg"}}}}, "front/a.jpg"),
    ],
)
def test_frames_name_their_picture_in_several_ways(properties, name):
    frame = {"frame_properties": properties, "objects": {"7": _data()}}

    assert boxes(_read(_document({"0": frame}), name))[0][0] == name


def test_a_stream_may_number_its_pictures():
    streams = {"front": {"type": "camera", "uri": "front/%06d.png"}}
    document = _document({"12": {"objects": {"7": _data()}}}, streams=streams)

    assert boxes(_read(document, "front/000012.png", "front/000013.png"))[0][0] == "front/000012.png"


@pytest.mark.parametrize(
    ("of_stream", "of_frame", "number"),
    [({}, {"frame_stream": 14}, 14), ({"frame_shift": 2}, {}, 14), ({"frame_shift": 2}, {"frame_stream": 11}, 11)],
)
def test_a_stream_may_count_other_frames_than_the_document(of_stream, of_frame, number):
    streams = {"front": {"type": "camera", "uri": "front/%06d.png", "stream_properties": {"sync": of_stream}}}
    properties = {"streams": {"front": {"stream_properties": {"sync": of_frame}}}}
    document = _document({"12": {"frame_properties": properties, "objects": {"7": _data()}}}, streams=streams)

    found = _read(document, *(f"front/{frame:06}.png" for frame in range(10, 16)))

    assert boxes(found)[0][0] == f"front/{number:06}.png"


def test_a_shape_may_name_its_picture_itself():
    frame = {"objects": {"7": _data(_bbox(uri="b.jpg", uid="u1"))}}
    labels = _read(_document({"0": frame}), "a.jpg", "b.jpg")

    assert boxes(labels)[0][0] == "b.jpg"
    assert labels.boxes["own_id"].to_pylist() == ["u1"]


@pytest.mark.parametrize(
    ("name", "streams"), [("l.png", {}), ("x/y.png", {"cam": {"type": "camera", "uri": "file:///data/x/y.png"}})]
)
def test_without_frames_the_objects_are_those_of_the_one_picture(name, streams):
    labels = _read(_document(None, {"7": {"type": "van", **_data()}}, streams=streams), name, "z.png")

    assert boxes(labels) == [(name, "van", 8, 17, 12, 23)]
    assert list(looked_for(labels)) == [name]


def test_static_boxes_hold_in_the_frames_of_their_object():
    spans = [{"frame_start": 0, "frame_end": 0}, {"frame_start": 2, "frame_end": 9}]
    objects = {"7": {"type": "van", "frame_intervals": spans, **_data()}}
    frames = {str(number): _frame({}, f"{number}.jpg") for number in range(3)}
    labels = _read(_document(frames, objects), "0.jpg", "1.jpg", "2.jpg")

    assert [row[0] for row in boxes(labels)] == ["0.jpg", "2.jpg"]


@pytest.mark.parametrize(
    ("said", "captured_ns"),
    [
        (1_700_000_001.6, 1_700_000_001_600_000_000),
        ("1632321743.134149000", 1_632_321_743_134_149_000),
        (1_700_000_001_600, 1_700_000_001_600_000_000),
        ("2020-04-11 12:00:07", 1_586_606_407_000_000_000),
        ("2020-04-11T12:00:07.123456789Z", 1_586_606_407_123_456_789),
        (42, None),
        ("yesterday", None),
    ],
)
def test_times_are_numbers_of_any_unit_since_1970_or_dates(said, captured_ns):
    labels = _read(_document({"0": _frame({}, timestamp=said)}))

    assert _images(labels, "captured_ns", "clock") == [(captured_ns, "utc" if captured_ns else "")]
    kept = {} if captured_ns else {"timestamp": said}
    assert json.loads(labels.images["attributes"][0].as_py()) == kept


def test_the_time_of_the_camera_goes_before_that_of_the_frame():
    streams = {"front": {"uri": "a.jpg", "stream_properties": {"sync": {"timestamp": "1700000000.5"}}}}
    frame = {"frame_properties": {"timestamp": 1_700_000_000, "streams": streams}, "objects": {}}

    assert _images(_read(_document({"0": frame})), "captured_ns") == [(1_700_000_000_500_000_000,)]


def test_a_score_makes_a_prediction_and_its_picture_unlabeled():
    labels = _read(_document({"0": _frame({"7": _data(_bbox(attributes={"num": [{"name": "score", "val": 0.5}]}))})}))

    assert labels.boxes["score"].to_pylist() == [0.5]
    assert looked_for(labels) == {}


@pytest.mark.parametrize("val", [[1, 2, 0, 4], [1, 2, 3], [], ["a", 2, 3, 4], [1, 2, None, 4], {"x": 1}])
def test_a_box_that_is_none_is_named(val):
    frames = {"0": _frame({"7": {"object_data": {"bbox": [{"name": "shape", "val": val}]}}})}
    labels = _read(_document(frames))

    assert problems(labels) == [("l.json", None, "label_bad_box")]
    assert looked_for(labels) == {}
    assert labels.boxes_read == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        '{"openlabel": 3}',
        '{"openlabel": {"frames": [], "objects": 7, "streams": "x"}}',
        '{"openlabel": {"frames": {"x": 3, "1": {"objects": {"0": []}}}, "objects": {"0": "y"}}}',
        '{"openlabel": ' + "[" * 9000,
        '{"openlabel": {"objects": {"0": {"object_data": {"bbox": [7, null, {"val": [NaN, 1, 2, 3]}]}}}}}',
    ],
)
def test_no_content_makes_the_reader_raise(text):
    assert _read(text).boxes.num_rows == 0


def test_the_truth_comes_back_exactly_but_for_the_last_digit_of_a_float():
    home = shared_data("fmt_same_truth")
    files = OnDisk(home / "openlabel")
    labels = read_openlabel(files)

    truth = json.loads((home / "truth.json").read_text())["images"]
    assert_same_boxes(found_rows(labels), truth_rows(truth), within_px=1e-9)
    assert {image["file"]: image["timestamp_us"] * 1000 for image in truth} == {
        path.rpartition("/")[2]: captured_ns for path, captured_ns in _images(labels, "path", "captured_ns")
    }
    assert len(looked_for(labels)) == 13
    assert labels.problems == ()
    assert detect_formats(files) == ["openlabel"]


def test_the_files_of_vcd_are_read_one_by_one_with_all_their_boxes():
    home = shared_data("fmt_openlabel_vcd")
    files = OnDisk(home)
    names = openlabel_files(Sniffer(files))

    assert len(names) == len(list(home.glob("*.json"))) == 36
    read = {name: read_openlabel(files, name).boxes_read for name in names}
    assert read == {name: _count_bbox(json.loads((home / name).read_text())) for name in names}
    assert read_openlabel(files).boxes_read == sum(read.values()) == 26


def test_a_file_of_vcd_beside_its_picture_has_the_boxes_that_were_drawn():
    home = shared_data("fmt_openlabel_vcd")
    name = "openlabel100_test_bbox_simple"
    text = (home / f"{name}.json").read_bytes()
    labels = read_openlabel(InMemory({f"{name}.json": text, **pictures(f"{name}.png")}))

    assert ("openlabel100_test_bbox_simple.png", "Car", 410, 280, 462, 327) in boxes(labels)
    assert labels.boxes.num_rows == 7


def test_an_object_may_have_very_many_shapes():
    drawn = [_bbox((10 + number / 1000, 20, 4, 6), f"s{number}") for number in range(30_000)]

    labels = _read(_document({"0": _frame({"7": _data(*drawn)})}))  # minutes, were each held against all

    assert labels.boxes.num_rows == 30_000


def _count_bbox(value):
    """Count the entries of all lists called bbox, wherever they are; no outline of these files is closed and plain."""
    if isinstance(value, list):
        return sum(map(_count_bbox, value))
    if not isinstance(value, dict):
        return 0
    return sum(
        len(inner) if key == "bbox" and isinstance(inner, list) else _count_bbox(inner) for key, inner in value.items()
    )
