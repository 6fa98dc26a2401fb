"""Hand-off: one campaign for one request, however often and however broken off."""

import json

import pytest

from driveflow.errors import InvalidInputError, NotFoundError
from driveflow.flow.sections import LabelingSection
from labeling.campaigns import close_campaign, is_closed, list_campaigns, open_manifest
from labeling.collect import CollectRequest, collect
from labeling.hand_off import hand_off
from labeling.manifest import CampaignManifest
from tests.labeling.made import (
    FakePixels,
    about,
    annotated,
    box,
    box_row,
    frame_id,
    frame_row,
    hand_off_request,
    labels,
    predictions,
    raw,
    return_text,
    source_row,
    tables,
)

NAMES = ("a", "b", "c", "d")


def files_of(store) -> dict[str, bytes]:
    return {path.relative_to(store).as_posix(): path.read_bytes() for path in store.rglob("*") if path.is_file()}


def pictures() -> dict[str, bytes]:
    return {frame_id(name): f"picture {name}".encode() for name in NAMES}


def frames(**more) -> list[dict]:
    return [frame_row(name, **more) for name in NAMES]


def test_ac_c1_ac_c2_ac_c4_the_same_request_twice_is_one_complete_campaign(tmp_path):
    request = hand_off_request(tables(frames()), NAMES, tmp_path)

    first = hand_off(request)
    before = files_of(tmp_path)
    second = hand_off(request)

    assert second.campaign == first.campaign
    assert second.counts == first.counts
    assert files_of(tmp_path) == before
    assert list_campaigns(tmp_path.as_uri()) == (first.campaign.campaign_id,)


@pytest.mark.parametrize("fail_at", range(len(NAMES)))
def test_ac_c1_a_hand_off_that_was_killed_ends_in_the_same_folder(tmp_path, fail_at):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    hand_off(hand_off_request(tables(frames()), NAMES, whole))

    with pytest.raises(KeyboardInterrupt):
        hand_off(hand_off_request(tables(frames()), NAMES, broken, pixels=FakePixels(pictures(), fail_at=fail_at)))
    assert list_campaigns(broken.as_uri()) == ()
    hand_off(hand_off_request(tables(frames()), NAMES, broken))

    assert files_of(broken) == files_of(whole)


def test_a_hand_off_that_goes_on_copies_only_what_is_missing(tmp_path):
    request = hand_off_request(tables(frames()), NAMES, tmp_path)
    done = hand_off(request)
    folder = tmp_path / "campaigns" / done.campaign.campaign_id
    (folder / "campaign.json").unlink()
    (folder / "images" / f"{frame_id('b')}.jpg").unlink()
    again = FakePixels(pictures())

    hand_off(hand_off_request(tables(frames()), NAMES, tmp_path, pixels=again))

    assert again.reads == [frame_id("b")]


def test_ac_c5_what_came_back_is_never_touched_by_a_second_hand_off(tmp_path):
    request = hand_off_request(tables(frames()), NAMES, tmp_path)
    done = hand_off(request)
    returned = tmp_path / "campaigns" / done.campaign.campaign_id / "returns" / "a.json"
    returned.parent.mkdir()
    returned.write_text("{}")

    hand_off(request)
    (tmp_path / "campaigns" / done.campaign.campaign_id / "campaign.json").unlink()
    hand_off(request)

    assert returned.read_text() == "{}"


def test_only_what_lacks_an_annotated_class_is_sent(tmp_path):
    made = tables([frame_row("a", annotated=("car", "truck")), frame_row("b", annotated=("car",)), frame_row("c")])

    done = hand_off(hand_off_request(made, ("a", "b", "c"), tmp_path))

    manifest = open_manifest(tmp_path.as_uri(), done.campaign.campaign_id)
    assert {frame.frame_id: frame.missing_classes for frame in manifest.frames} == {
        frame_id("b"): ("truck",),
        frame_id("c"): ("car", "truck"),
    }
    assert done.counts["frames_already_annotated"] == 1


