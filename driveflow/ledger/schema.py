"""Make the tables of a ledger, once, however many processes start at one moment."""

from sqlalchemy import Connection, insert, select, text

from driveflow.errors import LedgerError
from driveflow.ledger.database import Database
from driveflow.ledger.tables import APPEND_ONLY, METADATA, SCHEMA, SCHEMA_VERSION

_SQLITE_GUARD = """
CREATE TRIGGER IF NOT EXISTS {table}_no_{verb} BEFORE {verb} ON {table}
BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END
"""
_POSTGRES_REFUSE = """
CREATE OR REPLACE FUNCTION ledger_append_only() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION '% is append-only', TG_TABLE_NAME; END $$
"""
_POSTGRES_GUARD = """
CREATE OR REPLACE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE ON {table}
FOR EACH ROW EXECUTE FUNCTION ledger_append_only()
"""


def make_tables(database: Database) -> None:
    """Make what is missing.

    Raises:
        LedgerError: the ledger was made by a newer driveflow.
    """
    with database.reading() as connection:
        if _is_ready(connection):
            return
    with database.writing("ledger schema") as connection:
        METADATA.create_all(connection)
        if not _is_ready(connection):
            _guard(connection)
            connection.execute(insert(SCHEMA).values(version=SCHEMA_VERSION))


def _is_ready(connection: Connection) -> bool:
    if not connection.dialect.has_table(connection, SCHEMA.name):
        return False
    version = connection.execute(select(SCHEMA.c.version).order_by(SCHEMA.c.version.desc())).scalar()
    if version is not None and version > SCHEMA_VERSION:
        raise LedgerError(f"The ledger has schema {version}, this driveflow knows {SCHEMA_VERSION}: update driveflow")
    return version == SCHEMA_VERSION


def _guard(connection: Connection) -> None:
    if connection.dialect.name == "sqlite":
        for table in APPEND_ONLY:
            for verb in ("UPDATE", "DELETE"):
                connection.execute(text(_SQLITE_GUARD.format(table=table.name, verb=verb)))
        return
    connection.execute(text(_POSTGRES_REFUSE))
    for table in APPEND_ONLY:
        connection.execute(text(_POSTGRES_GUARD.format(table=table.name)))
