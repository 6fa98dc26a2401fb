import numpy as np
import pytest

from driveflow.where import BOX_COLUMNS, compile_where
from tests.validation.drives import Drives, evaluate_drives, measure
from tests.validation.scenes import boxes_table, frames_table, predictions_table, square
from validation.error_clusters import error_clusters
from validation.model.evaluate import evaluate
from validation.model.scene import EvaluationRequest

DRIVES = Drives(groups=18, frames=4, spread=0.0)


def clusters(evaluation, drives=DRIVES):
    return [cluster for cluster in error_clusters(evaluation, drives.frames_table()) if cluster.kind == "missed"]


def test_objects_that_are_missed_by_night_are_one_cluster_for_each_class():
    found = clusters(measure(DRIVES, 0.95, seed=1, night=0.05))

    assert {(one.class_name, one.attributes["time_of_day"]) for one in found} == {("bus", "night"), ("car", "night")}
    assert all(one.errors / one.objects > 0.7 for one in found)


@pytest.mark.parametrize("seed", range(5))
def test_errors_that_are_everywhere_are_no_cluster(seed):
    assert clusters(measure(DRIVES, 0.6, seed=seed)) == []


def test_errors_of_one_drive_alone_are_no_cluster():
    """All that is missed is missed in the first drive; its tag is that of five more, which are fine."""
    found = [row for row in DRIVES.truth() if DRIVES.group(row[0]) != 0]
    evaluation = evaluate_drives(DRIVES, [(*row, 0.9) for row in found], "m")

    assert clusters(evaluation) == []


def test_small_objects_are_a_cluster_whose_predicate_is_a_condition_on_boxes():
    names = [f"f{n}" for n in range(20)]
    small = [(name, "car", square(5.0, side=20.0)) for name in names]
    large = [(name, "car", square(100.0, side=90.0)) for name in names]
    frames = frames_table(names, ("bus", "car"))
    evaluation = evaluate(
        EvaluationRequest(
            frames=frames,
            boxes=boxes_table([*small, *large]),
            predictions=predictions_table([(*row, 0.9) for row in large]),
            classes=("bus", "car"),
        )
    )

    (cluster,) = error_clusters(evaluation, frames)

    assert (cluster.class_name, cluster.height_px, cluster.errors, cluster.groups) == ("car", (0, 25), 20, 20)
    assert cluster.name == "missed car 0 to 25 px high"
    meant = compile_where(cluster.boxes_expression, BOX_COLUMNS).mask(boxes_table([*small, *large]))
    assert meant.tolist() == [True] * 20 + [False] * 20


def test_false_detections_cluster_too_and_a_class_with_a_quote_is_a_predicate_still():
    names = [f"f{n}" for n in range(20)]
    classes = ("bus", "it's")
    truth = [(name, "bus", square(5.0, side=50.0)) for name in names]
    ghosts = [(name, "it's", square(200.0, side=30.0)) for name in names]
    frames = frames_table(names, classes)
    rows = [*((*row, 0.9) for row in truth), *((*row, 0.95) for row in ghosts)]
    evaluation = evaluate(
        EvaluationRequest(frames=frames, boxes=boxes_table(truth), predictions=predictions_table(rows), classes=classes)
    )

    found = [cluster for cluster in error_clusters(evaluation, frames) if cluster.kind == "false"]

    assert [cluster.class_name for cluster in found] == ["it's"]
    boxes = boxes_table([(name, "it's", square(0.0, side=30.0)) for name in names[:2]])
    condition = found[0].boxes_expression or "class_name = 'it''s'"
    assert compile_where(condition, BOX_COLUMNS).mask(boxes).all()


def test_clusters_do_not_depend_on_the_order_of_frames():
    evaluation = measure(DRIVES, 0.95, seed=1, night=0.05)
    frames = DRIVES.frames_table()
    mixed = frames.take(np.random.default_rng(0).permutation(frames.num_rows))

    assert error_clusters(evaluation, frames) == error_clusters(evaluation, mixed)
