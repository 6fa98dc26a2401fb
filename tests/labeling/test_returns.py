"""What annotators send may be anything: what is sound is taken, the rest is named, nothing ends the reading."""

import json

import pytest

from labeling.campaigns import MAX_RETURN_BYTES, RawReturn, list_returns, read_return
from labeling.collect import CollectRequest, collect
from tests.labeling.made import (
    about,
    annotated,
    box,
    campaign,
    collected,
    frame_id,
    frame_row,
    labels,
    raw,
    reasons,
    return_text,
    sent_frame,
    tables,
)


def deep(levels: int) -> list:
    value: list = []
    for _ in range(levels):
        value = [value]
    return value


MADE = tables([frame_row("a"), frame_row("b")])
MANIFEST = campaign(sent_frame("a"), sent_frame("b"))
GOOD = return_text(about("b", box()))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not_json"),
        (b"{", "not_json"),
        (b"\xff\xfe", "not_json"),
        (b"[" * 100_000, "not_json"),
        (b'{"frames":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "not_json"),
        (b'{"frames": ' + b"9" * 5000 + b"}", "not_json"),
        (b'{"campaign_id":"c1","purpose":"train","frames":[],"frames":[]}', "not_json"),
        (b"[]", "not_a_return"),
        (b"null", "not_a_return"),
        (b"{}", "not_a_return"),
        (b'{"campaign_id":"c1","purpose":"train","frames":{}}', "not_a_return"),
        (b'{"campaign_id":1,"purpose":"train","frames":[]}', "not_a_return"),
        (b'{"campaign_id":"c1","purpose":"train","frames":[],"annotator":"\\ud800"}', "not_a_return"),
        (b'{"campaign_id":"c1","purpose":"\\ud800","frames":[]}', "not_a_return"),
        (b'{"campaign_id":"c1","purpose":"train","frames":[],"returned_at":"yesterday"}', "bad_time"),
        (b'{"campaign_id":"c1","purpose":"train","frames":[],"returned_at":"2026-01-31T12:00:00"}', "bad_time"),
        (b'{"campaign_id":"c2","purpose":"train","frames":[]}', "wrong_campaign"),
        (b'{"campaign_id":"c1","purpose":"holdout","frames":[]}', "wrong_purpose"),
        (b'{"campaign_id":"c1","purpose":"anything","frames":[]}', "not_a_return"),
    ],
)
def test_a_file_of_no_use_is_quarantined_and_the_others_are_taken(data, reason):
    result = collected(MADE, MANIFEST, data, GOOD)

    assert reasons(result) == [reason]
    assert labels(result.tables, "b") == [("car", (1, 1, 9, 9))]
    assert (result.counts["returns_in"], result.counts["returns_read"], result.counts["returns_quarantined"]) == (
        2,
        1,
        1,
    )


