"""Objects on S3, with retries of our own around every request."""

import secrets
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from driveflow.errors import InvalidInputError, NotFoundError, StorageError
from driveflow.storage import local
from driveflow.storage.retry import RetriesSpentError, RetryPolicy, TransientError
from driveflow.storage.s3_client import PreconditionFailedError, RangeNotSatisfiableError, explained, s3_client
from driveflow.storage.s3_reader import NotReadableHereError, read_object
from driveflow.storage.uris import ObjectInfo, split_s3

if TYPE_CHECKING:
    from mypy_boto3_s3.type_defs import (
        CompletedMultipartUploadTypeDef,
        CompletedPartTypeDef,
        ListObjectsV2OutputTypeDef,
    )

T = TypeVar("T")
_PIECE_BYTES = 16 << 20
_MOST_PARTS = 9_000  # S3 allows 10,000
_WRITER = "driveflow-writer"  # metadata that tells whose conditional write it was that won


def _address(uri: str) -> tuple[str, str]:
    bucket, key = split_s3(uri)
    try:
        key.encode()
    except UnicodeEncodeError as error:
        raise InvalidInputError(f"{uri!r} is no S3 key: keys are UTF-8, and this name is not") from error
    return bucket, key


def _read_once(uri: str, offset: int, length: int | None) -> bytes:
    """Read by the fast client, or by the other where that cannot."""
    _address(uri)
    try:
        return read_object(uri, offset, length)
    except NotReadableHereError:
        pass
    wanted = "" if length is None else str(offset + length - 1)
    whole = offset == 0 and length is None
    with explained("read", uri):
        return _get(uri, "" if whole else f"bytes={offset}-{wanted}")


def _get(uri: str, wanted: str, version: str = "") -> bytes:
    bucket, key = _address(uri)
    if version:
        answer = s3_client().get_object(Bucket=bucket, Key=key, Range=wanted, IfMatch=f'"{version}"')
    elif wanted:
        answer = s3_client().get_object(Bucket=bucket, Key=key, Range=wanted)
    else:
        answer = s3_client().get_object(Bucket=bucket, Key=key)
    with answer["Body"] as body:
        data = body.read()
    if len(data) != answer["ContentLength"]:
        raise TransientError(f"{uri} ended after {len(data)} of {answer['ContentLength']} bytes")
    return data


