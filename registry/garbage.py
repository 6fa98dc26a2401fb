"""Remove the bytes of models that nobody can need: old, recorded, and of no version."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from driveflow.detectors.model_folder import MANIFEST
from driveflow.errors import NotFoundError, UsageError
from driveflow.ledger.ledger import Ledger
from driveflow.ledger.rows import TrainedModelRow, timestamp
from driveflow.storage.objects import delete, join, list_objects


@dataclass(frozen=True, slots=True)
class Sweep:
    """What a sweep removed, and what it left alone: digests of versions, young ones, and ones the ledger never saw."""

    removed: tuple[str, ...]
    of_versions: tuple[str, ...]
    young: tuple[str, ...]
    unknown: tuple[str, ...]


def sweep_models(ledger: Ledger, store: str, now: datetime, keep_days: int, *, dry_run: bool = False) -> Sweep:
    """Remove the folders of models that were recorded over `keep_days` ago and never became a version.

    A digest that any version of any model names is never touched, in whatever state the version is; nor is a folder
    that the ledger does not know, because a training may be writing it. The records stay. A `dry_run` only says what
    would go.
    """
    if keep_days < 1:
        raise UsageError(f"Models are kept for a day at least, got keep_days={keep_days}.")
    oldest = timestamp(now - timedelta(days=keep_days))
    sorted_out: dict[str, list[str]] = {"removed": [], "of_versions": [], "young": [], "unknown": []}
    for digest in _folders(store):
        trained = ledger.trained(digest)
        if _is_versioned(ledger, digest):
            sorted_out["of_versions"].append(digest)
        elif trained is None:
            sorted_out["unknown"].append(digest)
        elif trained.created_at > oldest:
            sorted_out["young"].append(digest)
        else:
            gone = dry_run or _remove(ledger, store, trained)
            sorted_out["removed" if gone else "of_versions"].append(digest)
    return Sweep(**{name: tuple(digests) for name, digests in sorted_out.items()})


def _folders(store: str) -> list[str]:
    try:
        return sorted({item.path.split("/")[0] for item in list_objects(join(store, "models"))})
    except NotFoundError:
        return []


def _remove(ledger: Ledger, store: str, trained: TrainedModelRow) -> bool:
    """Remove a folder unless it became a version just now; registering waits meanwhile, and then finds it gone."""
    with ledger.holding(trained.model):
        if _is_versioned(ledger, trained.digest):
            return False
        for uri in _files(join(store, "models", trained.digest)):
            delete(uri)
    return True


def _files(folder: str) -> Iterator[str]:
    """Yield the manifest first, so that a sweep broken off leaves no folder that looks whole."""
    yield join(folder, MANIFEST)
    for item in list(list_objects(folder)):
        yield item.uri


def _is_versioned(ledger: Ledger, digest: str) -> bool:
    return any(row.digest == digest for row in ledger.versions())