def test_a_file_over_the_limit_is_quarantined_unread():
    big = RawReturn("c1", "returns/big.json", MAX_RETURN_BYTES + 1, None)

    result = collect(CollectRequest(MADE, (MANIFEST,), (big, raw(GOOD))))

    assert reasons(result) == ["too_large"]
    assert annotated(result.tables, "b") == ["car", "truck"]


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (about("unknown", box()), "unknown_frame"),
        (7, "broken_frame"),
        (None, "broken_frame"),
        ({}, "broken_frame"),
        ({"frame_id": ["a"], "annotated_classes": []}, "broken_frame"),
        ({**about("a"), "boxes": {"0": box()}}, "broken_frame"),
        ({**about("a"), "boxes": [box()] * 5001}, "broken_frame"),
        ({**about("a"), "annotated_classes": "car"}, "broken_frame"),
        ({"frame_id": frame_id("a"), "annotated_classes": ["car"]}, "broken_frame"),
        (about("a", {"x1": 10**400}), "broken_box"),
        (about("a", deep(300)), "broken_box"),
        (deep(300), "broken_frame"),
        (about("a", 7), "broken_box"),
        (about("a", {"x1": 1}), "broken_box"),
        (about("a", classes=["bicycle"]), "unknown_class"),
        ({**about("a"), "frame_id": "\ud800"}, "unknown_frame"),
        ({**about("a"), "width": "\ud800"}, "broken_frame"),
    ],
)
def test_ac_c7_one_bad_frame_does_not_reject_the_whole_import(frame, reason):
    result = collected(MADE, MANIFEST, return_text(frame, about("b", box())))

    assert reasons(result) == [reason]
    assert annotated(result.tables, "a") == []
    assert labels(result.tables, "b") == [("car", (1, 1, 9, 9))]
    assert result.counts["answers_quarantined"] == 1


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (box(corners=(float("nan"), 1, 9, 9)), "broken_box"),
        (box(corners=(1, 1, float("inf"), 9)), "broken_box"),
        ({**box(), "x1": "1"}, "broken_box"),
        ({**box(), "x1": True}, "broken_box"),
        ({**box(), "attributes": {"a": [1]}}, "broken_box"),
        ({**box(), "attributes": {"a": float("nan")}}, "broken_box"),
        ({**box(), "box_id": "\ud800"}, "broken_box"),
        ({**box(), "box_id": 7}, "broken_box"),
        ({**box(), "x1": "\ud800"}, "broken_box"),
        ({**box(), "x2": 10**400}, "broken_box"),
        ({**box(), "x2": 10**30}, "outside"),
        ({**box(), "rotation": 30}, "turned"),
        ({**box(), "angle": -90.0}, "turned"),
        ({**box(), "rotation": "30.0"}, "turned"),
        ({**box(), "angle": " 12°"}, "turned"),
        ({**box(), "rotation": 10**400 + 1}, "turned"),
        ({**box(), "attributes": deep(300)}, "broken_box"),
        (box(corners=(9, 1, 1, 9)), "negative_size"),
        (box(corners=(1, 9, 9, 1)), "negative_size"),
        (box(corners=(-1.01, 1, 9, 9)), "outside"),
        (box(corners=(1, 1, 9, 51.01)), "outside"),
        (box(corners=(200, 1, 210, 9)), "outside"),
    ],
)
def test_a_box_that_cannot_be_placed_leaves_its_class_unlabeled_and_the_others_labeled(bad, reason):
    frame = about("a", bad, box(corners=(20, 20, 30, 30)), box("truck"))

    result = collected(MADE, MANIFEST, return_text(frame))

    assert reasons(result) == sorted([reason, "incomplete_class"])
    assert annotated(result.tables, "a") == ["truck"]
    assert labels(result.tables, "a") == [("truck", (1, 1, 9, 9))]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (box("bicycle"), "unknown_class"),
        (box(corners=(5, 5, 5, 9)), "empty_box"),
    ],
)
def test_a_box_that_says_nothing_of_its_class_is_quarantined_alone(bad, reason):
    result = collected(MADE, MANIFEST, return_text(about("a", bad, box())))

    assert reasons(result) == [reason]
    assert annotated(result.tables, "a") == ["car", "truck"]
    assert labels(result.tables, "a") == [("car", (1, 1, 9, 9))]


def test_ac_c13_a_box_that_a_tool_turned_does_not_pass_for_an_upright_one():
    frame = about("a", {**box(), "rotation": 12.5}, {**box("truck"), "rotation": "180", "angle": True, "turn": "left"})

    result = collected(MADE, MANIFEST, return_text(frame))

    assert labels(result.tables, "a") == [("truck", (1, 1, 9, 9))]
    assert annotated(result.tables, "a") == ["truck"]
    assert any("is turned by 12.5 degrees" in detail for detail in result.quarantine["detail"].to_pylist())


@pytest.mark.parametrize("name", ["Car", "CAR", " car ", "cAr\t"])
def test_a_class_is_known_by_its_letters_whatever_their_case(name):
    result = collected(MADE, MANIFEST, return_text(about("a", box(name), classes=[name, "truck"])))

    assert (reasons(result), annotated(result.tables, "a")) == ([], ["car", "truck"])
    assert labels(result.tables, "a") == [("car", (1, 1, 9, 9))]


@pytest.mark.parametrize("name", ["cars", "c-a-r", "c_ar"])
def test_a_class_whose_boxes_came_under_a_name_nearly_so_does_not_pass_for_looked_for_in_vain(name):
    result = collected(MADE, MANIFEST, return_text(about("a", box(name), box("truck"))))

    assert reasons(result) == ["incomplete_class", "unknown_class"]
    assert f"there is no class {name!r}, 'car' would do" in result.quarantine["detail"].to_pylist()[1]
    assert annotated(result.tables, "a") == ["truck"]


@pytest.mark.parametrize("size", [{"width": 200, "height": 100}, {"width": 50}, {"height": 100}])
def test_labels_of_a_picture_that_was_resized_or_turned_are_quarantined(size):
    result = collected(MADE, MANIFEST, return_text(about("a", box(), **size), about("b", width=100, height=50)))

    assert reasons(result) == ["wrong_size"]
    assert (annotated(result.tables, "a"), annotated(result.tables, "b")) == ([], ["car", "truck"])


