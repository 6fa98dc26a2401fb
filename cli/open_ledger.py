"""Open the ledger that a command is about, without making one where there is none."""

from pathlib import Path

from cli.output import place_from
from driveflow.errors import NotFoundError
from driveflow.ledger.ledger import Ledger, open_ledger
from driveflow.place import Place

_SQLITE = "sqlite:///"


def ledger_at(workspace: Path, profile: str) -> tuple[Place, Ledger]:
    """Return the place and its ledger.

    Raises:
        NotFoundError: it would be a file, and that is not there.
    """
    place = place_from(workspace, profile)
    url = place.ledger_url()
    path = Path(url.removeprefix(_SQLITE)) if url.startswith(_SQLITE) else None
    if path is not None and not path.exists():
        raise NotFoundError(f"There is no ledger at {path}: run a flow first, or name its folder with --workspace.")
    return place, open_ledger(url)
