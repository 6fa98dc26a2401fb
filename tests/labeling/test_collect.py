"""Labels come back onto their frames: by frame and box id, for the right purpose, with every disagreement told."""

import json
import shutil

import pytest

from labeling.campaigns import open_manifest
from labeling.collect import CollectRequest, answered_classes, collect, load_request
from labeling.hand_off import hand_off
from labeling.returns import read_returns
from tests.labeling.made import (
    about,
    annotated,
    box,
    box_row,
    campaign,
    collected,
    frame_id,
    frame_row,
    hand_off_request,
    labels,
    predictions,
    raw,
    reasons,
    return_text,
    sent_box,
    sent_frame,
    tables,
)

A = (1.0, 1.0, 9.0, 9.0)
B = (20.0, 20.0, 30.0, 30.0)
C = (40.0, 20.0, 50.0, 30.0)


def conflicts(result) -> list[tuple[str, str]]:
    return sorted((row["rule"], row["winner"]) for row in result.conflicts.to_pylist())


def box_ids(made, name) -> set[str]:
    return {row["box_id"] for row in made.boxes.to_pylist() if row["frame_id"] == frame_id(name)}


def test_labels_lie_on_their_frame_with_campaign_annotator_and_guideline():
    result = collected(tables([frame_row("a")]), campaign(sent_frame("a")), return_text(about("a", box(corners=A))))

    (row,) = result.tables.boxes.to_pylist()
    assert (row["frame_id"], row["class_name"], row["x2"]) == (frame_id("a"), "car", 9.0)
    assert (row["origin"], row["annotator"], row["guideline"], row["score"]) == ("campaign:c1", "ann", "v1", None)
    assert annotated(result.tables, "a") == ["car", "truck"]


def test_a_frame_that_somebody_looked_at_in_vain_is_labeled_empty():
    result = collected(tables([frame_row("a")]), campaign(sent_frame("a")), return_text(about("a")))

    assert annotated(result.tables, "a") == ["car", "truck"]
    assert result.tables.boxes.num_rows == 0


def test_ac_c7_one_unknown_image_does_not_reject_the_others():
    data = return_text(about("elsewhere", box()), about("a", box(corners=A)))

    result = collected(tables([frame_row("a")]), campaign(sent_frame("a")), data)

    assert labels(result.tables, "a") == [("car", A)]
    assert reasons(result) == ["unknown_frame"]


def test_ac_c11_a_frame_that_does_not_come_back_stays_unlabeled():
    made = tables([frame_row("a"), frame_row("b", annotated=["truck"])], [box_row("b", "t", "truck")])

    result = collected(made, campaign(sent_frame("a"), sent_frame("b", ["car"])), return_text(about("a")))

    assert annotated(result.tables, "b") == ["truck"]
    assert labels(result.tables, "b") == labels(made, "b")
    assert result.counts["frames_not_returned"] == 1


def test_ac_c11_a_campaign_without_any_return_changes_nothing():
    made = tables([frame_row("a")], [box_row("a", "x")])

    result = collected(made, campaign(sent_frame("a")))

    assert result.tables == made
    assert result.counts["frames_not_returned"] == 1


def test_boxes_of_other_classes_stay():
    made = tables([frame_row("a", annotated=["truck"])], [box_row("a", "t", "truck", B)])

    result = collected(
        made, campaign(sent_frame("a", ["car"])), return_text(about("a", box(corners=A), classes=["car"]))
    )

    assert labels(result.tables, "a") == [("car", A), ("truck", B)]
    assert annotated(result.tables, "a") == ["car", "truck"]


def test_order_and_names_of_files_decide_nothing():
    first, second = return_text(about("a", box(corners=A))), return_text(about("b", box(corners=B)))
    made, manifest = tables([frame_row("a"), frame_row("b")]), campaign(sent_frame("a"), sent_frame("b"))

    one = collect(CollectRequest(made, (manifest,), (raw(first, "returns/1"), raw(second, "returns/2"))))
    two = collect(CollectRequest(made, (manifest,), (raw(second, "returns/9"), raw(first, "returns/0"))))

    assert one.tables == two.tables


# Three ways: what was sent, what is here now, what came back.


