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
from validation.model.resample import difference, groups_of, interval_of, sample_metric
from validation.model.scene import EvaluationRequest
from validation.model.scored import scored_of


def _copies(table: pa.Table, group_of: dict[str, int], weight: np.ndarray) -> pa.Table:
    """The table with the rows of each group as often as its weight says; copies of a frame stand beside it."""
    rows = [
        row | {"frame_id": f"{row['frame_id']}-{copy}"}
        for row in table.to_pylist()
        for copy in range(int(weight[group_of[row["frame_id"]]]))
    ]
    return pa.Table.from_pylist(rows, table.schema)


def _sample(evaluation, metric, seed=0, resamples=10_000):
    scored = scored_of(evaluation)
    return sample_metric(
        scored.sweep, metric, groups_of(scored.frame_group, counted_rows(scored)), seed=seed, resamples=resamples
    )


def _in_groups(request: EvaluationRequest, groups: int) -> EvaluationRequest:
    names = [f"g{number % groups}" for number in range(request.frames.num_rows)]
    frames = request.frames.set_column(tables.FRAMES.get_field_index("drive_group"), "drive_group", pa.array(names))
    return EvaluationRequest(
        frames=frames, boxes=request.boxes, predictions=request.predictions, classes=request.classes
    )


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("metric", ["AP", "AP50", "AP75", "AR100"])
def test_a_resample_has_the_value_of_the_holdout_with_its_drives_repeated(metric, tied):
    truth, found = random_coco(3, images=12)
    if tied:
        found = [row | {"score": round(row["score"], 1)} for row in found]
    request = _in_groups(from_coco(truth, found), 5)
    group_of = {row["frame_id"]: int(row["drive_group"][1:]) for row in request.frames.to_pylist()}

    samples = _sample(evaluate(request), metric, seed=7, resamples=8)

    ((_, weights),) = resample._draws(5, seed=7, resamples=8)
    for weight, value in zip(weights[0].T[:8], samples.overall()[1], strict=True):
        repeated = EvaluationRequest(
            frames=_copies(request.frames, group_of, weight),
            boxes=_copies(request.boxes, group_of, weight),
            predictions=_copies(request.predictions, group_of, weight),
            classes=request.classes,
        )
        assert value == pytest.approx(evaluate(repeated).numbers[metric], abs=1e-3)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("metric", ["AP", "AP50", "AP75", "AR100"])
def test_the_number_itself_is_exactly_the_one_of_the_evaluation(metric, tied):
    truth, found = random_coco(4, images=15)
    if tied:
        found = [row | {"score": round(row["score"], 1)} for row in found]
    evaluation = evaluate(_in_groups(from_coco(truth, found), 4))

    assert _sample(evaluation, metric, resamples=0).overall()[0] == pytest.approx(evaluation.numbers[metric], abs=1e-12)


def test_more_resamples_keep_the_first_ones_whatever_the_chunks(monkeypatch):
    model = measure(Drives(groups=8), 0.8, 1)
    few = _sample(model, "AP50", resamples=10)

    monkeypatch.setattr(resample, "_BYTES_AT_ONCE", 1)
    many = _sample(model, "AP50", resamples=300)

    assert np.array_equal(few.resampled, many.resampled[:10])


def test_a_model_differs_from_itself_by_exactly_nothing():
    samples = _sample(measure(Drives(groups=10), 0.8, 1), "AP50", resamples=50)

    change = difference(samples, samples)

    assert (change.value, change.interval.low, change.interval.high) == (0.0, 0.0, 0.0)
    assert change.chance_of_not_worse(0.0) == 1.0


def test_the_interval_reaches_as_far_as_students_t_has_it_for_the_number_of_drive_groups():
    spread = np.random.default_rng(1).normal(0, 0.1, 100_000)

    few, many = interval_of(0.5, spread, 5), interval_of(0.5, spread, 500)

    assert few.high - 0.5 == pytest.approx(2.776 * 0.1 * (5 / 4) ** 0.5, rel=0.02)
    assert many.high - 0.5 == pytest.approx(1.965 * 0.1, rel=0.02)


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
