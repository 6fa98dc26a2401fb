"""Results of pure steps, kept by the digest of what made them, and checked before they are used again."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from driveflow.canonical import Json, digest_bytes, sealed_json, unsealed_json
from driveflow.errors import IntegrityError, NotFoundError
from driveflow.snapshot_files import verify_snapshot
from driveflow.storage.objects import join, keep_bytes, read_bytes, stat, write_bytes


class Reusable(Protocol):
    """What a result must carry to be kept."""

    @property
    def outputs(self) -> Mapping[str, str | int | float | bool]:
        """What goes to later steps."""

    @property
    def counts(self) -> Mapping[str, int]:
        """What was counted."""

    @property
    def metrics(self) -> Mapping[str, float]:
        """What was measured."""

    @property
    def pages(self) -> Mapping[str, str]:
        """What people look at."""

    @property
    def objects(self) -> tuple[str, ...]:
        """Addresses that must exist."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for a person."""


@dataclass(frozen=True, slots=True)
class KeptResult:
    """A result as it was kept."""

    outputs: Mapping[str, str | int | float | bool]
    counts: Mapping[str, int]
    metrics: Mapping[str, float]
    pages: Mapping[str, str]
    objects: tuple[str, ...]
    notes: tuple[str, ...]


def _nobody(_: str) -> None:
    """Hear nothing."""


def object_uri(store: str, data: bytes, suffix: str) -> str:
    """Return the address that `put_object` gives `data`."""
    return join(store, "objects", f"{digest_bytes(data)}{suffix}")


def put_object(store: str, data: bytes, suffix: str) -> str:
    """Keep `data` under its digest and return its address; keeping it twice changes nothing, damage is made good."""
    uri = object_uri(store, data, suffix)
    keep_bytes(uri, data)
    return uri


def read_object(uri: str) -> bytes:
    """Return the bytes that `put_object` kept, checked against the digest in their name."""
    data = read_bytes(uri)
    expected = uri.rpartition("/")[2].partition(".")[0]
    if digest_bytes(data) != expected:
        raise IntegrityError(f"{uri} is not what was written there.")
    return data


def load_result(store: str, step: str, key: str, tell: Callable[[str], None] = _nobody) -> KeptResult | None:
    """Return the kept result of `step` for `key`, or None where there is none or where any of its outputs is gone.

    `tell` hears why a result that was kept cannot be used again.
    """
    kept = _read_kept(store, step, key)
    if kept is None:
        return None
    try:
        pages = {name: read_object(uri).decode() for name, uri in kept["pages"].items()}
        for uri in kept["objects"]:
            _check(uri)
    except (NotFoundError, IntegrityError) as error:
        tell(str(error))
        return None
    return KeptResult(
        kept["outputs"], kept["counts"], kept["metrics"], pages, tuple(kept["objects"]), tuple(kept["notes"])
    )


def kept_parts(store: str, step: str, key: str) -> Mapping[str, Json] | None:
    """Return the parts that `key` was made of, None where no result of `step` is kept under it."""
    kept = _read_kept(store, step, key)
    return None if kept is None else dict(kept["key"])


def store_result(store: str, step: str, key: str, result: Reusable, parts: Mapping[str, Json]) -> None:
    """Keep `result` under `key`; `parts` tell later why another key missed."""
    pages = {name: put_object(store, text.encode(), ".page") for name, text in result.pages.items()}
    kept: dict[str, Json] = {
        "outputs": dict(result.outputs),
        "counts": dict(result.counts),
        "metrics": dict(result.metrics),
        "pages": dict(pages),
        "objects": list(result.objects),
        "notes": list(result.notes),
        "key": dict(parts),
    }
    write_bytes(join(store, "reuse", step, f"{key}.json"), sealed_json(kept))


def _read_kept(store: str, step: str, key: str) -> dict[str, Any] | None:
    """Return the record, None where there is none or where it is damaged: then the result is made again."""
    try:
        return unsealed_json(read_bytes(join(store, "reuse", step, f"{key}.json")))
    except (NotFoundError, ValueError):
        return None


def _check(uri: str) -> None:
    if "/snapshots/" in uri:
        verify_snapshot(uri)
    elif "/objects/" in uri:
        read_object(uri)
    elif stat(uri) is None:
        raise NotFoundError(f"{uri} is gone.")
