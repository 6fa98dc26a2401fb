import io
import xml.sax.saxutils as xml

import pytest
from PIL import Image, PngImagePlugin

from ingestion.xmp_place import read_xmp_place
from tests.driveflow.images.made import scene
from tests.ingestion.batches import bring_in, rows, write

SPACES = "xmlns:exif='http://ns.adobe.com/exif/1.0/' xmlns:drone-dji='http://www.dji.com/drone-dji/1.0/'"


def packet(attributes="", inside=""):
    """Return an XMP packet that says `attributes` and holds the elements `inside`."""
    return (
        f"<?xpacket begin='\ufeff' id='W5M0MpCehiHzreSzNTczkc9d'?><x:xmpmeta xmlns:x='adobe:ns:meta/'>"
        "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>"
        f"<rdf:Description rdf:about='' {SPACES} {attributes}>{inside}</rdf:Description></rdf:RDF></x:xmpmeta>"
        "<?xpacket end='w'?>"
    ).encode()


def pair(lat, lon, prefix="exif:GPS"):
    return f"{prefix}Latitude={xml.quoteattr(lat)} {prefix}Longitude={xml.quoteattr(lon)}"


def encoded(kind="JPEG", **options):
    stream = io.BytesIO()
    Image.fromarray(scene()).save(stream, kind, **options)
    return stream.getvalue()


def place(data):
    with Image.open(io.BytesIO(data)) as image:
        return read_xmp_place(image)


def _png(text):
    chunk = PngImagePlugin.PngInfo()
    chunk.add_itxt("XML:com.adobe.xmp", text.decode())
    return encoded("PNG", pnginfo=chunk)


@pytest.mark.parametrize(
    ("lat", "lon", "prefix", "found"),
    [
        ("48,30.6N", "11,34.5E", "exif:GPS", (48.51, 11.575)),
        ("48,30,36S", "11,34,30W", "exif:GPS", (-48.51, -11.575)),
        ("+48.51", "-11.575", "drone-dji:Gps", (48.51, -11.575)),
        ("48.51", "11.575", "exif:GPS", (48.51, 11.575)),
        ("0.0", "0.0", "drone-dji:Gps", (0.0, 0.0)),
        ("91.0", "11.5", "drone-dji:Gps", None),
        ("48,60.0N", "11,34.5E", "exif:GPS", None),
        ("48,30.6E", "11,34.5N", "exif:GPS", None),
        ("48,30.6", "11,34.5", "exif:GPS", None),
        ("nan", "inf", "exif:GPS", None),
        ("", "11,34.5E", "exif:GPS", None),
    ],
)
def test_latitude_and_longitude_are_read_as_degrees(lat, lon, prefix, found):
    assert place(encoded(xmp=packet(pair(lat, lon, prefix)))) == (pytest.approx(found) if found else None)


def test_djis_own_spelling_and_elements_are_read_too():
    inside = (
        "<drone-dji:GpsLatitude> +48.51 </drone-dji:GpsLatitude><drone-dji:GpsLongtitude>11.5</drone-dji:GpsLongtitude>"
    )

    assert place(encoded(xmp=packet(inside=inside))) == (48.51, 11.5)


@pytest.mark.parametrize("kind", ["JPEG", "WEBP", "PNG", "TIFF", "AVIF"])
def test_every_format_that_carries_xmp_is_read(kind):
    text = packet(pair("48,30.6N", "11,30E"))
    data = (
        _png(text)
        if kind == "PNG"
        else encoded(kind, tiffinfo={700: text})
        if kind == "TIFF"
        else encoded(kind, xmp=text)
    )

    assert place(data) == pytest.approx((48.51, 11.5))


BOMB = "".join(f'<!ENTITY a{n + 1} "{f"&a{n};" * 10}">' for n in range(9))


@pytest.mark.parametrize(
    "text",
    [
        b"gpslatitude",
        packet(pair("48,30.6N", "11,30E"))[:-80],
        f'<!DOCTYPE x [<!ENTITY a0 "1">{BOMB}]><x gpsLatitude="1" gpsLongitude="&a9;"/>'.encode(),
        b'<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/hosts">]><x gpsLatitude="1"><gpsLongitude>&f;</gpsLongitude></x>',
        b"<gpsLatitude>" * 500,
        packet(pair("48,30.6N", "11,30E"), f"<!--{'x' * (1 << 20)}-->"),
    ],
    ids=["no XML", "cut short", "entities", "another file", "deep", "large"],
)
def test_what_is_no_small_and_plain_xml_says_nothing(text):
    assert place(encoded("WEBP", xmp=text)) is None


def test_a_picture_is_placed_by_its_xmp_where_its_exif_has_no_place(tmp_path):
    exif = Image.Exif()
    exif.get_ifd(0x8825).update({1: "S", 2: (10.0, 0.0, 0.0), 3: "E", 4: (20.0, 0.0, 0.0)})
    text = packet(pair("48,30.6N", "11,30E"))
    files = {"a.jpg": encoded(xmp=text), "b.jpg": encoded(xmp=text, exif=exif), "c.jpg": encoded(quality=50)}
    batch = bring_in(write(tmp_path / "b", files), taxonomy=None)

    found = {name: (lat and round(lat, 9), lon) for name, lat, lon in rows(batch.tables.sources, "path", "lat", "lon")}
    assert found == {"a.jpg": (48.51, 11.5), "b.jpg": (-10.0, 20.0), "c.jpg": (None, None)}
