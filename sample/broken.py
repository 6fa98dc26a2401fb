"""Put files among the pictures that are none: cut off, empty, or something else under a picture's name."""

from pathlib import Path

from sample.truth import BrokenFile

_ERROR_PAGE = b"<html><head><title>503 Service Unavailable</title></head><body>Try again later.</body></html>\n"


def write_broken(batches: Path, whole: bytes, labeled: str, unlabeled: str) -> tuple[BrokenFile, ...]:
    """Write broken files below `batches`, into a `labeled` drive of drives_b and an `unlabeled` one of drives_c.

    `whole` is a sound picture to cut off.
    """
    contents = [
        (BrokenFile("drives_b", f"images/train/{labeled}/upload_cut_off.jpg", "truncated"), whole[:-900]),
        (BrokenFile("drives_c", f"{unlabeled}/frame_9001.jpg", "truncated"), whole[: len(whole) * 2 // 5]),
        (BrokenFile("drives_c", f"{unlabeled}/frame_9002.jpg", "empty"), b""),
        (BrokenFile("drives_c", f"{unlabeled}/frame_9003.jpg", "text"), _ERROR_PAGE),
    ]
    for broken, data in contents:
        target = batches / broken.batch / broken.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    return tuple(broken for broken, _ in contents)
