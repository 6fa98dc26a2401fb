"""The text in which the import tells what a Waymo v2 table holds beside its pictures."""

from typing import Final, Literal

import msgspec

MEMBER: Final = "waymo.json"
MARK: Final = "driveflow_waymo"
CAMERAS: Final = {1: "FRONT", 2: "FRONT_LEFT", 3: "FRONT_RIGHT", 4: "SIDE_LEFT", 5: "SIDE_RIGHT"}
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
