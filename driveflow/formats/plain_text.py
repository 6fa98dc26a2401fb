"""Decode the text files that people and spreadsheets write."""

import codecs
import io
from collections.abc import Iterator
from typing import Final, TextIO

_LONGEST = 4  # bytes of a character
_LONGEST_LINE: Final = 1 << 20  # characters; of 10,000 points a polygon has a tenth of that
_CHUNK_BYTES: Final = 1 << 20
_MARK: Final = codecs.BOM_UTF8
TOO_LONG: Final = "(line of more than 1 MiB)"
"""What stands for a line that no label has: the file may be one such line, which is not held in memory."""


def plain_text(data: bytes, *, is_head: bool = False) -> tuple[str, str]:
    r"""Return the text, and what it was taken for where that is not UTF-8, with or without its mark.

    Spreadsheets on Windows write UTF-16 with its mark or Windows-1252, in which every byte is some letter, so that no
    two names become one. Of a file of which `data` is the head alone, the last character may be cut.

    >>> plain_text(b"\xef\xbb\xbfcar"), plain_text(b"f\xfcr"), plain_text("für".encode())
    (('car', ''), ('für', 'Windows-1252'), ('für', ''))
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace"), "UTF-16"
    try:
        return data.decode("utf-8-sig"), ""
    except UnicodeDecodeError as error:
        if is_head and error.start >= len(data) - _LONGEST and error.reason == "unexpected end of data":
            return data.decode("utf-8-sig", "replace"), ""
    return data.decode("cp1252", "backslashreplace"), "Windows-1252"  # five bytes have no letter


def open_plain_text(data: bytes) -> tuple[TextIO, str]:
    """Open the text that `plain_text` returns some of it at a time, with its line ends as they are."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return open_text(data, "utf-16", newline=""), "UTF-16"
    if bad_byte(data) is None:
        return open_text(data, newline=""), ""
    return open_text(data, "cp1252", "backslashreplace", newline=""), "Windows-1252"


def open_text(data: bytes, encoding: str = "utf-8-sig", errors: str = "replace", newline: str | None = None) -> TextIO:
    """Open bytes as text that is decoded some of it at a time; line ends as `open` has them."""
    return io.TextIOWrapper(io.BytesIO(data), encoding=encoding, errors=errors, newline=newline)


def text_lines(data: bytes) -> Iterator[tuple[int, str]]:
    r"""Yield the lines of UTF-8 text with their numbers, whatever ends them; `TOO_LONG` for one that is.

    >>> list(text_lines(b"\xef\xbb\xbfa\r\n\nb"))
    [(1, 'a\n'), (2, '\n'), (3, 'b')]
    """
    stream = open_text(data)
    number = 0
    while line := stream.readline(_LONGEST_LINE):
        number += 1
        if len(line) < _LONGEST_LINE or line.endswith("\n"):
            yield number, line
            continue
        while (rest := stream.readline(_LONGEST_LINE)) and not rest.endswith("\n"):
            pass
        yield number, TOO_LONG


def lines_in(data: bytes) -> int:
    """Return how many lines hold more than white space."""
    return sum(not line.isspace() for _, line in text_lines(data))


def bad_byte(data: bytes) -> int | None:
    r"""Return where `data`, after its mark, is no UTF-8; None where all of it is.

    >>> bad_byte("für".encode()), bad_byte(b"f\xfcr")
    (None, 1)
    """
    body = memoryview(data)[len(_MARK) if data.startswith(_MARK) else 0 :]
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, max(len(body), 1), _CHUNK_BYTES):
        some = body[start : start + _CHUNK_BYTES]
        try:
            decoder.decode(some, start + _CHUNK_BYTES >= len(body))
        except UnicodeDecodeError as error:
            return start + len(some) - len(error.object) + error.start
    return None
