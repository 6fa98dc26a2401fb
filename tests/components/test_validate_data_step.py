import json

import numpy as np
import pyarrow as pa
import pytest

from components.work.settings import write_section
from components.work.table_objects import put_table
from components.work.validate_data import SPEC, work
from driveflow import tables
from driveflow.canonical import canonical_json
from driveflow.detectors.predict import PredictionStore
from driveflow.flow.data_validation_section import DataValidationSection
from driveflow.ledger.rows import RunRow
from driveflow.place import PLACE_VARIABLE
from driveflow.reuse import read_object
from driveflow.steps import RUN_VARIABLE, StepCall, run_step
from tests.components.made_steps import context, pictures_snapshot
from tests.strategies import box_row
from tests.validation.data.made import signal


def settings(champion="", against="", **limits):
    section = write_section(DataValidationSection(**limits))
    return {"data_validation": section, "champion": champion, "against": against, "model": "city", "gate": {}}


def inputs_of(step, snapshot):
    rows = [signal(frame_id, 100.0) for frame_id in snapshot.frames()["frame_id"].to_pylist()]
    signals = put_table(step.place.store, pa.Table.from_pylist(rows, tables.SIGNALS))
    return {"training": snapshot.uri, "holdout": snapshot.uri.partition("#")[0] + "#none", "signals": signals}


@pytest.fixture
def made(tmp_path):
    """A step, and the inputs of one whose training data is a snapshot of four pictures; the hold-out is another."""

    def build(asked):
        step = context(tmp_path, asked)
        training = pictures_snapshot(step.place.store)
        other = [np.full((48, 64, 3), 40 * n + 20, np.uint8) for n in range(4)]
        holdout = pictures_snapshot(step.place.store, images=other)
        return step, {**inputs_of(step, training), "holdout": holdout.uri}

    return build


def test_sound_data_goes_on_and_has_a_page_a_summary_and_a_report(made):
    step, inputs = made(settings(min_class_boxes=0))

    result = work(step, inputs)

    report = json.loads(read_object(str(result.outputs["report_json"])))
    assert result.outputs["sound"] is True
    assert report["counts"]["frames"] == 8
    assert result.pages["report"].startswith("<!doctype html>")
    assert result.pages["summary"].startswith("# ")
    assert read_object(str(result.outputs["report"])).decode() == result.pages["report"]


def test_data_over_a_block_limit_stops_with_a_sentence_that_names_check_value_and_limit(made):
    step, inputs = made(settings(unreadable_block=0.0, min_n=1))
    rows = [signal("x", None, "truncated")]
    frame_id = pictures_snapshot(step.place.store).frames()["frame_id"][0].as_py()
    broken = pa.Table.from_pylist([rows[0] | {"frame_id": frame_id}], tables.SIGNALS)

    result = work(step, {**inputs, "signals": put_table(step.place.store, broken)})

    assert (result.outputs["sound"], result.outputs["verdict"]) == (False, "BLOCK")
    assert result.notes == (
        "The data: BLOCK, so nothing is trained. pictures: 1 of 1 pictures cannot be read "
        "(1 share of pictures, the limit is 0).",
    )


def test_a_flow_that_asks_for_no_validation_gets_none(made):
    step, inputs = made(settings(enabled=False))

    result = work(step, inputs)

    assert (result.outputs["sound"], result.outputs["verdict"]) == (True, "NOT JUDGED")


def test_the_data_of_the_model_before_and_the_champions_predictions_are_held_against_it(made):
    step, inputs = made({})
    frames = pictures_snapshot(step.place.store).frames()
    labeled = frames["frame_id"].filter(pa.array([bool(one) for one in frames["annotated_classes"].to_pylist()]))
    rows = [box_row(one, "p0", "bus", score=0.99, x1=8.0, y1=8.0, x2=40.0, y2=40.0) for one in labeled.to_pylist()]
    PredictionStore(step.place.store).append("m1", pa.Table.from_pylist(rows, tables.PREDICTIONS))
    asked = settings(champion=f"{step.place.store}/models/m1", against=str(inputs["training"]))
    step, inputs = made(asked)

    report = json.loads(read_object(str(work(step, inputs).outputs["report_json"])))

    checks = {check["name"]: check for check in report["checks"]}
    assert checks["label_noise"]["found"] == 2
    assert report["against"] == report["snapshot"]
    assert {row["outcome"] for row in report["drift"]} == {"NOT JUDGED"}


def test_a_run_is_over_where_the_data_is_blocked_and_the_result_is_used_again(made, monkeypatch):
    """On a cluster nobody but this step can end the run: what follows hangs on its answer."""
    step, inputs = made({})
    monkeypatch.setenv(PLACE_VARIABLE, step.place.to_text())
    call = StepCall(inputs, canonical_json(settings(min_n=1, unannotated_block=0.0, outside_px=0.0)), "run")
    blocked = StepCall(inputs, canonical_json(settings(min_n=1, size_min_side_px=50.0, size_block=0.1)), "run")
    for run_id, one, state in (("a", call, "RUNNING"), ("b", blocked, "SUCCEEDED"), ("c", blocked, "SUCCEEDED")):
        monkeypatch.setenv(RUN_VARIABLE, run_id)
        step.ledger.begin_run(RunRow(run_id=run_id, flow="city", pipeline="retrain", profile="kfp"))

        run_step(SPEC, work, one)

        assert step.ledger.run(run_id).state == state
    assert [step.ledger.steps(run_id)[0].reused for run_id in "abc"] == [False, False, True]
