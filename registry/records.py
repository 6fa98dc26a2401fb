"""What the registry takes and tells, as records."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from driveflow.canonical import Json
from driveflow.errors import UsageError
from driveflow.ledger.rows import DecisionRow, ModelEventRow, ModelVersionRow, TrainedModelRow

Outcome: TypeAlias = Literal["PASS", "BLOCK", "NEEDS DATA"]
FileState: TypeAlias = Literal["sound", "changed", "missing"]

CROWNING = ("promoted", "rolled_back")  # events after which a version is champion


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What the gate said, bound to the one model (`digest`) and the one hold-out it looked at."""

    outcome: Outcome
    digest: str
    holdout_uri: str
    report_uri: str
    detail: Mapping[str, Json] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.outcome not in ("PASS", "BLOCK", "NEEDS DATA"):
            raise UsageError(f"A gate says PASS, BLOCK or NEEDS DATA, got {self.outcome!r}.")
        if not self.digest or not self.holdout_uri:
            raise UsageError("A judgement names the model's digest and the hold-out it was measured on.")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewModel:
    """A model that was trained: its bytes at `model_uri`, what it learned from, and the run that made it."""

    model: str
    digest: str
    model_uri: str
    snapshot_uri: str
    run_id: str
    labeled_frames: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """Who does something and why; with a `key` it is done once, however often it is asked for."""

    who: str
    why: str
    key: str = ""

    def __post_init__(self) -> None:
        if not self.who.strip() or not self.why.strip():
            raise UsageError("The registry keeps who did what and why: a name and a reason would do.")


@dataclass(frozen=True, slots=True)
class VersionDetail:
    """A version with where it came from: what was trained, every gate decision on it, and its history."""

    version: ModelVersionRow
    trained: TrainedModelRow | None
    decisions: tuple[DecisionRow, ...]
    events: tuple[ModelEventRow, ...]


@dataclass(frozen=True, slots=True)
class Reign:
    """A version that was champion from `since` on, a moment as the ledger writes it."""

    version: ModelVersionRow
    since: str


@dataclass(frozen=True, slots=True)
class FileCheck:
    """One file of a version against its digest; `name` is "model.json" where the folder itself is broken."""

    name: str
    state: FileState
    detail: str = ""


@dataclass(frozen=True, slots=True)
class VersionCheck:
    """Every file of a version, checked."""

    model: str
    version: int
    digest: str
    files: tuple[FileCheck, ...]

    @property
    def is_sound(self) -> bool:
        """Whether every file is what was registered."""
        return all(file.state == "sound" for file in self.files)
