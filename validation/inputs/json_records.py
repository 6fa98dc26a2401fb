"""Read the records of a JSON list piece by piece, typed, so that a file of any size needs little memory."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Generic, TypeVar

import msgspec

from driveflow.errors import InvalidInputError
from driveflow.progress import Progress
from validation.inputs.plain_records import Layout, PlainColumns, read_plain

_PIECE_BYTES: Final = 1 << 20
_TRIES: Final = 8
_LONGEST: Final = 1 << 26  # bytes of one record
_MARKS: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"|["{}]', re.DOTALL)  # texts whole, so that their braces are none
_NOT_FINITE: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"|(NaN|Infinity)', re.DOTALL)
_HALVES: Final = re.compile(  # escapes in texts; the group is half of a pair that stands alone
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.", re.DOTALL
)
Record = TypeVar("Record", bound=msgspec.Struct)


class RecordReader(Generic[Record]):
    """Reads one file that is a JSON list of records of one kind; owns how far it is."""

    def __init__(self, path: Path, kind: type[Record], layout: Layout, progress: Progress) -> None:
        """Start before the beginning of `path`; records of `layout` are a `kind` too, and are read at once."""
        self._path = path
        self._layout = layout
        self._kind = kind
        self._progress = progress
        self._decoder = msgspec.json.Decoder(list[kind])  # type: ignore[valid-type]
        self._line = 1
        self._records = 0

    def __iter__(self) -> Iterator[PlainColumns | list[Record]]:
        """Yield the records in pieces, in order: those of the layout as columns, others one by one.

        Raises:
            InvalidInputError: the file is no list of such records; the message names file and line.
        """
        total, done = self._path.stat().st_size, 0
        with self._path.open("rb") as stream:
            rest = self._begin(stream.read(_PIECE_BYTES))
            while True:
                columns, rest = self._take_plain(rest)
                if len(columns):
                    yield columns
                records, rest = self._take(rest)
                if records:
                    yield records
                piece = stream.read(_PIECE_BYTES)
                done += len(piece)
                self._progress(done, total, self._path.name)
                if not piece:
                    break
                rest += piece
        self._end(self._skipped(rest))

    def _begin(self, head: bytes) -> bytes:
        """Return what comes after the bracket that opens the list."""
        text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
        self._line += head[: len(head) - len(text)].count(b"\n")
        if not text.startswith(b"["):
            raise InvalidInputError(f"{self._path}: no JSON list; a list of results starts with '['.")
        return text[1:]

    def _end(self, rest: bytes) -> None:
        """Refuse what is left where that is more than the bracket that closes the list."""
        if rest.strip() == b"]":
            return
        if rest.startswith(b"]"):
            raise InvalidInputError(
                f"{self._path}:{self._line}: the list ends here, and more follows; join lists to one."
            )
        if rest.strip().endswith(b"]"):
            raise self._error(self._after_comma(rest).strip().removesuffix(b"]"))
        raise InvalidInputError(f"{self._path}:{self._line}: the list is cut short: it does not end with ']'.")

    def _take_plain(self, data: bytes) -> tuple[PlainColumns, bytes]:
        """Return the records of the layout that `data` begins with, and the rest of it."""
        columns, end = read_plain(data, self._layout, comma=self._records > 0)
        self._line += data.count(b"\n", 0, end)
        self._records += len(columns)
        return columns, data[end:]

    def _take(self, data: bytes) -> tuple[list[Record], bytes]:
        """Return the records that end in `data`, and the rest of it."""
        if self._records and data.lstrip().startswith(b"]"):
            return [], data
        body = self._after_comma(data)
        for cut in _ends(body):
            try:
                records = self._decoder.decode(b"[" + body[:cut] + b"]")
            except msgspec.ValidationError:
                self._line += data.count(b"\n", 0, len(data) - len(body))
                raise self._error(body[:cut]) from None
            except (msgspec.DecodeError, RecursionError):
                continue  # the brace was one inside a record, or inside a text
            rest = body[cut:]
            self._line += data.count(b"\n", 0, len(data) - len(rest))
            self._records += len(records)
            return records, rest
        if len(body) < _LONGEST and _may_go_on(body):
            return [], data
        self._line += data.count(b"\n", 0, len(data) - len(body))
        raise self._error(body)

    def _after_comma(self, data: bytes) -> bytes:
        """Return what comes after the comma that parts two records."""
        text = data.lstrip() if self._records else data
        if self._records and text[:1] not in {b"", b","}:
            self._skipped(data)
            raise InvalidInputError(f"{self._path}:{self._line}: no comma before entry {self._records} of the list.")
        return text.removeprefix(b",") if self._records else text

    def _skipped(self, data: bytes) -> bytes:
        text = data.lstrip()
        self._line += data[: len(data) - len(text)].count(b"\n")
        return text

    def _error(self, data: bytes) -> InvalidInputError:
        """Say which record of `data` is wrong, and in which line it is."""
        at, number = 0, self._records
        try:
            for raw in msgspec.json.decode(b"[" + data + b"]", type=list[msgspec.Raw]):
                text = bytes(raw)
                at = data.find(text, at)
                try:
                    msgspec.json.decode(text, type=self._kind)
                except msgspec.ValidationError as error:
                    line = self._line + data[:at].count(b"\n")
                    return InvalidInputError(f"{self._path}:{line}: entry {number} of the list: {error}.")
                at, number = at + len(text), number + 1
        except (msgspec.DecodeError, RecursionError) as error:
            return syntax_error(self._path, data, self._line, error)
        return InvalidInputError(f"{self._path}:{self._line}: no list of records, one comma between two.")


def _ends(body: bytes) -> Iterator[int]:
    """Yield where the last whole record of `body` may end: behind its last braces, then where they are all closed."""
    cut = len(body)
    for _ in range(_TRIES):
        cut = body.rfind(b"}", 0, cut)
        if cut < 0:
            return
        yield cut + 1
    depth, end = 0, 0
    for mark in _MARKS.finditer(body):
        kind = mark[0]
        if kind == b'"':
            break  # a text that is cut off
        depth += (kind == b"{") - (kind == b"}")
        end = mark.end() if kind == b"}" and not depth else end
    if end:
        yield end


def _may_go_on(body: bytes) -> bool:
    """Tell whether `body` is the beginning of records and only cut off."""
    try:
        msgspec.json.decode(b"[" + body[: body.rfind(b"}") + 1], type=list[msgspec.Raw])
    except (msgspec.DecodeError, RecursionError) as error:
        return "truncated" in str(error)
    return True


def syntax_error(path: Path, data: bytes, line: int, error: Exception) -> InvalidInputError:
    """Return the error of JSON in `data`, which begins in `line`."""
    odd = next((mark for mark in _NOT_FINITE.finditer(data) if mark[1]), None)
    half = next((mark for mark in _HALVES.finditer(data) if mark[1]), None)
    if odd is not None:
        at, what = odd.start(), "a number is NaN or infinite, which no evaluator may count"
    elif half is not None:
        at, what = half.start(), f"a text holds {half[0].decode()}, half of a character; \\ufffd in its place would do"
    else:
        position = str(error).rpartition("(byte ")[2].rstrip(")")
        at, what = int(position) if position.isdigit() else len(data) * ("truncated" in str(error)), str(error)
    return InvalidInputError(f"{path}:{line + data[:at].count(bytes([10]))}: {what}.")
