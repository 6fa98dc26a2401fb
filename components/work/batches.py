"""What a run knows of a batch before it is imported, and what an import of it is kept under."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from components.work.settings import write_section
from driveflow.canonical import canonical_json
from driveflow.code_digest import code_digest
from driveflow.flow.sections import BatchSection
from driveflow.storage.objects import ObjectInfo


def listing_of(objects: Sequence[ObjectInfo]) -> bytes:
    """Return the listing of a batch as the object that a run keeps of it."""
    return canonical_json([asdict(found) for found in objects]).encode()


def batch_entry(section: BatchSection, uri: str, listing: str, files: int) -> dict[str, Any]:
    """Return what the plan says of a batch at `uri`, whose `files` are in the object `listing`."""
    return {"section": write_section(section), "uri": uri, "listing": listing, "files": files}


def import_parts(batch: Any, taxonomy: Any, trades: tuple[str, ...]) -> Mapping[str, Any]:  # noqa: ANN401 JSON
    """Return what an import of `batch`, an entry of the plan, depends on: its result is kept under the digest of it."""
    return {"batch": batch, "taxonomy": taxonomy, "code": code_digest(*trades)}
