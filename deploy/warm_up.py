"""Let everything that is compiled at its first use be compiled now, so that no step and no person waits for it.

`make setup` and the image's build run it. What was compiled lies beside the modules and serves every process after.

    python deploy/warm_up.py
"""

import json
import random
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

DRIVEFLOW = Path(sys.executable).with_name("driveflow")
FRAMES, BOXES = 12, 6
POLICY = "metric: AP50\nmax_drop: 0.05\nmin_frames: 1\nmin_drive_groups: 1\n"


def driveflow(*arguments: str, allowed: tuple[int, ...] = (0,)) -> str:
    """Run a driveflow command and return what it says."""
    done = subprocess.run([str(DRIVEFLOW), *arguments, "-o", "json"], capture_output=True, text=True, check=False)
    if done.returncode not in allowed:
        sys.exit(f"warm up: driveflow {arguments[0]} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def curate(folder: Path) -> None:
    """Decode, hash, thin and search the frames of a few drives."""
    driveflow("sample", str(folder / "drives"), "--frames", "60")
    flow, workspace = folder / "drives" / "flow.yaml", folder / "workspace"
    driveflow("run", str(flow), "--pipeline", "curate", "--workspace", str(workspace))


def judge(folder: Path) -> None:
    """Evaluate two models that found boxes at random, and compare them."""
    (folder / "truth.json").write_text(json.dumps(truth(random.Random(0))))
    (folder / "policy.yaml").write_text(POLICY)
    workspace = ("--workspace", str(folder / "judged"))
    for name, seed in (("challenger", 1), ("champion", 2)):
        found = folder / f"{name}-found.json"
        found.write_text(json.dumps(detections(random.Random(seed))))
        said = driveflow("evaluate", "--truth", str(folder / "truth.json"), "--predictions", str(found), *workspace)
        (folder / f"{name}.json").write_text(said)
    pair = (word for name in ("challenger", "champion") for word in (f"--{name}", str(folder / f"{name}.json")))
    driveflow("gate", *pair, "--policy", str(folder / "policy.yaml"), *workspace, allowed=(0, 5))


def truth(dice: random.Random) -> dict:
    """Return a small COCO document with boxes of two classes."""
    boxes = [box(dice) | {"image_id": number // BOXES} for number in range(FRAMES * BOXES)]
    return {
        "images": [
            {"id": number, "file_name": f"{number}.jpg", "width": 640, "height": 480} for number in range(FRAMES)
        ],
        "annotations": [found | {"id": number, "iscrowd": 0} for number, found in enumerate(boxes)],
        "categories": [{"id": 0, "name": "car"}, {"id": 1, "name": "cyclist"}],
    }


def detections(dice: random.Random) -> list[dict]:
    """Return COCO results: the boxes of the truth, each a little off."""
    found = truth(random.Random(0))["annotations"]
    return [
        {
            "image_id": box["image_id"],
            "category_id": box["category_id"],
            "bbox": [side + dice.uniform(0, 9) for side in box["bbox"]],
            "score": dice.random(),
        }
        for box in found
    ]


def box(dice: random.Random) -> dict:
    """Return where one object is."""
    width, height = dice.uniform(10, 200), dice.uniform(10, 200)
    sides = [dice.uniform(0, 400), dice.uniform(0, 250), width, height]
    return {"category_id": dice.randrange(2), "bbox": sides, "area": width * height}


def main() -> None:
    """Do both at the same time."""
    print("compiling ahead what would be compiled at its first use: once, and it takes a minute or more", flush=True)
    started_s = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor() as pool:
        for part in [pool.submit(work, Path(folder)) for work in (curate, judge)]:
            part.result()
    print(f"compiled in {time.monotonic() - started_s:.0f} s")


if __name__ == "__main__":
    main()
