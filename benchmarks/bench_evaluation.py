"""Detection evaluation: one report's worth of numbers beside pycocotools on the same boxes."""

import contextlib
import io
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from benchmarks.contender import measure, print_table, run_as_contender
from driveflow import tables

FRAMES = 1_000
BOXES = 7
CLASSES = tuple(f"class_{number}" for number in range(10))
PEER = "pycocotools"


def boxes(*, predicted: bool) -> pa.Table:
    """Return truth, or predictions that miss some of it, are off by some pixels and add some of their own."""
    random = np.random.default_rng(1)
    rows = []
    for frame in range(FRAMES):
        for number in range(BOXES):
            x, y, side, jitter = *random.uniform(0, 500, 2), random.uniform(16, 120), random.normal(0, 4, 4)
            name, score, lost = CLASSES[random.integers(10)], random.random(), random.random() < 0.2
            if predicted and lost:
                continue
            corners = np.array([x, y, x + side, y + side]) + (jitter if predicted else 0)
            rows.append(
                {"frame_id": f"{frame:064x}", "box_id": f"{frame}-{number}", "class_name": name, "origin": "made"}
                | dict(zip(("x1", "y1", "x2", "y2"), corners.tolist(), strict=True))
                | {"score": score if predicted else None, "ignore": False, "attributes": "{}"}
            )
    return pa.Table.from_pylist(rows, tables.BOXES)


def ours() -> Callable[[], float]:
    """Return driveflow's evaluation: the twelve numbers, classes, confusion, operating points."""
    from validation.model.evaluate import evaluate
    from validation.model.scene import EvaluationRequest

    frames = [
        {
            "frame_id": f"{frame:064x}",
            "width": 640,
            "height": 640,
            "split": "holdout",
            "drive_group": str(frame % 40),
            "annotated_classes": list(CLASSES),
            "attributes": "{}",
        }
        for frame in range(FRAMES)
    ]
    table = pa.Table.from_pylist(frames, tables.FRAMES)
    truth, found = boxes(predicted=False), boxes(predicted=True)
    request = EvaluationRequest(frames=table, boxes=truth, predictions=found, classes=CLASSES)
    return lambda: float(evaluate(request).numbers["AP"] or 0.0)


def peer() -> Callable[[], float]:
    """Return pycocotools' evaluation: the twelve numbers."""
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    ids = {name: number + 1 for number, name in enumerate(CLASSES)}

    def annotation(number: int, row: dict) -> dict:
        x1, y1, x2, y2 = (row[key] for key in ("x1", "y1", "x2", "y2"))
        size = {"bbox": [x1, y1, x2 - x1, y2 - y1], "area": (x2 - x1) * (y2 - y1), "iscrowd": 0, "id": number + 1}
        return {
            **size,
            "image_id": int(row["frame_id"], 16) + 1,
            "category_id": ids[row["class_name"]],
            "score": row["score"],
        }

    truth = [annotation(number, row) for number, row in enumerate(boxes(predicted=False).to_pylist())]
    found = [annotation(number, row) for number, row in enumerate(boxes(predicted=True).to_pylist())]

    def work() -> float:
        with contextlib.redirect_stdout(io.StringIO()):
            coco = COCO()
            coco.dataset = {
                "images": [{"id": frame + 1} for frame in range(FRAMES)],
                "categories": [{"id": number, "name": name} for name, number in ids.items()],
                "annotations": truth,
            }
            coco.createIndex()
            evaluation = COCOeval(coco, coco.loadRes(found), "bbox")
            evaluation.evaluate()
            evaluation.accumulate()
            evaluation.summarize()
        return float(evaluation.stats[0])

    return work


CONTENDERS = {"driveflow, numbers, classes, confusion": ours, PEER: peer}


def main() -> None:
    """Print the table; the answer is COCO's AP, and must be the same."""
    figures = [measure("benchmarks.bench_evaluation", name) for name in CONTENDERS]
    print_table(f"Evaluation of {FRAMES:,} images, {len(CLASSES)} classes", figures, PEER)


if __name__ == "__main__":
    run_as_contender(CONTENDERS)
