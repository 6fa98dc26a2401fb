"""Read objects from S3 by a client that leaves the interpreter free meanwhile: many reads at once, one thread each."""

import ctypes
import functools
import os
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from driveflow.errors import NotFoundError
from driveflow.storage.retry import TransientError
from driveflow.storage.s3_client import SETTINGS, error_of
from driveflow.storage.uris import split_s3

if TYPE_CHECKING:
    from obstore.store import S3Store

_CODE: Final = re.compile(r"<Code>(\w+)</Code>")
_STATUS: Final = re.compile(r"status code: (\d{3})")
_PATIENCE: Final = "DRIVEFLOW_S3_PATIENCE_S"  # silence of so many seconds while a body is read is a failed attempt
_PATIENCE_S: Final = 60.0
_WHOLE_TIMEOUT: Final = timedelta(hours=1)
_CONNECT_TIMEOUT: Final = timedelta(seconds=10)
_MMAP_THRESHOLD: Final = (-3, 2 << 20)  # options of mallopt(3) and bytes; larger than most pictures
_TRIM_THRESHOLD: Final = (-1, 16 << 20)


class NotReadableHereError(Exception):
    """Raised where this client is of no use: a key it cannot spell, no credentials, a process forked from its user."""


class _Owner:
    """The process that used the client first: its threads do not live in processes forked from it."""

    pid: int | None = None


def read_object(uri: str, offset: int = 0, length: int | None = None) -> bytes:
    """Return `length` bytes of the object from `offset` on, or all that follow; one attempt.

    Raises:
        NotReadableHereError: another client has to read it.
        TransientError: another attempt may do better.
        RangeNotSatisfiableError: the object ends before `offset`.
        NotFoundError, StorageError: what is wrong stays wrong.
    """
    import obstore
    from obstore.exceptions import BaseError, InvalidPathError

    if _Owner.pid not in {None, os.getpid()}:
        raise NotReadableHereError
    _Owner.pid = os.getpid()
    bucket, key = split_s3(uri)
    if key != key.strip("/") or "//" in key:
        raise NotReadableHereError
    store = _store(bucket, tuple(os.environ.get(name, "") for name in (*SETTINGS, _PATIENCE)))
    try:
        if length is not None:
            return obstore.get(store, key, options={"range": (offset, offset + length)}).bytes().to_bytes()
        if offset:
            return obstore.get(store, key, options={"range": {"offset": offset}}).bytes().to_bytes()
        return obstore.get(store, key).bytes().to_bytes()
    except InvalidPathError as error:
        raise NotReadableHereError from error
    except FileNotFoundError as error:
        raise NotFoundError(f"Cannot read {uri}: it does not exist") from error
    except (BaseError, PermissionError, ValueError, OSError) as error:
        raise _meaning(str(error), uri) from error


@functools.lru_cache(maxsize=8)
def _store(bucket: str, _settings: tuple[str, ...]) -> "S3Store":
    import boto3
    from obstore.auth.boto3 import Boto3CredentialProvider
    from obstore.store import S3Store

    _keep_freed_memory()
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    session = boto3.session.Session()
    if session.get_credentials() is None:
        raise NotReadableHereError  # the other client says what is missing
    return S3Store(
        bucket,
        config={
            "region": os.environ.get("AWS_REGION") or session.region_name or "us-east-1",
            "virtual_hosted_style_request": endpoint is None,
            **({"endpoint": endpoint} if endpoint else {}),
        },
        client_options={
            "allow_http": True,
            "connect_timeout": _CONNECT_TIMEOUT,
            "read_timeout": timedelta(seconds=float(os.environ.get(_PATIENCE) or _PATIENCE_S)),
            "timeout": _WHOLE_TIMEOUT,
        },
        retry_config={"max_retries": 0, "retry_timeout": timedelta(0)},  # retries are ours: driveflow/storage/retry.py
        credential_provider=Boto3CredentialProvider(session),
    )


def _keep_freed_memory() -> None:
    """Let glibc keep the memory of an object for the next one: pages that are asked for anew cost more than the copy.

    A thread keeps at most what it had in use, and no more than 16 MiB; other C libraries stay as they are.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for option, limit_bytes in (_MMAP_THRESHOLD, _TRIM_THRESHOLD):
            mallopt(option, limit_bytes)


def _meaning(text: str, uri: str) -> Exception:
    """Return what the client's words mean; it gives the status of an answer as text only."""
    code = found[1] if (found := _CODE.search(text)) else ""
    status = int(found[1]) if (found := _STATUS.search(text)) else 0
    if not status:
        return TransientError(f"Cannot read {uri}: {text.partition('Debug source')[0].strip()}")
    return error_of(status, code, "", f"Cannot read {uri}: the store answered {status} {code}")
