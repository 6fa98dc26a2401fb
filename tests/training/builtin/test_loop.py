"""Training that was cut off in the middle of an epoch ends as if it had not been."""

import pytest
import torch

from tests.training.made import make_snapshot
from training.builtin.batches import Batches
from training.builtin.examples import canvas_size, read_examples
from training.builtin.export_onnx import export_onnx
from training.builtin.loop import Schedule, Trainer
from training.builtin.pictures import open_pictures, prepare_pictures
from training.contract import WorkerRank
from training.export import export_snapshot


class CutOff(Exception):  # noqa: N818 no error, a power cut
    """The power went."""


class Failing(Batches):
    """Batches after some of which the power goes."""

    def training(self, epoch, step):
        if (epoch, step) == (1, 2):
            raise CutOff
        return super().training(epoch, step)


@pytest.fixture
def parts(tmp_path):
    snapshot, pixels = make_snapshot(tmp_path, train=10, val=2)
    export_snapshot(snapshot, pixels, "tables", tmp_path / "data")
    examples = read_examples(tmp_path / "data")
    size = canvas_size(examples.train, 96)
    path = prepare_pictures(examples.everything, size, tmp_path, (0, 1))
    rows = open_pictures(path, len(examples.everything), size)
    return {"examples": examples, "rows": rows, "size": size, "seed": 3, "batch_size": 4, "worker": WorkerRank(0, 1)}


def _schedule(folder):
    folder.mkdir(exist_ok=True)
    return Schedule(epochs=2, learning_rate=0.004, checkpoints=folder, note=lambda _: None, save_every_s=0.0)


def test_training_cut_off_in_an_epoch_goes_on_to_the_same_model(tmp_path, parts):
    whole, metrics = Trainer(Batches(**parts), _schedule(tmp_path / "whole")).train()
    with pytest.raises(CutOff):
        Trainer(Failing(**parts), _schedule(tmp_path / "cut")).train()

    resumed, metrics_resumed = Trainer(Batches(**parts), _schedule(tmp_path / "cut")).train()

    assert metrics_resumed == metrics
    assert all(torch.equal(one, other) for one, other in zip(whole.parameters(), resumed.parameters(), strict=True))
    assert export_onnx(resumed, parts["size"]) == export_onnx(whole, parts["size"])
