"""The step that judges: whatever stands around the numbers has a rule of its own, and nothing there ends the run."""

import json

import pytest

from components.work import validate_model
from components.work.settings import write_section
from components.work.table_objects import put_table
from driveflow import tables
from driveflow.canonical import canonical_json
from driveflow.detectors.model_folder import write_model
from driveflow.flow.load import load_flow_text
from driveflow.ledger.rows import RunRow
from driveflow.place import PLACE_VARIABLE
from driveflow.reuse import put_object, read_object
from driveflow.steps import RUN_VARIABLE, StepCall, run_step
from driveflow.storage.objects import local_path
from tests.components.made_steps import context
from tests.components.test_loop_is_closed import SEEN, Pool
from tests.driveflow.detectors.made import bright_spot_folder, bright_spot_model, heatmap_declaration
from validation.regression import RegressionObject, RegressionSet, write_regressions

FLOW = """
name: city
classes: [car]
batches: [a]
gate: {floors: [{metric: AP50, at_least: 0.3}], min_frames: 5, min_drive_groups: 3}
"""
GONE = "models/" + "e" * 64
BOX = (12.0, 12.0, 44.0, 28.0)  # of the first picture, as Pool draws it


class Made:
    """A hold-out of six drives by day, a model that finds every car in it, and what the step is given."""

    def __init__(self, folder):
        self.folder = folder
        pictures = folder / "pictures"
        pictures.mkdir()
        self.store = context(folder, {}).place.store
        self.holdout, self.training = Pool(pictures), Pool(pictures)
        for number in range(6):
            self.holdout.add(f"day{number}", "day", SEEN, split="holdout", labeled=True)
        self.training.add("learned", "day", SEEN, labeled=True)
        self.trained_on = self.training.write(self.store).uri
        self.holdout_uri = self.holdout.write(self.store).uri
        self.model = bright_spot_folder(self.store).uri

    def judge(self, champion="", gate=None, **settings):
        step = context(self.folder, self.settings(champion, gate, **settings))
        return self.told(validate_model.work(step, self.inputs()))

    def settings(self, champion="", gate=None, **settings):
        flow = load_flow_text(FLOW, "flow")
        sections = {"validation": write_section(flow.validation), "gate": write_section(flow.gate) | (gate or {})}
        return {**sections, "model": "city", "champion": champion, **settings}

    def inputs(self):
        return {
            "model": self.model,
            "training": self.trained_on,
            "holdout": self.holdout_uri,
            "signals": put_table(self.store, tables.SIGNALS.empty_table()),
        }

    @staticmethod
    def told(result):
        verdict = json.loads(read_object(str(result.outputs["verdict"])))["detail"]
        return verdict, {rule["name"]: rule for rule in verdict["rules"]}


@pytest.fixture
def made(tmp_path):
    return Made(tmp_path)


def test_ac_d13_a_champion_that_cannot_run_ends_no_run_and_the_verdict_says_what_to_do(made):
    verdict, rules = made.judge(champion=f"{made.store}/{GONE}")

    assert verdict["outcome"] == "NEEDS DATA"
    assert "cannot run" in rules["champion"]["reason"]
    assert "driveflow models set-aside" in rules["champion"]["reason"]


def test_ac_d13_a_champion_that_was_mended_is_asked_by_the_next_run(made, monkeypatch):
    step = context(made.folder, {})
    champion = write_model(made.store, heatmap_declaration(), {"model.onnx": bright_spot_model(), "b": b""})
    where, away = local_path(champion.uri), made.folder / "away"
    call = StepCall(made.inputs(), canonical_json(made.settings(champion.uri)), "run")
    monkeypatch.setenv(PLACE_VARIABLE, step.place.to_text())
    found = []
    for run_id, here, there in (("a", where, away), ("b", away, where), ("c", where, where)):
        here.rename(there)
        monkeypatch.setenv(RUN_VARIABLE, run_id)
        step.ledger.begin_run(RunRow(run_id=run_id, flow="city", pipeline="retrain", profile="kfp"))
        found.append(made.told(run_step(validate_model.SPEC, validate_model.work, call))[0]["outcome"])

    assert found == ["NEEDS DATA", "PASS", "PASS"]
    assert [step.ledger.steps(run_id)[0].reused for run_id in "abc"] == [False, False, True]


def test_ac_d13_a_champion_set_aside_leaves_the_judgement_to_the_floors_and_is_named_with_author_and_end(made):
    away = {"champion": "e" * 64, "reason": "its trainer is gone", "by": "ada", "until": "2026-12-07T00:00:00Z"}

    verdict, rules = made.judge(champion_away=away)

    assert verdict["outcome"] == "PASS"
    assert rules["champion"]["reason"].startswith("Champion eeeeeeeeeeee is set aside by ada until 2026-12-07")
    assert verdict["reason"].endswith(f" is met. {rules['champion']['reason']}")


def test_a_champion_that_was_trained_on_the_holdout_is_no_fair_comparison(made):
    verdict, rules = made.judge(champion=made.model, champion_training=made.holdout_uri)

    assert verdict["outcome"] == "NEEDS DATA"
    assert rules["leak of the champion"]["outcome"] == "NEEDS DATA"
    assert "has seen the hold-out" in rules["leak of the champion"]["reason"]


def test_the_exact_training_data_of_both_models_is_held_against_the_holdout(made):
    _, rules = made.judge(champion=made.model, champion_training=made.trained_on)

    assert rules["leak"]["outcome"] == rules["leak of the champion"]["outcome"] == "PASS"


@pytest.mark.parametrize(("box", "outcome"), [(BOX, "PASS"), ((0.0, 0.0, 5.0, 5.0), "NEEDS DATA")])
def test_a_regression_set_is_found_by_its_digest_and_judged(made, box, outcome):
    one = RegressionObject(made.holdout.ids["day0"], "car", box)
    uri = put_object(made.store, write_regressions(RegressionSet("may", "", (one,))), ".json")
    digest = uri.rpartition("/")[2].partition(".")[0]

    _, rules = made.judge(gate={"regressions": [digest]})

    assert rules["regression set may"]["outcome"] == outcome


def test_latency_over_its_limit_blocks_and_without_a_limit_is_told_only(made):
    _, told = made.judge()
    verdict, judged = made.judge(gate={"max_latency_ms": 1e-6})

    assert told["cost"]["outcome"] == "NOT JUDGED"
    assert "median of 5 frames in turn" in told["cost"]["reason"]
    assert verdict["outcome"] == "BLOCK"
    assert judged["latency"]["outcome"] == "BLOCK"


def test_another_holdout_than_the_pinned_one_judges_nobody(made):
    verdict, rules = made.judge(gate={"holdout": "0" * 12})

    assert verdict["outcome"] == "NEEDS DATA"
    assert rules["hold-out"]["outcome"] == "NEEDS DATA"
