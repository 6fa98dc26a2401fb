"""A finished job is adopted only where its record is what was written."""

from dataclasses import replace

import pytest

from driveflow.flow.sections import TrainingSection
from driveflow.storage.objects import local_path
from tests.training.made import make_snapshot
from training.train import TrainingJob, train

_SCRIPT = """\
import json, os
from pathlib import Path
output = Path(os.environ["DRIVEFLOW_OUTPUT"])
(output / "metrics.jsonl").write_text(json.dumps({"epoch": 1, "loss": 0.125}) + "\\n")
(output / "outcome.json").write_text(json.dumps({"kind": "command", "classes": ["car"], "command": ["true"]}))
"""


@pytest.fixture
def job(tmp_path):
    script = tmp_path / "trainer.py"
    script.write_text(_SCRIPT)
    snapshot, pixels = make_snapshot(tmp_path, 2)
    settings = TrainingSection(trainer="command", command=("python", str(script)), workers_per_node=1, epochs=1)
    return TrainingJob(snapshot, settings, tmp_path / "scratch", (tmp_path / "store").as_uri(), pixels)


@pytest.mark.parametrize(
    ("was", "became"), [('"loss":0.125', '"loss":0.525'), ('"epoch"', '"epock"'), ('"digest"', '"digesu"'), ("{", "[")]
)
def test_a_job_whose_record_is_damaged_is_done_again(job, was, became):
    first = train(job)
    record = local_path(job.store) / "training" / first.job_digest / "result.json"
    whole = record.read_text()
    record.write_text(whole.replace(was, became, 1))

    again = train(job)

    assert record.read_text() != whole.replace(was, became, 1)
    assert again == first
    assert train(job) == replace(first, adopted=True)
