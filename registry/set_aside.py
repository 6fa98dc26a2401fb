"""A champion that is set aside for a while: by whom, why, and until when; then it counts again by itself."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from driveflow.errors import NotFoundError, UsageError
from driveflow.ledger.ledger import Ledger
from driveflow.ledger.rows import AuditRow, ModelEventRow, timestamp
from registry.moves import event_key
from registry.records import CROWNING, Act

ACTION = "champion_set_aside"
MOST_DAYS = 90


@dataclass(frozen=True, slots=True)
class SetAside:
    """The champion `digest` of `model` is not compared with before `until`."""

    model: str
    version: int
    digest: str
    who: str
    why: str
    until: str


def set_champion_aside(ledger: Ledger, model: str, act: Act, until: datetime, now: datetime) -> SetAside:
    """Set the champion of `model` aside until a moment, and note it in audit and history; a later note replaces it.

    Raises:
        NotFoundError: there is no champion.
        UsageError: `until` has passed, or is further away than MOST_DAYS.
    """
    champion = ledger.champion(model)
    if champion is None:
        raise NotFoundError(f"{model} has no champion that could be set aside.")
    if not now < until <= now + timedelta(days=MOST_DAYS):
        raise UsageError(f"--until takes a moment within the next {MOST_DAYS} days, got {timestamp(until)}.")
    found = SetAside(model, champion.version, champion.digest, act.who, act.why, timestamp(until))
    key = event_key(model, f"set_aside:{champion.digest}:{timestamp(now)}")
    note = AuditRow(
        audit_key=key,
        who=act.who,
        action=ACTION,
        subject=_subject(model),
        detail={"digest": found.digest, "version": found.version, "why": found.why, "until": found.until},
        at=timestamp(now),
    )
    event = ModelEventRow(
        event_key=key,
        model=model,
        version=found.version,
        digest=found.digest,
        kind="set_aside",
        who=act.who,
        why=f"until {found.until}: {act.why}",
        at=timestamp(now),
    )
    ledger.add_event(event, note)
    return found


def champion_set_aside(ledger: Ledger, model: str, now: datetime) -> SetAside | None:
    """Return the newest note on the present champion of `model`, where its end has not come.

    A new champion ends it for good: rolled back to, the champion before counts again.
    """
    champion = ledger.champion(model)
    if champion is None:
        return None
    since = _said_of_this_reign(ledger, model)
    for note in ledger.audit(_subject(model), limit=1_000):
        detail = note.detail
        if note.action == ACTION and detail.get("digest") == champion.digest and note.audit_key in since:
            until = str(detail["until"])
            found = SetAside(model, champion.version, champion.digest, note.who, str(detail["why"]), until)
            return found if until > timestamp(now) else None
    return None


def _said_of_this_reign(ledger: Ledger, model: str) -> set[str]:
    """Return the keys of the notes since somebody was crowned last."""
    keys: set[str] = set()
    for event in ledger.model_events(model):
        keys = set() if event.kind in CROWNING else keys | {event.event_key}
    return keys


def _subject(model: str) -> str:
    return f"model {model}"