def test_nothing_left_to_send_makes_no_campaign(tmp_path):
    made = tables([frame_row("a", annotated=("car", "truck"))])

    done = hand_off(hand_off_request(made, ("a",), tmp_path))

    assert done.campaign is None
    assert files_of(tmp_path) == {}


def test_a_frame_that_is_out_already_is_not_sent_again(tmp_path):
    hand_off(hand_off_request(tables(frames()), ("a", "b"), tmp_path))

    done = hand_off(hand_off_request(tables(frames()), ("b", "c"), tmp_path))

    assert done.campaign.frames == (frame_id("c"),)
    assert done.counts["frames_already_out"] == 1


def test_a_class_that_is_out_already_is_not_asked_for_again(tmp_path):
    hand_off(hand_off_request(tables(frames()), ("a",), tmp_path, classes=("car",)))

    done = hand_off(hand_off_request(tables(frames()), ("a",), tmp_path))

    assert open_manifest(tmp_path.as_uri(), done.campaign.campaign_id).frames[0].missing_classes == ("truck",)


def test_the_frames_of_a_closed_campaign_that_nobody_answered_are_sent_again(tmp_path):
    store = tmp_path.as_uri()
    first = hand_off(hand_off_request(tables(frames()), ("a", "b"), tmp_path)).campaign.campaign_id
    returned = tmp_path / "campaigns" / first / "returns" / "x.json"
    returned.parent.mkdir()
    returned.write_bytes(return_text(about("a"), campaign_id=first))
    close_campaign(store, first, "ann", "the vendor lost it")

    done = hand_off(hand_off_request(tables(frames()), ("a", "b", "c"), tmp_path))

    assert done.campaign.frames == (frame_id("b"), frame_id("c"))


def test_asking_again_for_what_a_closed_campaign_asks_opens_it(tmp_path):
    request = hand_off_request(tables(frames()), NAMES, tmp_path)
    campaign_id = hand_off(request).campaign.campaign_id
    close_campaign(tmp_path.as_uri(), campaign_id, "ann", "by mistake")

    again = hand_off(request)

    assert again.campaign.campaign_id == campaign_id
    assert not is_closed(tmp_path.as_uri(), campaign_id)


def test_ac_c17_two_pictures_of_one_base_name_both_survive(tmp_path):
    sources = [source_row("a", path="left/0001.jpg"), source_row("b", path="right/0001.jpg")]
    made = tables([frame_row("a"), frame_row("b")], sources=sources)

    done = hand_off(hand_off_request(made, ("a", "b"), tmp_path))

    folder = tmp_path / "campaigns" / done.campaign.campaign_id / "images"
    assert {path.read_bytes() for path in folder.iterdir()} == {b"picture a", b"picture b"}


def test_ac_c25_a_frame_goes_out_as_a_still_with_its_time_and_never_as_a_number(tmp_path):
    sources = [source_row("a", path="run.mp4", captured_ns=1_000_000_007)]
    made = tables([frame_row("a")], sources=sources)

    done = hand_off(hand_off_request(made, ("a",), tmp_path))

    sent = json.loads((tmp_path / "campaigns" / done.campaign.campaign_id / "campaign.json").read_bytes())["frames"][0]
    assert sent["captured_ns"] == 1_000_000_007
    assert sent["picture"] == f"images/{frame_id('a')}.jpg"
    assert not {"index", "frame_number", "video"} & sent.keys()


def test_the_picture_is_named_by_what_it_is(tmp_path):
    done = hand_off(hand_off_request(tables([frame_row("a.png")]), ("a.png",), tmp_path))

    assert (tmp_path / "campaigns" / done.campaign.campaign_id / "images" / f"{frame_id('a.png')}.png").exists()