@dataclass(frozen=True, slots=True)
class S3Backend:
    """One policy of retries; endpoint and keys come from the AWS_* environment."""

    policy: RetryPolicy = field(default_factory=RetryPolicy)

    def read_bytes(self, uri: str, offset: int = 0, length: int | None = None) -> bytes:
        """Return `length` bytes from `offset` on, or all that follow."""
        if length == 0:
            self._head(uri)
            return b""
        try:
            return self.policy.call(lambda: _read_once(uri, offset, length))
        except RetriesSpentError as error:
            raise StorageError(str(error)) from error
        except RangeNotSatisfiableError:
            return b""

    def write_bytes(self, uri: str, data: bytes, *, if_absent: bool = False) -> bool:
        """Write `data`; False where `if_absent` and something was there."""
        bucket, key = _address(uri)
        client = s3_client()
        if not if_absent:
            self._call("write", uri, lambda: client.put_object(Bucket=bucket, Key=key, Body=data))
            return True
        writer = {_WRITER: secrets.token_hex(16)}
        try:
            self._call(
                "write",
                uri,
                lambda: client.put_object(Bucket=bucket, Key=key, Body=data, IfNoneMatch="*", Metadata=writer),
            )
        except PreconditionFailedError:  # an attempt of ours may have won, and its answer been lost
            there = self._call("look at", uri, lambda: client.head_object(Bucket=bucket, Key=key)["Metadata"])
            return there.get(_WRITER) == writer[_WRITER]
        return True

    def stat(self, uri: str) -> ObjectInfo | None:
        """Return what lies at `uri`, None where that is nothing."""
        try:
            return self._head(uri)
        except NotFoundError:
            return None

    def list_objects(self, uri: str) -> Iterator[ObjectInfo]:
        """Yield every object under the folder `uri`, sorted by path."""
        bucket, folder = _address(uri)
        prefix = f"{folder.rstrip('/')}/" if folder.rstrip("/") else ""
        found = [
            ObjectInfo(
                f"s3://{bucket}/{item['Key']}", item["Key"][len(prefix) :], item["Size"], item["ETag"].strip('"')
            )
            for page in self._pages(bucket, prefix)
            for item in page.get("Contents", [])
            if not item["Key"].endswith("/")  # a marker that stands for a folder
        ]
        yield from sorted(found, key=lambda info: info.path)  # servers differ in where "/" sorts

    def list_skipped(self, uri: str) -> tuple[tuple[str, str], ...]:
        """Return nothing: S3 holds objects only."""
        _address(uri)
        return ()

    def delete(self, uri: str) -> None:
        """Remove the object; absent is fine."""
        bucket, key = _address(uri)
        try:
            self._call("delete", uri, lambda: s3_client().delete_object(Bucket=bucket, Key=key))
        except NotFoundError:
            return

    def put_file(self, path: Path, uri: str) -> None:
        """Copy a local file to `uri`, in parts where it is large."""
        try:
            with path.open("rb") as file:
                size = path.stat().st_size
                if size <= _PIECE_BYTES:
                    self.write_bytes(uri, file.read())
                else:
                    self._put_parts(file, uri, max(_PIECE_BYTES, -(-size // _MOST_PARTS)))
        except FileNotFoundError as error:
            raise NotFoundError(f"There is no file {path}") from error
        except OSError as error:
            raise StorageError(f"Cannot copy {path} to {uri}: {error.strerror or error}") from error

    def fetch_file(self, uri: str, path: Path) -> None:
        """Copy the object at `uri` to a local file."""
        info = self._head(uri)
        with local.told("copy", f"{uri} to {path}"):
            local.write_atomically(path, lambda file: self._fill(file, info))

    def _fill(self, file: BinaryIO, info: ObjectInfo) -> None:
        for offset in range(0, info.size, _PIECE_BYTES):
            wanted = f"bytes={offset}-{min(info.size, offset + _PIECE_BYTES) - 1}"
            try:
                file.write(self._call("read", info.uri, partial(_get, info.uri, wanted, info.version)))
            except (PreconditionFailedError, RangeNotSatisfiableError) as error:
                raise StorageError(f"{info.uri} changed while it was read") from error

    def _head(self, uri: str) -> ObjectInfo:
        bucket, key = _address(uri)
        found = self._call("look at", uri, lambda: s3_client().head_object(Bucket=bucket, Key=key))
        return ObjectInfo(uri, key.rsplit("/", 1)[-1], found["ContentLength"], found["ETag"].strip('"'))

    def _pages(self, bucket: str, prefix: str) -> "Iterator[ListObjectsV2OutputTypeDef]":
        client, uri, token = s3_client(), f"s3://{bucket}/{prefix}", ""
        while True:
            list_page = partial(client.list_objects_v2, Bucket=bucket, Prefix=prefix)
            page = self._call("list", uri, partial(list_page, ContinuationToken=token) if token else list_page)
            yield page
            token = page.get("NextContinuationToken", "")
            if not page["IsTruncated"] or not token:
                return

    def _put_parts(self, file: BinaryIO, uri: str, part_bytes: int) -> None:
        bucket, key = _address(uri)
        client = s3_client()
        upload = self._call("write", uri, lambda: client.create_multipart_upload(Bucket=bucket, Key=key))["UploadId"]
        try:
            parts = self._upload_parts(file, uri, upload, part_bytes)
            self._complete(uri, upload, parts, file.tell())
        except BaseException:  # parts of an upload that nobody completes cost money for ever
            with suppress(Exception):  # what went wrong first is what is told
                client.abort_multipart_upload(Bucket=bucket, Key=key, UploadId=upload)
            raise

    def _complete(self, uri: str, upload: str, parts: "list[CompletedPartTypeDef]", size: int) -> None:
        bucket, key = _address(uri)
        whole: CompletedMultipartUploadTypeDef = {"Parts": parts}
        work = partial(s3_client().complete_multipart_upload, Bucket=bucket, Key=key, UploadId=upload)
        try:
            self._call("write", uri, lambda: work(MultipartUpload=whole))
        except NotFoundError:  # no such upload: an attempt of ours may have completed it, and its answer been lost
            found = self.stat(uri)
            if found is None or found.size != size:
                raise

    def _upload_parts(self, file: BinaryIO, uri: str, upload: str, part_bytes: int) -> "list[CompletedPartTypeDef]":
        bucket, key = _address(uri)
        client = s3_client()
        parts: list[CompletedPartTypeDef] = []
        while data := file.read(part_bytes):
            number = len(parts) + 1
            part = partial(client.upload_part, Bucket=bucket, Key=key, UploadId=upload, PartNumber=number, Body=data)
            answer = self._call("write", uri, part)
            parts.append({"ETag": answer["ETag"], "PartNumber": number})
        return parts

    def _call(self, verb: str, uri: str, work: Callable[[], T]) -> T:
        def attempt() -> T:
            with explained(verb, uri):
                return work()

        try:
            return self.policy.call(attempt)
        except RetriesSpentError as error:
            raise StorageError(str(error)) from error
