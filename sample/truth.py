"""What is true about a sample, kept apart from its batches and keyed by the digest of the pictures."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import msgspec

from driveflow.canonical import Json
from driveflow.errors import BrokenDataError
from driveflow.storage.objects import join, read_bytes
from sample.batches import Delivery
from sample.motion import Run
from sample.paint import TruthBox
from sample.plan import CLASSES
from sample.scene import HEIGHT_PX, WIDTH_PX

FILE_NAME = "truth.json"


@dataclass(frozen=True, slots=True)
class TruthFrame:
    """What is true about one picture."""

    width: int
    height: int
    drive: str
    time_of_day: str
    weather: str
    defect: str
    boxes: tuple[TruthBox, ...]


@dataclass(frozen=True, slots=True)
class BrokenFile:
    """A file that is no picture; `path` is relative to the batch."""

    batch: str
    path: str
    kind: str


@dataclass(frozen=True, slots=True)
class Repeat:
    """One picture in two batches; `first` and `second` are paths from the folder of the batches."""

    frame_id: str
    first: str
    second: str


@dataclass(frozen=True, slots=True)
class DriveRun:
    """A run of frames of a drive that show nearly or exactly the same."""

    drive: str
    kind: str
    first: int
    exclusive_end: int


@dataclass(frozen=True, slots=True)
class Truth:
    """Everything that is known about a sample; `frames` is keyed by the sha256 of the bytes."""

    classes: tuple[str, ...]
    frames: Mapping[str, TruthFrame]
    broken: tuple[BrokenFile, ...]
    repeats: tuple[Repeat, ...]
    runs: tuple[DriveRun, ...]


def frames_of(deliveries: Sequence[Delivery]) -> dict[str, TruthFrame]:
    """Return what is true about the pictures of `deliveries`."""
    return {
        one.frame.frame_id: TruthFrame(
            width=WIDTH_PX,
            height=HEIGHT_PX,
            drive=one.plan.name,
            time_of_day=one.plan.time_of_day,
            weather=one.plan.weather,
            defect=one.frame.defect,
            boxes=one.frame.boxes,
        )
        for one in deliveries
    }


def runs_of(drive: str, runs: Sequence[Run]) -> list[DriveRun]:
    """Return the runs of a drive with its name."""
    return [DriveRun(drive, run.kind, run.first, run.exclusive_end) for run in runs]


def encode_truth(truth: Truth) -> bytes:
    """Return the bytes of a truth file."""
    value: dict[str, Json] = asdict(truth)
    return json.dumps(value, sort_keys=True).encode()


def read_truth(uri: str) -> Truth:
    """Return the truth at `uri`, a truth file or the folder that holds it.

    Raises:
        NotFoundError: nothing is there.
        BrokenDataError: it is no truth file.
    """
    where = uri if uri.endswith(".json") else join(uri, FILE_NAME)
    try:
        return msgspec.json.decode(read_bytes(where), type=Truth)
    except msgspec.DecodeError as error:
        raise BrokenDataError("no_truth", f"{where} is no truth file of a sample: {error}") from error


def class_counts(truth: Truth) -> dict[str, int]:
    """Return the number of boxes of every class, over all different pictures."""
    counts = dict.fromkeys(CLASSES, 0)
    for frame in truth.frames.values():
        for box in frame.boxes:
            counts[box.class_name] += 1
    return counts
