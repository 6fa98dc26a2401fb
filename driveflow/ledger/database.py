"""The database under the ledger: connections, transactions, idempotent writes, and what its errors mean."""

import hashlib
import json
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

from sqlalchemy import Connection, Engine, NullPool, Select, Table, create_engine, event, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from driveflow.errors import LedgerError, UsageError
from driveflow.ledger.rows import timestamp

_WRITES = "ledger_writes"
_PAUSE_S = 0.02
_LEAST_FREE_BYTES = 64 * 2**10  # what SQLite maps beside a database, and its first log


class Row(Protocol):
    """A frozen dataclass whose field names are column names."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


R = TypeVar("R", bound=Row)


class Database:
    """A SQLite file or a PostgreSQL database; every call opens and closes a connection of its own."""

    def __init__(self, url: str, clock: Callable[[], datetime], patience_s: float = 30.0) -> None:
        self._url = _parsed(url)
        self._clock = clock
        self.engine = _engine(self._url, patience_s)

    def now(self) -> str:
        """Return the time as the ledger writes it."""
        return timestamp(self._clock())

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a transaction that only reads.

        Raises:
            LedgerError: the database cannot be reached, or refuses.
        """
        with self._explained(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self, subject: str = "") -> Iterator[Connection]:
        """Open a transaction that writes; those of one `subject` run one after the other.

        Raises:
            LedgerError: the database cannot be reached, is locked for too long, or refuses.
        """
        with self._explained(), self.engine.connect() as plain:
            connection = plain.execution_options(**{_WRITES: True})
            with connection.begin():
                if subject and self.engine.dialect.name == "postgresql":
                    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _lock_key(subject)})
                yield connection

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:  # not chained: the text of a driver may hold the password
            raise LedgerError(_sentence(self._url, error)) from None


def insert_once(connection: Connection, table: Table, row: Row, **filled: object) -> bool:
    """Insert `row`, with `filled` in place of its fields; False where its key was taken, and nothing changes."""
    values = {**_values(table, row), **filled}
    statement = _insert(connection, table).values(values).on_conflict_do_nothing()
    return connection.execute(statement.execution_options(preserve_rowcount=True)).rowcount > 0


def upsert(connection: Connection, table: Table, row: Row, update: Sequence[str], **filled: object) -> None:
    """Insert `row`, with `filled` in place of its fields; where its primary key was taken, set the columns `update`."""
    insert = _insert(connection, table).values({**_values(table, row), **filled})
    statement = insert.on_conflict_do_update(
        index_elements=list(table.primary_key), set_={name: insert.excluded[name] for name in update}
    )
    connection.execute(statement)


def fetch(connection: Connection, kind: type[R], query: Select[Any]) -> list[R]:
    """Return the rows of `query` as records of `kind`."""
    return [kind(**row) for row in connection.execute(query).mappings()]


def first(connection: Connection, kind: type[R], query: Select[Any]) -> R | None:
    """Return the first row of `query` as a record of `kind`, None where there is none."""
    return next(iter(fetch(connection, kind, query.limit(1))), None)


def _values(table: Table, row: Row) -> dict[str, object]:
    return {name: getattr(row, name) for name in row.__dataclass_fields__ if name != "id" and name in table.c}


def _insert(connection: Connection, table: Table) -> "sqlite.Insert | postgresql.Insert":
    return sqlite.insert(table) if connection.dialect.name == "sqlite" else postgresql.insert(table)


def _lock_key(subject: str) -> int:
    return int.from_bytes(hashlib.sha256(subject.encode()).digest()[:8], "big", signed=True)


def _parsed(url: str) -> URL:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):  # its text holds the URL, and that a password
        raise UsageError("The ledger's URL cannot be read; sqlite:////path/ledger.db would do") from None
    name = parsed.get_backend_name()
    if name in ("postgresql", "postgres"):
        return parsed.set(drivername="postgresql+psycopg")
    if name != "sqlite":
        raise UsageError(f"A ledger cannot live in {name!r}; sqlite:////path/ledger.db or postgresql://... would do")
    return parsed


def _engine(url: URL, patience_s: float) -> Engine:
    is_sqlite = url.get_backend_name() == "sqlite"
    if is_sqlite and url.database:
        _make_folder(url)
    engine = create_engine(
        url,
        poolclass=NullPool,  # few calls, many processes, forks: nothing stays open
        hide_parameters=True,
        json_serializer=_json_text,
        connect_args={"timeout": patience_s} if is_sqlite else {"connect_timeout": 10},
    )
    if is_sqlite:
        event.listen(engine, "connect", partial(_set_up_sqlite, patience_s))
        event.listen(engine, "begin", _begin_sqlite)
    return engine


def _make_folder(url: URL) -> None:
    try:
        Path(str(url.database)).absolute().parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LedgerError(f"The ledger {url} has no folder: {error}") from error


def _json_text(value: object) -> str:
    return json.dumps(value, sort_keys=True, allow_nan=False, default=dict)  # ASCII, so that odd file names pass


def _set_up_sqlite(patience_s: float, connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None  # transactions are begun by _begin_sqlite
    connection.execute("PRAGMA foreign_keys=ON").close()
    deadline = time.monotonic() + patience_s
    while not _is_wal(connection):
        if time.monotonic() > deadline:
            raise sqlite3.OperationalError("database is locked: others are opening it all the time")
        time.sleep(_PAUSE_S)


def _is_wal(connection: sqlite3.Connection) -> bool:
    """Switch to write-ahead logging; SQLite does not wait for others at this point, whatever its timeout says."""
    try:
        connection.execute("PRAGMA journal_mode=WAL").close()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise
        return False
    return True


def _begin_sqlite(connection: Connection) -> None:
    # A writer takes its lock at once: a reader that turns writer half-way gets "database is locked" without a wait.
    writes = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _is_full(url: URL, error: sqlite3.Error) -> bool:
    """Tell whether `error` comes of a full disk; SQLite calls that an I/O error where it was about to map a file."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_IOERR:
        return shutil.disk_usage(Path(str(url.database)).absolute().parent).free < _LEAST_FREE_BYTES
    return code == sqlite3.SQLITE_FULL


def _sentence(url: URL, error: SQLAlchemyError) -> str:
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    said = " ".join(str(cause).split("\n")[0].split()) or type(cause).__name__
    if isinstance(cause, sqlite3.Error) and _is_full(url, cause):
        said = f"no space is left on its disk ({said})"
    if url.password:
        said = said.replace(str(url.password), "***")
    return f"The ledger {url.render_as_string(hide_password=True)} failed: {said}"
