"""The S3 client of this process, and what its errors mean."""

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from driveflow.errors import NotFoundError, StorageError, StorageFullError
from driveflow.storage.retry import TransientError

if TYPE_CHECKING:
    from botocore.exceptions import ClientError
    from mypy_boto3_s3 import S3Client

_TRANSIENT_STATUS = frozenset({408, 409, 429, 500, 502, 503, 504})  # 409: two conditional writes at one moment
_TRANSIENT_CODES = frozenset(
    {
        "SlowDown",
        "RequestTimeout",
        "InternalError",
        "ServiceUnavailable",
        "Throttling",
        "ThrottlingException",
        "TooManyRequests",
    }
)
_ABSENT_CODES = frozenset({"404", "NoSuchKey", "NoSuchBucket", "NotFound"})
_FULL_CODES = frozenset({"QuotaExceeded", "InsufficientStorage", "XMinioStorageFull", "InsufficientCapacity", "507"})
SETTINGS = (
    *("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"),
    *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
)


class PreconditionFailedError(Exception):
    """Raised where the condition of a conditional request does not hold."""


class RangeNotSatisfiableError(Exception):
    """Raised where a range begins at the end of the object or after it."""


def s3_client() -> "S3Client":
    """Return the client of this process for the current AWS_* environment; it may be shared by threads."""
    return _made(os.getpid(), tuple(os.environ.get(name, "") for name in SETTINGS))


@functools.lru_cache(maxsize=8)
def _made(_pid: int, _settings: tuple[str, ...]) -> "S3Client":
    import boto3
    from botocore.config import Config

    # The region only signs requests where the endpoint is our own; botocore asks for one all the same.
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or None
    own_endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    config = Config(
        retries={"total_max_attempts": 1, "mode": "standard"},  # retries are ours: driveflow/storage/retry.py
        connect_timeout=10,
        read_timeout=60,
        max_pool_connections=64,
        region_name=region or ("us-east-1" if own_endpoint else None),
    )
    return boto3.session.Session().client("s3", config=config)


@contextmanager
def explained(verb: str, uri: str) -> Iterator[None]:
    """Turn what the client raises into our errors; a retry catches TransientError."""
    from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
    from botocore.exceptions import ConnectionError as BotoConnectionError
    from urllib3.exceptions import HTTPError as BodyError  # botocore lets it through while a body is read

    try:
        yield
    except ClientError as error:
        raise _meaning(error, verb, uri) from error
    except (HTTPClientError, BotoConnectionError, BodyError, OSError) as error:
        raise TransientError(f"Cannot {verb} {uri}: {type(error).__name__}: {error}") from error
    except BotoCoreError as error:
        raise StorageError(
            f"Cannot {verb} {uri}: {error}; the AWS_* environment says how to reach the store"
        ) from error


def _meaning(error: "ClientError", verb: str, uri: str) -> Exception:
    code = str(error.response.get("Error", {}).get("Code", ""))
    status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    message = str(error.response.get("Error", {}).get("Message", ""))
    return error_of(status, code, message, f"Cannot {verb} {uri}: the store answered {status} {code}")


def error_of(status: int, code: str, message: str, said: str) -> Exception:
    """Return the error that an answer of this HTTP status and S3 error code means; `said` is how it begins."""
    if code in _FULL_CODES or status == 507:
        return StorageFullError(f"{said}: no space left there")
    if code in _TRANSIENT_CODES or status in _TRANSIENT_STATUS:
        return TransientError(said)
    if code in _ABSENT_CODES or status == 404:
        return NotFoundError(f"{said}: it does not exist")
    if status == 412:
        return PreconditionFailedError(said)
    if status == 416:
        return RangeNotSatisfiableError(said)
    return StorageError(f"{said}: {message}" if message else said)
