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
        XmlError: that is no XML, it declares entities, or it is nested too deeply.
    """
    handler = _Handler()
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

    def __init__(self) -> None:
        super().__init__()
        self.root = XmlElement("", {}, 0)
        self._open: list[XmlElement] = []
        self._done: list[XmlElement] = []
        self._locator: Locator | None = None
        self._text: list[str] = []

    def take(self) -> list[XmlElement]:
        done, self._done = self._done, []
        return done

    def setDocumentLocator(self, locator: Locator) -> None:  # noqa: N802 the name SAX gives it
        self._locator = locator

    def startElement(self, name: str, attrs: AttributesImpl) -> None:  # noqa: N802 the name SAX gives it
        self._keep_text()
        line = (self._locator.getLineNumber() if self._locator else None) or 0
        if len(self._open) >= _MAX_DEPTH:
            raise XmlError(f"elements are nested more than {_MAX_DEPTH} deep", line)
        element = XmlElement(name, dict(attrs.items()), line)
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

    def characters(self, content: str) -> None:
        self._text.append(content)

    def _keep_text(self) -> None:
        text = "".join(self._text).strip()
        self._text.clear()
        if self._open and text and not self._open[-1].children:
            self._open[-1].text += text
