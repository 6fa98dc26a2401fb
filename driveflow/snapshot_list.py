"""What lies in a store: tags with what they mean, their moves, and snapshots that no tag means."""

from driveflow.canonical import Json
from driveflow.errors import IntegrityError, NotFoundError
from driveflow.snapshot_files import Manifest, read_manifest
from driveflow.snapshots import list_records, list_snapshots
from driveflow.storage.objects import join
from driveflow.tags import TagEntry, current_tags, tag_history


def list_named(store: str) -> dict[str, Json]:
    """Return the tags of a store, by name, and the snapshots that none of them means, the latest first."""
    tags = current_tags(store)
    meant = {entry.snapshot.partition("#")[0] for entry in tags}
    others = [snapshot for snapshot in list_snapshots(store) if snapshot.snapshot_id not in meant]
    untagged: list[dict[str, Json]] = []
    for snapshot in others:
        records = [record.made_by() for record in list_records(snapshot)]
        first = records[0] if records else {}  # a later step that changes nothing writes the same snapshot again
        told = {"snapshot": snapshot.snapshot_id, "when": first.get("written_at", ""), "made_by": first.get("step", "")}
        untagged.append({**told, **_rows(read_manifest(snapshot.uri))})
    untagged.sort(key=lambda row: str(row["when"]), reverse=True)
    return {"tags": [_tag(store, entry) for entry in tags], "untagged": list(untagged)}


def list_moves(store: str, name: str) -> list[dict[str, Json]]:
    """Return every move of the tag `name`, the first one first.

    Raises:
        NotFoundError: there never was such a tag.
    """
    history = tag_history(store, name)
    if not history:
        raise NotFoundError(f"There is no tag {name!r} in {store}.")
    return [_tag(store, entry) for entry in history]


def _tag(store: str, entry: TagEntry) -> dict[str, Json]:
    told: dict[str, Json] = {
        "tag": entry.name,
        "number": entry.number,
        "snapshot": entry.snapshot.partition("#")[0],
        "when": entry.moved_at,
    }
    if not entry.snapshot:
        return {**told, "state": "deleted"}
    try:
        return {**told, **_rows(read_manifest(join(store, "snapshots", entry.snapshot.partition("#")[0])))}
    except (NotFoundError, IntegrityError) as error:
        return {**told, "state": str(error)}


def _rows(manifest: Manifest) -> dict[str, Json]:
    return {name: manifest.rows[name] for name in ("frames", "sources", "boxes")}
