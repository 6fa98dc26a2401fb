"""Say what bytes are that are no picture of a kind that a frame may have."""

from typing import Final

_PICTURES: Final = {
    b"\x00\x00\x01\x00": "an icon (ICO)",
    b"8BPS": "a Photoshop file",
    b"%PDF": "a PDF",
    b"%!PS": "PostScript",
    b"\x76\x2f\x31\x01": "an OpenEXR picture",
    b"#?RADIANCE": "a Radiance picture (HDR)",
    b"\xff\x0a": "a JPEG XL picture",
    b"\x00\x00\x00\x0cJXL ": "a JPEG XL picture",
    b"FUJIFILMCCD-RAW": "a raw photo (RAF)",
    b"IIU\0": "a raw photo (RW2)",
    b"IIRO": "a raw photo (ORF)",
    b"IIRS": "a raw photo (ORF)",
    b"FOVb": "a raw photo (X3F)",
}
_PACKED: Final = {
    b"7z\xbc\xaf\x27\x1c": "a 7-Zip archive",
    b"Rar!\x1a\x07": "a RAR archive",
    b"\x28\xb5\x2f\xfd": "a file packed by zstd",
    b"\x1f\x8b": "a file packed by gzip",
    b"\x1f\x9d": "a file packed by compress",
    b"BZh": "a file packed by bzip2",
    b"\xfd7zXZ\0": "a file packed by xz",
    b"\x04\x22\x4d\x18": "a file packed by lz4",
}
_NAMED: Final = {
    b"PK\x03\x04": "a zip archive; it is opened where its name ends in .zip (a split one: once it is joined)",
    b"PK\x07\x08": "a part of a split zip archive; it is opened once joined: zip -s 0 IN.zip --out OUT.zip",
    b"\x89MCAP0\r\n": "an MCAP recording; it is read where its name ends in .mcap",
    b"#ROSBAG V2.0": "a ROS bag; it is read where its name ends in .bag",
    b"SQLite format 3\0": "an SQLite database; one of rosbag2 is read where its name ends in .db3",
    b"PAR1": "a Parquet table that cannot be read or is none of labels or pictures",
    b"\x1a\x45\xdf\xa3": "a Matroska or WebM video; it is read where its name ends in .mkv or .webm",
    b"\x89HDF": "an HDF5 file, which is not read",
    **dict.fromkeys(
        (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83"),
        "what SQLite has not brought into its database yet; sqlite3 FILE.db3 'PRAGMA wal_checkpoint' does",
    ),
}
_TRANSPORT_PACKET: Final = 188  # bytes, each packet with the same first one


def foreign_picture(data: bytes) -> str:
    """Return what picture `data` is, of a kind that is not read; empty where it is none."""
    return _called(data, _PICTURES)


def what_else(data: bytes) -> str:
    """Return what `data` is that is no picture, and what would do where that is known."""
    if not any(data):
        return f"{len(data):,} bytes, all of them zero"
    if data[:512].lstrip().lower().startswith((b"<!doctype html", b"<html")):
        return "an HTML page, often the error page of a download"
    if named := _called(data, _NAMED):
        return named
    if packed := _called(data, _PACKED):
        return f"{packed}, which is not opened; pack what it holds as zip or tar"
    if data[:1] == data[_TRANSPORT_PACKET : _TRANSPORT_PACKET + 1] == b"G":
        return "an MPEG transport stream, which is not read; ffmpeg -i FILE -c copy FILE.mp4 makes a video that is"
    return f"no picture format begins with the bytes {data[:8].hex(' ')}"


def _called(data: bytes, names: dict[bytes, str]) -> str:
    return next((name for magic, name in names.items() if data.startswith(magic)), "")
