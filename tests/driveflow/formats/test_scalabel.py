import json
import re

import pytest

from driveflow.errors import NotFoundError
from driveflow.formats.detect import detect_formats
from driveflow.formats.scalabel import read_scalabel, scalabel_files
from driveflow.formats.sniff import Sniffer
from tests.driveflow.formats.in_memory import InMemory, boxes, looked_for, pictures, problems
from tests.driveflow.formats.on_disk import OnDisk, assert_same_boxes, count_in, found_rows, truth_rows
from tests.shared_data import shared_data


def _label(category="van", box=(1, 2, 30, 40), **more):
    return {"id": 3, "category": category, "box2d": dict(zip(("x1", "y1", "x2", "y2"), box, strict=True)), **more}


def _frame(name="a.jpg", labels=(), **more):
    return {"name": name, "labels": list(labels or [_label()]), **more}


def _files(document, *names):
    text = document if isinstance(document, str) else json.dumps(document)
    return InMemory({"l.json": text, **pictures(*(names or ("a.jpg",)))})


def _read(document, *names):
    return read_scalabel(_files(document, *names), "l.json")


def _config(*categories):
    return {"config": {"categories": list(categories), "imageSize": {"width": 640, "height": 480}}}


def _attributes(labels):
    return [json.loads(text) for text in labels.boxes["attributes"].to_pylist()]


def _images(labels, *names):
    return [tuple(row[name] for name in names) for row in labels.images.to_pylist()]


@pytest.mark.parametrize(
    "document",
    [
        [_frame(videoName="v", frameIndex=4)],
        {"frames": [_frame(videoName="v", frameIndex=4)], "groups": [], **_config({"name": "van"})},
        [{"frame_name": "a.jpg", "video_name": "v", "index": 4, "objects": [_label()]}],
    ],
    ids=["list", "dict", "renamed keys"],
)
def test_ac_b15_lists_documents_and_renamed_keys_are_told_by_content_and_say_the_same(document):
    files = _files(document)

    assert scalabel_files(Sniffer(files)) == ["l.json"]
    labels = read_scalabel(files)
    assert boxes(labels) == [("a.jpg", "van", 1, 2, 30, 40)]
    assert _images(labels, "drive") == [("v",)]


@pytest.mark.parametrize(
    "document",
    [
        {"frames": [{"file_path": "a.jpg", "transform_matrix": []}]},
        [{"name": "a.jpg", "license": 3}],
        {"openlabel": {"frames": {}}},
        [{"image": "a.jpg", "id": 1, "label": []}],
        ["a.jpg"],
        {"frames": 3},
    ],
)
def test_other_json_is_not_taken_for_scalabel(document):
    assert scalabel_files(Sniffer(_files(document))) == []


def test_ac_b20_names_and_ids_that_are_text_in_one_frame_and_numbers_in_another_are_one():
    frames = [
        _frame(name, [_label(id=key)], videoName=video)
        for name, key, video in ((7, "3", "12"), ("7.jpg", 3, 12), ("8.jpg", 3.0, 12.0))
    ]
    labels = _read(frames, "7.jpg", "8.jpg")

    assert _images(labels, "path", "listing", "drive") == [("7.jpg", 0, "12"), ("7.jpg", 1, "12"), ("8.jpg", 0, "12")]
    assert {row["track_id"] for row in _attributes(labels)} == {"3"}


@pytest.mark.parametrize(
    ("said", "labeled"), [({"labels": []}, True), ({"labels": None}, False), ({}, False)], ids=["empty", "null", "none"]
)
def test_an_empty_list_is_labeled_and_empty_and_no_list_is_unlabeled(said, labeled):
    frame = {"name": "a.jpg", "videoName": "v", **said}

    assert ("a.jpg" in looked_for(_read([frame, _frame("b.jpg")], "a.jpg", "b.jpg"))) is labeled


def test_the_leaves_of_the_categories_were_looked_for():
    tree = [{"name": "human", "subcategories": [{"name": "rider"}, {"name": "walker"}]}, {"name": "van"}]
    labels = _read({"frames": [_frame(labels=[_label("human")])], **_config(*tree)})

    assert looked_for(labels) == {"a.jpg": ("rider", "walker", "van", "human")}
    assert _images(labels, "width", "height", "broken") == [(640, 480, "")]


def test_without_categories_all_that_was_seen_was_looked_for():
    labels = _read([_frame("a.jpg"), _frame("b.jpg", [_label("tram")])], "a.jpg", "b.jpg")

    assert looked_for(labels) == dict.fromkeys(("a.jpg", "b.jpg"), ("tram", "van"))


