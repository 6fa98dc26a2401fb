"""What a champion sees reaches the miners and, where it is asked for, the shield; pre-labels stay what they are."""

import pytest

from components.work import filter_frames, find_corner_cases
from components.work.settings import write_section
from components.work.table_objects import put_table, read_table
from driveflow.flow.miner_section import MinerSection, ShieldSection
from driveflow.flow.sections import CornerCaseSection, FilterSection, LabelingSection, WhereSection
from driveflow.images.pixels import open_pixels
from driveflow.signal_store import SignalStore
from driveflow.snapshots import open_snapshot
from filtering.fingerprint import fingerprint_frames
from tests.components.made_steps import context, pictures_snapshot
from tests.driveflow.detectors.made import bright_spot_folder, picture_with_spot

CARS = CornerCaseSection(name="cars", where=WhereSection(classes=("car",)))
ERRORS = CornerCaseSection(name="wrong", miner="errors", settings=MinerSection(min_score=0.3))


@pytest.fixture
def made(tmp_path):
    """Four pictures with a bright spot, of which two are labeled, a champion that sees spots, and signals."""
    step = context(tmp_path, {})
    images = [picture_with_spot(8 * number, 8, width=128, height=64) for number in (1, 5, 9, 13)]
    snapshot = pictures_snapshot(step.place.store, images=images)
    pixels = open_pixels(snapshot, step.place)
    signals = fingerprint_frames(snapshot.frames()["frame_id"], pixels, SignalStore(step.place.store)).signals
    inputs = {"snapshot": snapshot.uri, "signals": put_table(step.place.store, signals)}
    return snapshot, inputs, bright_spot_folder(step.place.store).uri


def search(folder, inputs, champion, *cases):
    plan = {
        "corner_cases": [write_section(case) for case in cases],
        "labeling": write_section(LabelingSection(control_share=0.0)),
        "champion": champion,
    }
    return find_corner_cases.work(context(folder, plan), inputs)


def unlabeled(snapshot):
    frames = snapshot.frames().to_pylist()
    return {row["frame_id"] for row in frames if not row["annotated_classes"]}


def test_pre_labels_are_of_unlabeled_frames_whatever_the_miners_look_at(made, tmp_path):
    snapshot, inputs, champion = made

    plain, more = (search(tmp_path, inputs, champion, *cases) for cases in ([CARS], [CARS, ERRORS]))

    sent = [read_table(result.outputs["predictions"]) for result in (plain, more)]
    assert set(sent[0]["frame_id"].to_pylist()) == unlabeled(snapshot)
    assert sent[0].equals(sent[1])


def test_errors_of_the_champion_in_labeled_frames_are_found_and_cost_no_budget(made, tmp_path):
    _, inputs, champion = made

    result = search(tmp_path, inputs, champion, ERRORS)

    assert "| wrong | errors | 2 | 0 | not reviewed |" in result.pages["summary"]


@pytest.mark.parametrize(("asked", "shielded"), [(True, 2), (False, 0)])
def test_a_rule_shields_by_what_the_champion_sees_where_the_flow_asks_for_it(made, tmp_path, asked, shielded):
    snapshot, inputs, champion = made
    filters = FilterSection(shield=ShieldSection(by_predictions=asked))
    plan = {
        "filters": write_section(filters),
        "corner_cases": [write_section(CornerCaseSection(name="cars", where=CARS.where, boxes_expression="score > 0"))],
        **({"champion": champion} if asked else {}),
    }

    result = filter_frames.work(context(tmp_path, plan), inputs)

    decisions = open_snapshot(result.outputs["snapshot"]).decisions().to_pylist()
    found = {row["frame_id"] for row in decisions if row["reason"] == "corner_case"}
    assert len(found & unlabeled(snapshot)) == shielded
