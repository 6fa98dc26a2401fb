"""The text in which the import tells what a Waymo v2 table holds beside its pictures."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final, Literal

import msgspec

MEMBER: Final = "waymo.json"
MARK: Final = "driveflow_waymo"
_CAMERAS: Final = {1: "FRONT", 2: "FRONT_LEFT", 3: "FRONT_RIGHT", 4: "SIDE_LEFT", 5: "SIDE_RIGHT"}
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_-]+")
Component = Literal["camera_image", "camera_box", "stats", "other"]


class WaymoText(msgspec.Struct, frozen=True, omit_defaults=True):
    """Columns of one component, one value a row; those of other components are empty."""

    driveflow_waymo: int
    component: Component
    segment: list[str] = []
    micros: list[int] = []
    camera: list[int] = []  # 1 to 5
    # camera_image
    path: list[str] = []  # of the picture, seen from the table
    speed_mps: list[float | None] = []
    # camera_box
    object_id: list[str | None] = []
    kind: list[int] = []
    center_x: list[float | None] = []
    center_y: list[float | None] = []
    size_x: list[float | None] = []
    size_y: list[float | None] = []
    detection: list[int | None] = []  # levels of difficulty
    tracking: list[int | None] = []
    # stats
    time_of_day: list[str | None] = []
    location: list[str | None] = []
    weather: list[str | None] = []


def parse_waymo(data: bytes) -> WaymoText:
    """Return what the JSON says.

    Raises:
        msgspec.MsgspecError: it is none of ours.
    """
    return msgspec.json.decode(data, type=WaymoText)


def camera_name(camera: int) -> str:
    """Return what the dataset calls a camera.

    >>> camera_name(2), camera_name(6)
    ('FRONT_LEFT', 'CAMERA_6')
    """
    return _CAMERAS.get(camera, f"CAMERA_{camera}")


def picture_names(segments: Sequence[str], micros: Sequence[int], cameras: Sequence[int]) -> list[str]:
    """Return a name for the picture of each row: camera and nanoseconds, and the segment where there are several.

    >>> picture_names(["a", "a"], [7, 7], [1, 1])
    ['FRONT/7000.jpg', 'FRONT/7000~2.jpg']
    """
    several = len(set(segments)) > 1
    taken: Counter[str] = Counter()
    names = []
    for segment, moment, camera in zip(segments, micros, cameras, strict=True):
        folder = f"{_UNSAFE.sub('_', segment)}/" if several else ""
        stem = f"{folder}{camera_name(camera)}/{moment * 1000}"
        taken[stem] += 1
        names.append(f"{stem}.jpg" if taken[stem] == 1 else f"{stem}~{taken[stem]}.jpg")
    return names
