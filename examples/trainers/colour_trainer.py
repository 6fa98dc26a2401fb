"""A trainer that keeps driveflow's contract with nothing but NumPy and OpenCV: it learns the colour of each class.

In a flow file:

    training:
      trainer: command
      command: [python, examples/trainers/colour_trainer.py]
      export: coco
      workers_per_node: 1

It reads the COCO export in DRIVEFLOW_DATA, keeps one checkpoint an epoch in DRIVEFLOW_CHECKPOINTS, and leaves in
DRIVEFLOW_OUTPUT: colours.json (the model), predict.py (this file: the predictor stays with the model), metrics.jsonl
and outcome.json. Started with `predict` it answers for the pictures in DRIVEFLOW_PICTURES.
"""

import json
import os
import shutil
import sys
from pathlib import Path

import cv2
import numpy as np

MOST_DISTANCE = 60.0  # grey levels
LEAST_PIXELS = 60


def train() -> None:
    """Average the colour inside the boxes of each class, one training picture after the other."""
    data, output = Path(os.environ["DRIVEFLOW_DATA"]), Path(os.environ["DRIVEFLOW_OUTPUT"])
    epochs = json.loads(os.environ["DRIVEFLOW_SETTINGS"])["epochs"]
    labels = json.loads((data / "annotations" / "instances_train.json").read_text())
    names = {category["id"]: category["name"] for category in labels["categories"]}
    state = load_checkpoint()
    while state["epoch"] < epochs:
        sums = {name: np.zeros(4) for name in names.values()}
        for image in labels["images"]:
            add_colours(data / "images" / "train" / image["file_name"], image["id"], labels["annotations"], names, sums)
        state = {
            "epoch": state["epoch"] + 1,
            "colours": {name: (total[:3] / total[3]).tolist() for name, total in sums.items() if total[3]},
            "metrics": state["metrics"],
        }
        state["metrics"].append(json.dumps({"epoch": state["epoch"], "classes": len(state["colours"])}))
        write(Path(os.environ["DRIVEFLOW_CHECKPOINTS"]) / "state.json", json.dumps(state))
        write(output / "metrics.jsonl", "".join(f"{line}\n" for line in state["metrics"]))
    write(output / "metrics.jsonl", "".join(f"{line}\n" for line in state["metrics"]))  # also where all was done before
    write(output / "colours.json", json.dumps(state["colours"]))
    shutil.copyfile(__file__, output / "predict.py")
    outcome = {"kind": "command", "classes": sorted(state["colours"]), "command": ["python", "predict.py", "predict"]}
    write(output / "outcome.json", json.dumps(outcome))


def add_colours(path: Path, image_id: int, annotations: list, names: dict, sums: dict) -> None:
    """Add the median colour of each box of a picture to `sums`."""
    pixels = cv2.imread(str(path))
    for annotation in annotations:
        if annotation["image_id"] == image_id and not annotation["iscrowd"]:
            x, y, width, height = (round(value) for value in annotation["bbox"])
            colour = np.median(pixels[y : y + height, x : x + width].reshape(-1, 3), axis=0)
            sums[names[annotation["category_id"]]] += [*colour, 1]


def load_checkpoint() -> dict:
    """Return where an earlier start of this job was."""
    path = Path(os.environ["DRIVEFLOW_CHECKPOINTS"]) / "state.json"
    return json.loads(path.read_text()) if path.exists() else {"epoch": 0, "colours": {}, "metrics": []}


def predict() -> None:
    """Call every patch of nearly a class's colour a box of that class."""
    colours = json.loads((Path(os.environ["DRIVEFLOW_MODEL"]) / "colours.json").read_text())
    lines = []
    for path in sorted(Path(os.environ["DRIVEFLOW_PICTURES"]).iterdir()):
        pixels = cv2.imread(str(path)).astype(np.float32)
        boxes = [box for name, colour in sorted(colours.items()) for box in patches(pixels, name, colour)]
        lines.append(json.dumps({"picture": path.name, "boxes": boxes}))
    write(Path(os.environ["DRIVEFLOW_PREDICTIONS"]), "\n".join(lines))


def patches(pixels: np.ndarray, name: str, colour: list[float]) -> list[dict]:
    """Return a box around each patch of `colour`."""
    distance = np.abs(pixels - np.array(colour, np.float32)).max(axis=2)
    _, _, stats, _ = cv2.connectedComponentsWithStats((distance < MOST_DISTANCE).astype(np.uint8))
    return [
        {
            "class_name": name,
            "score": float(count / (width * height)),
            "x1": int(x),
            "y1": int(y),
            "x2": int(x + width),
            "y2": int(y + height),
        }
        for x, y, width, height, count in stats[1:]
        if count >= LEAST_PIXELS
    ]


def write(path: Path, text: str) -> None:
    """Write so that the file appears whole."""
    hidden = path.with_name(f".{path.name}")
    hidden.write_text(text)
    hidden.replace(path)


if __name__ == "__main__":
    predict() if "predict" in sys.argv[1:] else train()
