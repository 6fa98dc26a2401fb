"""Prove that a snapshot opens alone: its tables are what was written, and every frame's bytes can be read."""

import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from driveflow.canonical import Json
from driveflow.errors import DriveflowError, IntegrityError, NotFoundError
from driveflow.images.frame_bytes import FrameBytes
from driveflow.progress import Progress, silent
from driveflow.snapshots import Snapshot

_REPORT_EVERY = 64


@dataclass(frozen=True, slots=True)
class FrameTrouble:
    """A frame whose bytes cannot be had: missing, changed, withdrawn, or the storage failed."""

    frame_id: str
    state: str
    detail: str


@dataclass(frozen=True, slots=True)
class FrameCheck:
    """How many frames a snapshot has, how many were read, and those that could not be."""

    frames: int
    checked: int
    troubles: tuple[FrameTrouble, ...]

    @property
    def is_sound(self) -> bool:
        """Whether every frame that was read is what it should be; a withdrawn one cannot be read, as it should be."""
        return all(trouble.state == "withdrawn" for trouble in self.troubles)

    def to_json(self) -> dict[str, Json]:
        """Return the check as JSON."""
        states = sorted({trouble.state for trouble in self.troubles})
        counts = {state: sum(1 for trouble in self.troubles if trouble.state == state) for state in states}
        examples: list[Json] = [
            {"frame_id": trouble.frame_id, "state": trouble.state, "detail": trouble.detail}
            for trouble in self.troubles
        ]
        told: Mapping[str, Json] = {"frames": self.frames, "checked": self.checked, "sound": self.is_sound}
        return {**told, "states": counts, "troubles": examples}


def verify_frames(
    snapshot: Snapshot,
    pixels: FrameBytes,
    withdrawn: Collection[str],
    sample: int = 0,
    progress: Progress = silent,
) -> FrameCheck:
    """Check the files of `snapshot`, then read its frames, or `sample` of them, always the same ones.

    Raises:
        NotFoundError: a file of the snapshot is gone.
        IntegrityError: one is not what was written.
    """
    snapshot.verify()
    ids: list[str] = snapshot.frames()["frame_id"].to_pylist()
    chosen = sorted(random.Random(snapshot.snapshot_id).sample(ids, sample)) if 0 < sample < len(ids) else ids
    return FrameCheck(len(ids), len(chosen), tuple(_troubles(chosen, pixels, withdrawn, progress)))


def _troubles(
    frame_ids: Sequence[str], pixels: FrameBytes, withdrawn: Collection[str], progress: Progress
) -> Iterator[FrameTrouble]:
    for number, frame_id in enumerate(frame_ids, 1):
        if number % _REPORT_EVERY == 0 or number == len(frame_ids):
            progress(number, len(frame_ids), "frames read")
        if frame_id in withdrawn:
            yield FrameTrouble(frame_id, "withdrawn", "its bytes were purged")
            continue
        try:
            pixels.read(frame_id)
        except DriveflowError as error:
            yield FrameTrouble(frame_id, _state(error), str(error))


def _state(error: DriveflowError) -> str:
    if isinstance(error, NotFoundError):
        return "missing"
    return "changed" if isinstance(error, IntegrityError) else "unreadable"
