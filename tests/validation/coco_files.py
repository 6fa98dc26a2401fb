"""COCO files on disk, and what an evaluation says of them, for the tests of evaluation."""

import json
from pathlib import Path

from validation.inputs.read_inputs import EvaluationInputs, read_request
from validation.model.evaluate import evaluate
from validation.model.evaluation import Evaluation


def annotation(number: int, image: int, box: tuple, **changes: object) -> dict[str, object]:
    """An object of category 1."""
    area = abs(box[2] * box[3])
    said = {"id": number, "image_id": image, "category_id": 1, "bbox": list(box), "area": area, "iscrowd": 0}
    return {key: value for key, value in {**said, **changes}.items() if value is not ...}


def result(image: int, box: tuple, score: float = 0.9, category: int = 1) -> dict[str, object]:
    """A prediction."""
    return {"image_id": image, "category_id": category, "bbox": list(box), "score": score}


def document(annotations: list, images: int = 2) -> dict[str, object]:
    """A COCO document with the categories car and bus."""
    return {
        "images": [{"id": n, "file_name": f"{n}.jpg", "width": 4000, "height": 400} for n in range(1, images + 1)],
        "categories": [{"id": 1, "name": "car"}, {"id": 2, "name": "bus"}],
        "annotations": annotations,
    }


def write(folder: Path, truth: object, predictions: object) -> tuple[Path, Path]:
    """Write both as JSON."""
    paths = folder / "truth.json", folder / "predictions.json"
    for path, value in zip(paths, (truth, predictions), strict=True):
        path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return paths


def measured(folder: Path, truth: object, predictions: object, **asked: object) -> Evaluation:
    """The evaluation of both, read from files."""
    of_truth, of_predictions = write(folder, truth, predictions)
    return evaluate(read_request(EvaluationInputs(truth=of_truth, predictions=of_predictions, **asked)))


def kinds(evaluation: Evaluation) -> dict[str, int]:
    """What was not counted as given, and how often."""
    return {item.kind: item.count for item in evaluation.corrections}
