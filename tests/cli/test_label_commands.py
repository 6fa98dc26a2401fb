import json

import pytest

from labeling.hand_off import hand_off
from tests.cli.calling import call
from tests.labeling.made import (
    about,
    box,
    box_row,
    frame_id,
    frame_row,
    hand_off_request,
    predictions,
    return_text,
    tables,
)

NAMES = ("a", "b")


@pytest.fixture
def sent(tmp_path, monkeypatch) -> str:
    """The id of a campaign of two frames in the workspace .driveflow of the current folder."""
    monkeypatch.chdir(tmp_path)
    store = tmp_path / ".driveflow" / "store"
    seen = predictions(box_row("a", "p1", score=0.9, origin="model:m"))
    made = tables([frame_row(name) for name in NAMES])
    done = hand_off(hand_off_request(made, NAMES, store, prelabels=seen)).campaign
    assert done is not None
    return done.campaign_id


def answer(tmp_path, campaign_id: str, *frames, name: str = "answers.json", **more):
    path = tmp_path / name
    path.write_bytes(return_text(*frames, campaign_id=campaign_id, **more))
    return path


def returns(tmp_path, campaign_id: str) -> list[str]:
    return sorted(path.name for path in (tmp_path / ".driveflow/store/campaigns" / campaign_id).glob("returns/*"))


def test_list_tells_how_far_each_campaign_is(sent, capsys):
    code, out, _ = call(capsys, "label", "list", "-o", "json")

    (row,) = json.loads(out)
    assert code == 0
    assert (row["campaign_id"], row["state"], row["frames"], row["not_returned"]) == (sent, "open", 2, 2)


