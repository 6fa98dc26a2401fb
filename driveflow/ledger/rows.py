"""The rows of the ledger as records; times are UTC text as `timestamp` writes it, so that they sort as they passed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from driveflow.canonical import Json
from driveflow.errors import InvalidInputError

State = Literal["RUNNING", "SUCCEEDED", "FAILED", "CANCELLED", "SKIPPED"]
VersionState = Literal["candidate", "champion", "retired"]
EventKind = Literal["recorded", "registered", "promoted", "demoted", "rolled_back", "retired", "set_aside"]


def timestamp(moment: datetime) -> str:
    """Return `moment` in UTC to the microsecond, e.g. 2026-01-31T12:00:00.000000Z.

    Raises:
        InvalidInputError: `moment` has no time zone.
    """
    if moment.tzinfo is None:
        raise InvalidInputError(f"{moment} has no time zone; datetime.now(UTC) would do")
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One run of a pipeline."""

    run_id: str
    flow: str
    pipeline: str
    profile: str
    state: State = "RUNNING"
    started_at: str = ""  # empty: now
    finished_at: str | None = None
    params: Mapping[str, Json] = field(default_factory=dict)
    detail: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRow:
    """One step of a run and what it handed on."""

    state: State
    reused: bool = False
    started_at: str = ""  # empty: as `begin_step` noted it
    seconds: float = 0.0
    counts: Mapping[str, int] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    outputs: Mapping[str, Json] = field(default_factory=dict)
    detail: Mapping[str, Json] = field(default_factory=dict)
    error_kind: str = ""
    error: str = ""
    run_id: str = ""  # filled where a row is read
    step: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignRow:
    """One hand-off of frames to annotators."""

    campaign_id: str
    flow: str
    run_id: str
    uri: str
    purpose: str
    frames: int
    classes: tuple[str, ...]
    state: str = "open"
    created_at: str = ""  # empty: now
    detail: Mapping[str, Json] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", tuple(self.classes))  # the database hands back a list


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRow:
    """What the gate said of a model in a run."""

    run_id: str
    digest: str
    model: str
    verdict: str  # PASS, BLOCK, NEEDS DATA
    snapshot_uri: str
    holdout_uri: str
    report_uri: str
    detail: Mapping[str, Json] = field(default_factory=dict)
    decided_at: str = ""  # empty: now


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedModelRow:
    """A model that was trained, whatever the gate said."""

    digest: str
    model: str
    model_uri: str
    snapshot_uri: str
    holdout_uri: str
    report_uri: str
    verdict: str
    run_id: str
    labeled_frames: int = 0  # frames with labels in its training snapshot
    created_at: str = ""  # empty: now


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelVersionRow:
    """A version in the registry; `version` 0 asks for the next number."""

    model: str
    digest: str
    model_uri: str
    snapshot_uri: str
    run_id: str
    report_uri: str
    verdict: Mapping[str, Json]
    version: int = 0
    state: VersionState = "candidate"
    created_at: str = ""  # empty: now


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEventRow:
    """Something that happened to a model; `event_key` makes it happen once."""

    event_key: str
    model: str
    version: int | None
    digest: str
    kind: EventKind
    who: str
    why: str
    at: str = ""  # empty: now
    id: int = 0  # filled where a row is read


@dataclass(frozen=True, slots=True, kw_only=True)
class StateMove:
    """A version that goes from one state to another."""

    version: int
    from_state: VersionState
    to_state: VersionState


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    """Who did what to whom."""

    audit_key: str
    who: str
    action: str
    subject: str
    detail: Mapping[str, Json] = field(default_factory=dict)
    at: str = ""  # empty: now
    id: int = 0  # filled where a row is read


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxRow:
    """A notification to deliver once."""

    key: str
    kind: str
    payload: Mapping[str, Json]
    created_at: str = ""  # empty: now
    delivered_at: str | None = None
    attempts: int = 0
    last_error: str = ""
