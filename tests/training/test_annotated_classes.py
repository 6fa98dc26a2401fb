"""What nobody looked for is neither learned as absent nor judged as a false alarm, from two label files to the end."""

import dataclasses

import numpy as np
import pyarrow as pa
import pytest
import torch

from driveflow import tables as columns
from driveflow.flow.sections import TaxonomySection
from driveflow.images.pixels import PixelReader
from driveflow.snapshots import write_snapshot
from tests.ingestion.batches import bring_in, coco, merge, picture, write
from tests.strategies import box_row
from training.builtin.examples import read_examples
from training.builtin.loss import TargetBatch, loss_sums
from training.builtin.targets import make_target
from training.export import export_snapshot
from validation.model.evaluate import evaluate
from validation.model.scene import EvaluationRequest

TAXONOMY = TaxonomySection(classes=("car", "pedestrian"))
CAR, PEDESTRIAN = 0, 1
GRID, STRIDE_PX = (12, 16), 4


@pytest.fixture(scope="module")
def merged(tmp_path_factory):
    """Two batches merged: in `both` cars and pedestrians were labeled, in `cars` nobody looked for pedestrians."""
    folder = tmp_path_factory.mktemp("batches")
    everything = coco(
        [(1, "a.jpg"), (2, "b.jpg")],
        [(1, 1, 1, (4, 4, 20, 12)), (2, 1, 2, (40, 8, 8, 24))],
        categories=((1, "car"), (2, "pedestrian")),
    )
    cars_only = coco([(1, "c.jpg")], [(1, 1, 1, (4, 4, 20, 12))], categories=((1, "car"),))
    write(folder / "both", {"labels.json": everything, "a.jpg": picture(1), "b.jpg": picture(2)})
    write(folder / "cars", {"labels.json": cars_only, "c.jpg": picture(3)})
    parts = [(name, bring_in(folder / name, TAXONOMY, drives="stills")) for name in ("both", "cars")]
    made = merge(*parts)
    return folder, write_snapshot((folder / "store").as_uri(), made.tables, made.beside, {"step": "merge_batches"})


@pytest.fixture(scope="module")
def names(merged):
    """Frame ids by file."""
    sources = merged[1].sources()
    return dict(zip(sources["path"].to_pylist(), sources["frame_id"].to_pylist(), strict=True))


@pytest.fixture(scope="module")
def examples(merged):
    """What the built-in trainer reads of an export, by frame."""
    folder, snapshot = merged
    export_snapshot(snapshot, PixelReader(snapshot.locations()), "tables", folder / "export")
    return {example.frame_id: example for example in read_examples(folder / "export").everything}


def _gradient(example):
    """The gradient of the loss by class, for a model that is sure to see everything everywhere."""
    made = make_target(example.boxes, example.numbers, example.looked_for, GRID, STRIDE_PX)
    grids = (torch.from_numpy(getattr(made, name))[None] for name in ("heat", "counts", "box", "weight"))
    logits = torch.full((1, 2, *GRID), 4.0, requires_grad=True)
    loss_sums([(logits, torch.ones(1, 4, *GRID))], [TargetBatch(*grids)]).heat.backward()
    return [float(logits.grad[0, number].abs().max()) for number in (CAR, PEDESTRIAN)]


def _evaluated(snapshot, found):
    rows = [
        box_row(frame, f"p{number}", name, x1=corners[0], y1=corners[1], x2=corners[2], y2=corners[3], score=0.9)
        for number, (frame, name, corners) in enumerate(found)
    ]
    return evaluate(
        EvaluationRequest(
            frames=snapshot.frames(),
            boxes=snapshot.boxes(),
            predictions=pa.Table.from_pylist(rows, schema=columns.PREDICTIONS),
            classes=snapshot.classes,
        )
    )


def test_after_a_merge_each_frame_says_what_was_looked_for_in_it(merged, names):
    frames = merged[1].frames()
    looked = dict(zip(frames["frame_id"].to_pylist(), frames["annotated_classes"].to_pylist(), strict=True))

    assert looked == {
        names["a.jpg"]: ["car", "pedestrian"],
        names["b.jpg"]: ["car", "pedestrian"],
        names["c.jpg"]: ["car"],
    }


def test_ac_b25_where_pedestrians_were_never_labeled_there_is_no_negative_for_them_in_the_loss(examples, names):
    cars, pedestrians = _gradient(examples[names["c.jpg"]])

    assert cars > 0
    assert pedestrians == 0


def test_where_they_were_looked_for_and_none_is_there_is(examples, names):
    assert min(_gradient(examples[names["b.jpg"]])) > 0


def test_ac_b25_where_pedestrians_were_never_labeled_there_is_no_false_alarm_for_them(merged, names):
    truth = [(names["a.jpg"], "car", (4, 4, 24, 16)), (names["a.jpg"], "pedestrian", (40, 8, 48, 32)),
             (names["c.jpg"], "car", (4, 4, 24, 16))]  # fmt: skip
    clean = _evaluated(merged[1], truth)
    unasked = _evaluated(merged[1], [*truth, (names["c.jpg"], "pedestrian", (30, 8, 40, 32))])
    wrong = _evaluated(merged[1], [*truth, (names["b.jpg"], "pedestrian", (30, 8, 40, 32))])

    def alarms(evaluation):
        return float(np.asarray(evaluation.confusion.counts).sum())

    assert dict(unasked.numbers) == dict(clean.numbers)
    assert alarms(unasked) == alarms(clean)
    assert _kinds(unasked) - _kinds(clean) == {"detection_of_unannotated_class"}
    assert alarms(wrong) == alarms(clean) + 1  # the same box is a false alarm where somebody looked


def test_a_pedestrian_box_in_a_frame_where_nobody_looked_teaches_nothing(examples, names):
    example = examples[names["c.jpg"]]
    assert dataclasses.astuple(example)[-1].tolist() == [True, False]
    assert PEDESTRIAN not in example.numbers.tolist()


def _kinds(evaluation):
    return {item.kind for item in evaluation.corrections}
