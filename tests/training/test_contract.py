"""What a trainer finds and what it must leave."""

import json

import pytest

from driveflow.errors import TrainingFailedError, UsageError
from driveflow.flow.sections import ResourceSection, TrainingSection
from training.contract import (
    TrainerFolders,
    WorkerRank,
    last_metrics,
    rank_environment,
    read_folders,
    read_outcome,
    read_rank,
    read_settings,
    trainer_environment,
)

COMMAND = {"kind": "command", "classes": ["car"], "command": ["predict"]}


def _leave(output, outcome, metrics='{"loss": 1}\n'):
    (output / "outcome.json").write_text(outcome if isinstance(outcome, str) else json.dumps(outcome))
    (output / "metrics.jsonl").write_text(metrics)


def test_a_worker_reads_back_what_the_launcher_said(tmp_path):
    folders = TrainerFolders(*(tmp_path / name for name in ("data", "output", "checkpoints", "scratch")))
    settings = TrainingSection(epochs=3, command=("a b", 'c"d'), resources=ResourceSection(cpu=0.5), seed=7)
    said = trainer_environment(folders, settings) | rank_environment(WorkerRank(3, 4), 2, 4242)

    assert read_folders(said) == folders
    assert read_settings(said) == settings
    assert read_rank(said) == WorkerRank(3, 4)
    assert said["DRIVEFLOW_SEED"] == "7"


def test_a_variable_that_is_not_set_is_named():
    with pytest.raises(UsageError, match="DRIVEFLOW_DATA is not set"):
        read_folders({})


def test_settings_that_are_none_are_told():
    with pytest.raises(UsageError, match="no training section"):
        read_settings({"DRIVEFLOW_SETTINGS": '{"epochs": 0}'})


def test_everything_a_trainer_leaves_becomes_the_model(tmp_path):
    _leave(tmp_path, COMMAND, '{"loss": 2}\n{"loss": 1.5, "note": "x", "epoch": 2}\n')
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "weights.bin").write_bytes(b"1")
    (tmp_path / ".half").write_bytes(b"2")

    outcome = read_outcome(tmp_path, ("car", "bus"))

    assert sorted(outcome.files) == ["metrics.jsonl", "part/weights.bin"]
    assert outcome.metrics == {"loss": 1.5, "epoch": 2.0}
    assert outcome.declaration.classes == ("car",)


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n", "\n  \n"])
def test_lines_without_anything_at_the_end_of_the_metrics_are_none(tmp_path, end):
    (tmp_path / "metrics.jsonl").write_bytes(b'{"loss": 2}\n{"loss": 1}' + end.encode())

    assert last_metrics(tmp_path / "metrics.jsonl") == {"loss": 1.0}


def test_a_link_out_of_the_folder_is_not_taken(tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(b"1")
    output = tmp_path / "output"
    output.mkdir()
    _leave(output, COMMAND)
    (output / "weights").symlink_to(secret)

    assert sorted(read_outcome(output, ("car",)).files) == ["metrics.jsonl"]


@pytest.mark.parametrize(
    ("outcome", "metrics", "match"),
    [
        ("{", "{}\n", "no usable outcome.json"),
        ({"kind": "onnx", "classes": ["car"]}, "{}\n", "needs input and head"),
        (COMMAND | {"classes": ["cow"]}, "{}\n", r"classes that the taxonomy lacks: \['cow'\]"),
        (COMMAND, "", r"left no metrics\.jsonl"),
        (COMMAND, "[]\n", "no JSON object"),
        (COMMAND, '{"loss": NaN}\n', r"no numbers: \['loss'\]"),
        (COMMAND, f'{{"loss": {"9" * 400}}}\n', "no JSON object: int too large"),
    ],
)
def test_what_breaks_the_contract_is_told(tmp_path, outcome, metrics, match):
    _leave(tmp_path, outcome, metrics)

    with pytest.raises(TrainingFailedError, match=match):
        read_outcome(tmp_path, ("car",))


def test_a_trainer_that_leaves_nothing_is_told(tmp_path):
    with pytest.raises(TrainingFailedError, match=r"left no outcome\.json"):
        read_outcome(tmp_path, ("car",))
    with pytest.raises(TrainingFailedError, match=r"left no metrics\.jsonl"):
        last_metrics(tmp_path / "metrics.jsonl")
