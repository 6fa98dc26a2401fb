"""Bring truth and predictions that lie on S3, in archives or in tables of pictures to where they are read."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from driveflow.storage.objects import ObjectInfo
    from ingestion.batch_files import BatchFiles, Refusal
    from validation.inputs.label_files import LocalFiles
    from validation.model.scene import Correction

_TABLES = (".parquet", ".mcap", ".bag", ".db3")  # hold labels, or times and names of what they show
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Side:
    """Truth or predictions: where it lies, its files where they had to be brought, and what could not be read."""

    path: Path
    files: "LocalFiles | None" = None
    unread: "tuple[Correction, ...]" = ()


@dataclass(slots=True)
class Bringing:
    """A temporary folder in which labels lie that were not files; in what is told they keep their own names."""

    folder: Path
    _names: dict[str, str] = field(default_factory=dict)

    def bring(self, text: str) -> Side:
        """Return the side that lies at `text`, a path or an address.

        Raises:
            NotFoundError: there is nothing.
            InvalidInputError: an archive that cannot be opened.
        """
        from driveflow.errors import NotFoundError
        from driveflow.storage.objects import local_path, to_uri

        uri = text if "://" in text else to_uri(text)
        path = local_path(uri)
        if path is not None and not path.exists():
            raise NotFoundError(f"{text}: there is no such file or folder.")
        if path is not None and not _has_containers(path):
            return Side(Path(text) if "://" not in text else path)
        return self._brought(text, uri)

    def told(self, text: str) -> str:
        """Return `text` with the names that a person gave in place of those of the temporary folder."""
        for place, name in self._names.items():
            text = text.replace(f"{place}/", f"{name}/" if name else "").replace(place, name or ".")
        return text

    def _brought(self, text: str, uri: str) -> Side:
        from driveflow.errors import InvalidInputError
        from driveflow.storage.objects import stat
        from ingestion.batch_files import open_files
        from validation.inputs.label_files import LocalFiles

        home = self.folder / str(len(self._names))
        home.mkdir()
        single, called = stat(uri), text.rstrip("/")
        self._names[str(home)] = called.rpartition("/")[0] if single is not None else called
        objects, links = ((single,), ()) if single is not None else _listed(uri)
        packed = open_files([entry for entry in objects if _is_container(entry.path)])
        large = {item.name for item in packed.refused if item.reason == "too_large"}  # for an import; a table is not
        plain = {entry.path: entry for entry in objects if not _is_container(entry.path) or entry.path in large}
        plain |= {file.place: file.entry for file in packed.files if file.member is None}
        refused = [item for item in packed.refused if item.name not in plain]
        if single is not None and not packed.archives and refused:
            raise InvalidInputError(f"{text}: {' '.join(refused[0].detail.split())} ({refused[0].reason}).")
        for path, entry in plain.items():
            _fetch(entry, home / path)
        for place, data in packed.texts.items():
            _write(home / place, data)
        files = LocalFiles(home, sorted({*plain, *packed.paths}), lambda paths: _read_each(packed, plain, paths))
        return Side(home / single.path if single is not None else home, files, _corrections([*refused, *links]))


@contextmanager
def bringing() -> Iterator[Bringing]:
    """Yield a place to bring files to; it is gone afterwards, and errors name what a person named."""
    from driveflow.errors import DriveflowError

    with ExitStack() as stack:
        made = Bringing(Path(stack.enter_context(TemporaryDirectory(prefix="driveflow-evaluate-"))).resolve())
        try:
            yield made
        except DriveflowError as error:
            error.args = (made.told(str(error)), *error.args[1:])
            raise


def _has_containers(path: Path) -> bool:
    if path.is_file():
        return _is_container(path.name)
    return any(_is_container(name) for _folder, _folders, names in os.walk(path) for name in names)


def _is_container(path: str) -> bool:
    """Tell whether a file holds files; a table of predictions is none, but only its columns tell."""
    from driveflow.formats.file_kinds import kind_of

    return kind_of(path) == "archive" or path.lower().endswith(_TABLES)


def _listed(uri: str) -> "tuple[tuple[ObjectInfo, ...], tuple[Refusal, ...]]":
    """Return what lies in a folder or under a prefix, and the links there, which no import follows either."""
    from ingestion.batch_files import Refusal
    from ingestion.listing import NOT_FOLLOWED, list_batch

    found = list_batch(uri)
    links = [entry for entry in found if entry.version in NOT_FOLLOWED]
    refused = [Refusal(entry.path, entry.version, "links are not followed beside archives", 0) for entry in links]
    return tuple(entry for entry in found if entry.version not in NOT_FOLLOWED), tuple(refused)


def _fetch(entry: "ObjectInfo", target: Path) -> None:
    """Let labels and tables lie at `target`; pictures are read where they are, if at all."""
    from driveflow.formats.file_kinds import kind_of
    from driveflow.storage.objects import fetch_file, local_path

    path = local_path(entry.uri)
    if path is not None or kind_of(entry.path) == "text" or entry.path.lower().endswith(".parquet"):
        target.parent.mkdir(parents=True, exist_ok=True)
        if path is None:
            fetch_file(entry.uri, target)
        else:
            target.symlink_to(path)


def _write(target: Path, data: bytes) -> None:
    """Write a member of an archive; a name that this machine cannot hold is read out of the archive where needed."""
    with suppress(OSError):
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def _read_each(
    packed: "BatchFiles", plain: "Mapping[str, ObjectInfo]", paths: Sequence[str]
) -> Iterator[tuple[str, bytes]]:
    """Yield the bytes of files that lie elsewhere, those of an archive in one pass; what cannot be read is left out."""
    from driveflow.errors import BrokenDataError
    from driveflow.storage.objects import read_bytes
    from ingestion.batch_files import BatchFile
    from ingestion.open_container import ContainerRules, open_container

    wanted: dict[str, list[BatchFile]] = {}
    for path in paths:
        if path in plain:
            yield path, read_bytes(plain[path].uri)
        elif path in packed.texts:
            yield path, packed.texts[path]
        elif path in packed.by_place:
            wanted.setdefault(packed.by_place[path].entry.uri, []).append(packed.by_place[path])
    for files in wanted.values():
        place_of = {file.member: file.place for file in files if file.member is not None}
        container = open_container(files[0].entry, ContainerRules())
        for number, data in container.read(place_of) if container is not None else ():
            if not isinstance(data, BrokenDataError):
                yield place_of[number], data


def _corrections(refused: "Sequence[Refusal]") -> "tuple[Correction, ...]":
    """Return what could not be read, by its reason; an evaluation that leaves out a file says so."""
    from driveflow.formats.file_kinds import kind_of
    from validation.model.scene import Correction

    names: dict[str, list[str]] = {}
    for item in refused:
        if kind_of(item.name) not in {"picture", "side"}:
            names.setdefault(item.reason, []).append(f"{item.name}: {item.detail}")
    return tuple(
        Correction(reason, len(found), tuple(found[:_SHOWN]), "not read: nothing of it is counted")
        for reason, found in names.items()
    )
