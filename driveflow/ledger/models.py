"""The ledger's chapter of models: what was trained, what the gate said, versions, and their history."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from sqlalchemy import ColumnElement, Connection, func, or_, select, update

from driveflow.errors import InvalidInputError, NotFoundError
from driveflow.ledger.database import Database, fetch, first, insert_once, upsert
from driveflow.ledger.rows import (
    AuditRow,
    DecisionRow,
    ModelEventRow,
    ModelVersionRow,
    OutboxRow,
    StateMove,
    TrainedModelRow,
)
from driveflow.ledger.tables import AUDIT, DECISIONS, MODEL_EVENTS, MODEL_VERSIONS, OUTBOX, TRAINED_MODELS


class ModelChapter:
    """Trained models, gate decisions, registry versions and events."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record_decision(self, row: DecisionRow) -> None:
        """Keep what the gate said of a model in a run; said again, the newer word stays."""
        with self._database.writing() as connection:
            columns = [column.name for column in DECISIONS.c if not column.primary_key]
            upsert(connection, DECISIONS, row, columns, decided_at=row.decided_at or self._database.now())

    def decisions(self, *, run_id: str = "", digest: str = "") -> list[DecisionRow]:
        """Return gate decisions, oldest first, of a run or a model or all."""
        query = select(DECISIONS).order_by(DECISIONS.c.decided_at, DECISIONS.c.run_id)
        query = query.where(DECISIONS.c.run_id == run_id) if run_id else query
        query = query.where(DECISIONS.c.digest == digest) if digest else query
        with self._database.reading() as connection:
            return fetch(connection, DecisionRow, query)

    def record_trained(self, row: TrainedModelRow) -> TrainedModelRow:
        """Keep a trained model and return it as kept: the first word on a digest stays."""
        with self._database.writing() as connection:
            insert_once(connection, TRAINED_MODELS, row, created_at=row.created_at or self._database.now())
            kept = _trained(connection, row.digest)
        if kept is None:
            raise NotFoundError(f"The ledger lost the model {row.digest} it was just given")
        return kept

    def trained(self, digest: str) -> TrainedModelRow | None:
        """Return the trained model with this digest."""
        with self._database.reading() as connection:
            return _trained(connection, digest)

    def trained_models(self, model: str = "", limit: int | None = 50) -> list[TrainedModelRow]:
        """Return what was trained for `model`, or for all models, newest first; `limit` None is all of it.

        Bytes that were trained for another model first, and then judged for `model` too, are among them.
        """
        query = select(TRAINED_MODELS).order_by(TRAINED_MODELS.c.created_at.desc(), TRAINED_MODELS.c.digest)
        query = (query.where(_is_of(model)) if model else query).limit(limit)
        with self._database.reading() as connection:
            return fetch(connection, TrainedModelRow, query)

    def newest_trained(self, model: str) -> TrainedModelRow | None:
        """Return what was trained last for `model`."""
        return next(iter(self.trained_models(model, limit=1)), None)

    def add_version(
        self, row: ModelVersionRow, event: ModelEventRow, check: Callable[[], None] = lambda: None
    ) -> ModelVersionRow:
        """Give a model the next version number and note `event`; a digest that has a version keeps it.

        The version of `event` is filled in here. `check` may raise to refuse a new version; it is called while no one
        else changes the model, see `holding`.
        """
        with self._database.writing(f"model {row.model}") as connection:
            known = _version_of(connection, row.model, row.digest)
            if known is not None:
                return known
            check()
            query = select(func.coalesce(func.max(MODEL_VERSIONS.c.version), 0)).where(
                MODEL_VERSIONS.c.model == row.model
            )
            version = int(connection.execute(query).scalar_one()) + 1
            created_at = row.created_at or self._database.now()
            insert_once(connection, MODEL_VERSIONS, row, version=version, created_at=created_at)
            insert_once(connection, MODEL_EVENTS, event, version=version, at=event.at or created_at)
            added = _version_of(connection, row.model, row.digest)
        if added is None:
            raise InvalidInputError(f"{row.model} cannot have a second champion; a version starts as candidate")
        return added

    def move_versions(
        self,
        model: str,
        moves: Sequence[StateMove],
        events: Sequence[ModelEventRow],
        notifications: Sequence[OutboxRow] = (),
    ) -> bool:
        """Move versions of `model` in the order given, note `events` and put `notifications` out: all or nothing.

        Returns:
            False where one of `events` was noted before, and nothing changes.

        Raises:
            InvalidInputError: a version is not in the state it should leave.
        """
        with self._database.writing(f"model {model}") as connection:
            keys = [event.event_key for event in events]
            if connection.execute(select(MODEL_EVENTS.c.id).where(MODEL_EVENTS.c.event_key.in_(keys))).first():
                return False
            for event in events:
                insert_once(connection, MODEL_EVENTS, event, at=event.at or self._database.now())
            for move in moves:
                _move(connection, model, move)
            for note in notifications:
                insert_once(connection, OUTBOX, note, created_at=note.created_at or self._database.now())
        return True

    @contextmanager
    def holding(self, model: str) -> Iterator[None]:
        """Keep everybody else from adding or moving versions of `model`; keep it short, SQLite has one lock for all."""
        with self._database.writing(f"model {model}"):
            yield

    def add_event(self, event: ModelEventRow, audit: AuditRow | None = None) -> bool:
        """Note an event, and with it what the audit says of it; False where its key was noted before."""
        with self._database.writing() as connection:
            if audit is not None:
                insert_once(connection, AUDIT, audit, at=audit.at or self._database.now())
            return insert_once(connection, MODEL_EVENTS, event, at=event.at or self._database.now())

    def versions(self, model: str = "") -> list[ModelVersionRow]:
        """Return the versions of `model`, or of all models, oldest first."""
        query = select(MODEL_VERSIONS).order_by(MODEL_VERSIONS.c.model, MODEL_VERSIONS.c.version)
        with self._database.reading() as connection:
            return fetch(connection, ModelVersionRow, query.where(MODEL_VERSIONS.c.model == model) if model else query)

    def champion(self, model: str) -> ModelVersionRow | None:
        """Return the champion of `model`."""
        query = select(MODEL_VERSIONS).where(MODEL_VERSIONS.c.model == model, MODEL_VERSIONS.c.state == "champion")
        with self._database.reading() as connection:
            return first(connection, ModelVersionRow, query)

    def model_events(self, model: str) -> list[ModelEventRow]:
        """Return the history of `model`, oldest first."""
        query = select(MODEL_EVENTS).where(MODEL_EVENTS.c.model == model).order_by(MODEL_EVENTS.c.id)
        with self._database.reading() as connection:
            return fetch(connection, ModelEventRow, query)


