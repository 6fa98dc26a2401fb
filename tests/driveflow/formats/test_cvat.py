import json

import pytest

from driveflow.formats.cvat import cvat_files, read_cvat
from driveflow.formats.detect import detect_format
from driveflow.formats.sniff import Sniffer
from tests.driveflow.formats.in_memory import InMemory, boxes, looked_for, pictures, problems
from tests.driveflow.formats.on_disk import OnDisk, assert_same_boxes, count_in, found_rows, truth_rows
from tests.shared_data import shared_data

LABELS = ("car", "bus")


def meta(*labels, more="", types=()):
    kinds = dict(types)
    entries = "".join(f"<label><name>{name}</name><type>{kinds.get(name, 'any')}</type></label>" for name in labels)
    return f"<meta><task>{more}<labels>{entries}</labels></task></meta>"


def cvat(*parts, head=None):
    return (
        "<annotations>\n<version>1.1</version>\n"
        + (head or meta(*LABELS))
        + "\n"
        + "\n".join(parts)
        + "\n</annotations>"
    )


def image(*shapes, name="a.jpg", more=""):
    return f'<image id="0" name="{name}" width="100" height="80" {more}>' + "".join(shapes) + "</image>"


def box(label="car", corners=(10, 20, 30, 40), more="", inside=""):
    x1, y1, x2, y2 = corners
    return f'<box label="{label}" xtl="{x1}" ytl="{y1}" xbr="{x2}" ybr="{y2}" {more}>{inside}</box>'


def key(frame, left=0, outside=0, more=""):
    where = f'xtl="{left}" ytl="0" xbr="{left + 10}" ybr="10"'
    return f'<box frame="{frame}" outside="{outside}" occluded="0" keyframe="1" {where} {more}/>'


def track(*keys, label="car", number=0):
    return f'<track id="{number}" label="{label}">' + "".join(keys) + "</track>"


def read(content, *names):
    return read_cvat(InMemory(pictures(*(names or ("a.jpg",))) | {"x.xml": content}))


def read_video(*tracks, names=None, more="<size>5</size><mode>interpolation</mode><name>drive</name>"):
    names = names or [f"frames/frame_{number:06d}.png" for number in range(5)]
    return read(cvat(*tracks, head=meta(*LABELS, more=more)), *names)


def attributes(labels):
    return [json.loads(text) for text in labels.boxes["attributes"].to_pylist()]


def lefts(labels):
    """Return the number in the name of the picture and the left edge of every box."""
    found = zip(labels.boxes["path"].to_pylist(), labels.boxes["x1"].to_pylist(), strict=True)
    return sorted((int(path[-5]), left) for path, left in found)


def test_boxes_are_pixels_from_zero():
    assert boxes(read(cvat(image(box())))) == [("a.jpg", "car", 10, 20, 30, 40)]


def test_the_classes_looked_for_are_the_labels_that_can_be_boxes():
    head = meta("car", "bus", "lane", "night", types=(("lane", "polyline"), ("night", "tag")))

    assert looked_for(read(cvat(image(box()), head=head))) == {"a.jpg": ("car", "bus")}


def test_an_image_without_shapes_is_labeled_and_empty_and_one_not_listed_is_unlabeled():
    assert set(looked_for(read(cvat(image()), "a.jpg", "b.jpg"))) == {"a.jpg"}


def test_ac_c13_a_turned_box_becomes_the_box_around_it():
    labels = read(cvat(image(box(corners=(10, 20, 30, 24), more='rotation="90"'))))

    assert boxes(labels) == [("a.jpg", "car", 18, 12, 22, 32)]
    assert attributes(labels) == [{"rotation_deg": 90.0}]


@pytest.mark.parametrize(
    ("shape", "corners"),
    [
        ('<polygon label="car" points="10,20;30,25;15,40"/>', (10, 20, 30, 40)),
        ('<ellipse label="car" cx="20" cy="30" rx="10" ry="5"/>', (10, 25, 30, 35)),
        ('<mask label="car" rle="3, 4" left="10" top="20" width="5" height="6"/>', (10, 20, 15, 26)),
        ('<mask label="car" rle="6, 2, 3, 3, 16" left="10" top="20" width="5" height="6"/>', (11, 21, 14, 23)),
        (
            '<cuboid label="car" xtl1="10" ytl1="20" xbl1="10" ybl1="40" xtr1="20" ytr1="20" xbr1="20" ybr1="40" '
            'xtl2="25" ytl2="18" xbl2="25" ybl2="35" xtr2="15" ytr2="18" xbr2="15" ybr2="35"/>',
            (10, 18, 25, 40),
        ),
    ],
)
def test_other_shapes_become_the_box_around_them(shape, corners):
    labels = read(cvat(image(shape)))

    assert boxes(labels) == [("a.jpg", "car", *corners)]
    assert attributes(labels) == [{"shape": shape[1:].partition(" ")[0]}]


