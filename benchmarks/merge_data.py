"""Ten COCO batches that share pictures, whose boxes were now and then drawn anew."""

import hashlib
import json
import random
from pathlib import Path

FOLDER = "BENCH_MERGE_FOLDER"
BATCHES = 10
BOXES = 10  # a picture
SHARED = 0.1  # of a batch's pictures are in the next batch too
MOVED = 0.01  # of the boxes of shared pictures were drawn anew
FOREIGN = {f"{prefix}_{number}": f"class_{number}" for number in range(10) for prefix in ("a", "b")}
CLASSES = tuple(sorted(set(FOREIGN.values())))
DRIVE_FRAMES = 200


def write_batches(folder: Path, images: int) -> None:
    """Write ten COCO files and, for each, the digests of its pictures."""
    each, rng = images // BATCHES, random.Random(3)
    folder.mkdir(parents=True)
    for batch in range(BATCHES):
        numbers = range(batch * each, batch * each + each + (int(each * SHARED) if batch < BATCHES - 1 else 0))
        prefix = "ab"[batch % 2]
        document = {
            "categories": [{"id": 3 * number + 1, "name": f"{prefix}_{number}"} for number in range(len(CLASSES))],
            "images": [{"id": n, "file_name": _name(n), "width": 1280, "height": 720} for n in numbers],
            "annotations": [
                box for place, n in enumerate(numbers) for box in _boxes(n, rng if place >= each else random.Random(n))
            ],
        }
        (folder / f"{batch}.json").write_text(json.dumps(document, separators=(",", ":")))
        rows = [f"{_name(n)},{hashlib.sha256(str(n).encode()).hexdigest()}" for n in numbers]
        (folder / f"{batch}.csv").write_text("\n".join(["path,digest", *rows]) + "\n")


def _name(number: int) -> str:
    return f"drive_{number // DRIVE_FRAMES:05d}/{number:07d}.jpg"


def _boxes(image: int, rng: random.Random) -> list[dict[str, object]]:
    own = random.Random(image)
    found = []
    for place in range(BOXES):
        x, y, w, h = own.uniform(0, 1100), own.uniform(0, 600), own.uniform(30, 170), own.uniform(30, 110)
        x += 0.4 if rng.random() < MOVED else 0.0
        box = [round(value, 2) for value in (x, y, w, h)]
        category = 3 * own.randrange(len(CLASSES)) + 1
        found.append({"id": image * BOXES + place, "image_id": image, "category_id": category, "bbox": box,
                      "area": box[2] * box[3], "iscrowd": 0})  # fmt: skip
    return found