def test_boxes_to_start_from_are_those_of_missing_classes(tmp_path):
    made = tables(
        [frame_row("a", annotated=("truck",))],
        [box_row("a", "known", "truck"), box_row("a", "half", "car", (20, 20, 30, 30)), box_row("a", "i", ignore=True)],
    )
    seen = predictions(
        box_row("a", "sure", score=0.9, origin="model:m"),
        box_row("a", "unsure", score=0.1, origin="model:m"),
        box_row("a", "other", "truck", score=0.9, origin="model:m"),
        box_row("a", "edge", corners=(90, 1, 120, 9), score=0.9, origin="model:m"),
        box_row("b", "elsewhere", score=0.9, origin="model:m"),
    )

    done = hand_off(hand_off_request(made, ("a",), tmp_path, prelabels=seen))

    (frame,) = open_manifest(tmp_path.as_uri(), done.campaign.campaign_id).frames
    assert [(box.box_id, box.x2, box.origin) for box in frame.prelabels] == [
        ("edge", 100.0, "model:m"),
        ("half", 30.0, "batch:b"),
        ("sure", 9.0, "model:m"),
    ]


def test_a_picture_that_is_gone_is_left_out_and_named(tmp_path):
    pixels = FakePixels({frame_id("a"): b"picture a"})

    done = hand_off(hand_off_request(tables(frames()), ("a", "b"), tmp_path, pixels=pixels))

    assert done.campaign.frames == (frame_id("a"),)
    assert done.counts["frames_unreadable"] == 1
    assert done.quarantine.to_pylist()[0]["path"] == f"images/{frame_id('b')}.jpg"


def test_a_picture_that_is_still_gone_is_named_again_and_one_that_came_back_is_added(tmp_path):
    pixels = FakePixels({frame_id("a"): b"picture a"})
    request = hand_off_request(tables(frames()), ("b", "a", "c"), tmp_path, pixels=pixels)
    first = hand_off(request)
    pixels.data = {**pixels.data, frame_id("b"): b"picture b"}

    again = hand_off(request)

    assert (first.counts["frames_sent"], first.counts["frames_unreadable"]) == (1, 2)
    assert (again.counts["frames_sent"], again.counts["frames_unreadable"]) == (2, 1)
    assert again.counts["frames_already_out"] == 0
    assert again.campaign.campaign_id == first.campaign.campaign_id
    assert again.campaign.frames == (frame_id("a"), frame_id("b"))
    assert again.quarantine.to_pylist()[0]["path"] == f"images/{frame_id('c')}.jpg"


def test_what_a_closed_campaign_frees_is_added_to_the_one_that_asks_for_it_again(tmp_path):
    first = hand_off(hand_off_request(tables(frames()), ("a", "b"), tmp_path, classes=("car",))).campaign
    request = hand_off_request(tables(frames()), ("b", "c"), tmp_path)
    second = hand_off(request).campaign.campaign_id
    before = open_manifest(tmp_path.as_uri(), second)
    close_campaign(tmp_path.as_uri(), first.campaign_id, "ann", "the vendor lost it")

    hand_off(request)

    after = open_manifest(tmp_path.as_uri(), second)
    assert [frame.missing_classes for frame in before.frames] == [("truck",), ("car", "truck")]
    assert [frame.missing_classes for frame in after.frames] == [("truck", "car"), ("car", "truck")]


def test_a_closed_campaign_stays_closed_where_another_asks_for_all_of_it(tmp_path):
    store, request = tmp_path.as_uri(), hand_off_request(tables(frames()), ("a", "b"), tmp_path)
    first = hand_off(request).campaign.campaign_id
    close_campaign(store, first, "ann", "the vendor lost it")
    hand_off(hand_off_request(tables(frames()), NAMES, tmp_path))

    hand_off(request)

    assert is_closed(store, first)


@pytest.mark.parametrize(("purpose", "split"), [("train", "holdout"), ("holdout", "train"), ("holdout", "val")])
def test_a_campaign_never_touches_a_split_of_the_other_purpose(tmp_path, purpose, split):
    request = hand_off_request(tables(frames(split=split)), ("a",), tmp_path, purpose=purpose)

    with pytest.raises(InvalidInputError, match=f"campaign for {purpose} must not touch"):
        hand_off(request)


def test_a_frame_that_is_not_in_the_snapshot_is_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="1 frames to label are not in the snapshot"):
        hand_off(hand_off_request(tables(frames()), ("a", "elsewhere"), tmp_path))


