"""A training job ends in one model, however it is interrupted, and is done once."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from driveflow.detectors.catalog import load_detector
from driveflow.detectors.model_folder import open_model
from driveflow.errors import TrainingFailedError, UsageError
from driveflow.flow.sections import ResourceSection, TrainingSection
from driveflow.images.decode import decode_rgb
from driveflow.storage.objects import local_path
from tests.training.made import draw, make_snapshot
from training.train import TrainingJob, job_record, train

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "trainers" / "colour_trainer.py"
SHORT = TrainingSection(epochs=2, image_size_px=96, batch_size=8)


def _job(folder, settings=SHORT, train=16, val=4):
    snapshot, pixels = make_snapshot(folder, train, val)
    return TrainingJob(snapshot, settings, folder / "scratch", (folder / "store").as_uri(), pixels)


def _command(**changes):
    settings = {"trainer": "command", "command": ("python", str(EXAMPLE)), "export": "coco", "workers_per_node": 1}
    return TrainingSection(**{**settings, "epochs": 2, **changes})


def _script(folder, body):
    path = folder / "trainer.py"
    path.write_text(f"import json, os, sys\nfrom pathlib import Path\n{textwrap.dedent(body)}")
    return ("python", str(path))


def _workers(folder):
    """The workers of the built-in trainer that work under `folder`, by rank; never those of another run."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            items = (process / "environ").read_bytes().decode(errors="replace").split("\0")
            command = (process / "cmdline").read_bytes()
        except OSError:
            continue
        said = dict(item.split("=", 1) for item in items if "=" in item)
        if b"training.builtin.worker" in command and Path(said.get("DRIVEFLOW_OUTPUT", "/")).is_relative_to(folder):
            found[int(said["RANK"])] = int(process.name)
    return found


def _hits(detector, seeds):
    """How many drawn objects are found, how many boxes are wrong, how many objects there are."""
    found = wrong = total = 0
    for seed in seeds:
        data, truth = draw(seed)
        seen = detector.predict([decode_rgb(data)])[0]
        boxes = [
            (name, *box)
            for name, box, score in zip(seen.class_names, seen.boxes.tolist(), seen.scores.tolist(), strict=True)
            if score >= 0.3
        ]
        matched = sum(any(_alike(box, other) for other in boxes) for box in truth)
        found, total = found + matched, total + len(truth)
        wrong += sum(not any(_alike(box, other) for other in truth) for box in boxes)
    return found, wrong, total


def _alike(one, other):
    width = min(one[3], other[3]) - max(one[1], other[1])
    height = min(one[4], other[4]) - max(one[2], other[2])
    shared = max(width, 0) * max(height, 0)
    areas = sum((box[3] - box[1]) * (box[4] - box[2]) for box in (one, other))
    return one[0] == other[0] and shared > 0.5 * (areas - shared)


@pytest.mark.slow
def test_two_workers_learn_to_find_drawn_rectangles(tmp_path):
    job = _job(tmp_path, replace(SHORT, epochs=14), train=64, val=8)
    told = []

    model = train(job, lambda done, total, what: told.append((done, total, what)))
    found, wrong, total = _hits(load_detector(model.uri, tmp_path / "scratch"), range(1000, 1030))

    assert found >= 0.7 * total
    assert wrong <= 0.1 * total
    assert open_model(model.uri).declaration.classes == ("car", "person")
    assert model.metrics["epoch"] == 14
    assert model.metrics["val_loss"] > 0
    assert told[-1] == (14, 14, "epochs trained")