def test_ac_c10_a_sent_box_keeps_its_id_when_it_comes_back_moved_or_of_another_class():
    sent = [sent_box("p1", corners=A), sent_box("p2", corners=B)]
    data = return_text(about("a", box("truck", A, "p1"), box("car", (21, 20, 30, 30), "p2"), box("car", C)))

    result = collected(tables([frame_row("a")]), campaign(sent_frame("a", prelabels=sent)), data)

    assert {"p1", "p2"} < box_ids(result.tables, "a")
    assert labels(result.tables, "a") == [("car", (21.0, 20.0, 30.0, 30.0)), ("car", C), ("truck", A)]


def test_ac_c10_what_became_of_every_sent_box_is_counted():
    corners = {"kept": A, "moved": B, "other": C, "gone": (60, 1, 70, 9)}
    sent = [sent_box(name, corners=place) for name, place in corners.items()]
    data = return_text(
        about("a", box(corners=A, box_id="kept"), box(corners=C, box_id="moved"), box("truck", C, "other"))
    )

    counts = collected(tables([frame_row("a")]), campaign(sent_frame("a", prelabels=sent)), data).counts

    names = ("confirmed", "moved", "reclassified", "rejected")
    assert [counts[f"prelabels_{name}"] for name in names] == [1, 1, 1, 1]
    assert counts["prelabels_answered"] == 4


def test_ac_c10_a_box_that_was_copied_in_the_tool_is_not_lost():
    sent = [sent_box("p1", corners=A)]
    data = return_text(about("a", box(corners=B, box_id="p1"), box(corners=A, box_id="p1")))

    result = collected(tables([frame_row("a")]), campaign(sent_frame("a", prelabels=sent)), data)

    rows = {row["box_id"]: row["x1"] for row in result.tables.boxes.to_pylist()}
    assert len(rows) == 2
    assert rows["p1"] == A[0]  # the nearest keeps the id
    assert conflicts(result) == [("copied_box_id", "both")]


def test_ac_c10_a_box_that_was_deleted_here_and_kept_there_comes_back_and_is_told():
    sent = [sent_box("b1", corners=A, origin="batch:b")]
    data = return_text(about("a", box(corners=A, box_id="b1")))

    result = collected(tables([frame_row("a")]), campaign(sent_frame("a", prelabels=sent)), data)

    assert labels(result.tables, "a") == [("car", A)]
    assert conflicts(result) == [("deleted_here", "right")]


@pytest.mark.parametrize("answer", [[box(corners=C, box_id="b1")], []], ids=["moved there", "deleted there"])
def test_ac_c10_a_box_that_was_changed_on_both_sides_is_told_and_the_answer_counts(answer):
    made = tables([frame_row("a")], [box_row("a", "b1", corners=B)])
    sent = [sent_box("b1", corners=A, origin="batch:b")]

    result = collected(made, campaign(sent_frame("a", prelabels=sent)), return_text(about("a", *answer)))

    assert labels(result.tables, "a") == ([("car", C)] if answer else [])
    assert conflicts(result) == [("changed_here", "right")]


def test_ac_c10_a_box_that_was_added_here_since_the_hand_off_is_kept_and_told():
    made = tables([frame_row("a")], [box_row("a", "new", corners=B)])

    result = collected(made, campaign(sent_frame("a")), return_text(about("a", box(corners=A))))

    assert labels(result.tables, "a") == [("car", A), ("car", B)]
    assert conflicts(result) == [("added_here", "both")]


def test_ac_c10_a_box_that_was_added_on_both_sides_is_there_once():
    made = tables([frame_row("a")], [box_row("a", "new", corners=(1.1, 1, 9, 9))])

    result = collected(made, campaign(sent_frame("a")), return_text(about("a", box(corners=A))))

    assert labels(result.tables, "a") == [("car", A)]
    assert conflicts(result) == [("added_here", "right")]


def test_a_sent_box_that_nobody_changed_here_goes_by_the_answer_without_a_word():
    made = tables([frame_row("a")], [box_row("a", "b1", corners=A)])
    sent = [sent_box("b1", corners=A, origin="batch:b")]

    result = collected(
        made, campaign(sent_frame("a", prelabels=sent)), return_text(about("a", box(corners=B, box_id="b1")))
    )

    assert labels(result.tables, "a") == [("car", B)]
    assert box_ids(result.tables, "a") == {"b1"}
    assert conflicts(result) == []


