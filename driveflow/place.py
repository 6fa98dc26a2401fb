"""Where a run keeps its things: the part of a profile that steps need."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Literal
from urllib.parse import unquote

from driveflow.canonical import canonical_json
from driveflow.errors import UsageError

PLACE_VARIABLE = "DRIVEFLOW_PLACE"
_REFERENCE = "env:"
_SQLITE: Final = "sqlite:///"


@dataclass(frozen=True, slots=True)
class Place:
    """Where snapshots, the ledger and scratch files lie.

    `store` is a file:// or s3:// address, `ledger` a SQLAlchemy URL or "env:NAME" naming the variable that holds it,
    `scratch` a local folder for caches and training work, `cache_bytes` the bound of the picture cache.
    """

    profile: Literal["local", "kfp"]
    store: str
    ledger: str
    scratch: str
    cache_bytes: int = 10 * 2**30

    def to_text(self) -> str:
        """Return the place as the text that goes into `DRIVEFLOW_PLACE`; secrets stay references."""
        return canonical_json(asdict(self))

    def ledger_url(self) -> str:
        """Return the database URL, looking a reference up in the environment."""
        if not self.ledger.startswith(_REFERENCE):
            return self.ledger
        name = self.ledger.removeprefix(_REFERENCE)
        if name not in os.environ:
            raise UsageError(f"The ledger is named by the variable {name}, which is not set.")
        return os.environ[name]

    def check(self) -> None:
        """Refuse what two pods cannot share, where the place is a cluster."""
        if self.profile == "kfp" and self.ledger_url().startswith("sqlite"):
            raise UsageError(
                "A step on a cluster got a SQLite ledger, which pods cannot share; a postgresql:// URL would do."
            )
        if self.profile == "kfp" and self.store.startswith("file:"):
            raise UsageError(
                f"A step on a cluster got the store {self.store}, which pods cannot share; s3:// would do."
            )


def sqlite_url(path: Path) -> str:
    """Return the URL of a ledger in a file, whatever characters its path has.

    >>> sqlite_url(Path("/my work?/50%20/ledger.db"))
    'sqlite:////my work%3F/50%2520/ledger.db'
    """
    return f"{_SQLITE}{path.absolute()}".replace("%", "%25").replace("?", "%3F")


def sqlite_path(url: str) -> Path | None:
    """Return the file of the ledger at `url`, None where it is in no file.

    >>> sqlite_path("sqlite:////my work%3F/50%2520/ledger.db?timeout=3")
    PosixPath('/my work?/50%20/ledger.db')
    """
    return Path(unquote(url.removeprefix(_SQLITE).partition("?")[0])) if url.startswith(_SQLITE) else None


def place_from_text(text: str) -> Place:
    """Return the place that `text` spells."""
    try:
        return Place(**json.loads(text))
    except (TypeError, ValueError) as error:
        raise UsageError(f"{PLACE_VARIABLE} does not describe a place: {error}") from error


def current_place() -> Place:
    """Return the place that the environment names."""
    text = os.environ.get(PLACE_VARIABLE, "")
    if not text:
        raise UsageError(f"{PLACE_VARIABLE} is not set: a step runs inside `driveflow run` or a compiled pipeline.")
    return place_from_text(text)
