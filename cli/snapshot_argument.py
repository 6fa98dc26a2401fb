"""What a person may write for a snapshot: a tag, its address, a folder, or the beginning of its id."""

from collections.abc import Iterator
from pathlib import Path

from cli.output import place_from
from driveflow.errors import NotFoundError, UsageError
from driveflow.flow.problems import nearest
from driveflow.snapshots import Snapshot, list_snapshots, open_snapshot
from driveflow.storage.objects import join, list_objects, to_uri
from driveflow.tags import current_tags, find_tagged

_SHOWN = 5


def find_snapshot(text: str, workspace: Path, profile: str, step: str = "") -> Snapshot:
    """Return the snapshot that `text` names, with the record it names, else the one written last.

    A tag is a name, or a name at another time: may, may@2, may~1, may@2026-11-29. It goes before an id that begins so.
    Where several steps made the same snapshot, the records of `step` go before those of others.

    Raises:
        NotFoundError: there is none.
        UsageError: `text` begins several ids.
    """
    address, _, record = text.partition("#")
    if not _is_address(address):
        store = place_from(workspace, profile).store
        tagged = None if record else find_tagged(store, address)
        if tagged is not None:
            return open_snapshot(tagged.uri(store))
        folder = _folder_of_id(address, store)
    else:
        folder = to_uri(address)
    if record:
        return open_snapshot(f"{folder}#{record}")
    made = [open_snapshot(f"{folder}#{item}") for item in record_ids(folder)]
    told = {item.uri: item.made_by() for item in made}
    ranks = {uri: (record.get("step") == step, str(record.get("written_at", ""))) for uri, record in told.items()}
    return max(made, key=lambda item: ranks[item.uri], default=None) or open_snapshot(folder)


def record_ids(folder: str) -> list[str]:
    """Return the ids of the records that tell how the snapshot in `folder` was made."""
    try:
        found = [item.path for item in list_objects(join(folder, "made_by"))]
    except NotFoundError:
        return []
    return sorted({path.split("/")[0] for path in found if path.endswith("/record.json")})  # written last


def lineage(snapshot: Snapshot) -> Iterator[Snapshot]:
    """Yield `snapshot` and all it was made from, newest first, each once; what is gone is left out."""
    waiting, seen = [snapshot], {snapshot.uri}
    while waiting:
        current = waiting.pop(0)
        yield current
        parents = current.made_by().get("parents", []) if current.record_id else []
        for parent in parents if isinstance(parents, list) else []:
            uri = f"{snapshot.store}/snapshots/{parent}"
            if uri not in seen:
                seen.add(uri)
                try:
                    waiting.append(open_snapshot(uri))
                except NotFoundError:
                    continue


def _is_address(text: str) -> bool:
    return "://" in text or "/" in text or (Path(text) / "snapshot.json").is_file()


def _folder_of_id(start: str, store: str) -> str:
    if not start:
        raise UsageError("A snapshot is named by a tag, an id or its beginning; '' names none.")
    found = [item for item in list_snapshots(store) if item.snapshot_id.startswith(start)]
    if not found:
        near = nearest(start, [entry.name for entry in current_tags(store)])
        hint = f"; the tag nearest to it is {near!r}" if near else ""
        raise NotFoundError(f"No snapshot in {store} has a tag or an id that begins with {start!r}{hint}.")
    if len(found) > 1:
        shown = ", ".join(item.snapshot_id[:16] for item in found[:_SHOWN])
        raise UsageError(f"{len(found)} snapshots begin with {start!r}: {shown}; write more of it.")
    return found[0].folder