def test_labels_that_came_from_elsewhere_since_the_hand_off_stay_and_the_answer_is_told():
    made = tables([frame_row("a", annotated=["car"])], [box_row("a", "x", corners=A)])

    result = collected(made, campaign(sent_frame("a")), return_text(about("a", box(corners=B))))

    assert labels(result.tables, "a") == [("car", A)]
    assert conflicts(result) == [("already_annotated", "left")]
    assert result.counts["boxes_superseded"] == 1


def test_ignore_regions_stay_beside_an_answer():
    made = tables([frame_row("a")], [box_row("a", "i", corners=C, ignore=True)])

    result = collected(made, campaign(sent_frame("a")), return_text(about("a", box(corners=A))))

    assert labels(result.tables, "a") == [("car", A), ("car", C)]
    assert conflicts(result) == []


def test_two_boxes_never_share_an_id():
    made = tables([frame_row("a", annotated=["car"])], [box_row("a", "b1", "car", corners=A)])
    sent = [sent_box("b1", "car", corners=A, origin="batch:b")]

    result = collected(made, campaign(sent_frame("a", prelabels=sent)), return_text(about("a", box("truck", A, "b1"))))

    assert labels(result.tables, "a") == [("car", A), ("truck", A)]
    assert len(box_ids(result.tables, "a")) == 2


def test_ac_c12_ac_c13_what_a_tool_sends_back_as_it_was_comes_out_as_it_went_in(tmp_path):
    facts = {"occluded": True, "truncated": False, "rotation": 12.5, "colour": "grün", "lane": None, "track": 7}
    made = tables(
        [frame_row("a")], [box_row("a", "b1", corners=(1.25, 2.5, 9.125, 9.75), attributes=json.dumps(facts))]
    )
    done = hand_off(hand_off_request(made, ("a",), tmp_path)).campaign
    (sent,) = json.loads((tmp_path / "campaigns" / done.campaign_id / "campaign.json").read_bytes())["frames"]
    echoed = [
        {name: value for name, value in one.items() if name not in {"score", "origin"}} for one in sent["prelabels"]
    ]
    data = return_text(about("a", *echoed), campaign_id=done.campaign_id)

    manifest = open_manifest(tmp_path.as_uri(), done.campaign_id)
    result = collect(CollectRequest(made, (manifest,), (raw(data, campaign_id=done.campaign_id),)))

    (row,) = result.tables.boxes.to_pylist()
    assert json.loads(row["attributes"]) == facts
    assert (row["box_id"], row["x1"], row["y1"], row["x2"], row["y2"]) == ("b1", 1.25, 2.5, 9.125, 9.75)
    assert (result.counts["prelabels_confirmed"], conflicts(result), result.notes) == (1, [], ())


def test_ac_c12_attributes_that_a_tool_does_not_send_back_stay_as_sent():
    manifest = campaign(sent_frame("a", prelabels=[sent_box("p1", corners=A)]))
    frames = json.loads(json.dumps([about("a", box(corners=A, box_id="p1"))]))
    sent = manifest.frames[0].prelabels[0]
    object.__setattr__(sent, "attributes", {"occluded": True})

    result = collected(tables([frame_row("a")]), manifest, return_text(*frames))

    assert result.tables.boxes["attributes"].to_pylist() == ['{"occluded":true}']


# Several answers.


def test_the_same_answer_twice_in_one_file_counts_once():
    data = return_text(about("a", box(corners=A)), about("a", box(corners=A)))

    result = collected(tables([frame_row("a")]), campaign(sent_frame("a")), data)

    assert labels(result.tables, "a") == [("car", A)]
    assert conflicts(result) == []
    assert (result.counts["answers_taken"], result.counts["answers_repeated"]) == (1, 1)


def test_of_two_answers_in_one_file_the_later_counts_and_the_other_is_told():
    data = return_text(about("a", box(corners=A), classes=["car"]), about("a", box(corners=B), classes=["car"]))

    result = collected(tables([frame_row("a")]), campaign(sent_frame("a")), data)

    assert labels(result.tables, "a") == [("car", B)]
    assert conflicts(result) == [("later_in_file", "left")]


