"""Decode the text files that people and spreadsheets write."""

import codecs

_LONGEST = 4  # bytes of a character


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
