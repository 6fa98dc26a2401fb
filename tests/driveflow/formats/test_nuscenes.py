import json
import math
import random

import pytest

from driveflow.formats.nuscenes import nuscenes_files, read_nuscenes
from driveflow.formats.sniff import Sniffer
from tests.driveflow.formats.in_memory import InMemory, boxes, looked_for, pictures, problems
from tests.shared_data import shared_data

FORWARD = [0.5, -0.5, 0.5, -0.5]  # camera z along the car's x
LEFTWARD = [0.70710678, -0.70710678, 0, 0]  # camera z along the car's y
START_US = 1_700_000_000_000_001
FIRST, SECOND = "samples/a.jpg", "samples/b.jpg"


def _picture(key, filename, camera="front", **more):
    row = {"token": key, "sample_token": "s1", "ego_pose_token": "e1", "calibrated_sensor_token": camera}
    row |= {"filename": filename, "timestamp": START_US, "is_key_frame": True, "width": 1600, "height": 900}
    return row | more


def _cuboid(key="c1", where=(20, 0, 1.5), **more):
    row = {"token": key, "sample_token": "s1", "instance_token": "i1", "attribute_tokens": ["a1"]}
    row |= {"translation": list(where), "size": [2, 4, 1.5], "rotation": [1, 0, 0, 0], "visibility_token": "4"}
    return row | {"num_lidar_pts": 7, "num_radar_pts": 0} | more


def _flat(key="o1", picture="d1", bbox=(1, 2, 30, 40), **more):
    row = {"token": key, "sample_data_token": picture, "category_token": "k1", "instance_token": "i1"}
    return row | {"attribute_tokens": ["a1"], "bbox": list(bbox), "mask": None} | more


def _mount(key, rotation, translation=(0, 0, 1.5)):
    intrinsic = [[1000, 0, 800], [0, 1000, 450], [0, 0, 1]]
    return {"token": key, "sensor_token": key, "translation": list(translation), "rotation": rotation,
            "camera_intrinsic": intrinsic}  # fmt: skip


def _tables(**tables):
    base = {
        "category": [{"token": "k1", "name": "vehicle.car"}, {"token": "k2", "name": "animal"}],
        "attribute": [{"token": "a1", "name": "vehicle.parked"}],
        "visibility": [{"token": "4", "level": "v80-100"}],
        "instance": [{"token": "i1", "category_token": "k1"}],
        "sensor": [
            {"token": "front", "channel": "CAM_FRONT", "modality": "camera"},
            {"token": "left", "channel": "CAM_LEFT", "modality": "camera"},
            {"token": "lidar", "channel": "LIDAR_TOP", "modality": "lidar"},
        ],
        "calibrated_sensor": [_mount("front", FORWARD), _mount("left", LEFTWARD), _mount("lidar", [1, 0, 0, 0])],
        "ego_pose": [
            {"token": "e1", "timestamp": 0, "translation": [0, 0, 0], "rotation": [1, 0, 0, 0]},
            {"token": "e2", "timestamp": 0, "translation": [10, 0, 0], "rotation": [1, 0, 0, 0]},
        ],
        "sample": [{"token": "s1", "timestamp": START_US, "scene_token": "n1"}],
        "scene": [{"token": "n1", "name": "scene-0061", "log_token": "l1", "description": "Night, rain"}],
        "log": [{"token": "l1", "logfile": "n015-2018", "location": "singapore"}],
        "sample_data": [_picture("d1", FIRST)],
        "sample_annotation": [],
        "object_ann": [],
    }
    return {f"v1.0-mini/{name}.json": json.dumps(rows) for name, rows in (base | tables).items()}


def _read(*names, **tables):
    return read_nuscenes(InMemory({**_tables(**tables), **pictures(*(names or (FIRST,)))}))


def _attributes(labels):
    return [json.loads(text) for text in labels.boxes["attributes"].to_pylist()]


def test_tables_are_found_by_what_they_hold_and_other_json_is_not():
    files = {**_tables(), "other/sample_data.json": "[1]", "coco.json": '{"images": []}'}

    found = nuscenes_files(Sniffer(InMemory(files)))

    assert found == sorted(_tables())


def test_a_picture_knows_its_drive_its_camera_by_channel_and_its_time_in_nanoseconds():
    labels = _read("samples/CAM_BACK/a.jpg", sample_data=[_picture("d1", "samples/CAM_BACK/a.jpg")])

    row = labels.images.to_pylist()[0]
    assert (row["drive"], row["camera"], row["clock"]) == ("scene-0061", "CAM_FRONT", "utc")
    assert row["captured_ns"] == 1_700_000_000_000_001_000
    assert json.loads(row["attributes"]) == {"description": "Night, rain", "location": "singapore", "log": "n015-2018"}


