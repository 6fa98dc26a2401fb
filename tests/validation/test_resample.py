"""Resampling drive groups from matches computed once says what evaluating the resampled hold-out would say."""

import numpy as np
import pyarrow as pa
import pytest

from driveflow import tables
from tests.validation.drives import Drives, measure
from tests.validation.scenes import from_coco, random_coco
from validation.model import resample
from validation.model.compare import Draws, compare, counted_rows
from validation.model.evaluate import evaluate
from validation.model.resample import Scored, difference, interval_of, sample_metric
from validation.model.scene import EvaluationRequest


def _copies(table: pa.Table, group_of: dict[str, int], weight: np.ndarray) -> pa.Table:
    """The table with the rows of each group as often as its weight says; copies of a frame stand beside it."""
    rows = [
        row | {"frame_id": f"{row['frame_id']}-{copy}"}
        for row in table.to_pylist()
        for copy in range(int(weight[group_of[row["frame_id"]]]))
    ]
    return pa.Table.from_pylist(rows, table.schema)


@pytest.mark.parametrize("metric", ["AP", "AP50", "AP75", "AR100"])
def test_a_resample_has_the_value_of_the_holdout_with_its_drives_repeated(metric):
    request = from_coco(*random_coco(3, images=12))
    groups = [f"g{number % 5}" for number in range(request.frames.num_rows)]
    frames = request.frames.set_column(tables.FRAMES.get_field_index("drive_group"), "drive_group", pa.array(groups))
    request = EvaluationRequest(
        frames=frames, boxes=request.boxes, predictions=request.predictions, classes=request.classes
    )
    evaluation = evaluate(request)
    scored = Scored(evaluation.scene, evaluation.matches)
    group_of = {row["frame_id"]: int(row["drive_group"][1:]) for row in frames.to_pylist()}

    samples = sample_metric(scored, metric, counted_rows(evaluation), seed=7, resamples=8)

    weights = np.concatenate(list(resample._draws(5, seed=7, resamples=8, widest=5)))
    for weight, value in zip(weights, samples.overall()[1], strict=True):
        repeated = EvaluationRequest(
            frames=_copies(request.frames, group_of, weight),
            boxes=_copies(request.boxes, group_of, weight),
            predictions=_copies(request.predictions, group_of, weight),
            classes=request.classes,
        )
        assert value == pytest.approx(evaluate(repeated).numbers[metric], abs=1e-9)


def test_more_resamples_keep_the_first_ones_whatever_the_chunks(monkeypatch):
    model = measure(Drives(groups=8), 0.8, 1)
    scored, rows = Scored(model.scene, model.matches), counted_rows(model)
    few = sample_metric(scored, "AP50", rows, resamples=10)

    monkeypatch.setattr(resample, "_CELLS_AT_ONCE", 1)
    many = sample_metric(scored, "AP50", rows, resamples=30)

    assert np.array_equal(few.resampled, many.resampled[:10])


def test_a_model_differs_from_itself_by_exactly_nothing():
    model = measure(Drives(groups=10), 0.8, 1)
    samples = sample_metric(Scored(model.scene, model.matches), "AP50", counted_rows(model), resamples=50)

    change = difference(samples, samples)

    assert (change.value, change.interval.low, change.interval.high) == (0.0, 0.0, 0.0)


def test_the_interval_is_the_basic_one():
    found = interval_of(0.5, np.linspace(0.4, 0.8, 1001), 10)

    assert (found.low, found.high) == (pytest.approx(0.21), pytest.approx(0.59))


def test_one_drive_group_gives_no_interval():
    model = measure(Drives(groups=1, frames=20), 0.8, 1)

    assert compare(model, None, "AP50", Draws(resamples=20)).overall.interval is None


def test_an_interval_of_a_share_stays_within_nought_and_one():
    model = measure(Drives(groups=6, frames=2), 1.0, 1)

    for part in compare(model, None, "AP50", Draws(resamples=200)).per_class:
        assert 0.0 <= part.interval.low <= part.interval.high <= 1.0


def test_fewer_drives_of_the_same_frames_give_a_wider_interval():
    many = compare(measure(Drives(groups=60, frames=2, spread=0.25), 0.6, 5), None, "AP50", Draws()).overall.interval
    few = compare(measure(Drives(groups=6, frames=20, spread=0.25), 0.6, 5), None, "AP50", Draws()).overall.interval

    assert few.high - few.low > many.high - many.low
