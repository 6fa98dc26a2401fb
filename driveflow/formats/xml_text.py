"""Write XML so that any text comes back as it was, or is refused before."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final
from xml.sax.saxutils import escape

from driveflow.formats.carries import plain_name
from driveflow.formats.whole_file import whole_file

# readers would turn breaks into others, or into spaces
_BREAKS: Final = {"\r": "&#13;", "\n": "&#10;", "\t": "&#9;", '"': "&quot;"}
_SPECIAL: Final = re.compile('[&<>"\r\n\t]')
_NO_LETTER: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml_name(class_name: str) -> str:
    """Return a class name without what XML has no way to spell."""
    return plain_name(_NO_LETTER.sub("_", class_name))


def is_xml(text: str) -> bool:
    """Tell whether readers of XML, who trim, see `text` as it is."""
    return bool(text) and text == text.strip() and _NO_LETTER.search(text) is None


def element(tag: str, content: object, attributes: Mapping[str, object] | None = None) -> str:
    """Return an element with text in it.

    >>> element("name", "a<b", {"id": 1})
    '<name id="1">a&lt;b</name>'
    """
    return f"{opening(tag, attributes)}{_escaped(str(content))}</{tag}>"


def opening(tag: str, attributes: Mapping[str, object] | None = None, end: str = ">") -> str:
    """Return the beginning of an element."""
    said = "".join(f' {name}="{_escaped(str(value))}"' for name, value in (attributes or {}).items())
    return f"<{tag}{said}{end}"


def _escaped(text: str) -> str:
    return escape(text, _BREAKS) if _SPECIAL.search(text) else text  # nearly always as it is, millions of times


@contextmanager
def xml_file(path: Path, root: str) -> Iterator[IO[str]]:
    """Open a document whose root element is `root`."""
    with whole_file(path) as stream:
        stream.write(f'<?xml version="1.0" encoding="utf-8"?>\n<{root}>\n')
        yield stream
        stream.write(f"</{root}>\n")
