"""The addresses of objects: absolute `file://` URIs (percent-encoded) and `s3://bucket/key` (raw)."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote_from_bytes, unquote_to_bytes

from driveflow.errors import InvalidInputError, UsageError

FILE_SCHEME = "file://"
S3_SCHEME = "s3://"
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+:/")
_ESCAPED = "surrogateescape"  # names that are no UTF-8 live as lone surrogates, as os.fsdecode makes them


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """One stored object; `path` is relative to the listed prefix, decoded, with "/" separators."""

    uri: str
    path: str
    size: int  # bytes
    version: str  # changes whenever the bytes may have changed


def writable(name: str) -> str:
    r"""Return `name` as text that UTF-8 can hold; bytes that are no UTF-8 are spelled \xNN."""
    return name.encode("utf-8", _ESCAPED).decode("utf-8", "backslashreplace")


def join(uri: str, *parts: str) -> str:
    """Return the URI of `parts` under `uri`; parts are plain relative paths and are encoded here.

    Raises:
        InvalidInputError: a part is absolute, climbs out with "..", or holds a NUL.
    """
    for part in parts:
        _check_part(part)
        spelled = part if uri.startswith(S3_SCHEME) else quote_from_bytes(part.encode("utf-8", _ESCAPED))
        uri = f"{uri.rstrip('/')}/{spelled}"
    return uri


def _check_part(part: str) -> None:
    if part.startswith("/") or "\0" in part or ".." in part.split("/"):
        raise InvalidInputError(f"{part!r} is no path inside a folder: it is absolute, has '..' or a NUL")


def to_uri(path_or_uri: str, relative_to: Path | None = None) -> str:
    """Return the absolute URI of a path or URI; a relative path is under `relative_to` or the working folder.

    Raises:
        UsageError: it is no address, or begins with the home of nobody.
    """
    if path_or_uri.startswith(S3_SCHEME):
        split_s3(path_or_uri)
        return path_or_uri.rstrip("/")
    known = local_path(path_or_uri) if "://" in path_or_uri else None
    path = known or (relative_to or Path.cwd()) / _without_tilde(path_or_uri)
    return Path(os.path.abspath(path)).as_uri()  # noqa: PTH100 resolve() would follow links


def _without_tilde(path: str) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise UsageError(f"{path!r} begins with a home that is not known here; an absolute path would do") from None


def local_path(uri: str) -> Path | None:
    """Return the path that a `file://` URI names, None for `s3://`.

    Raises:
        UsageError: the URI is of neither kind, or names another machine.
    """
    if uri.startswith(S3_SCHEME):
        return None
    if not uri.startswith(FILE_SCHEME):
        raise UsageError(f"{uri!r} is no address of an object; file:///absolute/path or s3://bucket/key would do")
    rest = uri[len(FILE_SCHEME) :].removeprefix("localhost")
    path = unquote_to_bytes(rest.encode("utf-8", _ESCAPED)).decode("utf-8", _ESCAPED)
    if not path.startswith("/") or "\0" in path:
        raise UsageError(f"{uri!r} is no absolute file URI; file:///absolute/path would do")
    return Path(path)


def is_address(path: Path) -> bool:
    """Tell whether somebody wrote an address where a local path is wanted; a path keeps one slash of s3://.

    >>> is_address(Path("s3://bucket/key")), is_address(Path("file:///tmp")), is_address(Path("a:b/c"))
    (True, True, False)
    """
    return _ADDRESS.match(str(path)) is not None


def require_local(path: Path, what: str) -> None:
    """Refuse an address where something is written to a local path, which would be a folder called file: or s3:.

    Raises:
        UsageError: `path` is one; `what` says what of the call it is.
    """
    if is_address(path):
        raise UsageError(f"{what} {str(path)!r} is an address; a path on this machine would do.")


def split_s3(uri: str) -> tuple[str, str]:
    """Return bucket and raw key of an `s3://` URI.

    Raises:
        UsageError: there is no bucket in it.
    """
    bucket, _, key = uri.removeprefix(S3_SCHEME).partition("/")
    if not bucket or not uri.startswith(S3_SCHEME):
        raise UsageError(f"{uri!r} names no bucket; s3://bucket/key would do")
    return bucket, key