def test_without_a_scene_the_log_is_the_drive():
    sample = [{"token": "s1", "timestamp": 1, "log_token": "l1"}]

    assert _read(sample=sample).images["drive"].to_pylist() == ["n015-2018"]


def test_keyframes_are_labeled_and_sweeps_are_unlabeled_frames_of_the_drive():
    data = [_picture("d1", FIRST), _picture("d2", SECOND, is_key_frame=False, timestamp=START_US + 80_000)]
    labels = _read(FIRST, SECOND, sample_data=data, sample_annotation=[_cuboid()])

    assert looked_for(labels) == {FIRST: ("vehicle.car", "animal")}
    assert labels.images["drive"].to_pylist() == ["scene-0061", "scene-0061"]


def test_a_data_set_without_any_box_is_unlabeled():
    assert looked_for(_read()) == {}


def test_a_keyframe_in_which_no_box_is_seen_is_labeled_and_empty():
    labels = _read(sample_annotation=[_cuboid(where=(-20, 0, 1.5))])

    assert (looked_for(labels), boxes(labels)) == ({FIRST: ("vehicle.car", "animal")}, [])
    assert labels.notes == ("1 of 1 3D boxes in v1.0-mini are in no picture by projection.",)


def test_a_3d_box_is_projected_with_width_length_and_height_in_this_order():
    found = boxes(_read(sample_annotation=[_cuboid()]))

    near = 1000 / 18  # the side of a 4 m long car that is nearest
    expected = (800 - near, 450 - 0.75 * near, 800 + near, 450 + 0.75 * near)
    assert found == [(FIRST, "vehicle.car", *(round(value, 6) for value in expected))]


def test_a_3d_box_keeps_what_is_said_of_it():
    labels = _read(sample_annotation=[_cuboid(num_lidar_pts=0)])

    assert labels.boxes["own_id"].to_pylist() == ["c1"]
    assert _attributes(labels) == [
        {"shape": "cuboid", "track_id": "i1", "vehicle": "parked", "visibility": "v80-100", "num_lidar_pts": 0,
         "num_radar_pts": 0, "truncated": False, "range_m": 20.0}
    ]  # fmt: skip


@pytest.mark.parametrize(("key", "level"), [("4", "v80-100"), (4, "v80-100"), ("9", "9"), ("", None), (None, None)])
def test_visibility_is_the_level_of_its_token_and_nothing_without_one(key, level):
    labels = _read(sample_annotation=[_cuboid(visibility_token=key)])

    assert _attributes(labels)[0].get("visibility") == level


def test_each_camera_is_seen_from_where_the_car_stood_when_that_camera_looked():
    data = [_picture("d1", FIRST), _picture("d2", SECOND, ego_pose_token="e2")]
    first, second = boxes(_read(FIRST, SECOND, sample_data=data, sample_annotation=[_cuboid()]))

    assert first[4] - first[2] == pytest.approx(2 * 1000 / 18, abs=1e-5)
    assert second[4] - second[2] == pytest.approx(2 * 1000 / 8, abs=1e-5)


def test_one_object_in_two_cameras_is_two_boxes_with_one_track():
    data = [_picture("d1", FIRST), _picture("d2", SECOND, "left")]
    labels = _read(FIRST, SECOND, sample_data=data, sample_annotation=[_cuboid(where=(9, 9, 1.5), size=[4, 4, 2])])

    assert [box[0] for box in boxes(labels)] == [FIRST, SECOND]
    assert [said["track_id"] for said in _attributes(labels)] == ["i1", "i1"]
    assert [said["truncated"] for said in _attributes(labels)] == [True, True]


def test_2d_boxes_are_taken_as_they_are_and_go_before_projected_ones():
    data = [_picture("d1", FIRST), _picture("d2", SECOND)]
    labels = _read(
        FIRST, SECOND, sample_data=data, sample_annotation=[_cuboid()], object_ann=[_flat(mask={"size": [1]})]
    )

    assert boxes(labels)[0] == (FIRST, "vehicle.car", 1, 2, 30, 40)
    assert [said["shape"] for said in _attributes(labels)] == ["mask", "cuboid"]
    assert _attributes(labels)[0] == {"shape": "mask", "track_id": "i1", "vehicle": "parked"}