def test_list_without_a_campaign_is_empty(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    assert call(capsys, "label", "list", "-o", "json")[:2] == (0, "[]\n")
    assert "There is no campaign" in call(capsys, "label", "list")[1]


def test_show_tells_what_is_asked_for(sent, capsys):
    value = json.loads(call(capsys, "label", "show", sent[:8], "-o", "json")[1])

    assert value["campaign_id"] == sent
    assert [(frame["frame_id"], frame["prelabels"]) for frame in value["frames"]] == [
        (frame_id("a"), 1),
        (frame_id("b"), 0),
    ]


def test_show_finds_the_frame_of_a_box(sent, capsys):
    value = json.loads(call(capsys, "label", "show", sent, "--box", "p1", "-o", "json")[1])
    code, _, err = call(capsys, "label", "show", sent, "--box", "nobody")

    assert [frame["frame_id"] for frame in value["frames"]] == [frame_id("a")]
    assert (code, "sent no box with the id 'nobody'" in err) == (3, True)


def test_ac_c2_collect_twice_is_once(sent, tmp_path, capsys):
    path = answer(tmp_path, sent, about("a", box()))

    first = call(capsys, "label", "collect", sent[:8], "--from", str(path), "-o", "json")
    second = call(capsys, "label", "collect", sent[:8], "--from", str(path), "-o", "json")

    assert (first[0], second[0]) == (0, 0)
    assert [json.loads(said[1])["is_new"] for said in (first, second)] == [True, False]
    assert len(returns(tmp_path, sent)) == 1


def test_a_return_that_was_damaged_in_its_campaign_is_made_good_by_collecting_it_again(sent, tmp_path, capsys):
    path = answer(tmp_path, sent, about("a", box()))
    call(capsys, "label", "collect", sent, "--from", str(path))
    (kept,) = (tmp_path / ".driveflow/store/campaigns" / sent).glob("returns/*")
    kept.write_bytes(b"{")

    code, out, _ = call(capsys, "label", "collect", sent, "--from", str(path), "-o", "json")

    assert (code, json.loads(out)["is_new"]) == (0, True)
    assert kept.read_bytes() == path.read_bytes()


def test_the_same_answer_twice_in_a_file_counts_its_boxes_once(sent, tmp_path, capsys):
    path = answer(tmp_path, sent, about("a", box()), about("a", box()))

    value = json.loads(call(capsys, "label", "collect", sent, "--from", str(path), "-o", "json")[1])

    assert (value["frames"], value["boxes"]) == (1, 1)


def test_what_was_collected_counts_in_the_status(sent, tmp_path, capsys):
    path = answer(tmp_path, sent, about("a", box()))
    said = call(capsys, "label", "collect", sent, "--from", str(path))[1]

    status = json.loads(call(capsys, "label", "status", sent, "-o", "json")[1])

    assert said.endswith("is there: 1 frames, 1 boxes.\n")
    assert (status["answered"], status["not_returned"], status["boxes"]) == (1, 1, 1)


def test_the_status_names_what_could_not_be_used_line_by_line(sent, tmp_path, capsys):
    call(
        capsys, "label", "collect", sent, "--from", str(answer(tmp_path, sent, about("a"), about("b 1"), about("b 2")))
    )

    lines = call(capsys, "label", "status", sent)[1].splitlines()

    assert [line.partition(": ")[0] for line in lines[-3:]] == ["refused", "problem", "problem"]


def test_a_file_name_with_a_line_break_or_a_colour_stays_on_its_line(sent, tmp_path, capsys):
    folder = tmp_path / ".driveflow/store/campaigns" / sent / "returns"
    folder.mkdir()
    (folder / "a\nstate: closed \x1b[31m.json").write_text("{")

    lines = call(capsys, "label", "status", sent)[1].splitlines()

    assert lines[-1].startswith("problem: returns/a\\nstate: closed \\x1b[31m.json: not_json: ")
    assert lines.count("state: open") == 1


def test_what_cannot_be_used_is_named_and_the_rest_is_taken(sent, tmp_path, capsys):
    path = answer(tmp_path, sent, about("a"), *(about(f"unknown {number}") for number in range(7)))

    code, out, err = call(capsys, "label", "collect", sent, "--from", str(path), "-o", "json")

    assert code == 0
    assert json.loads(out)["frames"] == 1
    assert err.count("not used: unknown_frame") == err.count("\n") == 1
    assert "(and 6 more)" in err
    assert json.loads(out)["refused"] == {"unknown_frame": 7}


@pytest.mark.parametrize("more", [{"purpose": "holdout"}, {"campaign_id": "another"}, {"frames": 3}])
def test_a_file_of_no_use_is_refused_with_1_and_not_taken(sent, tmp_path, capsys, more):
    path = answer(tmp_path, **{"campaign_id": sent, **more})

    code, out, err = call(capsys, "label", "collect", sent, "--from", str(path))

    assert (code, out) == (1, "")
    assert "is no answer to this campaign" in err
    assert returns(tmp_path, sent) == []


@pytest.mark.parametrize("frames", [[], [about("unknown", box())], [about("a", classes=[])], [about("a", {"x1": 1})]])
def test_a_file_that_says_nothing_usable_is_refused_with_1_and_not_taken(sent, tmp_path, capsys, frames):
    path = answer(tmp_path, sent, *frames)

    code, out, err = call(capsys, "label", "collect", sent, "--from", str(path))

    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "is no answer to this campaign" in err
    assert returns(tmp_path, sent) == []


def test_the_cause_is_told_before_what_follows_from_it(sent, tmp_path, capsys):
    path = answer(tmp_path, sent, about("a", box(corners=(9, 1, 1, 9)), box("truck")))

    err = call(capsys, "label", "collect", sent, "--from", str(path))[2]

    assert [line.split(": ")[1] for line in err.splitlines()] == ["negative_size", "incomplete_class"]


def test_a_broken_campaign_is_told_and_hides_no_other(sent, tmp_path, capsys):
    broken = tmp_path / ".driveflow/store/campaigns/0broken/campaign.json"
    broken.parent.mkdir()
    broken.write_text("{")

    code, out, err = call(capsys, "label", "list", "-o", "json")

    assert code == 0
    assert [(row["campaign_id"], row["state"]) for row in json.loads(out)] == [(sent, "open"), ("0broken", "broken")]
    assert "Campaign 0broken counts as not returned: " in err


def test_closing_is_told_by_the_status(sent, capsys):
    call(capsys, "label", "close", sent[:6], "--why", "the vendor lost it")

    assert json.loads(call(capsys, "label", "status", sent, "-o", "json")[1])["state"] == "closed"


@pytest.mark.parametrize(
    "arguments",
    [("show", "zz"), ("status", "zz"), ("collect", "zz", "--from", "x.json"), ("close", "zz", "--why", "x")],
)
def test_an_unknown_campaign_is_told_with_3(sent, capsys, arguments):
    code, out, err = call(capsys, "label", *arguments)

    assert (code, out) == (3, "")
    assert "There is no campaign 'zz'" in err


def test_a_missing_file_is_told_with_3(sent, capsys):
    code, _, err = call(capsys, "label", "collect", sent, "--from", "nowhere.json")

    assert code == 3
    assert "There is no file nowhere.json" in err


@pytest.mark.parametrize("command", ["list", "show", "status", "collect", "close"])
def test_every_help_has_an_example_and_its_exit_codes(capsys, command):
    code, out, _ = call(capsys, "label", command, "--help")

    assert code == 0
    assert f"driveflow label {command}" in out.partition("Example")[2]
    assert "Exit codes: 0" in out