def test_a_category_that_the_document_does_not_list_breaks_the_picture():
    labels = _read({"frames": [_frame(labels=[_label("tank"), _label()])], **_config("van")})

    assert problems(labels) == [("l.json", None, "label_class_out_of_range")]
    assert "a.jpg, label 0: category 'tank'" in _images(labels, "broken")[0][0]


def test_a_size_of_the_frame_goes_before_that_of_all():
    labels = _read({"frames": [_frame(size={"width": 8, "height": 6})], **_config("van")})

    assert _images(labels, "width", "height") == [(8, 6)]


@pytest.mark.parametrize(
    ("said", "known"),
    [
        (1_700_000_001_600, (1_700_000_001_600_000_000, "utc")),
        (1500, (1_500_000_000, "drive_relative")),
        (1_700_000_001_600_000_000, (None, "")),
        (-1, (None, "")),
        (None, (None, "")),
    ],
)
def test_timestamps_are_milliseconds_and_what_cannot_be_is_left_out(said, known):
    labels = _read([_frame(timestamp=said)])

    assert _images(labels, "captured_ns", "clock") == [known]
    assert bool(labels.notes) is (said is not None and known[0] is None)


def test_frames_numbered_without_a_video_are_a_sequence():
    assert _images(_read([_frame(frameIndex=0)]), "drive", "sequence") == [("", "l.json")]


@pytest.mark.parametrize("name", ["v/a.jpg", "images/v/a.jpg", "deep/v/a.jpg"])
def test_pictures_lie_in_a_folder_of_their_video(name):
    assert boxes(_read([_frame(videoName="v")], name, "w/a.jpg"))[0][0] == name


def test_a_url_within_the_data_is_where_the_picture_lies():
    assert boxes(_read([_frame("front 1", url="cam/x.png")], "cam/x.png", "x.png"))[0][0] == "cam/x.png"


def test_a_url_of_the_net_is_a_name():
    url = "https://host/bucket/frames/val/x.jpg"

    assert boxes(_read([_frame(url, url=url)], "val/x.jpg"))[0][0] == "val/x.jpg"


def test_a_mask_becomes_the_box_around_it_in_both_spellings():
    labels = [
        {"category": "van", "rle": {"counts": [5, 2, 7], "size": [4, 4]}},
        {"category": "van", "rle": {"counts": "527", "size": [4, 4]}},
    ]
    read = _read([_frame(labels=labels)])

    assert boxes(read) == [("a.jpg", "van", 1, 1, 2, 3)] * 2
    assert [row["shape"] for row in _attributes(read)] == ["mask", "mask"]


def test_an_outline_becomes_the_box_around_it_with_its_curves():
    straight = {"vertices": [[0, 0], [8, 0], [8, 6]], "types": "LLL", "closed": True}
    curved = {"vertices": [[0, 0], [0, 8], [4, 8], [4, 0]], "types": "LCCL", "closed": True}
    read = _read([_frame(labels=[{"category": "van", "poly2d": [part]} for part in (straight, curved)])])

    assert sorted(boxes(read)) == [("a.jpg", "van", 0, 0, 4, 6), ("a.jpg", "van", 0, 0, 8, 6)]  # 0.75 of 8 up the curve


def test_crowds_and_ignored_labels_are_ignore_regions():
    told = [{"attributes": {"crowd": True}}, {"attributes": {"Ignored": True}}, {"ignored": True}, {"attributes": None}]

    labels = _read([_frame(labels=[_label(**more) for more in told])])
    assert labels.boxes["ignore"].to_pylist() == [True, True, True, False]


def test_a_file_of_scores_only_makes_no_picture_labeled():
    labels = _read([_frame(labels=[_label(score=0.5)]), {"name": "b.jpg", "labels": []}], "a.jpg", "b.jpg")

    assert labels.boxes["score"].to_pylist() == [0.5]
    assert looked_for(labels) == {}


def test_predictions_label_no_picture_though_others_of_the_file_are_labeled():
    labels = _read([_frame(labels=[_label(score=0.5)]), _frame("b.jpg")], "a.jpg", "b.jpg")

    assert list(looked_for(labels)) == ["b.jpg"]


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        (_label(box=(5, 5, 5, 9)), "label_bad_box"),
        (_label(box=(5, 5, None, 9)), "label_bad_box"),
        ({"category": "van", "box2d": [1, 2, 3, 4]}, "label_bad_box"),
        ({"category": "van", "rle": {"counts": [0, 99], "size": [2, 2]}}, "label_bad_box"),
        ({"category": "van", "rle": {"counts": "~", "size": "2"}}, "label_bad_box"),
        (_label(None), "label_no_class"),
        (_label(score=7), "label_bad_score"),
    ],
)
def test_a_label_of_no_use_is_named_and_is_no_example_of_nothing_to_see(label, reason):
    labels = _read([_frame(labels=[label]), _frame("b.jpg")], "a.jpg", "b.jpg")

    assert problems(labels) == [("l.json", None, reason)]
    assert list(looked_for(labels)) == ["b.jpg"]
    assert labels.boxes_read == 2


