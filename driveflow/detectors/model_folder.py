"""A model as a folder of files: written whole, never changed, each file known by its digest.

`<store>/models/<digest>/` holds `model.json` (written last), the files it lists, and nothing that counts beside them.
model.json is `{"format": 1, "kind", "classes", "input", "head", "command", "files": {name: {"sha256", "bytes"}}}`.
The digest of a model is the digest of model.json's own value with `files` reduced to `{name: sha256}`, so that it names
every byte of every file and everything the declaration says, and does not depend on where the folder lies.
"""

import json
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from driveflow.canonical import Json, canonical_json, digest, digest_bytes
from driveflow.detectors.declaration import ModelDeclaration, read_declaration
from driveflow.errors import IntegrityError, InvalidInputError, NotFoundError
from driveflow.storage.objects import join, keep_bytes, read_bytes, stat, write_bytes

MANIFEST: Final = "model.json"
ONNX_FILE: Final = "model.onnx"
FORMAT: Final = 1
MAX_MANIFEST_BYTES: Final = 1 << 20
MAX_FILE_BYTES: Final = 2 << 30
MAX_FILES: Final = 1000
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}(/[A-Za-z0-9_][A-Za-z0-9._-]{0,99}){0,5}")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_RUNS_CODE_WHEN_READ: Final = frozenset([".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".joblib", ".dill"])


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One file of a model, as its manifest lists it."""

    name: str
    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A model whose manifest has been read and holds together; its files are checked when they are read."""

    uri: str
    digest: str
    declaration: ModelDeclaration
    files: tuple[ModelFile, ...]

    def read(self, name: str) -> bytes:
        """Return the bytes of a file.

        Raises:
            NotFoundError: the manifest does not list it, or it is gone.
            IntegrityError: it is not what was written.
        """
        for file in self.files:
            if file.name == name:
                return _read_checked(self.uri, file)
        raise NotFoundError(f"The model at {self.uri} has no file {name!r}.")

    def verify(self) -> None:
        """Check every file against its digest; raise where one is gone or changed."""
        for file in self.files:
            _read_checked(self.uri, file)

    def fetch(self, folder: Path) -> None:
        """Write every file, checked, under the local `folder`."""
        for file in self.files:
            path = folder / file.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_read_checked(self.uri, file))


def write_model(store: str, declaration: ModelDeclaration, files: Mapping[str, bytes]) -> ModelFolder:
    """Write a model under `<store>/models/` and return it; writing the same again changes nothing.

    Raises:
        InvalidInputError: a file's name is no plain relative path, it can run code when it is read, or model.onnx is
            missing where the declaration needs it.
    """
    _refuse_odd_files(declaration, files)
    listed: dict[str, Json] = {
        name: {"sha256": digest_bytes(data), "bytes": len(data)} for name, data in sorted(files.items())
    }
    manifest: dict[str, Json] = {"format": FORMAT, **declaration.to_json(), "files": listed}
    uri = join(store, "models", _digest_of(manifest))
    for name, data in files.items():
        keep_bytes(join(uri, name), data)
    write_bytes(join(uri, MANIFEST), canonical_json(manifest).encode())
    return open_model(uri)


def open_model(uri: str) -> ModelFolder:
    """Return the model at `uri`; only its manifest is read.

    Raises:
        NotFoundError: there is none.
        IntegrityError: the manifest is damaged, asks for files outside its folder, or the folder's name is not the
            model's digest.
    """
    where = join(uri, MANIFEST)
    manifest = _read_manifest(where)
    files = tuple(_listed_file(name, entry, where) for name, entry in sorted(manifest["files"].items()))
    declared = {name: value for name, value in manifest.items() if name not in {"format", "files"}}
    found = ModelFolder(uri.rstrip("/"), _digest_of(manifest), read_declaration(declared, where), files)
    if found.uri.rpartition("/")[2] != found.digest:
        raise IntegrityError(f"The model at {uri} is model {found.digest}; its folder is named otherwise.")
    return found


