"""Small hold-outs for the tests of validation: a truth, predictions, and the same as COCO for other evaluators."""

import contextlib
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from driveflow import tables
from tests.strategies import box_row, frame_row
from validation.model.scene import EvaluationRequest, Mode

METRICS = ("AP", "AP50", "AP75", "APs", "APm", "APl", "AR1", "AR10", "AR100", "ARs", "ARm", "ARl")
Corners = tuple[float, float, float, float]


def frames_table(names: Iterable[str], classes: Sequence[str], **columns: Mapping[str, object]) -> pa.Table:
    """Hold-out frames, each a drive group of its own; `columns` give other values by frame name."""
    rows = []
    for name in names:
        changes = {column: values[name] for column, values in columns.items() if name in values}
        rows.append(
            frame_row(
                name, **({"split": "holdout", "drive_group": name, "annotated_classes": sorted(classes)} | changes)
            )
        )
    return pa.Table.from_pylist(rows, tables.FRAMES)


def boxes_table(rows: Iterable[tuple[str, str, Corners]], *, ignore: bool = False, start: int = 0) -> pa.Table:
    """Truth boxes, given as (frame, class, corners)."""
    return pa.Table.from_pylist(
        [
            box_row(frame, f"{number:08d}", name, **_corners(corners), ignore=ignore)
            for number, (frame, name, corners) in enumerate(rows, start)
        ],
        tables.BOXES,
    )


def predictions_table(rows: Iterable[tuple[str, str, Corners, float]]) -> pa.Table:
    """Predictions, given as (frame, class, corners, score)."""
    return pa.Table.from_pylist(
        [
            box_row(frame, f"{number:08d}", name, **_corners(corners), score=score)
            for number, (frame, name, corners, score) in enumerate(rows)
        ],
        tables.PREDICTIONS,
    )


def square(x: float, y: float = 0.0, side: float = 10.0) -> Corners:
    """A square box."""
    return (x, y, x + side, y + side)


def simple(
    truth: Iterable[tuple[str, str, Corners]], predictions: Iterable[tuple[str, str, Corners, float]], **changes: object
) -> EvaluationRequest:
    """A request over the frames that truth and predictions name, classes car and bus."""
    truth, predictions = list(truth), list(predictions)
    classes = changes.pop("classes", ("bus", "car"))
    names = sorted({row[0] for row in truth} | {row[0] for row in predictions})
    values = {
        "frames": frames_table(names, classes),
        "boxes": boxes_table(truth),
        "predictions": predictions_table(predictions),
        "classes": classes,
    }
    return EvaluationRequest(**(values | changes))


def from_coco(
    truth: Mapping[str, object], predictions: Sequence[Mapping[str, object]], mode: Mode = "strict"
) -> EvaluationRequest:
    """The request that a COCO data set and result list mean, in COCO's own order and with its detection limit."""
    names = {category["id"]: category["name"] for category in truth["categories"]}
    classes = tuple(names[number] for number in sorted(names))
    frame_ids = [_frame_id(image["id"]) for image in truth["images"]]
    return EvaluationRequest(
        frames=frames_table(frame_ids, classes),
        boxes=_coco_boxes(truth["annotations"], names),
        predictions=_coco_boxes(predictions, names),
        classes=classes,
        max_detections=100,
        mode=mode,
    )


def pycocotools_numbers(truth: Mapping[str, object], predictions: Sequence[Mapping[str, object]]) -> dict[str, float]:
    """What pycocotools says about the same input."""
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    with contextlib.redirect_stdout(io.StringIO()):
        coco = COCO()
        coco.dataset = json.loads(json.dumps(truth))
        coco.createIndex()
        run = COCOeval(coco, coco.loadRes([dict(row) for row in predictions]), "bbox")
        run.evaluate()
        run.accumulate()
        run.summarize()
    return dict(zip(METRICS, run.stats.tolist(), strict=True))


def random_coco(seed: int, images: int = 6, classes: int = 3) -> tuple[dict[str, object], list[dict[str, object]]]:
    """A COCO set with crowds, and predictions near its boxes with distinct scores."""
    rng = np.random.default_rng(seed)
    annotations, predictions = [], []
    for image in range(1, images + 1):
        for _ in range(int(rng.integers(0, 8))):
            box = [*rng.uniform(0, 200, 2), *rng.uniform(2, 150, 2)]
            category = int(rng.integers(1, classes + 1))
            crowd = int(rng.random() < 0.1)
            annotations.append(_annotation(len(annotations) + 1, image, category, box, crowd))
            for _ in range(int(rng.integers(0, 4))):
                moved = (np.array(box) * rng.normal(1, 0.12, 4)).tolist()
                found = category if rng.random() < 0.8 else int(rng.integers(1, classes + 1))
                predictions.append(
                    {"image_id": image, "category_id": found, "bbox": moved, "score": float(rng.random())}
                )
    truth = {
        "images": [{"id": image, "width": 400, "height": 400} for image in range(1, images + 1)],
        "categories": [{"id": number, "name": f"class-{number}"} for number in range(1, classes + 1)],
        "annotations": annotations,
    }
    return truth, predictions


def read_json(path: Path) -> object:
    """The JSON in a file."""
    return json.loads(path.read_text("utf-8"))


def _annotation(number: int, image: int, category: int, box: list[float], crowd: int) -> dict[str, object]:
    area = box[2] * box[3]
    return {"id": number, "image_id": image, "category_id": category, "bbox": box, "area": area, "iscrowd": crowd}


def _coco_boxes(rows: Sequence[Mapping[str, object]], names: Mapping[int, str]) -> pa.Table:
    return pa.Table.from_pylist([_coco_box(number, row, names) for number, row in enumerate(rows)], tables.BOXES)


def _coco_box(number: int, row: Mapping[str, object], names: Mapping[int, str]) -> dict[str, object]:
    x, y, width, height = row["bbox"]
    return box_row(
        _frame_id(row["image_id"]),
        f"{number:08d}",
        names[row["category_id"]],
        **_corners((x, y, x + width, y + height)),
        score=row.get("score"),
        ignore=bool(row.get("iscrowd", 0)),
        attributes=json.dumps({"area_px": row["area"]}) if "area" in row else "{}",
    )


def _frame_id(number: int | str) -> str:
    """Spelled so that frames sort as their ids do; one set has its ids as text."""
    return f"{int(number):012d}"


def _corners(corners: Corners) -> dict[str, float]:
    return dict(zip(("x1", "y1", "x2", "y2"), (float(value) for value in corners), strict=True))
