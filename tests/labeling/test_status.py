"""How far a campaign is."""

import json
import os
from pathlib import Path

import pytest

from driveflow.errors import NotFoundError, UsageError
from labeling.campaigns import close_campaign, find_campaign, list_returns, open_manifest
from labeling.collect import collect, load_request
from labeling.hand_off import hand_off
from labeling.status import campaign_status, frames_of_box
from tests.labeling.made import (
    about,
    box,
    box_row,
    campaign,
    frame_id,
    frame_row,
    hand_off_request,
    predictions,
    return_text,
    sent_box,
    sent_frame,
    tables,
)

NAMES = ("a", "b", "c")


@pytest.fixture
def sent(tmp_path):
    done = hand_off(hand_off_request(tables([frame_row(name) for name in NAMES]), NAMES, tmp_path)).campaign
    (tmp_path / "campaigns" / done.campaign_id / "returns").mkdir()
    return done


def bring_back(folder, sent, name, *frames) -> None:
    path = folder / "campaigns" / sent.campaign_id / "returns" / name
    path.write_bytes(return_text(*frames, campaign_id=sent.campaign_id))


def test_a_campaign_is_open_until_every_frame_is_answered(tmp_path, sent):
    bring_back(tmp_path, sent, "1.json", about("a", box()), about("b", classes=["car"]))
    half = campaign_status(tmp_path.as_uri(), sent.campaign_id)
    bring_back(tmp_path, sent, "2.json", about("b", classes=["truck"]), about("c"))

    whole = campaign_status(tmp_path.as_uri(), sent.campaign_id)

    assert (half.state, half.answered, half.partial, half.not_returned) == ("open", 1, 1, 1)
    assert (whole.state, whole.answered, whole.partial, whole.not_returned) == ("returned", 3, 0, 0)
    assert (whole.frames, whole.returns, whole.boxes) == (3, 2, 1)


def test_what_could_not_be_used_is_named(tmp_path, sent):
    bring_back(tmp_path, sent, "1.json", about("elsewhere"))

    status = campaign_status(tmp_path.as_uri(), sent.campaign_id)

    assert status.refused == 1
    assert status.problems[0].startswith("returns/1.json: unknown_frame: ")


def test_a_return_whose_name_is_no_utf8_is_read_and_named_in_letters(tmp_path, sent):
    returns = tmp_path / "campaigns" / sent.campaign_id / "returns"
    for name, frames in ((b"M\xe4rz.json", [about("a", box())]), (b"M\xe4rz-2.json", [about("elsewhere")])):
        data = return_text(*frames, campaign_id=sent.campaign_id)
        Path(os.fsdecode(os.path.join(os.fsencode(returns), name))).write_bytes(data)  # noqa: PTH118 a name in bytes
    listed = [item.path for item in list_returns(tmp_path.as_uri(), [sent.campaign_id])]

    request = load_request(tmp_path.as_uri(), [sent.campaign_id], tables([frame_row("a")]), listed)
    taken = collect(request)

    assert listed == [f"{sent.campaign_id}/returns/M\\xe4rz{end}.json" for end in ("-2", "")]
    assert (taken.counts["returns_read"], taken.counts["boxes_taken"]) == (2, 1)
    assert taken.quarantine["path"].to_pylist() == ["returns/M\\xe4rz-2.json"]


def test_a_reason_that_is_no_utf8_is_kept_with_a_closed_campaign(tmp_path, sent):
    close_campaign(tmp_path.as_uri(), sent.campaign_id, "ada", "verloren \udce4")

    note = (tmp_path / "campaigns" / sent.campaign_id / "closed.json").read_text()

    assert json.loads(note) == {"who": "ada", "why": "verloren \\xe4"}


def test_the_same_answer_twice_counts_its_boxes_once(tmp_path, sent):
    bring_back(tmp_path, sent, "1.json", about("a", box()), about("a", box()))
    bring_back(tmp_path, sent, "2.json", about("a", box(), classes=["car"]))

    assert campaign_status(tmp_path.as_uri(), sent.campaign_id).boxes == 1


def test_a_closed_campaign_says_so(tmp_path, sent):
    close_campaign(tmp_path.as_uri(), sent.campaign_id, "ann", "enough")

    assert campaign_status(tmp_path.as_uri(), sent.campaign_id).state == "closed"


def test_closing_needs_a_name_and_a_reason(tmp_path, sent):
    with pytest.raises(UsageError, match="needs a name and a reason"):
        close_campaign(tmp_path.as_uri(), sent.campaign_id, "ann", " ")


def test_ac_c23_the_frame_of_a_box_is_known_from_the_id_of_the_box_alone(tmp_path):
    seen = predictions(box_row("a", "p1", score=0.9, origin="model:m"), box_row("b", "p2", score=0.9, origin="model:m"))
    request = hand_off_request(tables([frame_row(name) for name in NAMES]), NAMES, tmp_path, prelabels=seen)
    manifest = open_manifest(tmp_path.as_uri(), hand_off(request).campaign.campaign_id)

    assert frames_of_box(manifest, "p2") == (frame_id("b"),)
    assert frames_of_box(manifest, "p3") == ()


def test_a_box_id_that_two_frames_share_names_both():
    manifest = campaign(sent_frame("a", prelabels=[sent_box("1")]), sent_frame("b", prelabels=[sent_box("1")]))

    assert frames_of_box(manifest, "1") == (frame_id("a"), frame_id("b"))


def test_a_campaign_is_found_by_the_beginning_of_its_id(tmp_path, sent):
    store = tmp_path.as_uri()
    other = hand_off(hand_off_request(tables([frame_row("d")]), ("d",), tmp_path)).campaign.campaign_id

    assert find_campaign(store, sent.campaign_id[:12]) == sent.campaign_id
    assert find_campaign(store, other) == other
    with pytest.raises(NotFoundError, match="There is no campaign 'zz'"):
        find_campaign(store, "zz")
    with pytest.raises(NotFoundError, match="There is no campaign ''"):
        find_campaign(store, "")
