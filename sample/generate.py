"""Render a whole sample into a folder: batches, truth, and a flow file that runs over them."""

import json
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path

from driveflow.canonical import Json, digest, digest_bytes
from driveflow.errors import UsageError
from driveflow.processes import die_with_parent
from driveflow.progress import Progress, silent
from sample.batches import WRITERS, Delivery, deliver
from sample.broken import write_broken
from sample.drive import Drive, render_drive
from sample.flow_files import write_flow_files
from sample.plan import CLASSES, DrivePlan, plan_drives
from sample.truth import FILE_NAME, BrokenFile, DriveRun, Repeat, Truth, class_counts, encode_truth, frames_of, runs_of

_MARKER = "sample.json"  # written last
_WORKERS = 2
_ENOUGH_FOR_WORKERS = 200  # frames; starting processes takes a second
_MAX_REPEATS = 12
_REPEAT_DRIVE = "b90-second-upload"


@dataclass(frozen=True, slots=True)
class SampleSettings:
    """What fixes every byte of a sample."""

    frames: int = 1000
    seed: int = 7


@dataclass(frozen=True, slots=True)
class Summary:
    """What a sample holds; `files` counts what looks like a picture, per batch."""

    folder: str
    frames: int
    seed: int
    drives: int
    holdout_drives: int
    files: dict[str, int]
    distinct_frames: int
    repeats: int
    broken: int
    boxes: dict[str, int]
    digest: str  # of all pictures and their truth


def generate(folder: Path, settings: SampleSettings, progress: Progress = silent) -> Summary:
    """Render a sample into `folder`; a sample of the same settings that is there already is taken as it is.

    Raises:
        UsageError: something else is in `folder`.
    """
    plans = plan_drives(settings.frames, settings.seed)
    there = _what_is_there(folder, settings)
    if there:
        return there
    partial = folder.absolute().with_name(f".{folder.absolute().name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    summary = replace(_render(partial, plans, settings, progress), folder=str(folder))
    (partial / _MARKER).write_text(json.dumps(asdict(replace(summary, folder="")), indent=2) + "\n", encoding="utf-8")
    partial.replace(folder.absolute())
    return summary


def _what_is_there(folder: Path, settings: SampleSettings) -> Summary | None:
    if not folder.exists() or not any(folder.iterdir()):
        return None
    marker = folder / _MARKER
    if not marker.is_file():
        raise UsageError(f"{folder} holds something that is no sample; an empty or new folder would do.")
    known = Summary(**json.loads(marker.read_text("utf-8")))
    if (known.frames, known.seed) != (settings.frames, settings.seed):
        raise UsageError(
            f"{folder} holds a sample of {known.frames} frames with seed {known.seed}; another folder would do."
        )
    return replace(known, folder=str(folder))


def _render(folder: Path, plans: Sequence[DrivePlan], settings: SampleSettings, progress: Progress) -> Summary:
    batches = folder / "batches"
    deliveries, runs = _deliver_all(batches, plans, progress)
    repeats = _repeat(batches, deliveries)
    broken = _break(batches, deliveries)
    for name, writer in WRITERS.items():
        writer(batches / name, [one for one in deliveries if one.batch == name])
    truth = Truth(CLASSES, frames_of(deliveries), broken, repeats, runs)
    (folder / "truth").mkdir()
    (folder / "truth" / FILE_NAME).write_bytes(encode_truth(truth))
    write_flow_files(folder, plans)
    return _summary(settings, plans, deliveries, truth)


def _deliver_all(
    batches: Path, plans: Sequence[DrivePlan], progress: Progress
) -> tuple[list[Delivery], tuple[DriveRun, ...]]:
    deliveries: list[Delivery] = []
    runs: list[DriveRun] = []
    total = sum(plan.frames for plan in plans)
    for drive in _drives(plans, total):
        deliveries += deliver(drive, batches)
        runs += runs_of(drive.plan.name, drive.runs)
        progress(len(deliveries), total, "frames rendered")
    return deliveries, tuple(runs)


def _drives(plans: Sequence[DrivePlan], total: int) -> Iterator[Drive]:
    """Yield the rendered drives in the order of `plans`; who renders them changes nothing."""
    if total < _ENOUGH_FOR_WORKERS:
        yield from map(render_drive, plans)
        return
    with ProcessPoolExecutor(_WORKERS, get_context("spawn"), die_with_parent) as pool:
        yield from pool.map(render_drive, plans)


def _repeat(batches: Path, deliveries: list[Delivery]) -> tuple[Repeat, ...]:
    """Deliver some pictures of a training drive again, byte for byte, in another batch under other names."""
    drive = next(one.drive for one in deliveries if one.batch == "drives_a" and not one.plan.holdout)
    chosen = [one for one in deliveries if one.drive == drive][::2][:_MAX_REPEATS]
    repeats = []
    for number, one in enumerate(chosen):
        again = replace(
            one, batch="drives_b", path=f"images/train/{_REPEAT_DRIVE}/clip_{number:03d}.jpg", drive=_REPEAT_DRIVE
        )
        target = batches / again.batch / again.path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(batches / one.batch / one.path, target)
        deliveries.append(again)
        repeats.append(Repeat(one.frame.frame_id, f"{one.batch}/{one.path}", f"{again.batch}/{again.path}"))
    return tuple(repeats)


def _break(batches: Path, deliveries: Sequence[Delivery]) -> tuple[BrokenFile, ...]:
    labeled = next(one for one in deliveries if one.batch == "drives_b" and not one.plan.holdout)
    unlabeled = next(one for one in deliveries if one.batch == "drives_c")
    whole = (batches / labeled.batch / labeled.path).read_bytes()
    return write_broken(batches, whole, labeled.drive, unlabeled.drive)


def _summary(
    settings: SampleSettings, plans: Sequence[DrivePlan], deliveries: Sequence[Delivery], truth: Truth
) -> Summary:
    files = Counter([one.batch for one in deliveries] + [one.batch for one in truth.broken])
    pictures: list[Json] = [[one.batch, one.path, one.frame.frame_id] for one in deliveries]
    return Summary(
        folder="",
        frames=settings.frames,
        seed=settings.seed,
        drives=len(plans),
        holdout_drives=sum(plan.holdout for plan in plans),
        files=dict(sorted(files.items())),
        distinct_frames=len(truth.frames),
        repeats=len(truth.repeats),
        broken=len(truth.broken),
        boxes=class_counts(truth),
        digest=digest([pictures, digest_bytes(encode_truth(truth))]),
    )
