"""Names for snapshots that may move; every move is kept, so that a name can be read as it was."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from itertools import groupby

from driveflow.canonical import canonical_json
from driveflow.errors import IntegrityError, NotFoundError, StorageError, UsageError
from driveflow.storage.objects import join, list_objects, read_bytes, write_bytes

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,40}")
_EXPRESSION = re.compile(r"([a-z0-9][a-z0-9_-]{0,40})(?:@([0-9][0-9T:.Z+-]*)|~([0-9]{1,6}))?")
_ENTRY = re.compile(r"([^/]+)/([0-9]{6})\.json")
_TRIES = 20


@dataclass(frozen=True, slots=True)
class TagEntry:
    """One move of a tag: the `number`th, at `moved_at` (ISO, UTC), to `snapshot` ("<id>#<record>", empty: deleted)."""

    name: str
    number: int
    snapshot: str
    moved_at: str

    def uri(self, store: str) -> str:
        """Return the address of the snapshot in `store`."""
        return f"{join(store, 'snapshots')}/{self.snapshot}"


def check_tag_name(name: str) -> str:
    """Return `name` where a tag may be called so.

    Raises:
        UsageError: it may not.
    """
    if not _NAME.fullmatch(name):
        mended = re.sub(r"[^a-z0-9_-]+", "-", name.lower()).strip("-_")[:41] or "my-data"
        wanted = "lower-case letters, digits, _ and -, beginning with a letter or digit, at most 41 of them"
        raise UsageError(f"A name must be {wanted}, got {name!r}; {mended!r} would do.")
    return name


def point_tag(store: str, name: str, snapshot_uri: str, now: datetime) -> tuple[TagEntry, bool]:
    """Let `name` mean the snapshot and return its entry, and whether that moved it; where it means it already, nothing.

    The snapshot must lie in `store`. Two who move one tag at the same time both leave an entry; the later one counts.
    """
    home, _, snapshot = snapshot_uri.rpartition("/snapshots/")
    if home != store:
        raise UsageError(f"{snapshot_uri} lies in another store; a tag names a snapshot of {store}.")
    return _append(store, check_tag_name(name), snapshot, now)


def delete_tag(store: str, name: str, now: datetime) -> TagEntry:
    """Let `name` mean nothing from now on; what it meant before stays readable as NAME@1 and so on.

    Raises:
        NotFoundError: it means nothing.
    """
    current_entry(store, name)
    return _append(store, name, "", now)[0]


def tag_history(store: str, name: str) -> list[TagEntry]:
    """Return every move of a tag, the first move first; empty where there is none."""
    return list(_entries(store, join(store, "tags", name), f"{name}/"))


def current_tags(store: str) -> list[TagEntry]:
    """Return the last move of every tag that was not deleted, by name."""
    moves = groupby(_entries(store, join(store, "tags")), key=lambda entry: entry.name)
    last = [list(found)[-1] for _, found in moves]
    return [entry for entry in last if entry.snapshot]


def all_tag_names(store: str) -> list[str]:
    """Return the names of all tags there ever were, sorted."""
    return sorted({entry.name for entry in _entries(store, join(store, "tags"))})


def current_entry(store: str, name: str) -> TagEntry:
    """Return the last move of the tag `name`.

    Raises:
        NotFoundError: there is no such tag, or it was deleted.
    """
    history = tag_history(store, name)
    if not history:
        raise NotFoundError(f"There is no tag {name!r} in {store}; `driveflow data list` shows all.")
    return _told(history, name, name)


def find_tagged(store: str, text: str) -> TagEntry | None:
    """Return the entry that `text` means, None where it cannot be or is no tag.

    NAME is the tag now, NAME@3 its third move, NAME~1 the move before the last, NAME@2026-11-29 the tag at the end of
    that day, NAME@2026-11-29T08:30 at that time, both UTC.

    Raises:
        NotFoundError: there is such a tag, but not so many moves, or it meant nothing then.
    """
    parts = _EXPRESSION.fullmatch(text)
    if parts is None:
        return None
    name, at, back = parts[1], parts[2], parts[3]
    history = tag_history(store, name)
    if not history:
        return None
    if back:
        return _told(history[: max(0, len(history) - int(back))], name, text)
    if at and at.isdigit():
        return _told([entry for entry in history if entry.number == int(at)], name, text)
    if at:
        moment = _moment(at, text)
        return _told([entry for entry in history if datetime.fromisoformat(entry.moved_at) <= moment], name, text)
    return _told(history, name, text)


def _told(moves: list[TagEntry], name: str, text: str) -> TagEntry:
    if not moves:
        raise NotFoundError(f"{text}: the tag {name!r} has no such move; `driveflow data list --history` shows all.")
    if not moves[-1].snapshot:
        last = moves[-1]
        before = f"{name}@{last.number - 1} is what it meant before"
        raise NotFoundError(f"{text}: the tag {name!r} was deleted at {last.moved_at}; {before}.")
    return moves[-1]


def _moment(at: str, text: str) -> datetime:
    try:
        found = datetime.fromisoformat(at)
    except ValueError:
        raise UsageError(f"{text}: {at!r} is no move, no date and no time; 3 or 2026-11-29 would do.") from None
    if len(at) <= len("2026-11-29"):
        found = datetime.combine(found.date(), time.max)
    return found.replace(tzinfo=found.tzinfo or UTC)


def _append(store: str, name: str, snapshot: str, now: datetime) -> tuple[TagEntry, bool]:
    for _ in range(_TRIES):
        history = tag_history(store, name)
        if history and history[-1].snapshot == snapshot:
            return history[-1], False
        if history and now <= datetime.fromisoformat(history[-1].moved_at):  # a clock that goes back moves no history
            now = datetime.fromisoformat(history[-1].moved_at) + timedelta(microseconds=1)
        number = history[-1].number + 1 if history else 1
        entry = TagEntry(name, number, snapshot, now.astimezone(UTC).isoformat())
        text = canonical_json({"snapshot": snapshot, "moved_at": entry.moved_at})
        if write_bytes(join(store, "tags", name, f"{number:06d}.json"), text.encode(), if_absent=True):
            return entry, True
    raise StorageError(f"The tag {name!r} is being moved by others again and again; try once more.")


def _entries(store: str, folder: str, above: str = "") -> Iterable[TagEntry]:
    try:
        found = [f"{above}{item.path}" for item in list_objects(folder)]
    except NotFoundError:
        return
    for path in sorted(found, key=lambda path: path.split("/")):
        parts = _ENTRY.fullmatch(path)
        if parts:
            yield TagEntry(parts[1], int(parts[2]), *_said(join(store, "tags", *path.split("/"))))


def _said(uri: str) -> tuple[str, str]:
    data = read_bytes(uri)
    try:
        said = json.loads(data)
        return str(said["snapshot"]), str(said["moved_at"])
    except (ValueError, KeyError, TypeError) as error:
        raise IntegrityError(
            f"{uri} is no move of a tag; without that file the tag means what it meant before."
        ) from error