def test_lines_and_points_are_no_boxes_and_are_counted():
    labels = read(cvat(image('<polyline label="car" points="1,1;5,5"/>', '<points label="car" points="1,1"/>')))

    assert labels.boxes_read == 0
    assert set(looked_for(labels)) == {"a.jpg"}
    assert "1 points, 1 polyline" in labels.notes[0]


def test_ac_c12_occluded_and_attributes_are_of_the_kind_that_their_label_says():
    inputs = "".join(
        f"<attribute><name>{name}</name><input_type>{kind}</input_type></attribute>"
        for name, kind in (("parked", "checkbox"), ("doors", "number"), ("stamp", "number"), ("plate", "text"))
    )
    head = (
        f"<meta><task><labels><label><name>car</name><attributes>{inputs}</attributes></label></labels></task></meta>"
    )
    values = (("parked", "false"), ("doors", "4"), ("stamp", "1700000000000000001"), ("plate", "0003"))
    inside = "".join(f'<attribute name="{name}">{value}</attribute>' for name, value in values)
    labels = read(cvat(image(box(inside=inside, more='occluded="1" group_id="3" z_order="2"')), head=head))

    assert attributes(labels) == [
        {"parked": False, "doors": 4, "stamp": 1700000000000000001, "plate": "0003", "occluded": True, "group_id": "3"}
    ]


def test_tags_are_of_the_picture():
    tag = '<tag label="night"><attribute name="weather">rain</attribute></tag>'
    labels = read(cvat(image(tag, box())))

    assert json.loads(labels.images["attributes"][0].as_py()) == {"tags": ["night"], "weather": "rain"}
    assert labels.boxes.num_rows == 1


def test_the_subset_is_a_split_and_a_folder():
    content = cvat(image(box(), more='subset="Train"'), image(box("bus"), more='subset="Validation"'))
    labels = read(content, "images/Train/a.jpg", "images/Validation/a.jpg")

    assert {row["path"]: row["source_split"] for row in labels.images.to_pylist()} == {
        "images/Train/a.jpg": "train",
        "images/Validation/a.jpg": "valid",
    }
    assert [row[1] for row in boxes(labels)] == ["car", "bus"]


def test_images_cut_from_a_video_have_names_without_extension():
    labels = read(cvat(image(box(), name="frame_000001")), "images/frame_000001.PNG", "images/frame_000002.PNG")

    assert [row[0] for row in boxes(labels)] == ["images/frame_000001.PNG"]


def test_images_cut_from_a_video_are_frames_of_the_video_file_where_that_is_what_there_is():
    head = meta(*LABELS, more="<source>clip.mp4</source>")
    frames = [f"clip.mp4!/video/{stamp}.jpg" for stamp in (0, 40, 100)]
    labels = read(cvat(image(box(), name="frame_000001"), image(box(), name="frame_000009"), head=head), *frames)

    assert [row[0] for row in boxes(labels)] == ["clip.mp4!/video/40.jpg"]
    assert [(problem.reason, problem.boxes) for problem in labels.problems] == [("label_missing_picture", 1)]


def test_a_label_that_the_head_does_not_list_is_a_class_all_the_same():
    labels = read(cvat(image(box("tram"))))

    assert looked_for(labels) == {"a.jpg": ("car", "bus", "tram")}
    assert "tram" in labels.notes[0]


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        (box(label=""), "label_syntax"),
        (box(corners=(30, 20, 10, 40)), "label_bad_box"),
        (box(corners=("nan", 20, 10, 40)), "label_bad_box"),
        ('<box label="car" xtl="1"/>', "label_bad_box"),
        ('<polygon label="car" points="1,2;3"/>', "label_bad_box"),
        ('<polygon label="car" points="1,2;3,4"/>', "label_bad_box"),
    ],
)
def test_a_bad_shape_costs_itself_and_is_named_by_line(shape, reason):
    labels = read(cvat(image(box()), image(shape, name="b.jpg")), "a.jpg", "b.jpg")

    assert problems(labels) == [("x.xml", 5, reason)]
    assert labels.boxes_read == 2
    assert set(looked_for(labels)) == {"a.jpg"}


