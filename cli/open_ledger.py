"""Open the ledger that a command is about, without making one where there is none."""

from pathlib import Path

from cli.output import place_from
from driveflow.errors import NotFoundError
from driveflow.ledger.ledger import Ledger, open_ledger
from driveflow.place import Place, sqlite_path


def ledger_at(workspace: Path, profile: str) -> tuple[Place, Ledger]:
    """Return the place and its ledger.

    Raises:
        NotFoundError: it would be a file, and that is not there.
    """
    place = place_from(workspace, profile)
    ledger = ledger_of(place)
    if ledger is None:
        path = sqlite_path(place.ledger_url())
        raise NotFoundError(f"There is no ledger at {path}: run a flow first, or name its folder with --workspace.")
    return place, ledger


def ledger_of(place: Place) -> Ledger | None:
    """Return the ledger of `place`, None where it would be a file that is not there."""
    path = sqlite_path(place.ledger_url())
    return None if path is not None and not path.exists() else open_ledger(place.ledger_url())
