"""The files of a snapshot and their digests: enough to check one without reading its tables."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, cast

from driveflow.canonical import Json, digest_bytes
from driveflow.errors import IntegrityError, NotFoundError
from driveflow.storage.objects import join, read_bytes

WRITTEN_ANEW: Final = "the import or merge that made it, given once more, writes it anew."


@dataclass(frozen=True, slots=True)
class Part:
    """One file of a snapshot, by its name in the folder, with what it must hold."""

    name: str
    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """What snapshot.json says."""

    snapshot_id: str
    classes: tuple[str, ...]
    parts: Mapping[str, tuple[Part, ...]]
    rows: Mapping[str, int]  # of each table


def read_manifest(uri: str) -> Manifest:
    """Return the manifest of the snapshot at `uri`.

    Raises:
        NotFoundError: there is no snapshot.
        IntegrityError: its manifest is broken.
    """
    folder = uri.partition("#")[0]
    try:
        manifest = json.loads(read_bytes(join(folder, "snapshot.json")))
        parts = {name: _parts(table["parts"]) for name, table in manifest["tables"].items()}
        rows = {name: int(table["rows"]) for name, table in manifest["tables"].items()}
        return Manifest(manifest["snapshot_id"], tuple(manifest["classes"]), parts, rows)
    except NotFoundError:
        raise NotFoundError(f"There is no snapshot at {folder}.") from None
    except (ValueError, KeyError, TypeError) as error:
        raise IntegrityError(f"{folder}/snapshot.json is no manifest of a snapshot: {error}; {WRITTEN_ANEW}") from error


def read_record(home: str) -> Mapping[str, Json]:
    """Return what the record in the folder `home` says of how a snapshot was made.

    Raises:
        NotFoundError: there is none.
        IntegrityError: it is not what was written there.
    """
    data = read_bytes(join(home, "record.json"))
    try:
        record: Mapping[str, Json] = dict(json.loads(data))
    except (ValueError, TypeError) as error:
        raise IntegrityError(f"{home}/record.json is not what was written there; {WRITTEN_ANEW}") from error
    return record


def verify_snapshot(uri: str) -> None:
    """Check every file of the snapshot, and of the record that `uri` names, against its digest.

    Raises:
        NotFoundError: one is gone.
        IntegrityError: one is not what was written.
    """
    folder, _, record_id = uri.partition("#")
    for parts in read_manifest(uri).parts.values():
        _verify_parts(folder, parts)
    if record_id:
        home = join(folder, "made_by", record_id)
        _verify_parts(home, _record_parts(home))


def read_part(folder: str, part: Part) -> bytes:
    """Return what the file `part` of `folder` holds.

    Raises:
        NotFoundError: it is gone.
        IntegrityError: it is not what was written.
    """
    data = read_bytes(join(folder, *part.name.split("/")))
    if digest_bytes(data) != part.sha256:
        raise IntegrityError(f"{folder}/{part.name} is not what was written there; {WRITTEN_ANEW}")
    return data


def record_part(home: str, name: str) -> Part:
    """Return the file `name` of the record in the folder `home`.

    Raises:
        NotFoundError: there is no record.
        IntegrityError: the record is not what was written there.
    """
    found = next((part for part in _record_parts(home) if part.name == name), None)
    if found is None:
        raise IntegrityError(f"{home}/record.json, which has no {name}, is not what was written there; {WRITTEN_ANEW}")
    return found


def _record_parts(home: str) -> tuple[Part, ...]:
    try:
        return _parts(cast("Iterable[Mapping[str, str]]", read_record(home)["parts"]))
    except (ValueError, KeyError, TypeError) as error:
        raise IntegrityError(f"{home}/record.json is not what was written there; {WRITTEN_ANEW}") from error


def _parts(values: Iterable[Mapping[str, str]]) -> tuple[Part, ...]:
    return tuple(Part(value["name"], value["sha256"], int(value["bytes"])) for value in values)


def _verify_parts(folder: str, parts: Iterable[Part]) -> None:
    for part in parts:
        read_part(folder, part)