@pytest.mark.parametrize("text", ["", "[", "[1", "null", "7", '{"frames": 7}', "[[]]", "[" * 9000, '[{"name": {}}]'])
def test_no_content_makes_the_reader_raise(text):
    assert _read(text).boxes.num_rows == 0


def test_numbers_that_json_has_not_cost_their_own_label_only():
    text = json.dumps([_frame(labels=[_label(box=(1, 2, "X", 4)), _label(), _label(box=(1, 2, "Y", 4))])])

    labels = _read(text.replace('"X"', "NaN").replace('"Y"', "1e999"))
    assert boxes(labels) == [("a.jpg", "van", 1, 2, 30, 40)]
    assert [reason for *_, reason in problems(labels)] == ["label_bad_box"] * 2


def test_a_file_that_is_no_json_is_named_with_its_line():
    assert problems(_read("[\n{]")) == [("l.json", 2, "label_syntax")]


def test_of_a_folder_of_annotations_only_what_lies_there_is_read():
    files = _files([_frame()])
    files.files |= {"old/l.json": json.dumps([_frame(labels=[_label("tram")])]), "old/x.json": "{}"}

    assert boxes(read_scalabel(files, "old"))[0][1] == "tram"
    assert read_scalabel(files, "old").files == {"old/l.json"}


def test_annotations_that_are_not_there_are_refused():
    with pytest.raises(NotFoundError, match=r"'x\.json' is no file of the batch"):
        read_scalabel(_files([_frame()]), "x.json")


def test_the_truth_comes_back_exactly_as_scalabel_keeps_its_decimals():
    home = shared_data("fmt_same_truth")
    files = OnDisk(home / "scalabel")
    labels = read_scalabel(files)

    truth = json.loads((home / "truth.json").read_text())["images"]
    classes = json.loads((home / "class_maps.json").read_text())["scalabel"]
    assert_same_boxes(found_rows(labels), truth_rows(truth, classes=classes), within_px=1e-9)
    assert {image["file"]: image["timestamp_us"] * 1000 for image in truth} == {
        path.rpartition("/")[2]: captured_ns for path, captured_ns in _images(labels, "path", "captured_ns")
    }
    assert len(looked_for(labels)) == 13
    assert labels.problems == ()
    assert detect_formats(files) == ["scalabel"]


def test_the_fixtures_of_scalabel_itself_have_as_many_boxes_as_their_text():
    home = shared_data("fmt_scalabel")
    files = OnDisk(home)
    labels = read_scalabel(files)

    found = scalabel_files(Sniffer(files))
    texts = {path: (home / path).read_text() for path in found}
    drawn = sum(len(re.findall(r'"box2d":\s*\{', text)) for text in texts.values())
    outlines = len(re.findall(r'"category"', texts["example_annotation.json"]))
    assert len(found) == 5  # the two others are a mask and a polygon, not labels
    assert count_in(home, "example_annotation.json", rb'"box2d"') == 0
    assert labels.boxes_read == drawn + outlines == 43
    assert {problem.reason for problem in labels.problems} == {"label_missing_picture"}


def test_masks_of_the_fixtures_agree_with_their_boxes():
    text = (shared_data("fmt_scalabel") / "scalabel_ins_seg.json").read_text()
    frames = json.loads(text)
    drawn = [tuple(label["box2d"].values()) for label in frames[0]["labels"]]
    for label in frames[0]["labels"]:
        del label["box2d"], label["poly2d"]

    masks = boxes(_read(frames, frames[0]["name"]))
    for (_, _, *found), (x1, y1, x2, y2) in zip(masks, sorted(drawn), strict=True):
        assert found == [x1, y1, x2 + 1, y2 + 1]  # these boxes are those of the masks and name the last pixel


def test_a_picture_listed_twice_in_the_fixtures_is_two_listings():
    home = shared_data("fmt_scalabel")
    name = "scalabel_box_track.json"
    labels = read_scalabel(InMemory({name: (home / name).read_bytes(), **pictures("b1c66a42-6f7d68ca.jpg")}))

    assert labels.images["listing"].to_pylist() == [0, 1]
    assert labels.boxes.num_rows == count_in(home, name, rb'"box2d"') == 8