def _trained(connection: Connection, digest: str) -> TrainedModelRow | None:
    return first(connection, TrainedModelRow, select(TRAINED_MODELS).where(TRAINED_MODELS.c.digest == digest))


def _is_of(model: str) -> ColumnElement[bool]:
    judged = select(DECISIONS.c.digest).where(DECISIONS.c.model == model)
    return or_(TRAINED_MODELS.c.model == model, TRAINED_MODELS.c.digest.in_(judged))


def _version_of(connection: Connection, model: str, digest: str) -> ModelVersionRow | None:
    query = select(MODEL_VERSIONS).where(MODEL_VERSIONS.c.model == model, MODEL_VERSIONS.c.digest == digest)
    return first(connection, ModelVersionRow, query)


def _move(connection: Connection, model: str, move: StateMove) -> None:
    here = (MODEL_VERSIONS.c.model == model, MODEL_VERSIONS.c.version == move.version)
    statement = update(MODEL_VERSIONS).where(*here, MODEL_VERSIONS.c.state == move.from_state)
    if connection.execute(statement.values(state=move.to_state)).rowcount == 0:
        found = connection.execute(select(MODEL_VERSIONS.c.state).where(*here)).scalar()
        raise InvalidInputError(
            f"Version {move.version} of {model} is {found or 'unknown'}, not {move.from_state}; has someone moved it?"
        )
