"""What is said of a champion in the ledger reaches the plan of the next run, and the step that judges."""

import json
from datetime import UTC, datetime, timedelta

from components.work import plan_run
from components.work.world import look
from driveflow.flow.load import load_flow_text
from driveflow.ledger.rows import ModelEventRow, ModelVersionRow, StateMove
from registry.records import Act
from registry.set_aside import set_champion_aside
from tests.components.made_steps import context


def test_ac_d13_a_champion_that_is_set_aside_is_asked_nowhere_in_the_next_run_and_its_note_goes_along(tmp_path):
    batch = tmp_path / "batch"
    batch.mkdir()
    (batch / "picture.jpg").write_bytes(b"...")
    flow_text = f"name: city\nclasses: [car]\nbatches: [{{name: a, path: '{batch.as_uri()}'}}]\n"
    flow = load_flow_text(flow_text, "flow")
    step = context(tmp_path, {})
    row = ModelVersionRow(
        model="city",
        digest="a" * 64,
        model_uri="file:///m",
        snapshot_uri="file:///s",
        run_id="r",
        report_uri="p",
        verdict={},
    )
    added = step.ledger.add_version(
        row,
        ModelEventRow(event_key="a", model="city", version=None, digest="a" * 64, kind="registered", who="a", why="b"),
    )
    step.ledger.move_versions(
        "city", [StateMove(version=added.version, from_state="candidate", to_state="champion")], []
    )
    before = look(step, flow, "curate", "")
    judged_before, _ = _what_the_judging_step_and_a_person_are_told(step, flow_text)

    now = datetime.now(UTC)
    set_champion_aside(step.ledger, "city", Act(who="ada", why="it is broken"), now + timedelta(days=1), now)

    after = look(step, flow, "curate", "")
    assert (before.champion_uri, before.champion_training, before.champion_away) == ("file:///m", "file:///s", {})
    assert (after.champion_uri, after.champion_training) == ("", "")
    assert (after.champion_away["by"], after.champion_away["reason"]) == ("ada", "it is broken")

    judged_after, page = _what_the_judging_step_and_a_person_are_told(step, flow_text)
    assert (judged_before["champion_training"], judged_before["champion_away"]) == ("file:///s", {})
    assert judged_after["champion_training"] == ""
    assert judged_after["champion_away"] == after.champion_away
    assert "| champion | aaaaaaaaaaaa, set aside by ada until " in page


def _what_the_judging_step_and_a_person_are_told(step, flow_text):
    inputs = {"flow": flow_text, "pipeline": "curate", "data_root": "", "force": False}
    result = plan_run.work(step, inputs | {"seed": -1, "epochs": -1, "budget_frames": -1})
    return json.loads(result.outputs["validate_settings"]), result.pages["summary"]
