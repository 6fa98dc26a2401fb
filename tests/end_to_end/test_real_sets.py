"""The real sets through the command: what is known of them comes out."""

from pathlib import Path

import pytest

from driveflow.snapshots import open_snapshot
from tests.end_to_end.command import driveflow, run, steps
from tests.shared_data import shared_data

pytestmark = pytest.mark.slow

_VEHICLES = """\
name: vehicles
classes: [Ambulance, Bus, Car, Motorcycle, Truck]
batches:
  - {{name: batch_a, path: "{home}/batch_a", format: yolo}}
  - {{name: batch_b, path: "{home}/batch_b", format: yolo}}
holdout: {{source_splits: [valid]}}
training: {{epochs: 1, image_size_px: 64, batch_size: 32, seed: 1}}
gate: {{floors: [{{metric: AP50, at_least: 0.9}}]}}
"""
_DRIVE = """\
name: drive
classes: [car]
batches:
  - {{name: shadow, path: "{shadow}", format: coco}}
  - {{name: overlap, path: "{overlap}", format: folder}}
splits: {{val_fraction: 0}}
filters: {{near_duplicates: {{same_drive_max_bits: 4, min_gap_s: 0}}}}
"""


def _flow(folder: Path, text: str, **places: Path) -> Path:
    path = folder / "flow.yaml"
    path.write_text(text.format(**places), encoding="utf-8")
    return path


def test_vehicles_has_its_repeats_trains_on_train_and_is_judged_on_valid(tmp_path):
    flow = _flow(tmp_path, _VEHICLES, home=shared_data("det_vehicles_openimages"))

    result = run(flow, tmp_path / "workspace", "--pipeline", "flow", code=5)

    found = steps(result)
    assert result["counts"]["in"] == 714
    assert found["merge_batches"]["counts"]["frames"] == 564
    assert result["counts"]["dropped"]["exact_duplicate"] == 150
    assert found["build_training_set"]["counts"]["holdout"] == found["validate_model"]["counts"]["frames"] == 125
    assert result["verdict"] == "BLOCK"
    shown = driveflow("runs", "show", "-w", tmp_path / "workspace", "-o", "json").json
    outputs = {step["step"]: step["outputs"] for step in shown["steps"]}
    for name, wanted in (("training", "train"), ("holdout", "valid")):
        sources = open_snapshot(outputs["build_training_set"][name]).sources()
        assert set(sources["source_split"].to_pylist()) == {wanted}
    assert Path(result["report"]).read_bytes().count(b"data:image/jpeg;base64,") > 0


def test_two_cuts_of_one_drive_are_thinned_with_every_pair_proven(tmp_path):
    shadow, overlap = shared_data("seq_udacity_shadow"), shared_data("seq_udacity_overlap")
    flow = _flow(tmp_path, _DRIVE, shadow=shadow, overlap=overlap)

    result = run(flow, tmp_path / "workspace", "--pipeline", "curate")
    verified = driveflow(
        *("filter", "verify", result["snapshots"]["filter_frames"]), "-w", tmp_path / "workspace", "-o", "json"
    )

    merged = steps(result)["merge_batches"]["counts"]
    assert (merged["frames"], merged["frames_shared"], merged["drive_groups"]) == (179, 66, 1)
    assert 0.25 <= result["counts"]["kept"] / 179 <= 0.50
    assert verified.code == 0, verified.err
    assert verified.json["orphans"] in (0, [])
