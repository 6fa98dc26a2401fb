"""Write drives as the batches somebody would deliver: COCO, YOLO, and a folder with a table."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from driveflow.canonical import Json
from sample.drive import Drive, Frame
from sample.plan import CLASSES, DrivePlan
from sample.scene import HEIGHT_PX, WIDTH_PX

CAMERA = "front"
COCO_NAMES = {"car": "car", "pedestrian": "person", "cyclist": "cyclist", "ebike": "ebike"}
YOLO_NAMES = {"car": "car", "pedestrian": "pedestrian", "cyclist": "cyclist", "ebike": "e-bike"}
_COCO_IDS = {"car": 1, "pedestrian": 2, "cyclist": 4, "ebike": 7}
_COLUMNS = (
    "path", "drive", "camera", "captured_ns", "clock", "lat", "lon", "speed_mps", "heading_deg",
    "time_of_day", "weather",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Delivery:
    """One file of a batch; `path` is relative to the batch, `drive` what the batch calls its drive."""

    batch: str
    path: str
    drive: str
    plan: DrivePlan
    frame: Frame


def picture_path(plan: DrivePlan, frame: Frame) -> str:
    """Return where a picture lies in its batch; every batch has ways of its own."""
    if plan.batch == "drives_a":
        return f"images/{plan.name}/{frame.number:06d}.jpg"
    if plan.batch == "drives_b":
        return f"images/{'test' if plan.holdout else 'train'}/{plan.name}/{frame.captured_ns}.jpg"
    return f"{plan.name}/frame_{frame.number:04d}.jpg"


def deliver(drive: Drive, batches: Path) -> list[Delivery]:
    """Write the pictures of a drive into its batch under `batches`; return what lies where."""
    made = []
    for frame, data in zip(drive.frames, drive.pictures, strict=True):
        path = picture_path(drive.plan, frame)
        target = batches / drive.plan.batch / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        made.append(Delivery(drive.plan.batch, path, drive.plan.name, drive.plan, frame))
    return made


def write_coco(folder: Path, deliveries: Sequence[Delivery]) -> None:
    """Write annotations.json and metadata.csv of a COCO batch."""
    images: list[Json] = []
    annotations: list[Json] = []
    for image_id, one in enumerate(deliveries, start=1):
        images.append(_coco_image(image_id, one))
        for box in one.frame.boxes:
            width, height = box.x2 - box.x1, box.y2 - box.y1
            annotations.append(
                {
                    "id": len(annotations) + 1,
                    "image_id": image_id,
                    "category_id": _COCO_IDS[box.class_name],
                    "bbox": [box.x1, box.y1, width, height],
                    "area": width * height,
                    "iscrowd": 0,
                }
            )
    categories = [{"id": _COCO_IDS[name], "name": COCO_NAMES[name], "supercategory": "road_user"} for name in CLASSES]
    content = {"images": images, "annotations": annotations, "categories": categories}
    (folder / "annotations.json").write_text(json.dumps(content), encoding="utf-8")
    _write_table(folder, deliveries)


def write_yolo(folder: Path, deliveries: Sequence[Delivery]) -> None:
    """Write data.yaml, the labels and metadata.csv of a YOLO batch."""
    names = "".join(f"  {number}: {YOLO_NAMES[name]}\n" for number, name in enumerate(CLASSES))
    settings = f"path: .\ntrain: images/train\nval: images/test\ntest: images/test\nnames:\n{names}"
    (folder / "data.yaml").write_text(settings, encoding="utf-8")
    for one in deliveries:
        target = folder / one.path.replace("images/", "labels/", 1).replace(".jpg", ".txt")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("".join(_yolo_lines(one.frame)), encoding="utf-8")
    _write_table(folder, deliveries)


def write_folder(folder: Path, deliveries: Sequence[Delivery]) -> None:
    """Write metadata.csv of a batch that has no labels."""
    _write_table(folder, deliveries)


WRITERS: dict[str, Callable[[Path, Sequence[Delivery]], None]] = {
    "drives_a": write_coco,
    "drives_b": write_yolo,
    "drives_c": write_folder,
}


def _coco_image(image_id: int, one: Delivery) -> dict[str, Json]:
    return {
        "id": image_id,
        "file_name": one.path,
        "width": WIDTH_PX,
        "height": HEIGHT_PX,
        "drive": one.drive,
        "captured_ns": one.frame.captured_ns,
        "time_of_day": one.plan.time_of_day,
        "weather": one.plan.weather,
    }


def _yolo_lines(frame: Frame) -> Iterable[str]:
    for box in frame.boxes:
        center_x, center_y = (box.x1 + box.x2) / 2 / WIDTH_PX, (box.y1 + box.y2) / 2 / HEIGHT_PX
        width, height = (box.x2 - box.x1) / WIDTH_PX, (box.y2 - box.y1) / HEIGHT_PX
        yield f"{CLASSES.index(box.class_name)} {center_x:.8f} {center_y:.8f} {width:.8f} {height:.8f}\n"


def _write_table(folder: Path, deliveries: Sequence[Delivery]) -> None:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(_COLUMNS)
    for one in deliveries:
        frame, plan = one.frame, one.plan
        where = (frame.lat, frame.lon, frame.speed_mps, frame.heading_deg)
        rows.writerow((one.path, one.drive, CAMERA, frame.captured_ns, "utc", *where, plan.time_of_day, plan.weather))
    (folder / "metadata.csv").write_text(text.getvalue(), encoding="utf-8")
