"""Frames of a Waymo v2 segment of which only the tables of boxes are there: those that have a box."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import msgspec

from driveflow.formats.label_set import LabelProblem
from driveflow.formats.sniff import Sniffer
from driveflow.formats.waymo import waymo_files
from driveflow.formats.waymo_text import WaymoText, parse_waymo, picture_names
from validation.inputs.label_files import LocalFiles


def with_frames_of_boxes(files: LocalFiles) -> tuple[LocalFiles, tuple[LabelProblem, ...]]:
    """Return `files` with a table of pictures for each of boxes, where there is none, and what that means."""
    texts: dict[str, WaymoText] = {}
    for path in waymo_files(Sniffer(files)):
        try:
            texts[path] = parse_waymo(files.read(path))
        except msgspec.MsgspecError:
            continue  # the reader says what is wrong with it
    boxes = {path: text for path, text in texts.items() if text.component == "camera_box"}
    if not boxes or any(text.component == "camera_image" for text in texts.values()):
        return files, ()
    made = {_beside(path): msgspec.json.encode(_pictures(text)) for path, text in boxes.items()}
    known = files.elsewhere

    def elsewhere(paths: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        yield from ((path, made[path]) for path in paths if path in made)
        if known is not None:
            yield from known([path for path in paths if path not in made])

    detail = "there is no table of pictures (camera_image), so only frames with a box are known"
    problems = tuple(LabelProblem(path, "label_frames_without_box", detail) for path in sorted(boxes))
    return replace(files, paths=sorted({*files.paths, *made}), elsewhere=elsewhere), problems


def _beside(path: str) -> str:
    swapped = path.replace("camera_box", "camera_image")
    return swapped if swapped != path else f"camera_image/{path}"


def _pictures(text: WaymoText) -> WaymoText:
    keys = sorted(set(zip(text.segment, text.micros, text.camera, strict=True)))
    segments, micros, cameras = ([key[0] for key in keys], [key[1] for key in keys], [key[2] for key in keys])
    path = picture_names(segments, micros, cameras)
    return WaymoText(1, "camera_image", segment=segments, micros=micros, camera=cameras, path=path)