def test_another_guideline_is_another_campaign(tmp_path):
    one = hand_off(hand_off_request(tables(frames()), NAMES, tmp_path / "1"))
    two = hand_off(hand_off_request(tables(frames()), NAMES, tmp_path / "2", labeling=LabelingSection(guideline="v2")))

    assert one.campaign.campaign_id != two.campaign.campaign_id


def test_the_order_of_the_selection_is_not_in_the_id_but_in_the_manifest(tmp_path):
    one = hand_off(hand_off_request(tables(frames()), NAMES, tmp_path / "1"))
    two = hand_off(hand_off_request(tables(frames()), NAMES[::-1], tmp_path / "2"))

    assert one.campaign.campaign_id == two.campaign.campaign_id
    assert one.campaign.frames == two.campaign.frames[::-1]


def test_every_selected_frame_is_accounted_for(tmp_path):
    made = tables([frame_row("a", annotated=("car", "truck")), *(frame_row(name) for name in "bcd")])
    hand_off(hand_off_request(made, ("b",), tmp_path))
    pixels = FakePixels({frame_id("c"): b"picture c"})

    counts = hand_off(hand_off_request(made, NAMES, tmp_path, pixels=pixels)).counts

    parts = ("frames_sent", "frames_already_annotated", "frames_already_out", "frames_unreadable")
    assert counts["frames_selected"] == len(NAMES)
    assert [counts[name] for name in parts] == [1, 1, 1, 1]


def test_a_broken_manifest_is_written_anew_and_hinders_no_other_campaign(tmp_path):
    request = hand_off_request(tables(frames()), ("a", "b"), tmp_path)
    folder = tmp_path / "campaigns" / hand_off(request).campaign.campaign_id
    whole = (folder / "campaign.json").read_bytes()
    (folder / "campaign.json").write_bytes(whole[:100])

    other = hand_off(hand_off_request(tables(frames()), ("c",), tmp_path)).campaign
    hand_off(request)

    assert other.frames == (frame_id("c"),)
    assert (folder / "campaign.json").read_bytes() == whole


def test_names_that_the_taxonomy_knows_go_along_and_come_back_as_the_class(tmp_path):
    names = {"automobile": "car", "lorry": "truck", "tram": "tramway"}
    made = tables(frames())
    done = hand_off(hand_off_request(made, ("a",), tmp_path, aliases=names)).campaign
    manifest = open_manifest(tmp_path.as_uri(), done.campaign_id)
    data = return_text(about("a", box("Automobile"), classes=["automobile"]), campaign_id=done.campaign_id)

    result = collect(CollectRequest(made, (manifest,), (raw(data, campaign_id=done.campaign_id),)))

    assert manifest.aliases == {"automobile": "car", "lorry": "truck"}
    assert (labels(result.tables, "a"), annotated(result.tables, "a")) == ([("car", (1, 1, 9, 9))], ["car"])


def test_an_unfinished_campaign_is_no_campaign(tmp_path):
    with pytest.raises(NotFoundError, match="no complete campaign 'x'"):
        open_manifest(tmp_path.as_uri(), "x")


def test_a_campaign_goes_to_s3_as_it_goes_to_a_folder(tmp_path, s3_store):
    local = hand_off(hand_off_request(tables(frames()), NAMES, tmp_path))
    remote = hand_off(hand_off_request(tables(frames()), NAMES, tmp_path, store=s3_store))
    manifest = open_manifest(s3_store, remote.campaign.campaign_id)

    assert isinstance(manifest, CampaignManifest)
    assert manifest == open_manifest(tmp_path.as_uri(), local.campaign.campaign_id)
    assert list_campaigns(s3_store) == (remote.campaign.campaign_id,)


def test_predictions_of_a_batch_are_sent_as_pre_labels_from_the_least_score_on(tmp_path):
    guesses = [box_row("a", "sure", score=0.9), box_row("a", "unsure", corners=(20, 1, 30, 9), score=0.1)]
    done = hand_off(hand_off_request(tables(frames(), guesses), ["a"], tmp_path))

    (frame,) = open_manifest(tmp_path.as_uri(), done.campaign.campaign_id).frames
    assert [(box.box_id, box.score) for box in frame.prelabels] == [("sure", 0.9)]