def test_what_is_only_drawn_in_2d_was_not_looked_for_in_projected_pictures_nor_the_other_way():
    data = [_picture("d1", FIRST), _picture("d2", SECOND)]
    drawn = [_flat(category_token="k2")]
    labels = _read(FIRST, SECOND, sample_data=data, sample_annotation=[_cuboid()], object_ann=drawn)

    assert looked_for(labels) == {FIRST: ("animal",), SECOND: ("vehicle.car",)}


@pytest.mark.parametrize("boxes", [{"sample_annotation": [_cuboid()]}, {"object_ann": [_flat()]}])
def test_categories_of_points_and_surfaces_were_not_looked_for(boxes):
    more = [{"token": "k3", "name": "flat.driveable_surface"}, {"token": "k4", "name": "noise", "index": 0}]
    known = [{"token": "k1", "name": "vehicle.car"}, {"token": "k2", "name": "animal"}]

    assert looked_for(_read(category=[*known, *more], **boxes)) == {FIRST: ("vehicle.car", "animal")}


def test_a_camera_that_nobody_drew_in_is_unlabeled():
    data = [_picture("d1", FIRST), _picture("d2", SECOND, "left")]
    labels = _read(FIRST, SECOND, sample_data=data, object_ann=[_flat()])

    assert set(looked_for(labels)) == {FIRST}


@pytest.mark.parametrize(
    "tables",
    [
        {"object_ann": [_flat(bbox="x"), _flat("o2", "d2")]},
        {"sample_annotation": [_cuboid() | {"size": "x"}, _cuboid("c2") | {"sample_token": "s2"}]},
    ],
)
def test_a_picture_whose_only_box_is_none_is_no_example_of_nothing_to_see(tables):
    pictures_ = [_picture("d1", "a.jpg"), _picture("d2", "b.jpg", sample_token="s2")]
    labels = _read("a.jpg", "b.jpg", sample_data=pictures_, **tables)

    assert list(looked_for(labels)) == ["b.jpg"]


def test_a_picture_that_is_said_to_be_invalid_is_unlabeled_and_its_boxes_are_counted():
    labels = _read(sample_data=[_picture("d1", FIRST, is_valid=False)], object_ann=[_flat()])

    assert (looked_for(labels), labels.boxes.num_rows, labels.boxes_read) == ({}, 0, 1)
    assert json.loads(labels.images["attributes"][0].as_py())["is_valid"] is False


def test_the_gap_to_the_lidar_is_stored_with_its_sign_in_milliseconds():
    lidar = _picture("d2", "samples/l.bin", "lidar", timestamp=START_US + 27_250, width=0, height=0)
    labels = _read(FIRST, "samples/l.bin", sample_data=[_picture("d1", FIRST), lidar])

    assert json.loads(labels.images["attributes"][0].as_py())["lidar_gap_ms"] == -27.25


def test_lidar_files_and_maps_belong_to_the_labels_and_are_no_pictures():
    lidar = _picture("d2", "samples/l.bin", "lidar", width=0, height=0)
    maps = [{"token": "m1", "filename": "maps/m.png"}]
    labels = _read(FIRST, "samples/l.bin", "maps/m.png", sample_data=[_picture("d1", FIRST), lidar], map=maps)

    assert {"samples/l.bin", "maps/m.png"} <= labels.files
    assert FIRST not in labels.files


def test_pictures_of_sensors_that_no_table_has_stay_pictures_and_are_told():
    labels = _read(sensor=[], object_ann=[_flat()])

    assert FIRST not in labels.files
    assert looked_for(labels) == {}
    told = {problem.reason: (problem.detail, problem.boxes) for problem in labels.problems}
    assert told["label_bad_calibration"] == (
        f"1 pictures, {FIRST} first, are of sensors that no table has: they stay unlabeled", 0
    )  # fmt: skip
    assert told["label_unknown_picture"] == ("boxes of pictures that no table lists", 1)


def test_place_and_speed_of_t4_poses_are_taken():
    pose = {"token": "e1", "translation": [0, 0, 0], "rotation": [1, 0, 0, 0], "geocoordinate": [35.6, 139.7, 12],
            "twist": [3, 4, 0, 0, 0, 0]}  # fmt: skip
    row = _read(ego_pose=[pose]).images.to_pylist()[0]

    assert (row["lat"], row["lon"], row["speed_mps"]) == (35.6, 139.7, 5.0)


def test_boxes_of_pictures_that_are_not_there_are_counted():
    labels = _read("other.jpg", sample_annotation=[_cuboid(), _cuboid("c2", (25, 0, 1.5))])

    assert problems(labels) == [("v1.0-mini/sample_data.json", None, "label_missing_picture")]
    assert labels.boxes_read == 2


