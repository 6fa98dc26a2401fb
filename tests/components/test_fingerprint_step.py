"""A picture that was not there is looked for again by the next run, though nothing else has changed."""

from components.work.fingerprint_frames import SPEC, work
from driveflow.ledger.rows import RunRow
from driveflow.place import PLACE_VARIABLE
from driveflow.steps import RUN_VARIABLE, StepCall, run_step
from driveflow.storage.objects import local_path
from tests.components.made_steps import context, pictures_snapshot


def test_a_picture_that_is_back_is_measured_by_the_next_run_and_only_then_the_result_is_used_again(
    tmp_path, monkeypatch
):
    step = context(tmp_path, {})
    snapshot = pictures_snapshot(step.place.store)
    picture, away = local_path(snapshot.locations()["uri"][0].as_py()), tmp_path / "away"
    call = StepCall({"snapshot": snapshot.uri}, "", "run")
    monkeypatch.setenv(PLACE_VARIABLE, step.place.to_text())
    unreadable = []
    for run_id, here, there in (("a", picture, away), ("b", away, picture), ("c", picture, picture)):
        here.rename(there)
        monkeypatch.setenv(RUN_VARIABLE, run_id)
        step.ledger.begin_run(RunRow(run_id=run_id, flow="city", pipeline="curate", profile="kfp"))

        unreadable.append(run_step(SPEC, work, call).counts["unreadable"])

    assert unreadable == [1, 0, 0]
    assert [step.ledger.steps(run_id)[0].reused for run_id in "abc"] == [False, False, True]
