"""Unpack a compressed piece of a log, never to more than it says, and never to more than a piece may have."""

import bz2
from collections.abc import Callable, Mapping

import zstandard
from lz4 import frame as lz4_frame

from ingestion.recordings.messages import MAX_CHUNK_BYTES

_MAX_RATIO = 1000  # of unpacked to packed bytes: a flat raw picture comes near, a bomb goes far beyond
_ZSTD = b"\x28\xb5\x2f\xfd"  # serialized messages begin with 00 00 or 00 01
_FREE_BYTES = 1 << 20  # up to this size any ratio will do
_MAX_WINDOW_BYTES = 128 << 20
BROKEN = (zstandard.ZstdError, RuntimeError, OSError, EOFError, ValueError)
"""What `unpack` raises on pieces that are not whole."""


def unpack(data: bytes, packing: str, byte_count: int) -> bytes:
    """Return the `byte_count` bytes that `data` unpacks to; `packing` is zstd, lz4, bz2, none or empty.

    Raises:
        one of BROKEN: it is broken, unknown, or of another size.
    """
    if byte_count > MAX_CHUNK_BYTES:
        raise ValueError(f"{byte_count:,} bytes unpacked; at most {MAX_CHUNK_BYTES:,}")
    if byte_count > max(_MAX_RATIO * len(data), _FREE_BYTES):
        raise ValueError(f"{byte_count:,} bytes from {len(data):,}; at most {_MAX_RATIO} to 1")
    if packing not in _UNPACKERS:
        raise ValueError(f"the packing {packing!r} is not known")
    unpacked = _UNPACKERS[packing](data, byte_count + 1)
    if len(unpacked) != byte_count:
        more = "more" if len(unpacked) > byte_count else f"{len(unpacked):,}"
        raise ValueError(f"unpacks to {more} where {byte_count:,} bytes are said")
    return unpacked


def unpack_zstd(data: bytes, at_most: int) -> bytes:
    """Return what zstd frames unpack to, but no more than `at_most` bytes."""
    pieces: list[bytes] = []
    size = 0
    # not decompress(): that believes the size in the head of the frame and takes so much memory at once
    with zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW_BYTES).stream_reader(data) as stream:
        while size < at_most and (piece := stream.read(min(at_most - size, 1 << 20))):
            pieces.append(piece)
            size += len(piece)
    return b"".join(pieces)


def plain_message(data: bytes) -> bytes:
    """Return a message of ROS 2 as it was before a bag in compression mode MESSAGE packed it.

    Raises:
        one of BROKEN: it is broken, or larger than a piece may be.
    """
    if not data.startswith(_ZSTD):
        return data
    unpacked = unpack_zstd(data, MAX_CHUNK_BYTES + 1)
    if len(unpacked) > MAX_CHUNK_BYTES:
        raise ValueError(f"more than {MAX_CHUNK_BYTES:,} bytes")
    return unpacked


def _unpack_lz4(data: bytes, at_most: int) -> bytes:
    return bytes(lz4_frame.LZ4FrameDecompressor().decompress(data, max_length=at_most))


def _unpack_bz2(data: bytes, at_most: int) -> bytes:
    return bz2.BZ2Decompressor().decompress(data, max_length=at_most)


def _as_it_is(data: bytes, at_most: int) -> bytes:  # noqa: ARG001 the face of every unpacker
    return data


_UNPACKERS: Mapping[str, Callable[[bytes, int], bytes]] = {
    "zstd": unpack_zstd,
    "lz4": _unpack_lz4,
    "bz2": _unpack_bz2,
    "none": _as_it_is,
    "": _as_it_is,
}