def test_corners_that_are_shares_of_the_picture_are_no_pixels():
    frames = about("a", box(corners=(0.1, 0.2, 0.9, 1.0))), about("b", box("truck", (0, 0, 0.5, 0.5)))

    result = collected(MADE, MANIFEST, return_text(*frames))

    assert reasons(result) == ["not_pixels"]
    assert annotated(result.tables, "a") == []


@pytest.mark.parametrize("name", ["images/{}.jpg", "{}.png", " {}", "C:/tool/{}.task.jpg"])
def test_a_file_name_is_no_frame_id_and_the_line_says_what_is(name):
    value = {**about("a"), "frame_id": name.format(frame_id("a"))}

    result = collected(MADE, MANIFEST, return_text(value))

    (detail,) = result.quarantine["detail"].to_pylist()
    assert detail.endswith(f"was not sent in this campaign; its frame_id is {frame_id('a')!r} alone")


def test_a_box_of_a_class_that_the_answer_does_not_state_is_quarantined():
    result = collected(MADE, MANIFEST, return_text(about("a", box("truck"), classes=["car"])))

    assert reasons(result) == ["class_not_stated"]
    assert annotated(result.tables, "a") == ["car"]


@pytest.mark.parametrize("overhang", [0.0, 0.5, 1.0])
def test_a_corner_a_pixel_outside_is_put_on_the_edge(overhang):
    frame = about("a", box(corners=(-overhang, -overhang, 100 + overhang, 50 + overhang)))

    result = collected(MADE, MANIFEST, return_text(frame))

    assert labels(result.tables, "a") == [("car", (0, 0, 100, 50))]


def test_unknown_fields_are_ignored_and_named():
    frame = about("a", {**box(), "zorder": 3}, reviewer="bob")

    result = collected(MADE, MANIFEST, return_text(frame, tool="x"))

    assert annotated(result.tables, "a") == ["car", "truck"]
    assert [note.split(": ")[1] for note in result.notes] == [
        "field 'frames[].boxes[].zorder' is unknown and was ignored (1 times)",
        "field 'frames[].reviewer' is unknown and was ignored (1 times)",
        "field 'tool' is unknown and was ignored (1 times)",
    ]


def test_of_very_many_unknown_fields_a_few_are_named_and_all_are_counted():
    result = collected(MADE, MANIFEST, return_text(about("a"), **{f"field{number}": 1 for number in range(500)}))

    assert len(result.notes) == 21
    assert result.notes[-1] == "500 unknown fields in all"


def test_a_mark_of_byte_order_does_no_harm():
    result = collected(MADE, MANIFEST, b"\xef\xbb\xbf" + GOOD)

    assert annotated(result.tables, "b") == ["car", "truck"]


def test_what_was_quarantined_names_file_campaign_and_frame():
    result = collected(MADE, MANIFEST, return_text(about("unknown")))

    (row,) = result.quarantine.to_pylist()
    assert row["batch"] == "campaign:c1"
    assert row["path"] == "returns/0.json"
    assert "was not sent in this campaign" in row["detail"]


def test_hidden_files_are_no_returns(tmp_path):
    folder = tmp_path / "campaigns" / "c1" / "returns"
    (folder / "day 1").mkdir(parents=True)
    for name in ("b.json", ".DS_Store", "._b.json", "day 1/a.json"):
        (folder / name).write_text("{}")

    found = list_returns(tmp_path.as_uri(), ["c1", "c2"])

    assert [item.path for item in found] == ["c1/returns/b.json", "c1/returns/day 1/a.json"]
    assert read_return(found[1]) == RawReturn("c1", "returns/day 1/a.json", 2, b"{}")


def test_a_return_of_many_frames_is_read_in_moderate_time(tmp_path):
    names = [f"n{number}" for number in range(2000)]
    manifest = campaign(*(sent_frame(name) for name in names))
    boxes = [box(corners=(x, 1, x + 5, 9)) for x in range(10)]

    result = collected(tables([frame_row(n) for n in names]), manifest, return_text(*(about(n, *boxes) for n in names)))

    assert result.counts["boxes_taken"] == 20_000
    assert json.dumps(dict(result.counts))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ([], "'car' stays unlabeled here: a box of it is unusable"),
        ([box()], "'car' stays unlabeled here: a box of it is unusable, which takes 1 sound box with it"),
    ],
)
def test_of_a_class_that_is_not_taken_it_is_said_what_becomes_of_it_and_of_its_sound_boxes(more, said):
    answer = about("a", box(corners=(200, 1, 210, 9)), *more)

    result = collected(MADE, MANIFEST, return_text(answer))

    assert any(row["detail"].endswith(said) for row in result.quarantine.to_pylist())