@pytest.mark.parametrize("head", ["<meta></meta>", "<meta/>", "<meta><dumped>2024-01-01</dumped></meta>"])
def test_a_head_that_says_nothing_costs_nothing(head):
    labels = read(cvat(image(box()), head=head))

    assert boxes(labels) == [("a.jpg", "car", 10, 20, 30, 40)]
    assert looked_for(labels) == {"a.jpg": ("car",)}


def test_an_image_listed_twice_is_told_apart():
    labels = read(cvat(image(box()), image(box("bus"))))

    assert labels.images["listing"].to_pylist() == labels.boxes["listing"].to_pylist() == [0, 1]


def test_a_file_cut_short_yields_the_images_before_the_cut():
    labels = read(cvat(image(box()), image(box(), name="b.jpg"))[:-60], "a.jpg", "b.jpg")

    assert set(looked_for(labels)) == {"a.jpg"}
    assert [reason for *_, reason in problems(labels)] == ["label_syntax"]


def test_a_track_moves_linearly_between_its_shapes():
    labels = read_video(track(key(0, 10), key(4, 30), number=7))

    assert lefts(labels) == [(0, 10), (1, 15), (2, 20), (3, 25), (4, 30)]
    assert {entry["track_id"] for entry in attributes(labels)} == {"7"}
    assert [entry["keyframe"] for entry in attributes(labels)] == [True, False, False, False, True]


def test_a_track_ends_where_it_is_outside_and_may_come_back():
    labels = read_video(track(key(0, 10), key(2, 20, outside=1), key(4, 50)))

    assert lefts(labels) == [(0, 10), (1, 15), (4, 50)]


def test_a_track_that_is_never_outside_lasts_until_the_end():
    assert lefts(read_video(track(key(2, 10)))) == [(2, 10), (3, 10), (4, 10)]


def test_a_turn_takes_the_short_way():
    labels = read_video(track(key(0, more='rotation="350"'), key(2, more='rotation="10"'), key(3, outside=1)))

    assert [entry.get("rotation_deg", 0) for entry in attributes(labels)] == [350.0, 0, 10.0]


def test_frames_in_which_no_track_is_seen_are_labeled_and_empty():
    labels = read_video(track(key(0), key(1, outside=1)))

    assert len(looked_for(labels)) == 5
    assert set(labels.images["drive"].to_pylist()) == {"drive"}


def test_a_video_without_tracks_is_labeled_and_empty():
    assert len(looked_for(read_video())) == 5


def test_a_video_file_cut_short_labels_no_frame_as_a_track_may_be_missing():
    content = cvat(track(key(0)), track(key(0)), head=meta(*LABELS, more="<size>2</size>"))
    labels = read(content[:-40], "frame_000000.png", "frame_000001.png")

    assert labels.boxes.num_rows == 2
    assert looked_for(labels) == {}


def test_frames_are_named_by_number_where_pictures_are_called_so():
    names = ["v/frame_000003.png", "v/frame_000001.png"]
    labels = read_video(track(key(0, 10), key(4, 50)), names=names)

    assert lefts(labels) == [(1, 20), (3, 40)]
    assert [(problem.reason, problem.boxes) for problem in labels.problems] == [("label_missing_picture", 2)]


def test_frames_go_by_the_order_of_names_where_they_have_others():
    labels = read_video(track(key(0, 10), key(4, 50)), names=[f"v/{9 + number}.jpg" for number in range(5)])

    found = dict(zip(labels.boxes["path"].to_pylist(), labels.boxes["x1"].to_pylist(), strict=True))
    assert found == {"v/9.jpg": 10, "v/10.jpg": 20, "v/11.jpg": 30, "v/12.jpg": 40, "v/13.jpg": 50}
    assert "frame 0 is v/9.jpg" in labels.notes[0]


def test_a_task_with_start_and_step_counts_frames_of_the_whole_video():
    more = "<start_frame>2</start_frame><stop_frame>6</stop_frame><frame_filter>step=2</frame_filter>"
    cut, whole = [f"v/{number}.jpg" for number in range(3)], [f"v/{number}.jpg" for number in range(9)]

    assert lefts(read_video(track(key(2, 20), key(6, 60)), names=cut, more=more)) == [(0, 20), (1, 40), (2, 60)]
    assert lefts(read_video(track(key(2, 20), key(6, 60)), names=whole, more=more)) == [(2, 20), (4, 40), (6, 60)]


