"""Move versions between candidate, champion and retired: all or nothing, noted once, told to the outside once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from driveflow.canonical import Json
from driveflow.errors import InvalidInputError, LedgerError
from driveflow.ledger.ledger import Ledger
from driveflow.ledger.rows import EventKind, ModelEventRow, ModelVersionRow, OutboxRow, StateMove
from registry.records import Act


@dataclass(frozen=True, slots=True)
class Move:
    """What to do: crown `target` in place of the champion `present`, or retire it."""

    kind: Literal["promoted", "rolled_back", "retired"]
    target: ModelVersionRow
    present: ModelVersionRow | None
    act: Act


def make_move(ledger: Ledger, move: Move, history: Sequence[ModelEventRow]) -> bool:
    """Make the move and note it; promotions, roll-backs and demotions go to the outbox in the same transaction.

    Returns:
        False where somebody else has moved a version since `history` and the versions were read; nothing changes then.
    """
    model = move.target.model
    key = move.act.key or f"{len(history)}:{move.kind}:{move.target.version}"
    events = _events(move, event_key(model, key))
    notes = [_note(event, move) for event in events if event.kind != "retired"]
    try:
        return ledger.move_versions(model, _state_moves(move), events, notes)
    except InvalidInputError:
        return False
    except LedgerError:
        if ledger.champion(model) == move.present:
            raise
        return False  # somebody else was crowned where there was no champion


def _state_moves(move: Move) -> list[StateMove]:
    target = move.target
    if move.kind == "retired":
        return [StateMove(version=target.version, from_state=target.state, to_state="retired")]
    crown = StateMove(version=target.version, from_state=target.state, to_state="champion")
    if move.present is None:
        return [crown]
    return [StateMove(version=move.present.version, from_state="champion", to_state="retired"), crown]


def event_key(model: str, key: str) -> str:
    """Return the key under which the ledger notes an event of `model` once."""
    return f"{model}:{key}"


def _events(move: Move, key: str) -> list[ModelEventRow]:
    events = [_event(move.kind, move.target, key, move.act)]
    if move.present is not None:
        events.insert(0, _event("demoted", move.present, f"{key}:demoted", move.act))
    return events


def _event(kind: EventKind, version: ModelVersionRow, key: str, act: Act) -> ModelEventRow:
    return ModelEventRow(
        event_key=key,
        model=version.model,
        version=version.version,
        digest=version.digest,
        kind=kind,
        who=act.who,
        why=act.why,
    )


def _note(event: ModelEventRow, move: Move) -> OutboxRow:
    version = move.present if event.kind == "demoted" and move.present is not None else move.target
    payload: dict[str, Json] = {
        "model": event.model,
        "version": event.version,
        "digest": event.digest,
        "model_uri": version.model_uri,
        "who": event.who,
        "why": event.why,
    }
    return OutboxRow(key=event.event_key, kind=f"model_{event.kind}", payload=payload)