def test_a_class_that_the_tables_do_not_list_breaks_the_picture():
    labels = _read(object_ann=[_flat(category_token="nothing")])

    assert "category 'nothing', which is not listed" in labels.images["broken"][0].as_py()
    assert [reason for *_, reason in problems(labels)] == ["label_class_out_of_range"]


@pytest.mark.parametrize(
    ("tables", "reason", "lost"),
    [
        ({"object_ann": [_flat(bbox=(5, 5, 5, 9))]}, "label_bad_box", 1),
        ({"object_ann": [_flat(bbox=(1, 2, 3))]}, "label_bad_box", 1),
        ({"object_ann": [_flat(bbox=(1, 2, float("nan"), 4))]}, "label_bad_box", 1),
        ({"object_ann": [_flat(picture="d9")]}, "label_unknown_picture", 1),
        ({"object_ann": [{"token": "o1"}]}, "label_syntax", 1),
        ({"sample_annotation": [_cuboid(size=[0, 1, 1])]}, "label_bad_box", 1),
        ({"sample_annotation": [_cuboid(rotation=[0, 0, 0, 0])]}, "label_bad_box", 1),
        ({"sample_annotation": [_cuboid(where=[1e300, 0, 0])]}, "label_bad_box", 1),
        ({"sample_annotation": [_cuboid()], "ego_pose": []}, "label_bad_calibration", 0),
        ({"scene": {"token": "\ud800"}}, "label_syntax", 0),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_named_and_counted(tables, reason, lost):
    labels = _read(**tables)

    assert [problem.reason for problem in labels.problems] == [reason]
    assert sum(problem.boxes for problem in labels.problems) == lost
    assert looked_for(labels) == {}


def test_a_table_that_is_cut_short_is_named_by_its_line():
    files = _tables(sample_annotation=[_cuboid()]) | pictures(FIRST)
    files["v1.0-mini/object_ann.json"] = '[\n{"token": '

    labels = read_nuscenes(InMemory(files))

    assert problems(labels) == [("v1.0-mini/object_ann.json", 2, "label_syntax")]
    assert labels.boxes.num_rows == 1


def test_one_truth_in_t4_tables_is_read_to_whole_pixels():
    folder = shared_data("fmt_same_truth")
    truth = json.loads((folder / "truth.json").read_text())["images"]
    root = folder / "t4_nuscenes"
    files = {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}

    labels = read_nuscenes(InMemory(files))

    by_time = {row["captured_ns"] // 1000: row["path"] for row in labels.images.to_pylist()}
    expected = sorted(
        (by_time[image["timestamp_us"]], box["cls"], *box["box"]) for image in truth for box in image["boxes"]
    )
    found = boxes(labels)
    assert [box[:2] for box in sorted(found)] == [box[:2] for box in expected]
    unmatched = list(found)
    for path, name, *corners in expected:
        near = [box for box in unmatched if box[:2] == (path, name) and _far(box[2:], corners) <= 0.5 + 1e-9]
        unmatched.remove(near[0])
    assert unmatched == []
    assert (len(looked_for(labels)), labels.problems) == (13, ())


def _far(box, corners):
    return max(abs(one - other) for one, other in zip(box, corners, strict=True))


WRONG = [
    None,
    "",
    -1,
    1e308,
    10**30,
    float("nan"),
    float("inf"),
    [],
    {},
    [[1]],
    "\ud800",
    True,
    [0, 0, 0, 0],
    "/etc/passwd",
]


def test_whatever_stands_in_the_tables_a_reader_says_so_and_never_raises():
    rng = random.Random(5)
    for _ in range(150):
        data = [
            _picture("d1", FIRST),
            _picture("d2", SECOND, "left", ego_pose_token="e2"),
            _picture("d3", "l", "lidar"),
        ]
        files = _tables(sample_data=data, sample_annotation=[_cuboid()], object_ann=[_flat(picture="d2")])
        tables = {path: json.loads(text) for path, text in files.items()}
        for _ in range(rng.choice([1, 3])):
            rows = tables[rng.choice(sorted(tables))]
            row = rng.choice(rows)
            row[rng.choice(sorted(row))] = rng.choice(WRONG)
        texts = {path: json.dumps(rows) for path, rows in tables.items()}
        found = read_nuscenes(InMemory({**texts, **pictures(FIRST, SECOND, "l")}))
        for _, _, x1, y1, x2, y2 in boxes(found):
            assert -math.inf < x1 < x2 < math.inf
            assert -math.inf < y1 < y2 < math.inf
