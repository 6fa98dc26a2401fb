"""A new model is due for labels that it can learn from, and for no others."""

from dataclasses import replace

import pyarrow as pa
import pytest

from components.work import plan_run
from driveflow import tables as columns
from driveflow.ledger.rows import CampaignRow, RunRow, StepRow, TrainedModelRow
from driveflow.snapshots import write_snapshot
from driveflow.storage.objects import local_path
from labeling.hand_off import hand_off
from tests.components.made_steps import context, pictures_snapshot
from tests.labeling import made


@pytest.fixture
def trained(tmp_path):
    """A flow whose model has learned from all labels there are, and the plan of its next retrain."""
    step = context(tmp_path, {})
    base = _without_a_class(pictures_snapshot(step.place.store), step.place.store)
    for run_id, pipeline, name in (("run-0", "curate", "filter_frames"), ("run-1", "retrain", "collect_labels")):
        step.ledger.begin_run(RunRow(run_id=run_id, flow="city", pipeline=pipeline, profile="local"))
        for done in {name, "promote_model"} if pipeline == "retrain" else {name}:
            step.ledger.begin_step(run_id, done)
            step.ledger.finish_step(run_id, done, StepRow(state="SUCCEEDED", outputs={"snapshot": base.uri}))
        step.ledger.finish_run(run_id, "SUCCEEDED")
    where = dict.fromkeys(("model_uri", "holdout_uri", "report_uri"), "file:///m") | {"snapshot_uri": base.uri}
    step.ledger.record_trained(TrainedModelRow(digest="a" * 64, model="city", verdict="PASS", run_id="run-1", **where))
    flow = f"name: city\nclasses: [car]\nbatches: [{{name: a, path: '{tmp_path.as_uri()}'}}]\n"
    given = {"flow": flow, "pipeline": "retrain", "data_root": "", "force": False}
    return step, base, lambda: plan_run.work(step, {**given, "seed": -1, "epochs": -1, "budget_frames": -1}).outputs


def _without_a_class(snapshot, store):
    """The snapshot where in labeled frames somebody looked for the first class alone."""
    tables = snapshot.tables()
    rows = [row | {"annotated_classes": row["annotated_classes"][:1]} for row in tables.frames.to_pylist()]
    frames = pa.Table.from_pylist(rows, columns.FRAMES)
    return write_snapshot(store, replace(tables, frames=frames), snapshot.beside(), {})


def _answered(step, tables, frame_id):
    """Hand a frame off in the name of the flow, and answer for it."""
    folder = local_path(step.place.store)
    changes = {"selection": pa.table({"frame_id": [frame_id]}), "classes": tables.classes}
    pixels = made.FakePixels({frame_id: b"picture"})
    sent = hand_off(made.hand_off_request(tables, (), folder, pixels=pixels, **changes)).campaign
    shown = {"run_id": "r", "uri": sent.uri, "purpose": sent.purpose, "frames": 1, "classes": sent.classes}
    step.ledger.record_campaign(CampaignRow(campaign_id=sent.campaign_id, flow="city", **shown))
    answer = {"frame_id": frame_id, "annotated_classes": list(tables.classes), "boxes": []}
    returns = folder / "campaigns" / sent.campaign_id / "returns"
    returns.mkdir()
    (returns / "x.json").write_bytes(made.return_text(answer, campaign_id=sent.campaign_id))


@pytest.mark.parametrize("labels", [0, 1])
def test_an_answer_about_a_class_that_nobody_had_looked_for_in_a_frame_makes_a_model_due(trained, labels):
    step, base, plan = trained
    found = [row["frame_id"] for row in base.frames().to_pylist() if len(row["annotated_classes"]) == labels]
    assert plan()["due"] is False

    _answered(step, base.tables(), found[0])

    assert (plan()["due"], plan()["why"]) == (True, "1 newly labeled frames, 1 needed")


def test_an_answer_about_a_frame_that_was_dropped_since_makes_no_model_due_again_and_again(trained):
    step, _, plan = trained

    _answered(step, made.tables([made.frame_row("gone")]), made.frame_id("gone"))

    assert (plan()["due"], plan()["why"].partition(",")[0]) == (False, "only 0 newly labeled frames")
