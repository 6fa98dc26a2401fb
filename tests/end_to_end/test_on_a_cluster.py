"""The same flow file on a cluster: each step alone, from the wheel, over S3 and PostgreSQL, ends in the same ids."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from driveflow.ledger.ledger import open_ledger
from driveflow.storage.objects import join, put_file
from tests.end_to_end.command import Finished, driveflow
from tests.end_to_end.conftest import Drives, Undisturbed
from tests.end_to_end.pods import ROOT, Cluster, installed_wheel
from tests.servers import S3Server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]

_LEDGER = "DRIVEFLOW_LEDGER_URL"
_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
_PROFILE = """\
profile: kfp
data_root: {home}
store: {home}/store
ledger: env:DRIVEFLOW_LEDGER_URL
image: registry.example.com/driveflow-python
secret_name: driveflow
secrets: [DRIVEFLOW_LEDGER_URL, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY]
s3: {{endpoint: "{endpoint}", region: us-east-1}}
"""
_FLOW = ("plan-run", "import-batches", "merge-batches", "fingerprint-frames", "filter-frames", "find-corner-cases")
_FLOW += ("hand-off-frames", "collect-labels", "build-training-set", "validate-data", "train-model", "validate-model")
_FLOW += ("promote-model",)
_WORLD = frozenset(("plan-run", "hand-off-frames", "collect-labels", "train-model", "promote-model"))
_TRAINING = ("collect-labels", "fingerprint-frames", "build-training-set", "train-model", "validate-model")


@dataclass(frozen=True, slots=True)
class _Site:
    """A flow file beside a cluster profile, and what the profile's secret holds."""

    flow: Path
    home: str
    folder: Path
    secrets: dict[str, str]

    def compiled(self, pipeline: str) -> str:
        """Return a pipeline as the command compiles it, without knowing any secret."""
        path = self.folder / f"compiled-{pipeline}.yaml"
        done = driveflow("compile", self.flow, "--pipeline", pipeline, "--profile", "kfp", "-o", path)
        assert done.code == 0, done.err
        return path.read_text("utf-8")

    def run(self, python: Path, pipeline: str, number: int) -> tuple[Cluster, dict[str, dict[str, Any]]]:
        """Run a pipeline as a cluster would."""
        pods = self.folder / f"pods-{number}"
        pods.mkdir()
        cluster = Cluster(python, pods, f"00000000-0000-4000-8000-{number:012d}", self.secrets, _WORLD)
        return cluster, cluster.run(self.compiled(pipeline), {})


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter that has the wheel and not the checkout."""
    return installed_wheel(tmp_path_factory.mktemp("image"))


@pytest.fixture
def site(drives: Drives, s3_server: S3Server, s3_store: str, postgres_url: str, tmp_path: Path) -> _Site:
    """The sample's flow file, unchanged, beside a cluster profile."""
    (tmp_path / "profiles").mkdir()
    profile = _PROFILE.format(home=s3_store, endpoint=s3_server.endpoint)
    (tmp_path / "profiles" / "kfp.yaml").write_text(profile, encoding="utf-8")
    shutil.copyfile(drives.flow, tmp_path / "flow.yaml")
    keys = dict(zip(_KEYS, (s3_server.access_key, s3_server.secret_key), strict=True))
    return _Site(tmp_path / "flow.yaml", s3_store, tmp_path, {**keys, _LEDGER: postgres_url})


def test_the_flow_unchanged_makes_the_laptops_snapshots_and_retrains(
    drives: Drives, undisturbed: Undisturbed, python: Path, site: _Site
):
    laptop = _outputs_on_the_laptop(undisturbed)
    _upload(drives, site)
    with _away(drives.folder), _away(undisturbed.workspace):
        flow, made = site.run(python, "flow", 1)
    annotated = _annotate(made["hand-off-frames"]["Output"], drives, site)
    with _away(drives.folder), _away(undisturbed.workspace):
        retrain, retrained = site.run(python, "retrain", 2)
        idle, _ = site.run(python, "retrain", 3)

    assert _ids(made) == laptop
    assert made["train-model"]["Output"].rpartition("/")[2] in _models(undisturbed)
    assert set(flow.executed) == set(_FLOW)
    assert set(_TRAINING) < set(retrain.executed)
    assert set(idle.executed) == {"plan-run", "decide-training"}
    assert annotated > 0
    assert retrained["plan-run"]["due"] is True
    assert retrained["train-model"]["Output"] != made["train-model"]["Output"]
    for cluster in (flow, retrain, idle):
        assert sorted(cluster.outside) == []
    _is_recorded(site, flow, retrain, idle)
    _holds_no_secret(site)


def test_the_pods_would_be_caught_reading_the_checkout(python: Path, tmp_path: Path):
    code = (
        f"import pathlib, driveflow; pathlib.Path({str(ROOT / 'README.md')!r}).read_text(); print(driveflow.__file__)"
    )
    log = tmp_path / "touched"
    told = subprocess.run(
        [python, "-c", code], cwd=tmp_path, env={"POD_WATCH_LOG": str(log)}, capture_output=True, text=True, check=True
    )

    assert str(ROOT / "README.md") in log.read_text().splitlines()
    assert Path(told.stdout.strip()).is_relative_to(python.parents[1])