def _read_manifest(where: str) -> dict[str, Any]:
    info = stat(where)
    if info is None:
        raise NotFoundError(f"There is no model at {where.rpartition('/')[0]}: {MANIFEST} is missing.")
    if info.size > MAX_MANIFEST_BYTES:
        raise IntegrityError(f"{where} has {info.size} bytes; a manifest has {MAX_MANIFEST_BYTES} at most.")
    try:
        manifest = json.loads(read_bytes(where))
    except (ValueError, RecursionError) as error:
        raise IntegrityError(f"{where} is no JSON: {error}") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise IntegrityError(f"{where} is no manifest of format {FORMAT}.")
    files = manifest.get("files")
    if not isinstance(files, dict) or not 0 < len(files) <= MAX_FILES:
        raise IntegrityError(f"{where} must list 1 to {MAX_FILES} files.")
    return manifest


def _listed_file(name: str, entry: object, where: str) -> ModelFile:
    if not _is_plain(name):
        raise IntegrityError(f"{where} lists the file {name!r}, which is no plain path inside its folder.")
    sha256, size = (entry.get("sha256"), entry.get("bytes")) if isinstance(entry, dict) else (None, None)
    if not isinstance(sha256, str) or not _SHA256.fullmatch(sha256):
        raise IntegrityError(f"{where} gives no sha256 for {name!r}.")
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= MAX_FILE_BYTES:
        raise IntegrityError(f"{where} says {name!r} has {size} bytes; 0 to {MAX_FILE_BYTES} are allowed.")
    return ModelFile(name, sha256, size)


def _read_checked(uri: str, file: ModelFile) -> bytes:
    """Return the file; its size is looked at first, so that a huge one is never read into memory."""
    where = join(uri, file.name)
    info = stat(where)
    if info is None:
        raise NotFoundError(f"{where} is gone.")
    if info.size != file.bytes:
        raise IntegrityError(f"{where} has {info.size} bytes, the manifest says {file.bytes}.")
    data = read_bytes(where)
    if digest_bytes(data) != file.sha256:
        raise IntegrityError(f"{where} is not what was written there: its digest differs from the manifest's.")
    return data


def _digest_of(manifest: Mapping[str, Any]) -> str:
    files = {
        name: entry.get("sha256") if isinstance(entry, dict) else None for name, entry in manifest["files"].items()
    }
    try:
        return digest({**manifest, "files": files})
    except (TypeError, ValueError) as error:
        raise IntegrityError(f"A manifest holds what JSON cannot say: {error}") from error


def _refuse_odd_files(declaration: ModelDeclaration, files: Mapping[str, bytes]) -> None:
    odd = [name for name in files if not _is_plain(name)]
    if odd:
        raise InvalidInputError(f"A model's file is a plain relative path, got {odd[:5]} ({len(odd)} in all).")
    if not 0 < len(files) <= MAX_FILES:
        raise InvalidInputError(f"A model has 1 to {MAX_FILES} files, got {len(files)}.")
    if declaration.kind == "onnx" and ONNX_FILE not in files:
        raise InvalidInputError(f"A model of kind onnx has a file {ONNX_FILE}, got {sorted(files)[:5]}.")
    for name, data in files.items():
        if len(data) > MAX_FILE_BYTES:
            raise InvalidInputError(f"{name} has {len(data)} bytes; a model's file has {MAX_FILE_BYTES} at most.")
        if _runs_code_when_read(name, data):
            raise InvalidInputError(f"{name} is a pickle, which can run code when it is read; safetensors would do.")


def _is_plain(name: str) -> bool:
    return name != MANIFEST and len(name) <= 300 and _NAME.fullmatch(name) is not None


def _runs_code_when_read(name: str, data: bytes) -> bool:
    if Path(name).suffix.lower() in _RUNS_CODE_WHEN_READ or (data[:1] == b"\x80" and data[1:2] in b"\x02\x03\x04\x05"):
        return True
    if not data.startswith(b"PK"):
        return False
    try:
        return any(Path(member).suffix in _RUNS_CODE_WHEN_READ for member in zipfile.ZipFile(BytesIO(data)).namelist())
    except (zipfile.BadZipFile, ValueError):
        return False
