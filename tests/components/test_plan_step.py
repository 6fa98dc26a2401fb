"""What a person may say of a run beside the flow file, and what the plan needs to find."""

import json
import shutil

import pytest

from components.work import plan_run
from components.work.steering import read_answered
from driveflow.errors import NotFoundError, UsageError
from driveflow.ledger.rows import CampaignRow, RunRow, StepRow
from driveflow.storage.objects import local_path
from labeling.hand_off import hand_off
from tests.components.made_steps import context, pictures_snapshot
from tests.labeling import made
from validation.regression import RegressionObject, RegressionSet, load_regressions, write_regressions


@pytest.fixture
def planned(tmp_path):
    """Plan a flow of one batch with some run parameters."""
    batch = tmp_path / "batch"
    batch.mkdir()
    (batch / "picture.jpg").write_bytes(b"...")
    flow = f"name: city\nclasses: [car]\nbatches: [{{name: a, path: '{batch.as_uri()}'}}]\n"
    step = context(tmp_path, {})
    given = {"flow": flow, "pipeline": "curate", "data_root": "", "force": False}

    def plan(more="", **changes):
        asked = {**given, "flow": flow + more}
        return plan_run.work(step, {**asked, "seed": -1, "epochs": -1, "budget_frames": -1, **changes})

    return step, plan


@pytest.mark.parametrize(("name", "value"), [("seed", -2), ("epochs", 0), ("epochs", -5), ("budget_frames", -5)])
def test_a_run_parameter_that_cannot_be_meant_is_refused(planned, name, value):
    with pytest.raises(UsageError, match=rf"{name} takes . or more, or -1 for what the flow file says; got {value}"):
        planned[1](**{name: value})


def test_minus_one_leaves_it_to_the_flow_file_and_the_least_is_taken(planned):
    _, plan = planned

    budgets = [json.loads(plan(budget_frames=budget).outputs["hand_off_settings"]) for budget in (-1, 0, 7)]

    assert [told["labeling"]["budget_frames"] for told in budgets] == [500, 0, 7]


def test_a_curated_snapshot_that_is_gone_is_told_with_what_makes_it_again(planned):
    step, plan = planned
    uri = pictures_snapshot(step.place.store).uri
    step.ledger.begin_run(RunRow(run_id="run-0", flow="city", pipeline="curate", profile="local"))
    step.ledger.begin_step("run-0", "filter_frames")
    step.ledger.finish_step("run-0", "filter_frames", StepRow(state="SUCCEEDED", outputs={"snapshot": uri}))
    step.ledger.finish_run("run-0", "SUCCEEDED")
    shutil.rmtree(local_path(uri.partition("#")[0]))

    with pytest.raises(NotFoundError, match=r"There is no snapshot at .* run the pipeline curate again"):
        plan(pipeline="retrain")


@pytest.mark.parametrize(
    ("asked", "section"),
    [
        ("filters: {{near_duplicates: {{embedding: '{}'}}}}\n", "filter_settings"),
        ("labeling: {{embedding: '{}'}}\n", "corner_case_settings"),
    ],
)
def test_another_embedding_at_the_same_address_is_another_section(planned, tmp_path, asked, section):
    _, plan = planned
    model = tmp_path / "model.onnx"
    declared = {
        "input": "x",
        "output": "y",
        "dimensions": 4,
        "width": 32,
        "height": 32,
        "mean": [0] * 3,
        "std": [1] * 3,
    }

    def told(sha256):
        model.with_name("model.onnx.json").write_text(json.dumps({**declared, "sha256": sha256}))
        return plan(more=asked.format(model.as_uri())).outputs[section]

    assert told("0" * 64) == told("0" * 64) != told("1" * 64)


def test_a_regression_set_is_told_by_its_digest_so_that_one_that_grows_is_judged_anew(planned, tmp_path):
    step, plan = planned
    one, two = (RegressionObject(frame, "car", (0.0, 0.0, 9.0, 9.0)) for frame in "ab")
    path = tmp_path / "may.json"
    gate = f"gate: {{regressions: ['{path}']}}\n"

    def told(*failures):
        path.write_bytes(write_regressions(RegressionSet("may", "", failures)))
        settings = json.loads(plan(pipeline="flow", more=gate).outputs["validate_settings"])
        return settings["gate"]["regressions"]

    before, after = told(one), told(one, two)

    assert before != after
    path.unlink()
    assert [load_regressions(name, step.place.store).failures for name in before + after] == [(one,), (one, two)]
    assert plan(more=gate).outputs["due"]
    with pytest.raises(NotFoundError, match=r"There is no regression set .*may\.json"):
        plan(pipeline="flow", more=gate)


def test_what_annotators_answered_is_known_to_the_next_search_and_what_they_owe_is_not(planned):
    step, plan = planned
    folder, frames = local_path(step.place.store), [made.frame_row(name) for name in ("a", "b")]
    sent = hand_off(made.hand_off_request(made.tables(frames), ("a", "b"), folder)).campaign
    shown = {"run_id": "r", "uri": sent.uri, "purpose": sent.purpose, "frames": 2, "classes": sent.classes}
    step.ledger.record_campaign(CampaignRow(campaign_id=sent.campaign_id, flow="city", **shown))
    awaited = json.loads(plan().outputs["corner_case_settings"])
    data = made.return_text(made.about("a", made.box(), classes=["car"]), campaign_id=sent.campaign_id)
    (folder / "campaigns" / sent.campaign_id / "returns").mkdir()
    (folder / "campaigns" / sent.campaign_id / "returns" / "x.json").write_bytes(data)

    answered = json.loads(plan().outputs["corner_case_settings"])

    assert "answered" not in awaited
    assert read_answered(answered["answered"]) == {made.frame_id("a"): ["car"]}
