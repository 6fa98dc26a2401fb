"""The two files between driveflow and annotators."""

import json
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

import labeling.manifest
from driveflow.errors import BrokenDataError
from labeling.hand_off import hand_off
from labeling.manifest import (
    ReturnedBox,
    ReturnedFrame,
    ReturnFile,
    campaign_key,
    campaign_schema,
    decode_manifest,
    encode_manifest,
    encode_return,
    returns_schema,
)
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

PUBLISHED = Path(labeling.manifest.__file__).parent


def published(name: str) -> dict:
    return json.loads((PUBLISHED / f"{name}.schema.json").read_text(encoding="utf-8"))


def test_ac_c19_a_manifest_comes_back_as_it_went():
    manifest = campaign(sent_frame("a", prelabels=[sent_box("p1"), sent_box("p2", "truck")]), sent_frame("b"))

    again = decode_manifest(encode_manifest(manifest), "campaign.json")

    assert again == manifest
    assert encode_manifest(again) == encode_manifest(manifest)


def test_ac_c19_a_manifest_that_was_handed_off_comes_back_as_it_went(tmp_path):
    seen = predictions(box_row("a", "p", score=0.75, origin="model:m", attributes='{"occluded":true}'))
    done = hand_off(hand_off_request(tables([frame_row("a")]), ("a",), tmp_path, prelabels=seen))
    data = (tmp_path / "campaigns" / done.campaign.campaign_id / "campaign.json").read_bytes()

    manifest = decode_manifest(data, "campaign.json")

    assert encode_manifest(manifest) == data
    assert manifest.frames[0].prelabels[0].score == 0.75
    assert manifest.frames[0].prelabels[0].attributes == {"occluded": True}


def test_the_published_schemas_are_those_of_the_records():
    assert published("campaign") == json.loads(json.dumps(campaign_schema()))
    assert published("returns") == json.loads(json.dumps(returns_schema()))


def test_what_is_written_keeps_the_published_schemas():
    manifest = campaign(sent_frame("a", prelabels=[sent_box("p1")]))
    drawn = ReturnedBox(class_name="car", x1=1, y1=1, x2=2, y2=2)
    answer = ReturnFile(
        campaign_id="c1",
        purpose="train",
        frames=(ReturnedFrame(frame_id="f", annotated_classes=("car",), boxes=(drawn,)),),
    )

    jsonschema.validate(json.loads(encode_manifest(manifest)), published("campaign"))
    jsonschema.validate(json.loads(encode_return(answer)), published("returns"))
    jsonschema.validate(json.loads(return_text(about("a", box(box_id="p1")))), published("returns"))


def test_annotators_find_the_schema_of_returns_in_the_campaign(tmp_path):
    done = hand_off(hand_off_request(tables([frame_row("a")]), ("a",), tmp_path))

    given_schema = (tmp_path / "campaigns" / done.campaign.campaign_id / "returns.schema.json").read_text()

    assert json.loads(given_schema) == published("returns")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"schema_version": 2}, "schema_version"),
        ({"purpose": "both"}, "purpose"),
        ({"classes": []}, "classes"),
        ({"frames": [{"frame_id": "a"}]}, "picture"),
    ],
)
def test_a_broken_manifest_says_where(change, says):
    value = {**json.loads(encode_manifest(campaign(sent_frame("a")))), **change}

    with pytest.raises(BrokenDataError, match=rf"campaign\.json is no campaign manifest.*{says}"):
        decode_manifest(json.dumps(value).encode(), "campaign.json")


def test_a_manifest_holds_each_frame_and_each_box_id_once():
    with pytest.raises(ValueError, match=f"frame {frame_id('a')} is there twice"):
        campaign(sent_frame("a"), sent_frame("a"))
    with pytest.raises(ValueError, match="p1 is there twice"):
        campaign(sent_frame("a", prelabels=[sent_box("p1"), sent_box("p1", "truck")]))


@given(st.permutations(["car", "truck", "bus"]), st.permutations(["a", "b", "c"]))
def test_no_order_is_in_a_campaign_id(classes, names):
    key = campaign_key("train", tuple(classes), "v1", {name: tuple(classes) for name in names})

    assert key == campaign_key("train", ("bus", "car", "truck"), "v1", dict.fromkeys("abc", ("bus", "car", "truck")))


@pytest.mark.parametrize(
    "other",
    [
        ("holdout", ("car",), "v1", {"a": ("car",)}),
        ("train", ("car", "bus"), "v1", {"a": ("car",)}),
        ("train", ("car",), "v2", {"a": ("car",)}),
        ("train", ("car",), "v1", {"b": ("car",)}),
    ],
)
def test_purpose_classes_guideline_and_frames_are_in_a_campaign_id(other):
    assert campaign_key(*other) != campaign_key("train", ("car",), "v1", {"a": ("car",)})
