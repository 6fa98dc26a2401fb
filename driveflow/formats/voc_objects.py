"""Read what a VOC object says beside its box."""

from collections.abc import Mapping
from typing import Final

from driveflow.canonical import Json
from driveflow.formats.xml_tree import XmlElement

_YES_OR_NO: Final = frozenset(["truncated", "difficult", "occluded"])
_SAYS_NOTHING: Final = frozenset(["", "unspecified", "unknown"])


def attributes_of(element: XmlElement) -> Mapping[str, Json]:
    """Return what else the object says: parts and 3D shapes are no boxes of their own and are left out."""
    found: dict[str, Json] = {}
    for child in element.children:
        value = child.text
        if child.tag == "attributes":  # as CVAT writes them
            found.update({name: text for name, text in listed(child) if name})
        elif child.tag == "actions":
            found["actions"] = [action.tag for action in child.children if action.text == "1"]
        elif child.children or child.tag == "name" or value.lower() in _SAYS_NOTHING:
            continue
        elif child.tag in _YES_OR_NO:
            found[child.tag] = _yes_or_share(value)
        else:
            found["track_id" if child.tag == "trackid" else child.tag] = value
    return found


def listed(attributes: XmlElement | None) -> list[tuple[str, str]]:
    """Return the names and values of attributes as CVAT writes them."""
    entries = attributes.all("attribute") if attributes else ()
    return [(entry.text_at("name"), entry.text_at("value")) for entry in entries]


def _yes_or_share(value: str) -> bool | float:
    try:
        number = float(value)
    except ValueError:
        return value.lower() in {"true", "yes"}
    return number if 0 < number < 1 else bool(number)
