"""Read XML piece by piece, with line numbers and without entities."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final
from xml.sax import SAXParseException
from xml.sax.handler import ContentHandler
from xml.sax.xmlreader import AttributesImpl, Locator

from defusedxml import DefusedXmlException
from defusedxml.sax import make_parser

_CHUNK_BYTES: Final = 64 << 10
_MAX_DEPTH: Final = 100
_MAX_TAG_BYTES: Final = 16 << 20  # of one tag or comment, which is in memory as a whole
_MAX_HELD_BYTES: Final = 256 << 20  # of the elements that are in memory at one time
_ELEMENT_BYTES, _ATTRIBUTE_BYTES, _TEXT_BYTES = 210, 100, 50  # what each takes, measured


class XmlError(ValueError):
    """What makes a file no XML that can be read; `line` is where, if that is known."""

    def __init__(self, detail: str, line: int | None) -> None:
        """Keep what is wrong and the line."""
        super().__init__(detail)
        self.line = line


@dataclass(slots=True)
class XmlElement:
    """One element with all that is in it; whoever reads it does not change it."""

    tag: str
    attributes: dict[str, str]
    line: int
    text: str = ""  # before its first child, without white space around it
    children: list["XmlElement"] = field(default_factory=list)

    def all(self, *tags: str) -> list["XmlElement"]:
        """Return the children called one of `tags`, in order."""
        return [child for child in self.children if child.tag in tags]

    def find(self, *path: str) -> "XmlElement | None":
        """Return the first element at `path` below this one."""
        found: XmlElement | None = self
        for tag in path:
            found = next(iter(found.all(tag)), None) if found else None
        return found

    def text_at(self, *path: str) -> str:
        """Return the text of the first element at `path`, empty where there is none."""
        found = self.find(*path)
        return found.text if found else ""


def read_xml(data: bytes) -> XmlElement:
    """Return the root of a small document with everything in it.

    Raises:
        XmlError: that is no XML, it declares entities, it is nested too deeply or takes more than 256 MiB of memory.
    """
    handler = _Handler(keeps_all=True)
    for _ in _feed(data, handler):
        pass
    handler.root.children = handler.take()
    return handler.root


def iter_xml(data: bytes) -> Iterator[XmlElement]:
    """Yield the children of the root as they are read; memory is that of the largest.

    Raises:
        XmlError: as `read_xml`, after the children before that spot.
    """
    handler = _Handler()
    for _ in _feed(data, handler):
        yield from handler.take()


def _feed(data: bytes, handler: "_Handler") -> Iterator[None]:
    parser = make_parser()
    parser.setContentHandler(handler)
    handler.setDocumentLocator(parser)
    try:
        parser.feed(b"")
        for start in range(0, len(data), _CHUNK_BYTES):
            parser.feed(data[start : start + _CHUNK_BYTES])
            handler.check_progress(start)
            yield
        parser.close()
    except SAXParseException as error:
        yield
        raise XmlError(f"no XML: {error.getMessage()}"[:200], error.getLineNumber()) from None
    except DefusedXmlException as error:
        raise XmlError(f"refused: {error}"[:200], None) from None
    except XmlError:
        raise
    except (LookupError, ValueError) as error:
        raise XmlError(f"no text in a known encoding: {error}"[:200], None) from None
    yield


class _Handler(ContentHandler):
    """Builds elements; those directly below the root are handed out by `take`."""

    def __init__(self, *, keeps_all: bool = False) -> None:
        super().__init__()
        self.root = XmlElement("", {}, 0)
        self._open: list[XmlElement] = []
        self._done: list[XmlElement] = []
        self._locator: Locator | None = None
        self._text: list[str] = []
        self._keeps_all = keeps_all
        self._held_bytes = 0  # of the elements, and of the text that no element has yet
        self._text_bytes = 0
        self._moved = False  # something was read since the last look
        self._moved_at = 0

    def check_progress(self, at: int) -> None:
        """Refuse a tag that does not end: the parser keeps all of it; `at` is how far the file is read."""
        if self._moved:
            self._moved, self._moved_at = False, at
        elif at - self._moved_at > _MAX_TAG_BYTES:
            raise XmlError(f"a tag or comment is longer than {_MAX_TAG_BYTES >> 20} MiB", self._line())

    def take(self) -> list[XmlElement]:
        done, self._done = self._done, []
        return done

    def setDocumentLocator(self, locator: Locator) -> None:  # noqa: N802 the name SAX gives it
        self._locator = locator

    def startElement(self, name: str, attrs: AttributesImpl) -> None:  # noqa: N802 the name SAX gives it
        self._keep_text()
        line = self._line()
        if len(self._open) >= _MAX_DEPTH:
            raise XmlError(f"elements are nested more than {_MAX_DEPTH} deep", line)
        element = XmlElement(name, dict(attrs.items()), line)
        self._weigh(_ELEMENT_BYTES + sum(_ATTRIBUTE_BYTES + len(text) for text in element.attributes.values()))
        if not self._open:
            self.root = element
        elif len(self._open) > 1:
            self._open[-1].children.append(element)
        self._open.append(element)

    def endElement(self, name: str) -> None:  # noqa: ARG002, N802 the name SAX gives it
        self._keep_text()
        element = self._open.pop()
        if len(self._open) == 1:
            self._done.append(element)
            self._held_bytes = self._held_bytes if self._keeps_all else 0

    def characters(self, content: str) -> None:
        self._moved = True
        self._text.append(content)
        self._text_bytes += _TEXT_BYTES + len(content)
        if self._text_bytes > _MAX_TAG_BYTES:
            self._weigh(0)

    def _keep_text(self) -> None:
        text = "".join(self._text).strip()
        self._text.clear()
        self._text_bytes = 0
        if self._open and text and not self._open[-1].children:
            self._open[-1].text += text
            self._weigh(_TEXT_BYTES + len(text))

    def _weigh(self, more_bytes: int) -> None:
        self._moved = True
        self._held_bytes += more_bytes
        if self._held_bytes + self._text_bytes > _MAX_HELD_BYTES:
            what = f"<{self._open[1].tag}>" if len(self._open) > 1 and not self._keeps_all else "it"
            limit = f"{_MAX_HELD_BYTES >> 20} MiB of memory, more than a picture or a track has"
            raise XmlError(f"{what} takes more than {limit}", self._line())

    def _line(self) -> int:
        return (self._locator.getLineNumber() if self._locator else None) or 0
