import pytest

from driveflow.errors import NotFoundError
from driveflow.ledger.ledger import Ledger
from driveflow.ledger.rows import RunRow, State, StepRow


def _run(run_id: str, pipeline: str = "curate", flow: str = "city") -> RunRow:
    return RunRow(run_id=run_id, flow=flow, pipeline=pipeline, profile="local", params={"flow_text": "name: city"})


def _finished(ledger: Ledger, run_id: str, pipeline: str, state: State, output: str) -> None:
    ledger.begin_run(_run(run_id, pipeline))
    ledger.begin_step(run_id, "filter")
    ledger.finish_step(run_id, "filter", StepRow(state="SUCCEEDED", outputs={"snapshot": output}))
    ledger.finish_run(run_id, state)


def test_a_run_is_told_from_start_to_end(ledger: Ledger):
    ledger.begin_run(_run("r1"))
    begun = ledger.run("r1")

    ledger.finish_run("r1", "SUCCEEDED", {"report": "file:///report.html"})

    ended = ledger.run("r1")
    assert (begun.state, begun.finished_at, begun.params) == ("RUNNING", None, {"flow_text": "name: city"})
    assert (ended.state, ended.detail) == ("SUCCEEDED", {"report": "file:///report.html"})
    assert begun.started_at == ended.started_at == "2026-01-01T00:00:00.000000Z"
    assert ended.finished_at == "2026-01-01T00:00:01.000000Z"


def test_beginning_and_ending_twice_leaves_one_row(ledger: Ledger):
    for _ in range(2):
        ledger.begin_run(_run("r1"))
        ledger.begin_step("r1", "plan")
        ledger.finish_step("r1", "plan", StepRow(state="SUCCEEDED", counts={"files": 3}))
        ledger.finish_run("r1", "SUCCEEDED")

    assert [run.run_id for run in ledger.runs()] == ["r1"]
    assert [step.step for step in ledger.steps("r1")] == ["plan"]


def test_a_run_begun_again_goes_on_and_keeps_its_start(ledger: Ledger):
    ledger.begin_run(_run("r1"))
    ledger.finish_run("r1", "FAILED")

    ledger.begin_run(_run("r1"))

    again = ledger.run("r1")
    assert (again.state, again.finished_at, again.started_at) == ("RUNNING", None, "2026-01-01T00:00:00.000000Z")


def test_a_step_keeps_what_it_was_told(ledger: Ledger):
    ledger.begin_run(_run("r1"))
    ledger.begin_step("r1", "train")
    row = StepRow(
        state="FAILED",
        reused=True,
        seconds=1.25,
        counts={"frames": 7},
        metrics={"AP50": 0.5},
        outputs={"snapshot": "s3://b/x#1", "due": True},
        detail={"pages": {"summary": "s3://b/p"}},
        error_kind="TrainingFailedError",
        error="worker 1 died: \udcff\0",
    )

    ledger.finish_step("r1", "train", row)

    (kept,) = ledger.steps("r1")
    assert kept.started_at == "2026-01-01T00:00:01.000000Z"
    assert kept.error == r"worker 1 died: \udcff\x00"
    for name in ("state", "reused", "seconds", "counts", "metrics", "outputs", "detail", "error_kind"):
        assert getattr(kept, name) == getattr(row, name)


def test_a_step_begun_again_forgets_its_failure(ledger: Ledger):
    ledger.begin_run(_run("r1"))
    ledger.finish_step("r1", "train", StepRow(state="FAILED", error_kind="StorageError", error="no"))

    ledger.begin_step("r1", "train")

    (step,) = ledger.steps("r1")
    assert (step.state, step.error_kind, step.error) == ("RUNNING", "", "")


def test_steps_come_in_the_order_they_began(ledger: Ledger):
    ledger.begin_run(_run("r1"))
    for step in ("plan", "merge", "filter"):
        ledger.begin_step("r1", step)
    ledger.finish_step("r1", "filter", StepRow(state="SUCCEEDED"))
    ledger.finish_step("r1", "plan", StepRow(state="SUCCEEDED"))

    assert [step.step for step in ledger.steps("r1")] == ["plan", "merge", "filter"]


def test_runs_come_newest_first_up_to_the_limit(ledger: Ledger):
    for number in range(4):
        ledger.begin_run(_run(f"r{number}"))
    ledger.begin_run(_run("other", flow="motorway"))

    assert [run.run_id for run in ledger.runs(limit=2)] == ["other", "r3"]
    assert [run.run_id for run in ledger.runs(limit=2, flow="city")] == ["r3", "r2"]


def test_an_unknown_run_is_not_found(ledger: Ledger):
    with pytest.raises(NotFoundError, match="no run 'nothing'"):
        ledger.run("nothing")
    with pytest.raises(NotFoundError):
        ledger.finish_run("nothing", "FAILED")
    with pytest.raises(NotFoundError):
        ledger.begin_step("nothing", "plan")
    assert ledger.steps("nothing") == []


def test_the_latest_step_is_of_the_newest_run_that_succeeded(ledger: Ledger):
    _finished(ledger, "r1", "curate", "SUCCEEDED", "first")
    _finished(ledger, "r2", "flow", "SUCCEEDED", "second")
    _finished(ledger, "r3", "curate", "FAILED", "third")
    _finished(ledger, "r4", "retrain", "SUCCEEDED", "fourth")
    ledger.begin_run(_run("r5"))

    pipelines = ("curate", "flow")
    assert ledger.latest_step_output("city", pipelines, "filter", "snapshot") == "second"
    assert ledger.latest_step_output("city", ("curate",), "filter", "snapshot") == "first"
    assert ledger.latest_step_output("city", pipelines, "filter", "no such output") is None
    assert ledger.latest_step_output("motorway", pipelines, "filter", "snapshot") is None
    assert ledger.latest_step("city", pipelines, "no such step") is None