def test_a_step_that_finds_sqlite_in_its_secret_refuses_it(python: Path, site: _Site):
    cluster = Cluster(python, site.folder, "run", {**site.secrets, _LEDGER: "sqlite:////data/ledger.db"})

    with pytest.raises(AssertionError, match="SQLite ledger, which pods cannot share"):
        cluster.run(site.compiled("flow"), {})


@pytest.mark.parametrize(
    ("in_profile", "in_flow", "named"),
    [
        (("ledger: .*", "ledger: sqlite:////data/ledger.db"), None, "SQLite"),
        (("ledger: .*", ""), None, "the ledger in the workspace"),
        (("store: .*", "store: file:///data/store"), None, "store file:///data/store"),
        (("data_root: .*", "data_root: /data"), None, "data_root file:///data"),
        (None, (r"training: \{", "training: {nodes: 2, "), "training.nodes 2"),
        (None, ("path: batches/drives_a", "path: /data/a"), "the path /data/a of batch drives_a"),
        (("secrets: .*", "secrets: []"), None, "env:DRIVEFLOW_LEDGER_URL"),
    ],
)
def test_the_cluster_profile_refuses_by_name_what_pods_cannot_share(
    drives: Drives, tmp_path, in_profile, in_flow, named
):
    profile = _PROFILE.format(home="s3://bucket/home", endpoint="http://127.0.0.1:1")
    texts = {"profiles/kfp.yaml": profile, "flow.yaml": drives.flow.read_text("utf-8")}
    (tmp_path / "profiles").mkdir()
    for (name, text), change in zip(texts.items(), (in_profile, in_flow), strict=True):
        (tmp_path / name).write_text(re.sub(*change, text, count=1) if change else text, encoding="utf-8")

    done = driveflow("compile", tmp_path / "flow.yaml", "--profile", "kfp")

    assert done.code == 2, done.err
    assert named in done.err
    assert done.out == ""


@contextmanager
def _away(folder: Path) -> Iterator[None]:
    """Take a folder away, so that whoever still reads from it fails."""
    hidden = folder.with_name(f"{folder.name}-taken-away")
    folder.rename(hidden)
    try:
        yield
    finally:
        hidden.rename(folder)


def _upload(drives: Drives, site: _Site) -> None:
    for path in sorted(drives.folder.glob("batches/**/*")):
        if path.is_file():
            put_file(path, join(site.home, *path.relative_to(drives.folder).parts))


def _outputs_on_the_laptop(undisturbed: Undisturbed) -> dict[str, str]:
    shown = _ok(driveflow("runs", "show", undisturbed.result["run_id"], "-w", undisturbed.workspace, "-o", "json"))
    return _ids({step["step"].replace("_", "-"): step["outputs"] for step in shown.json["steps"]})


def _models(undisturbed: Undisturbed) -> list[str]:
    return [path.name for path in (undisturbed.workspace / "store" / "models").iterdir()]


def _ids(outputs: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Return the ids of the snapshots that a run made; a step's only output is called Output on a cluster."""
    found = {
        (task, name): _snapshot_id(outputs[task].get(name) or outputs[task].get("Output"))
        for task, name in (
            *(("merge-batches", "snapshot"), ("filter-frames", "snapshot"), ("collect-labels", "snapshot")),
            *(("build-training-set", "training"), ("build-training-set", "holdout")),
        )
    }
    return {f"{task}.{name}": value for (task, name), value in found.items()}


def _snapshot_id(uri: Any) -> str:
    return str(uri).rpartition("/snapshots/")[2].partition("#")[0]


def _annotate(campaign: str, drives: Drives, site: _Site) -> int:
    keys = {name: site.secrets[name] for name in _KEYS}
    endpoint = {"AWS_ENDPOINT_URL": _endpoint(site), "AWS_DEFAULT_REGION": "us-east-1"}
    done = driveflow("sample", "annotate", campaign, "--truth", drives.truth, "-o", "json", env={**keys, **endpoint})
    return int(_ok(done).json["answered"])


def _endpoint(site: _Site) -> str:
    text = (site.folder / "profiles" / "kfp.yaml").read_text("utf-8")
    return re.findall(r'endpoint: "([^"]+)"', text)[0]


def _is_recorded(site: _Site, *clusters: Cluster) -> None:
    ledger = open_ledger(site.secrets[_LEDGER])
    states = {run.run_id: run.state for run in ledger.runs()}
    champions = [version for version in ledger.versions("sample") if version.state == "champion"]

    assert states == {cluster.run_id: "SUCCEEDED" for cluster in clusters}
    assert len(champions) == 1
    promoted = [event.version for event in ledger.model_events("sample") if event.kind == "promoted"]
    assert len(promoted) == len(set(promoted)) > 0
    assert len(ledger.campaigns(flow="sample")) == 1
    for cluster in clusters:
        recorded = {step.step.replace("_", "-"): step.state for step in ledger.steps(cluster.run_id)}
        assert recorded == dict.fromkeys(cluster.executed, "SUCCEEDED")


def _holds_no_secret(site: _Site) -> None:
    """Look for every secret in all that was compiled and in all that pods left, logs and pages included."""
    secret = [value.encode() for value in (site.secrets["AWS_SECRET_ACCESS_KEY"], site.secrets[_LEDGER])]
    files = [path for path in site.folder.rglob("*") if path.is_file() and not path.is_symlink()]

    assert len(files) > 12
    assert [str(path) for path in files if any(value in path.read_bytes() for value in secret)] == []


def _ok(done: Finished) -> Finished:
    assert done.code == 0, done.err
    return done
