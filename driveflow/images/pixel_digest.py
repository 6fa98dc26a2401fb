"""A digest of what a picture shows, whatever it is encoded as."""

import hashlib

from PIL import ImageOps

from driveflow.errors import BrokenDataError
from driveflow.images.probe import open_picture
from driveflow.images.quiet import quiet


def pixel_digest(data: bytes) -> str:
    """Return the sha256 of the upright decoded pixels, their shape and their mode, of several pages the first.

    Raises:
        BrokenDataError: corrupt, where nothing can be decoded.
    """
    try:
        with quiet(), open_picture(data) as image:
            upright = ImageOps.exif_transpose(image)
            palette = bytes(upright.palette.palette) if upright.mode == "P" and upright.palette else b""
            head = f"{upright.mode} {upright.width} {upright.height} {len(palette)}\n".encode()
            return hashlib.sha256(head + palette + upright.tobytes()).hexdigest()
    except (OSError, ValueError, SyntaxError) as error:
        raise BrokenDataError("corrupt", f"cannot be decoded: {error}") from error
