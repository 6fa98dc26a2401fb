"""Read from the XMP of a picture where it was taken, as drones and editors write it that leave EXIF without a place."""

import re
from collections.abc import Iterator
from typing import Final

from PIL import Image

from driveflow.formats.xml_tree import XmlElement, XmlError, read_xml

_MAX_BYTES: Final = 1 << 20
_LATITUDE: Final = frozenset(["gpslatitude"])
_LONGITUDE: Final = frozenset(["gpslongitude", "gpslongtitude"])  # the second is how DJI spelt it
_PARTS: Final = re.compile(r"(\d{1,3})(?:,(\d{1,2}(?:\.\d{1,20})?))(?:,(\d{1,2}(?:\.\d{1,20})?))?([NSEW])")
_DEGREES: Final = re.compile(r"[+-]?\d{1,3}(?:\.\d{1,20})?")


def read_xmp_place(image: Image.Image) -> tuple[float, float] | None:
    """Return latitude and longitude in degrees; None where XMP has none, or none that can be. Call inside `quiet()`."""
    packet = image.info.get("xmp") or image.info.get("XML:com.adobe.xmp") or b""
    data = packet.encode("utf-8", "replace") if isinstance(packet, str) else packet
    if not isinstance(data, bytes) or len(data) > _MAX_BYTES or b"gpslat" not in data.lower():
        return None
    try:
        said = dict(_said(read_xml(data.strip(b"\0 \r\n\t"))))
    except XmlError:
        return None
    lat, lon = _degrees(said.get("lat", ""), "NS", 90), _degrees(said.get("lon", ""), "EW", 180)
    return (lat, lon) if lat is not None and lon is not None else None


def _said(root: XmlElement) -> Iterator[tuple[str, str]]:
    """Yield what is said of latitude and longitude, as attributes or elements of any prefix; the last one counts."""
    open_elements = [root]
    while open_elements:
        element = open_elements.pop()
        open_elements += element.children
        for name, text in (*element.attributes.items(), (element.tag, element.text)):
            word = name.rpartition(":")[2].lower()
            if word in _LATITUDE | _LONGITUDE and text.strip():
                yield "lat" if word in _LATITUDE else "lon", text.strip()


def _degrees(text: str, sides: str, most: int) -> float | None:
    """Return the degrees that `text` says.

    >>> [_degrees(text, "NS", 90) for text in ("48,30.6N", "48,30,36S", "+48.51", "-91", "48,61N", "48,30E")]
    [48.51, -48.51, 48.51, None, None, None]
    """
    if _DEGREES.fullmatch(text):
        found = float(text)
    elif (match := _PARTS.fullmatch(text.replace(" ", ""))) and match[4] in sides:
        minutes, seconds = float(match[2]), float(match[3] or 0)
        if minutes >= 60 or seconds >= 60:
            return None
        found = int(match[1]) + minutes / 60 + seconds / 3600
        found = -found if match[4] == sides[1] else found
    else:
        return None
    return found if abs(found) <= most else None
