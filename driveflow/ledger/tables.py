"""The tables of the ledger; column names are the field names of the rows in rows.py."""

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy import TypeDecorator as TypeDecoratorOf

SCHEMA_VERSION = 1
METADATA = MetaData()


class SafeText(TypeDecoratorOf[str]):
    """Text that any database takes: a NUL or half a surrogate pair, as in odd file names, is spelled as an escape."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002 the interface
        """Return what is stored for `value`."""
        if value is None:
            return None
        return value.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode("utf-8")


def _text(name: str, *, null: bool = False, key: bool = False) -> "Column[str]":
    return Column(name, SafeText, nullable=null, primary_key=key)


def _json(name: str) -> "Column[object]":
    return Column(name, JSON, nullable=False)


SCHEMA = Table("ledger_schema", METADATA, Column("version", Integer, primary_key=True, autoincrement=False))

RUNS = Table(
    "runs",
    METADATA,
    _text("run_id", key=True),
    _text("flow"),
    _text("pipeline"),
    _text("profile"),
    _text("state"),
    _text("started_at"),
    _text("finished_at", null=True),
    _json("params"),
    _json("detail"),
    Index("runs_by_flow", "flow", "pipeline", "state"),
)

STEPS = Table(
    "steps",
    METADATA,
    Column("run_id", SafeText, ForeignKey("runs.run_id"), primary_key=True),
    _text("step", key=True),
    _text("state"),
    Column("reused", Boolean, nullable=False),
    _text("started_at"),
    Column("seconds", Float, nullable=False),
    _json("counts"),
    _json("metrics"),
    _json("outputs"),
    _json("detail"),
    _text("error_kind"),
    _text("error"),
)

CAMPAIGNS = Table(
    "campaigns",
    METADATA,
    _text("campaign_id", key=True),
    _text("flow"),
    _text("run_id"),
    _text("uri"),
    _text("purpose"),
    _text("state"),
    Column("frames", Integer, nullable=False),
    _json("classes"),
    _text("created_at"),
    _json("detail"),
)

DECISIONS = Table(  # what the gate said of a model in a run
    "decisions",
    METADATA,
    _text("run_id", key=True),
    _text("digest", key=True),
    _text("model"),
    _text("verdict"),
    _text("snapshot_uri"),
    _text("holdout_uri"),
    _text("report_uri"),
    _json("detail"),
    _text("decided_at"),
)

TRAINED_MODELS = Table(
    "trained_models",
    METADATA,
    _text("digest", key=True),
    _text("model"),
    _text("model_uri"),
    _text("snapshot_uri"),
    _text("holdout_uri"),
    _text("report_uri"),
    _text("verdict"),
    _text("run_id"),
    Column("labeled_frames", Integer, nullable=False),
    _text("created_at"),
    Index("trained_by_model", "model", "created_at"),
)

MODEL_VERSIONS = Table(
    "model_versions",
    METADATA,
    _text("model", key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    _text("digest"),
    _text("state"),
    _text("model_uri"),
    _text("snapshot_uri"),
    _text("run_id"),
    _text("report_uri"),
    _json("verdict"),
    _text("created_at"),
    UniqueConstraint("model", "digest"),
)
_CHAMPION = MODEL_VERSIONS.c.state == "champion"
Index("one_champion", MODEL_VERSIONS.c.model, unique=True, sqlite_where=_CHAMPION, postgresql_where=_CHAMPION)

MODEL_EVENTS = Table(
    "model_events",
    METADATA,
    Column("id", Integer, primary_key=True),
    _text("event_key"),
    _text("model"),
    Column("version", Integer, nullable=True),
    _text("digest"),
    _text("kind"),
    _text("who"),
    _text("why"),
    _text("at"),
    UniqueConstraint("event_key"),
)

AUDIT = Table(
    "audit",
    METADATA,
    Column("id", Integer, primary_key=True),
    _text("audit_key"),
    _text("at"),
    _text("who"),
    _text("action"),
    _text("subject"),
    _json("detail"),
    UniqueConstraint("audit_key"),
)

OUTBOX = Table(
    "outbox",
    METADATA,
    _text("key", key=True),
    _text("kind"),
    _json("payload"),
    _text("created_at"),
    _text("delivered_at", null=True),
    Column("attempts", Integer, nullable=False),
    _text("last_error"),
)

APPEND_ONLY = (MODEL_EVENTS, AUDIT)
