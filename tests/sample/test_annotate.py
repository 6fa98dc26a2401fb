import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import msgspec
import pytest

from driveflow.errors import BrokenDataError, NotFoundError, UsageError
from labeling.manifest import CampaignManifest, ReturnFile, SentBox, SentFrame, encode_manifest
from sample.annotate import annotate, iou
from sample.paint import TruthBox
from sample.truth import FILE_NAME, Truth, TruthFrame, encode_truth

CLASSES = ("car", "pedestrian", "cyclist", "ebike")
CAR = TruthBox("car", 10.0, 20.0, 60.0, 50.0)
WALKER = TruthBox("pedestrian", 100.0, 20.0, 110.0, 50.0)


def _truth(folder: Path, count: int = 20) -> Path:
    frames = {f"{n:064x}": TruthFrame(384, 224, "a01", "day", "clear", "", (CAR, WALKER)) for n in range(count)}
    folder.mkdir(parents=True)
    (folder / FILE_NAME).write_bytes(encode_truth(Truth(CLASSES, frames, (), (), ())))
    return folder


def _campaign(folder: Path, frames: tuple[SentFrame, ...]) -> Path:
    folder.mkdir(parents=True)
    manifest = CampaignManifest(campaign_id="c1", purpose="train", classes=CLASSES, guideline="v1", frames=frames)
    (folder / "campaign.json").write_bytes(encode_manifest(manifest))
    return folder


def _sent(number: int, prelabels: tuple[SentBox, ...] = (), missing: tuple[str, ...] = CLASSES) -> SentFrame:
    frame_id = f"{number:064x}"
    return SentFrame(
        frame_id=frame_id,
        picture=f"images/{frame_id}.jpg",
        width=384,
        height=224,
        missing_classes=missing,
        prelabels=prelabels,
    )


def _prelabel(box_id: str, x1: float) -> SentBox:
    return SentBox(box_id=box_id, class_name="car", x1=x1, y1=20.0, x2=x1 + 50, y2=50.0, origin="model:d")


def _returns(campaign: Path) -> list[ReturnFile]:
    paths = sorted((campaign / "returns").iterdir())
    return [msgspec.json.decode(path.read_bytes(), type=ReturnFile, strict=True) for path in paths]


def test_some_frames_are_missing_one_is_unknown_and_one_is_answered_twice(tmp_path: Path) -> None:
    truth = _truth(tmp_path / "truth")
    campaign = _campaign(tmp_path / "c1", tuple(_sent(n) for n in range(20)))

    done = annotate(campaign.as_uri(), truth.as_uri(), seed=3)

    answered = Counter(frame.frame_id for answer in _returns(campaign) for frame in answer.frames)
    sent = {f"{n:064x}" for n in range(20)}
    assert (done.sent, done.answered, done.missing, done.unknown, done.twice) == (20, 19, 1, 1, 1)
    assert len(set(answered) & sent) == 19
    assert len(set(answered) - sent) == 1
    assert sorted(answered.values()) == [1] * 19 + [2]


def test_answers_name_their_campaign_purpose_and_guideline(tmp_path: Path) -> None:
    truth = _truth(tmp_path / "truth")
    campaign = _campaign(tmp_path / "c1", tuple(_sent(n) for n in range(6)))

    annotate(campaign.as_uri(), truth.as_uri())

    answers = _returns(campaign)
    assert {answer.annotator for answer in answers} == {"ada", "ben"}
    assert {(a.campaign_id, a.purpose, a.guideline) for a in answers} == {("c1", "train", "v1")}


def test_annotating_again_changes_nothing(tmp_path: Path) -> None:
    truth = _truth(tmp_path / "truth")
    campaign = _campaign(tmp_path / "c1", tuple(_sent(n) for n in range(6)))

    first = annotate(campaign.as_uri(), truth.as_uri())
    before = {path.name: path.read_bytes() for path in (campaign / "returns").iterdir()}
    second = annotate((campaign / "campaign.json").as_uri(), (truth / FILE_NAME).as_uri())

    assert second == first
    assert {path.name: path.read_bytes() for path in (campaign / "returns").iterdir()} == before


def test_drawn_boxes_are_near_the_truth(tmp_path: Path) -> None:
    truth = _truth(tmp_path / "truth")
    campaign = _campaign(tmp_path / "c1", tuple(_sent(n) for n in range(6)))

    annotate(campaign.as_uri(), truth.as_uri())

    boxes = [box for answer in _returns(campaign) for frame in answer.frames for box in frame.boxes]
    cars = [TruthBox(**{key: asdict(box)[key] for key in asdict(CAR)}) for box in boxes if box.class_name == "car"]
    assert all(0.85 < iou(CAR, car) < 1.0 for car in cars)


def test_a_prelabel_keeps_its_id_only_where_it_matches(tmp_path: Path) -> None:
    truth = _truth(tmp_path / "truth")
    sent = _sent(1, (_prelabel("right", 13.0), _prelabel("wrong", 200.0)))
    campaign = _campaign(tmp_path / "c1", (sent,))

    done = annotate(campaign.as_uri(), truth.as_uri())

    ids = {box.box_id for answer in _returns(campaign) for frame in answer.frames for box in frame.boxes}
    assert ids == {"right", None}
    assert done.kept_box_ids == 1


def test_only_missing_classes_are_answered(tmp_path: Path) -> None:
    truth = _truth(tmp_path / "truth")
    campaign = _campaign(tmp_path / "c1", (_sent(1, missing=("ebike", "pedestrian")),))

    annotate(campaign.as_uri(), truth.as_uri())

    frames = [frame for answer in _returns(campaign) for frame in answer.frames if frame.frame_id == f"{1:064x}"]
    assert {frame.annotated_classes for frame in frames} == {("ebike", "pedestrian")}
    assert {box.class_name for frame in frames for box in frame.boxes} == {"pedestrian"}


def test_frames_that_the_truth_does_not_know_stay_unanswered(tmp_path: Path) -> None:
    truth = _truth(tmp_path / "truth", count=5)
    campaign = _campaign(tmp_path / "c1", tuple(_sent(n) for n in range(8)))

    assert annotate(campaign.as_uri(), truth.as_uri()).not_in_truth == 3


def test_the_truth_of_another_sample_is_refused(tmp_path: Path) -> None:
    truth = _truth(tmp_path / "truth", count=2)
    campaign = _campaign(tmp_path / "c1", (_sent(7),))

    with pytest.raises(UsageError, match="knows none of the 1 frames"):
        annotate(campaign.as_uri(), truth.as_uri())


def test_a_campaign_that_is_not_there_or_none_is_named(tmp_path: Path) -> None:
    truth = _truth(tmp_path / "truth")
    (tmp_path / "c1").mkdir()

    with pytest.raises(NotFoundError):
        annotate((tmp_path / "c1").as_uri(), truth.as_uri())

    (tmp_path / "c1" / "campaign.json").write_text(json.dumps([1]))
    with pytest.raises(BrokenDataError, match="is no campaign"):
        annotate((tmp_path / "c1").as_uri(), truth.as_uri())


@pytest.mark.parametrize(("shift", "same"), [(0.0, 1.0), (25.0, 1 / 3), (50.0, 0.0)])
def test_iou_is_the_share_in_common(shift: float, same: float) -> None:
    moved = TruthBox("car", CAR.x1 + shift, CAR.y1, CAR.x2 + shift, CAR.y2)

    assert iou(CAR, moved) == pytest.approx(same)
    assert iou(moved, CAR) == iou(CAR, moved)