@pytest.mark.parametrize("swap", [False, True])
def test_of_two_files_the_one_with_the_later_time_counts(swap):
    old = return_text(about("a", box(corners=A), classes=["car"]), returned_at="2026-01-31T12:00:00+01:00")
    new = return_text(about("a", box(corners=B), classes=["car"]), returned_at="2026-01-31T11:00:01Z")
    files = (new, old) if swap else (old, new)

    result = collected(tables([frame_row("a")]), campaign(sent_frame("a")), *files)

    assert labels(result.tables, "a") == [("car", B)]
    assert conflicts(result) == [("later_returned_at", "left")]


def test_two_answers_of_one_moment_go_by_digest_whatever_their_order():
    made, manifest = tables([frame_row("a")]), campaign(sent_frame("a"))
    files = [return_text(about("a", box(corners=place), classes=["car"])) for place in (A, B)]

    one, two = collected(made, manifest, *files), collected(made, manifest, *files[::-1])

    assert one.tables == two.tables
    assert conflicts(one) == [("greater_file_digest", "left")]


def test_answers_about_different_classes_of_a_frame_come_together():
    files = [return_text(about("a", box(name, A), classes=[name])) for name in ("car", "truck")]

    result = collected(tables([frame_row("a")]), campaign(sent_frame("a")), *files)

    assert labels(result.tables, "a") == [("car", A), ("truck", A)]
    assert annotated(result.tables, "a") == ["car", "truck"]


def test_a_corrected_return_replaces_what_an_earlier_reading_took():
    manifest = campaign(sent_frame("a"))
    old = return_text(about("a", box(corners=A)), returned_at="2026-01-31T12:00:00Z")
    new = return_text(about("a", box(corners=B)), returned_at="2026-02-01T12:00:00Z")
    first = collected(tables([frame_row("a")]), manifest, old)

    result = collected(first.tables, manifest, old, new)

    assert labels(result.tables, "a") == [("car", B)]


# Purposes.


@pytest.mark.parametrize(("purpose", "split"), [("train", "holdout"), ("holdout", "train"), ("holdout", "val")])
def test_labels_of_the_other_purpose_never_reach_a_frame(purpose, split):
    made = tables([frame_row("a", split=split)])

    result = collected(
        made, campaign(sent_frame("a"), purpose=purpose), return_text(about("a", box()), purpose=purpose)
    )

    assert result.tables == made
    assert reasons(result) == ["wrong_purpose"]


@pytest.mark.parametrize(("purpose", "split"), [("train", "train"), ("train", "val"), ("holdout", "holdout")])
def test_labels_of_the_right_purpose_do(purpose, split):
    made = tables([frame_row("a", split=split)])

    result = collected(
        made, campaign(sent_frame("a"), purpose=purpose), return_text(about("a", box()), purpose=purpose)
    )

    assert annotated(result.tables, "a") == ["car", "truck"]


def test_a_frame_that_is_not_in_the_snapshot_is_quarantined():
    result = collected(tables([frame_row("b")]), campaign(sent_frame("a")), return_text(about("a", box())))

    assert reasons(result) == ["frame_not_in_snapshot"]


def test_a_class_that_left_the_taxonomy_is_quarantined():
    manifest = campaign(sent_frame("a"))
    object.__setattr__(manifest, "classes", ("car", "truck", "tram"))

    result = collected(
        tables([frame_row("a")]), manifest, return_text(about("a", box("tram"), classes=["car", "tram"]))
    )

    assert reasons(result) == ["unknown_class"]
    assert annotated(result.tables, "a") == ["car"]


# From hand-off to labels, in a real folder.