def test_frames_of_a_video_file_are_counted_in_the_order_of_their_times():
    stamps = [0, 40000000, 80000000, 120000000, 1000000000]
    names = [f"clip.mp4!/video/{stamp}.jpg" for stamp in stamps] + ["other/1.jpg"]
    labels = read_video(track(key(4, 7)), names=names, more="<size>5</size><source>clip.mp4</source>")

    assert labels.boxes["path"].to_pylist() == ["clip.mp4!/video/1000000000.jpg"]
    assert set(labels.images["drive"].to_pylist()) == {"clip.mp4"}


def test_too_few_pictures_for_the_frames_are_not_guessed_at():
    labels = read_video(track(key(0), key(4)), names=["v/1.jpg", "v/2.jpg"])

    assert labels.boxes.num_rows == 0
    assert [(problem.reason, problem.boxes) for problem in labels.problems] == [("label_missing_picture", 2)]


def test_a_video_does_not_take_the_pictures_beside_the_labels_of_another():
    content = cvat(track(key(0)), head=meta(*LABELS, more="<size>1</size>"))
    labels = read_cvat(InMemory(pictures("a/1.jpg") | {"a/x.xml": content, "b/x.xml": content}))

    assert labels.boxes["label_file"].to_pylist() == ["a/x.xml"]
    assert [(problem.path, problem.boxes) for problem in labels.problems] == [("b/x.xml", 1)]


def test_a_frame_number_beyond_all_sense_costs_no_memory():
    labels = read_video(track(key(0), key(999999999)), more="<size>5</size>")

    assert len(lefts(labels)) == 5


@pytest.mark.parametrize(
    ("content", "is_cvat"),
    [
        (cvat(image()), True),
        ("<annotations><track id='0' label='car'></track></annotations>", True),
        (cvat(), True),
        ("<annotations><image><box/></image></annotations>", False),
        ("<annotation><filename>a.jpg</filename></annotation>", False),
    ],
)
def test_files_are_told_by_content(content, is_cvat):
    assert bool(cvat_files(Sniffer(InMemory({"any.xml": content})))) == is_cvat


def test_the_truth_comes_back_exactly_as_cvat_keeps_its_decimals():
    home = shared_data("fmt_same_truth")
    labels = read_cvat(OnDisk(home / "cvat_images"))

    truth = json.loads((home / "truth.json").read_text())
    assert_same_boxes(found_rows(labels), truth_rows(truth["images"]), within_px=1e-6)
    assert len(looked_for(labels)) == 13
    assert set(next(iter(looked_for(labels).values()))) == set(truth["classes"])
    assert labels.problems == ()


@pytest.mark.parametrize("patterns", [("cvat_video/*", "frames/*"), ("cvat_video/*", "frames/*", "mot/**/*")])
def test_the_tracks_of_the_recording_are_those_of_its_truth(patterns):
    home = shared_data("fmt_recordings")
    labels = read_cvat(OnDisk(home, *patterns))

    truth = json.loads((home / "truth.json").read_text())
    assert_same_boxes(found_rows(labels), truth_rows(truth["frames"]), within_px=1e-6)
    assert len(looked_for(labels)) == 24
    assert labels.problems == ()
    assert sum(entry["keyframe"] for entry in attributes(labels)) == 8


def test_key_frames_alone_come_near_the_truth():
    home = shared_data("fmt_recordings")
    text = (home / "cvat_video" / "annotations.xml").read_text()
    keys = "\n".join(line for line in text.splitlines() if 'keyframe="0"' not in line)
    names = [f"frames/shadow_{number:06d}.jpg" for number in range(24)]
    labels = read(keys, *names)

    truth = json.loads((home / "truth.json").read_text())
    assert_same_boxes(found_rows(labels), truth_rows(truth["frames"]), within_px=1.0)


def test_the_fixtures_of_another_tool_have_the_shapes_of_their_files():
    home = shared_data("fmt_datumaro") / "cvat_dataset" / "for_images"
    labels = read_cvat(OnDisk(home))

    assert labels.boxes_read == count_in(home, "**/*.xml", rb"<(box|polygon) ") == 8
    assert [(problem.path, problem.reason) for problem in labels.problems] == [
        ("export_task/train.xml", "label_syntax")
    ]
    project = read_cvat(OnDisk(home / "export_project"))
    assert project.boxes.num_rows == 6
    assert {row["source_split"] for row in project.images.to_pylist()} == {"train", "valid", "test"}
    assert attributes(project)[0] == {"a1": True, "a2": "v3", "a3": "0003", "a4": 2.4, "occluded": True}


@pytest.mark.parametrize("name", ["fmt_same_truth/cvat_images", "fmt_datumaro/cvat_dataset"])
def test_cvat_sets_are_found_as_cvat(name):
    assert detect_format(OnDisk(shared_data(name))) == "cvat"
