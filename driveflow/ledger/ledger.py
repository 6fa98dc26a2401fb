"""The ledger: the SQL database of runs, campaigns, decisions, models and audit."""

from collections.abc import Callable
from datetime import UTC, datetime

from driveflow.ledger.database import Database
from driveflow.ledger.models import ModelChapter
from driveflow.ledger.runs import RunChapter
from driveflow.ledger.schema import make_tables
from driveflow.ledger.trail import TrailChapter


class Ledger(RunChapter, ModelChapter, TrailChapter):
    """All chapters of one database; every write has a natural key, so doing it twice leaves one row.

    It holds no open connection and may be shared by threads.
    """


def open_ledger(url: str, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> Ledger:
    """Return the ledger at a SQLAlchemy URL, with its tables made where they are missing.

    Raises:
        UsageError: the URL is none, or of a database that is neither SQLite nor PostgreSQL.
        LedgerError: the database cannot be reached, or was made by a newer driveflow.
    """
    database = Database(url, clock)
    make_tables(database)
    return Ledger(database)
