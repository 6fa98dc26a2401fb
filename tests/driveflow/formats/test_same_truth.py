"""One truth in many formats: what is exported to each of them is that truth again."""

import json
from pathlib import Path

import pytest

from driveflow.formats.export import Export
from driveflow.formats.losses import losses
from driveflow.formats.writers import WRITERS
from driveflow.images.pixels import PixelReader
from tests.driveflow.formats.exports import boxes_of, come_back, imported
from tests.shared_data import shared_data

_EXACT_PX = 0.0005


@pytest.fixture(scope="module")
def batch():
    return imported(shared_data("fmt_same_truth") / "coco", "coco")


def _truth():
    """Return name of the picture, class and corners of every box."""
    truth = json.loads((shared_data("fmt_same_truth") / "truth.json").read_text())
    return sorted((image["file"], box["cls"], *box["box"]) for image in truth["images"] for box in image["boxes"])


@pytest.mark.parametrize("name", sorted(WRITERS))
def test_the_truth_comes_back_from_every_format(name, batch, tmp_path):
    tables = batch.tables
    read = PixelReader(batch.beside.locations).read
    export = Export(tables.frames, tables.boxes, tables.classes, read, tables.sources)
    assert losses(export, WRITERS[name].carries) == ()

    back = come_back(export, name, tmp_path / "out").tables

    names = {row["frame_id"]: Path(row["path"]).name for row in tables.sources.to_pylist()}
    found = sorted((names[frame_id], *rest) for frame_id, *rest, _ in boxes_of(back.boxes))
    truth = _truth()
    assert len(found) == len(truth) == 69
    for ours, theirs in zip(found, truth, strict=True):
        assert ours[:2] == theirs[:2]
        assert ours[2:] == pytest.approx(theirs[2:], abs=_EXACT_PX)
    assert back.frames.num_rows == 13
    assert all(back.frames["annotated_classes"].to_pylist())