def _kill_a_worker_once_there_is_a_checkpoint(folder, killed):
    """Wait for the first checkpoint, of a quarter of an epoch or so, and kill worker 1: its epoch is not over yet."""
    deadline = time.monotonic() + 120
    while not list((folder / "scratch").rglob("checkpoint.safetensors")) and time.monotonic() < deadline:
        time.sleep(0.005)
    killed.append(_workers(folder)[1])
    os.kill(killed[0], signal.SIGKILL)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The digest of the model of the short job where nothing went wrong."""
    return train(_job(tmp_path_factory.mktemp("undisturbed"))).digest


@pytest.mark.slow
def test_a_worker_that_is_killed_changes_nothing_about_the_result(tmp_path, undisturbed):
    job = _job(tmp_path)
    killed = []
    killer = threading.Thread(target=_kill_a_worker_once_there_is_a_checkpoint, args=(tmp_path, killed))

    killer.start()
    disturbed = train(job)
    killer.join()

    assert killed
    assert disturbed.digest == undisturbed
    log = local_path(f"{job.store}/training/{disturbed.job_digest}/logs/worker-1.log").read_text()
    assert "--- start 2 ---" in log


@pytest.mark.slow
def test_another_machine_goes_on_from_the_store_after_the_first_is_killed(tmp_path, undisturbed):
    job = _job(tmp_path)
    code = textwrap.dedent(
        f"""
        from pathlib import Path
        from tests.training.test_train import SHORT, _job
        from training.train import train
        train(_job(Path({str(tmp_path)!r})))
        """
    )
    process = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(ROOT)})
    checkpoints = tmp_path / "store" / "training"
    deadline = time.monotonic() + 120
    while not list(checkpoints.rglob("checkpoint.safetensors")) and time.monotonic() < deadline:
        time.sleep(0.02)
    workers = _workers(tmp_path)

    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    while any(Path(f"/proc/{pid}").exists() for pid in workers.values()) and time.monotonic() < deadline:
        time.sleep(0.02)
    elsewhere = train(replace(job, scratch=tmp_path / "elsewhere"))

    assert workers
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers.values())
    assert elsewhere.digest == undisturbed
    assert not list(checkpoints.rglob("checkpoint.safetensors"))


def test_a_command_trainer_is_trained_once_and_its_predictor_stays_with_the_model(tmp_path):
    job = _job(tmp_path, _command())

    first = train(job)
    again = train(replace(job, scratch=tmp_path / "elsewhere"))
    found, wrong, total = _hits(load_detector(first.uri, tmp_path / "scratch"), range(1000, 1020))

    assert not first.adopted
    assert again == replace(first, adopted=True)
    assert (found, wrong) == (total, 0)
    assert sorted(file.name for file in open_model(first.uri).files) == [
        "colours.json",
        "metrics.jsonl",
        "predict.py",
        "training.json",
    ]


def test_the_example_trainer_that_is_killed_behind_its_checkpoint_ends_in_the_same_model(tmp_path):
    body = f"""
        import runpy
        kill, replace = Path(__file__).with_name("kill"), Path.replace
        def dying(path, target):
            replace(path, target)
            if target.name == "state.json" and kill.exists():
                kill.unlink()
                os.kill(os.getpid(), 9)
        Path.replace = dying
        runpy.run_path({str(EXAMPLE)!r}, run_name="__main__")
    """
    command = _command(command=_script(tmp_path, body))
    undisturbed = train(_job(tmp_path / "undisturbed", command))
    (tmp_path / "kill").touch()

    disturbed = train(_job(tmp_path / "disturbed", command))

    assert not (tmp_path / "kill").exists()
    assert disturbed.digest == undisturbed.digest


def test_what_each_epoch_measured_stands_in_the_steps_log_once(tmp_path, capsys):
    train(_job(tmp_path, _command()))

    assert [line.partition(",")[0] for line in capsys.readouterr().err.splitlines()] == ['{"epoch": 1', '{"epoch": 2']


def test_a_model_that_is_damaged_is_trained_again(tmp_path):
    job = _job(tmp_path, _command())
    first = train(job)
    (local_path(first.uri) / "colours.json").write_text("{}")

    again = train(job)

    assert not again.adopted
    assert again.digest == first.digest
    open_model(again.uri).verify()


@pytest.mark.parametrize("change", [{"seed": 1}, {"epochs": 3}])
def test_other_settings_are_another_job(tmp_path, change):
    first = train(_job(tmp_path, _command()))

    assert train(_job(tmp_path, _command(**change))).job_digest != first.job_digest


@pytest.mark.parametrize("named", ["{}", "--with={}"])
def test_a_changed_file_that_the_command_names_is_another_job_whatever_it_is_called(tmp_path, named):
    script = tmp_path / "settings"
    script.write_text("one")
    job = _job(tmp_path, _command(command=("sh", "-c", "true", named.format(script))))
    before = job_record(job)

    script.write_text("another")

    assert job_record(job) != before


def test_a_command_longer_than_a_path_may_be_is_a_command(tmp_path):
    job = _job(tmp_path, _command(command=("sh", "-c", "true " * 100 + "trainer.py")))

    assert job_record(job)["command"] == {}


def test_what_a_job_may_use_is_no_part_of_what_it_is(tmp_path):
    first = train(_job(tmp_path, _command()))

    again = train(_job(tmp_path, _command(max_seconds=77, resources=ResourceSection(cpu=4))))

    assert again.adopted
    assert again.job_digest == first.job_digest


def test_two_that_want_the_same_model_at_once_train_it_once(tmp_path):
    body = """
        output = Path(os.environ["DRIVEFLOW_OUTPUT"])
        with Path(sys.argv[0] + ".starts").open("a") as file: file.write("x")
        (output / "metrics.jsonl").write_text('{"epoch": 1}')
        (output / "outcome.json").write_text(json.dumps({"kind": "command", "classes": ["car"], "command": ["x"]}))
    """
    job = _job(tmp_path, _command(command=_script(tmp_path, body)))
    code = textwrap.dedent(
        f"""
        from pathlib import Path
        from tests.training.test_train import _command, _job
        from training.train import train
        print(train(_job(Path({str(tmp_path)!r}), _command(command={job.settings.command!r}))).digest)
        """
    )
    run = [sys.executable, "-c", code]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    processes = [subprocess.Popen(run, env=environment, stdout=subprocess.PIPE) for _ in range(2)]
    said = {process.communicate()[0] for process in processes}

    assert len(said) == 1
    assert (tmp_path / "trainer.py.starts").read_text() == "x"


def test_a_trainer_that_fails_is_told_with_the_end_of_its_log_and_its_checkpoint_is_kept(tmp_path):
    body = """
        Path(os.environ["DRIVEFLOW_CHECKPOINTS"], "state").write_text("1")
        sys.exit("the disk of this trainer is full")
    """
    job = _job(tmp_path, _command(command=_script(tmp_path, body)))

    with pytest.raises(TrainingFailedError, match=r"failed 4 times.*the disk of this trainer is full"):
        train(job)

    assert [path.read_text() for path in (tmp_path / "store").rglob("checkpoints/state")] == ["1"]
    assert list((tmp_path / "store").rglob("logs/worker-0.log"))


def test_a_pickle_is_not_taken_for_a_model(tmp_path):
    body = """
        output = Path(os.environ["DRIVEFLOW_OUTPUT"])
        (output / "model.pt").write_bytes(b"x")
        (output / "metrics.jsonl").write_text('{"epoch": 1}')
        (output / "outcome.json").write_text(json.dumps({"kind": "command", "classes": ["car"], "command": ["x"]}))
    """
    with pytest.raises(ValueError, match=r"model\.pt is a pickle"):
        train(_job(tmp_path, _command(command=_script(tmp_path, body))))


def test_a_command_trainer_without_a_command_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"training\.command is empty"):
        train(_job(tmp_path, _command(command=())))


def test_training_leaves_nothing_in_scratch(tmp_path):
    job = _job(tmp_path, _command())
    before = {thread.name for thread in threading.enumerate()}

    train(job)

    assert [path.suffix for path in (job.scratch / "training").iterdir()] == [".lock"]
    assert not {thread.name for thread in threading.enumerate()} - before
