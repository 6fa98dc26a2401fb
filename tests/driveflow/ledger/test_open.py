"""Opening a ledger: races of many processes, and databases that are not there."""

import multiprocessing
import sqlite3
import traceback
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import insert

from driveflow.errors import InvalidInputError, LedgerError, UsageError
from driveflow.ledger.database import Database
from driveflow.ledger.ledger import Ledger, open_ledger
from driveflow.ledger.rows import RunRow, StepRow, timestamp
from driveflow.ledger.tables import SCHEMA, SCHEMA_VERSION
from driveflow.place import sqlite_url


def _start(url: str, number: int) -> None:
    ledger = open_ledger(url)
    ledger.begin_run(RunRow(run_id="r1", flow="city", pipeline="curate", profile="local"))
    for step in range(5):
        ledger.begin_step("r1", f"{number}-{step}")
        ledger.finish_step("r1", f"{number}-{step}", StepRow(state="SUCCEEDED"))


def test_many_processes_may_open_and_write_an_empty_database_at_once(url: str):
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_start, args=(url, number)) for number in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()

    assert [process.exitcode for process in processes] == [0] * 4
    assert len(open_ledger(url).steps("r1")) == 20


def test_a_ledger_opened_again_has_what_was_kept(url: str):
    open_ledger(url).begin_run(RunRow(run_id="r1", flow="city", pipeline="curate", profile="local"))

    assert open_ledger(url).run("r1").flow == "city"


def test_a_ledger_of_a_newer_driveflow_is_refused(ledger: Ledger, url: str):
    with ledger._database.writing() as connection:
        connection.execute(insert(SCHEMA).values(version=SCHEMA_VERSION + 1))

    with pytest.raises(LedgerError, match="update driveflow"):
        open_ledger(url)


def _shown(error: BaseException) -> str:
    """What a traceback says of an error and those it came from."""
    return "".join(traceback.TracebackException.from_exception(error, lookup_lines=False).format_exception_only()) + (
        _shown(error.__cause__) if error.__cause__ else ""
    )


def test_a_server_that_is_not_there_is_told_without_the_password():
    with pytest.raises(LedgerError, match=r"postgresql\+psycopg://ann:\*\*\*@127.0.0.1:1/x") as caught:
        open_ledger("postgresql://ann:s3cr3t%21@127.0.0.1:1/x")

    assert "s3cr3t" not in _shown(caught.value)
    assert "\n" not in str(caught.value)


def test_a_wrong_password_is_told_without_it(postgres_url: str):
    user, _, rest = postgres_url.partition("@")
    wrong = f"{user.rpartition(':')[0]}:wr0ng-pass@{rest}"

    with pytest.raises(LedgerError, match="password authentication failed") as caught:
        open_ledger(wrong)

    assert "wr0ng-pass" not in _shown(caught.value)


@pytest.mark.parametrize(
    "bad", ["nonsense s3cr3t", "mysql://ann:s3cr3t@host/x", "", "postgresql://ann:s3cr3t@host:port/x"]
)
def test_a_url_of_another_kind_is_refused_without_the_password(bad: str):
    with pytest.raises(UsageError) as caught:
        open_ledger(bad)

    assert "s3cr3t" not in _shown(caught.value)


def test_a_file_that_is_no_database_is_told(tmp_path: Path):
    (tmp_path / "ledger.db").write_bytes(b"this is no database, and long enough to tell" * 100)

    with pytest.raises(LedgerError, match="not a database"):
        open_ledger(f"sqlite:///{tmp_path}/ledger.db")


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(LedgerError, match="file"):
        open_ledger(f"sqlite:///{tmp_path}/file/ledger.db")


def test_a_locked_database_is_told(tmp_path: Path):
    path = tmp_path / "ledger.db"
    open_ledger(sqlite_url(path))
    impatient = Ledger(Database(sqlite_url(path), lambda: datetime.now(UTC), patience_s=0.1))
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")

    try:
        with pytest.raises(LedgerError, match="database is locked"):
            impatient.begin_run(RunRow(run_id="r", flow="f", pipeline="curate", profile="local"))
    finally:
        holder.close()


def test_a_reader_does_not_wait_for_a_writer(tmp_path: Path):
    path = tmp_path / "ledger.db"
    ledger = open_ledger(sqlite_url(path))
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")

    try:
        assert ledger.runs() == []
    finally:
        holder.close()


def test_any_path_can_hold_a_ledger(tmp_path: Path):
    path = tmp_path / "odd #1?x=%41 é" / "ledger.db"

    open_ledger(sqlite_url(path))

    assert path.exists()


def test_a_time_without_a_zone_is_refused():
    with pytest.raises(InvalidInputError, match="no time zone"):
        timestamp(datetime(2026, 1, 1))  # noqa: DTZ001 that is the point
    assert timestamp(datetime(2026, 1, 1, tzinfo=UTC)) == "2026-01-01T00:00:00.000000Z"