def test_ac_c22_what_was_handed_off_comes_back_by_id_alone(tmp_path):
    seen = predictions(box_row("a", "p1", corners=A, score=0.9, origin="model:m"))
    made = tables([frame_row("a"), frame_row("b")])
    done = hand_off(hand_off_request(made, ("a", "b"), tmp_path, prelabels=seen)).campaign
    folder = tmp_path / "campaigns" / done.campaign_id / "returns"
    folder.mkdir()
    data = return_text(about("b"), about("a", box(corners=A, box_id="p1")), campaign_id=done.campaign_id)
    (folder / "any name.json").write_bytes(data)

    request = load_request(tmp_path.as_uri(), [done.campaign_id], made)
    result = collect(request)

    assert labels(result.tables, "a") == [("car", A)]
    assert box_ids(result.tables, "a") == {"p1"}
    assert set(answered_classes(tmp_path.as_uri(), [done.campaign_id], "train")) == {frame_id("a"), frame_id("b")}
    assert answered_classes(tmp_path.as_uri(), [done.campaign_id], "train")[frame_id("a")] == ["car", "truck"]
    assert answered_classes(tmp_path.as_uri(), [done.campaign_id], "holdout") == {}
    assert len(read_returns(request.campaigns, request.returns).entries) == 2


@pytest.mark.parametrize("harm", ["deleted", "no manifest", "broken manifest", "another's manifest"])
def test_ac_c11_a_campaign_that_is_lost_counts_as_not_returned_and_is_told(tmp_path, harm):
    made = tables([frame_row("a"), frame_row("b")])
    lost = hand_off(hand_off_request(made, ("a",), tmp_path)).campaign
    kept = hand_off(hand_off_request(made, ("b",), tmp_path)).campaign
    for done, name in ((lost, "a"), (kept, "b")):
        folder = tmp_path / "campaigns" / done.campaign_id
        (folder / "returns").mkdir()
        (folder / "returns" / "x.json").write_bytes(return_text(about(name, box()), campaign_id=done.campaign_id))
    manifest = tmp_path / "campaigns" / lost.campaign_id / "campaign.json"
    if harm == "deleted":
        shutil.rmtree(manifest.parent)
    elif harm == "no manifest":
        manifest.unlink()
    else:
        other = tmp_path / "campaigns" / kept.campaign_id / "campaign.json"
        manifest.write_bytes(b"{" if harm == "broken manifest" else other.read_bytes())

    result = collect(load_request(tmp_path.as_uri(), [lost.campaign_id, kept.campaign_id], made))

    assert labels(result.tables, "a") == []
    assert labels(result.tables, "b") == [("car", (1, 1, 9, 9))]
    assert [note.partition(":")[0] for note in result.notes] == [f"Campaign {lost.campaign_id} counts as not returned"]
    assert set(answered_classes(tmp_path.as_uri(), [lost.campaign_id, kept.campaign_id], "train")) == {frame_id("b")}


def test_only_the_files_that_a_plan_saw_are_read(tmp_path):
    made = tables([frame_row("a"), frame_row("b")])
    done = hand_off(hand_off_request(made, ("a", "b"), tmp_path)).campaign
    folder = tmp_path / "campaigns" / done.campaign_id / "returns"
    folder.mkdir()
    for name in "ab":
        (folder / f"{name}.json").write_bytes(return_text(about(name), campaign_id=done.campaign_id))

    request = load_request(tmp_path.as_uri(), [done.campaign_id], made, [f"{done.campaign_id}/returns/a.json"])

    assert annotated(collect(request).tables, "b") == []
    assert annotated(collect(request).tables, "a") == ["car", "truck"]


def test_a_prediction_of_a_batch_is_no_label_that_an_answer_could_disagree_with_and_stays_beside_it():
    made = tables([frame_row("a")], [box_row("a", "guess", "car", B, score=0.9)])

    result = collected(made, campaign(sent_frame("a")), return_text(about("a", box(corners=A))))

    assert conflicts(result) == []
    assert sorted((row["score"] is None, row["x1"]) for row in result.tables.boxes.to_pylist()) == [
        (False, B[0]),
        (True, A[0]),
    ]


def test_a_prediction_that_an_annotator_took_over_is_a_label_and_no_prediction_any_more():
    made = tables([frame_row("a")], [box_row("a", "guess", "car", A, score=0.9)])
    manifest = campaign(sent_frame("a", prelabels=[sent_box("guess", "car", A)]))

    result = collected(made, manifest, return_text(about("a", box(corners=A, box_id="guess"))))

    ((box_id, score),) = [(row["box_id"], row["score"]) for row in result.tables.boxes.to_pylist()]
    assert (box_id, score) == ("guess", None)
