"""Read the labeling configuration of a Label Studio project that lies beside its export."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from driveflow.formats.path_index import folder_of
from driveflow.formats.sniff import Sniffer
from driveflow.formats.xml_tree import XmlElement, XmlError, read_xml

_BOX_CONTROLS: Final = frozenset(["RectangleLabels", "EllipseLabels", "PolygonLabels", "Labels"])


@dataclass(frozen=True, slots=True)
class LabelConfig:
    """The file, the data behind each picture of the page, and the classes for which shapes can be drawn."""

    path: str = ""
    images: Mapping[str, str] = field(default_factory=dict)  # name of the object tag -> key of the task's data
    classes: tuple[str, ...] = ()


def config_of(sniffer: Sniffer, label_file: str) -> LabelConfig:
    """Return the configuration in the folder of `label_file` or above it; an empty one where there is none, or two."""
    home = folder_of(label_file)
    for folder in (home, folder_of(home)):
        found = [
            path for path in sniffer.ending_in(".xml") if folder_of(path) == folder and sniffer.xml_root(path) == "View"
        ]
        if found:
            return _read(sniffer, found[0]) if len(found) == 1 else LabelConfig()
    return LabelConfig()


def _read(sniffer: Sniffer, path: str) -> LabelConfig:
    try:
        root = read_xml(sniffer.read(path))
    except XmlError:
        return LabelConfig()
    elements = list(_all(root))
    images = {
        element.attributes["name"]: element.attributes.get("value", "").removeprefix("$")
        for element in elements
        if element.tag == "Image" and "name" in element.attributes
    }
    classes = [
        label.attributes.get("alias") or label.attributes.get("value", "")
        for element in elements
        if element.tag in _BOX_CONTROLS and element.attributes.get("toName") in images
        for label in element.all("Label")
    ]
    return LabelConfig(path, images, tuple(dict.fromkeys(filter(None, classes))))


def _all(element: XmlElement) -> Iterator[XmlElement]:
    yield element
    for child in element.children:
        yield from _all(child)
