import json
from html import escape

import pytest

from components.work.find_corner_cases import work
from components.work.settings import write_section
from components.work.table_objects import put_table, read_table
from driveflow.flow.miner_section import MinerSection
from driveflow.flow.sections import CornerCaseSection, LabelingSection, WhereSection
from driveflow.images.pixels import open_pixels
from driveflow.reuse import read_object
from driveflow.signal_store import SignalStore
from filtering.fingerprint import fingerprint_frames
from tests.components.made_steps import context, pictures_snapshot
from tests.strategies import CLASSES


def settings(*cases: CornerCaseSection, **labeling):
    return {
        "corner_cases": [write_section(case) for case in cases],
        "labeling": write_section(LabelingSection(**({"control_share": 0.0} | labeling))),
        "champion": "",
    }


def run(folder, plan):
    """Run the step over four small pictures, two of them labeled."""
    step = context(folder, plan)
    snapshot = pictures_snapshot(step.place.store)
    pixels = open_pixels(snapshot, step.place)
    signals = fingerprint_frames(snapshot.frames()["frame_id"], pixels, SignalStore(step.place.store)).signals
    inputs = {"snapshot": snapshot.uri, "signals": put_table(step.place.store, signals)}
    return work(step, inputs)


def test_the_summary_states_each_score_and_what_the_selection_adds(tmp_path):
    rare = CornerCaseSection(name="rare", miner="rare_frames", settings=MinerSection(reference="labeled"))

    result = run(tmp_path, settings(rare, budget_frames=1, cost_per_frame=0.5, currency="EUR"))

    summary = result.pages["summary"]
    assert result.counts == {"candidates": 2, "selected": 1, "corner_case": 1, "control": 0, "budget": 0}
    assert read_table(result.outputs["selection"])["rule"].to_pylist() == ["rare"]
    assert "The labels of 1 frames cost 0.5 EUR." in summary
    assert "| rare | rare_frames | 4 | 1 | not reviewed |" in summary
    assert "| rare | distance to the nearest frame of the reference |" in summary
    assert "## Coverage" in summary
    assert result.metrics["coverage_radius_before"] >= result.metrics["coverage_radius_after"]
    assert (result.metrics["groups_reached_first"], result.metrics["groups_reached_next"]) == (2, 1)


def test_a_budget_for_all_that_is_left_names_no_next_frames(tmp_path):
    summary = run(tmp_path, settings(budget_frames=9)).pages["summary"]

    assert "| rest of the budget | 2 |" in summary
    assert "the next 0 frames" not in summary
    assert "More frames would bring nothing nearer" in summary
    assert "class nothing seen" not in summary


def test_ac_a14_every_score_states_formula_unit_and_reference_on_the_pages_and_as_json(tmp_path):
    rule = CornerCaseSection(name="cars", where=WhereSection(classes=(CLASSES[0],)))
    rare = CornerCaseSection(name="rare", miner="rare_frames", settings=MinerSection(reference="labeled"))

    result = run(tmp_path, settings(rule, rare, budget_frames=2))

    finds = json.loads(read_object(str(result.outputs["finds"])))
    assert [found["name"] for found in finds] == ["cars", "rare"]
    for found in finds:
        assert len(found["scores"]) == found["found"]
        for said in (found["formula"], found["unit"], found["reference"]):
            assert said
            assert said in result.pages["summary"]
    assert escape(finds[1]["formula"]) in result.pages["gallery"]
    assert escape(finds[1]["reference"]) in result.pages["gallery"]


def test_a_plan_without_anything_new_asks_for_no_vectors(tmp_path):
    result = run(tmp_path, settings())

    assert result.counts["selected"] == 2
    assert not (tmp_path / "store" / "vectors").exists()


@pytest.mark.parametrize("miner", ["rare_objects", "like_labels"])
def test_a_miner_of_objects_gets_their_vectors(tmp_path, miner):
    case = CornerCaseSection(name="objects", miner=miner, settings=MinerSection(classes=(CLASSES[0],)))

    run(tmp_path, settings(case))

    assert (tmp_path / "store" / "vectors").exists()


def test_what_found_nothing_and_money_for_no_frame_are_notes_of_the_run(tmp_path):
    rule = CornerCaseSection(name="snow", where=WhereSection(attributes={"weather": ("snow",)}))

    result = run(tmp_path, settings(rule, budget_money=0.2, cost_per_frame=0.5))

    empty, poor = result.notes
    assert empty.startswith("Corner case snow found nothing: no kept frame of train or val has an attribute weather")
    assert poor.startswith("labeling.budget_money, 0.2, pays for no frame at 0.5 each")
    assert empty in result.pages["summary"]
    assert result.counts["selected"] == 0
