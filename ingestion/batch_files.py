"""The files of a batch: its objects, and the members of its archives and recordings beside them."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from driveflow.errors import BrokenDataError, NotFoundError, StorageError
from driveflow.formats.file_kinds import is_in_side_folder, kind_of
from driveflow.storage.objects import ObjectInfo, read_bytes
from driveflow.storage.uris import writable
from ingestion.containers import Container
from ingestion.kept_texts import KeptTexts
from ingestion.listing import NOT_FOLLOWED
from ingestion.metadata import is_metadata
from ingestion.open_container import ContainerRules, open_container

MAX_FILE_BYTES = 512 << 20
"""What is larger is no camera picture and no label file, and is not read into memory."""

_SMALL_BYTES = 256 << 10  # label files up to this size are read at once and kept: there may be one for each picture
_READERS = 16  # waiting for a far storage, not for a processor
_AT_ONCE = 256  # of these files wait in memory


@dataclass(frozen=True, slots=True)
class BatchFile:
    """One file of a batch, an object or a member of a container."""

    name: str  # as SOURCES and QUARANTINE call it, unique in the batch: "a/b.jpg", "a.zip!b.jpg"
    place: str  # as label formats see it: a container is a folder "a.zip!"
    byte_count: int
    entry: ObjectInfo
    member: int | None = None  # position in the container
    frame_id: str = ""  # of a frame known by its place in a recording


@dataclass(frozen=True, slots=True)
class Refusal:
    """A file that cannot be used, and why."""

    name: str
    reason: str
    detail: str
    byte_count: int


@dataclass(frozen=True, slots=True)
class BatchFiles:
    """Every file that may be read, and those refused unread; label readers see it as `LabelFiles`."""

    files: tuple[BatchFile, ...]  # sorted by place
    refused: tuple[Refusal, ...]
    archives: int  # containers that could be opened, recordings too
    texts: Mapping[str, bytes]  # small files and members of containers that may hold labels, by place
    by_place: Mapping[str, BatchFile]
    paths: Sequence[str]  # every place but those in folders of tools, sorted

    def read(self, path: str) -> bytes:
        """Return the bytes of the file at the place `path`."""
        kept = self.texts.get(path)
        return read_bytes(self.by_place[path].entry.uri) if kept is None else kept

    def place_of(self, name: str) -> str:
        """Return the place of the file called `name`; a name that no file has comes back as it is."""
        return next((file.place for file in self.files if name in {file.name, file.place}), name)

    def name_of(self, place: str) -> str:
        """Return what the file at `place` is called."""
        return self.by_place[place].name if place in self.by_place else place


def open_files(objects: Sequence[ObjectInfo], rules: ContainerRules | None = None) -> BatchFiles:
    """Look into the containers of a batch and return all its files; nothing is unpacked to a disk."""
    gathering = _Gathering(rules or ContainerRules())
    for entry in objects:
        gathering.add(entry)
    gathering.read_small_texts()
    files = tuple(sorted(gathering.files, key=lambda file: file.place))
    by_place = {file.place: file for file in files}
    paths = tuple(place for place in by_place if not is_in_side_folder(place))
    return BatchFiles(files, tuple(gathering.refused), gathering.archives, gathering.texts, by_place, paths)


def read_file(file: BatchFile) -> bytes | BrokenDataError:
    """Return the bytes of an object; what is wrong with this one file is returned, a failing storage is raised."""
    try:
        data = read_bytes(file.entry.uri)
    except NotFoundError:
        return BrokenDataError("vanished", "the file was there when the batch was listed")
    except StorageError as error:
        if isinstance(error.__cause__, PermissionError):
            return BrokenDataError("unreadable", str(error.__cause__.strerror))
        raise
    if len(data) != file.byte_count:
        return BrokenDataError("changed", f"{file.byte_count:,} bytes when listed, {len(data):,} when read")
    return data


@dataclass(slots=True)
class _Gathering:
    """The files found so far."""

    rules: ContainerRules
    files: list[BatchFile] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)
    texts: KeptTexts = field(default_factory=KeptTexts)
    archives: int = 0
    taken: dict[str, int] = field(default_factory=dict)  # places, with the last number that was put behind each

    def add(self, entry: ObjectInfo) -> None:
        name = entry.path
        if entry.version in NOT_FOLLOWED:
            self.refused.append(Refusal(name, entry.version, "not a regular file; links are not followed", 0))
        elif (container := open_container(entry, self.rules)) is not None:
            self._add_container(entry, container)
        elif entry.size > MAX_FILE_BYTES:
            detail = f"{entry.size:,} bytes; a picture or label file has at most {MAX_FILE_BYTES:,}"
            self.refused.append(Refusal(name, "too_large", detail, entry.size))
        else:
            self.files.append(BatchFile(name, self._take(name), entry.size, entry))

    def read_small_texts(self) -> None:
        """Read the small objects that may hold labels, many at a time; what cannot be read is refused."""
        wanted = [
            file
            for file in self.files
            if file.member is None and file.byte_count <= _SMALL_BYTES and kind_of(file.place) == "text"
        ]
        for file, data in _read_many(wanted):
            if isinstance(data, BrokenDataError):
                self.refused.append(Refusal(file.name, data.code, data.detail, file.byte_count))
                self.files.remove(file)
            else:
                self.texts.keep(file.place, data)

    def _add_container(self, entry: ObjectInfo, container: Container) -> None:
        name = entry.path
        try:
            members = container.members()
        except BrokenDataError as error:
            self.refused.append(Refusal(name, error.code, error.detail, entry.size))
            return
        self.archives += 1
        found: dict[int, BatchFile] = {}
        for member in members:
            called = f"{name}!{writable(member.name)}" if member.name else name
            if reason := member.refused or ("archive_nested" if kind_of(member.name) == "archive" else ""):
                detail = member.detail or "an archive in an archive is not opened; unpack the outer one"
                self.refused.append(Refusal(called, reason, detail, member.byte_count))
            else:
                place = self._take(f"{name}!/{writable(member.name)}")
                called = f"{name}!{place[len(name) + 2 :]}"
                found[member.number] = BatchFile(
                    called, place, member.byte_count, entry, member.number, member.frame_id
                )
        self._read_texts(container, found)
        self.files += found.values()

    def _read_texts(self, container: Container, found: dict[int, BatchFile]) -> None:
        """Keep the members that may hold labels or metadata; one that cannot be read is refused and leaves `found`."""
        wanted = [number for number, file in found.items() if kind_of(file.place) == "text" or is_metadata(file.place)]
        for number, data in container.read(wanted) if wanted else _nothing():
            if isinstance(data, BrokenDataError):
                file = found.pop(number)
                self.refused.append(Refusal(file.name, data.code, data.detail, file.byte_count))
            else:
                self.texts.keep(found[number].place, data)

    def _take(self, place: str) -> str:
        """Return `place`, or the first of "a#2.jpg", "a#3.jpg" ... that is free: one archive may hold a name twice."""
        number, free = self.taken.get(place, 1), place
        stem, dot, extension = place.rpartition(".")
        while free in self.taken:
            number += 1
            free = f"{stem}#{number}.{extension}" if dot and "/" not in extension else f"{place}#{number}"
        self.taken[place] = number
        self.taken.setdefault(free, 1)
        return free


def _read_many(files: Sequence[BatchFile]) -> Iterator[tuple[BatchFile, bytes | BrokenDataError]]:
    """Yield each object with its bytes; many are read at once, and a bounded number waits in memory."""
    with ThreadPoolExecutor(_READERS) as pool:
        for start in range(0, len(files), _AT_ONCE):
            some = files[start : start + _AT_ONCE]
            yield from zip(some, pool.map(read_file, some), strict=True)


def _nothing() -> Iterator[tuple[int, bytes | BrokenDataError]]:
    return iter(())
