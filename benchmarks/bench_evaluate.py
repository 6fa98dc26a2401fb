"""COCO's twelve numbers from two JSON files, beside pycocotools, faster-coco-eval, hotcoco and ultrafast-pycocotools.

80 classes, 36 detections an image, as detectors give them: some near objects, the others noise. CPU seconds: reading
the files, then evaluating; compiled code is loaded before. All numbers must be equal. BENCH_EVALUATE_IMAGES says how
many images (5000,50000); pycocotools is left out over BENCH_EVALUATE_PYCOCOTOOLS_MOST of them. Peers that are no
dependency of driveflow run in an environment of their own, see `benchmarks.peers`.
"""

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import peers

PEERS = "coco-evaluators"
SIZES = tuple(int(text) for text in os.environ.get("BENCH_EVALUATE_IMAGES", "5000,50000").split(","))
PYCOCOTOOLS_MOST = int(os.environ.get("BENCH_EVALUATE_PYCOCOTOOLS_MOST", "5000"))
CLASSES, DETECTIONS, OBJECTS = 80, 36, 7.3
BLOCK = 1_000
AGREE = 1e-9

_MEASURED = """
import json, resource, sys, time, io, contextlib
truth, predictions = sys.argv[1:3]
{prepare}
begin = time.process_time()
with contextlib.redirect_stdout(io.StringIO()):
    {read}
    middle = time.process_time()
    {evaluate}
end = time.process_time()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({{"read_s": middle - begin, "evaluate_s": end - middle, "peak_mb": peak / 1e6,
                   "numbers": [float(number) for number in numbers]}}))
"""
_OURS = """
from pathlib import Path
from validation.inputs.plain_records import Layout, read_plain
from validation.inputs.read_inputs import EvaluationInputs, read_request
from validation.model.arrange import Arrangement, arrange
from validation.model.evaluate import evaluate
from validation.model.raw import RawScene, no_boxes
from validation.model.twelve import METRICS, tally
import numpy as np
read_plain(b"{}", Layout(whole=("id",), numbers=("score",)))
nothing = RawScene(frame_ids=(), classes=(), groups=(), frame_group=np.zeros(0, np.int64),
                   annotated=np.zeros((0, 0), bool), truth=no_boxes(scored=False), found=no_boxes(scored=True))
for mode in ("coco", "strict"):
    tally(arrange(nothing, Arrangement(mode))).numbers()
"""
_READ = 'request = read_request(EvaluationInputs(truth=Path(truth), predictions=Path(predictions), mode="{mode}"))'
_NUMBERS = "found = tally(arrange(request.raw, Arrangement({mode!r}))).numbers().overall; {listed}"
_LISTED = "numbers = [-1.0 if found[name] is None else found[name] for name in METRICS]"
_COCO = {
    "read": "coco = COCO(truth); found = coco.{load}(predictions)",
    "evaluate": "run = COCOeval(coco, found, {kind}); run.evaluate(); run.accumulate(); run.summarize(); "
    "numbers = run.stats",
}


@dataclass(frozen=True, slots=True)
class Contender:
    """An evaluator: what it needs before the clock starts, how it reads, how it evaluates, and whose python it is."""

    prepare: str
    read: str
    evaluate: str
    is_peer: bool = False


def _peer(prepare: str, *, load: str = "loadRes", kind: str = '"bbox"', is_peer: bool = True) -> Contender:
    return Contender(prepare, _COCO["read"].format(load=load), _COCO["evaluate"].format(kind=kind), is_peer)


def _ours(mode: str, work: str) -> Contender:
    return Contender(_OURS, _READ.format(mode=mode), work)


PYCOCOTOOLS = "pycocotools"
CONTENDERS = {
    "driveflow, twelve numbers, coco": _ours("coco", _NUMBERS.format(mode="coco", listed=_LISTED)),
    "driveflow, twelve numbers, strict": _ours("strict", _NUMBERS.format(mode="strict", listed=_LISTED)),
    "driveflow, all of it and self checks": _ours("coco", f"found = evaluate(request).numbers; {_LISTED}"),
    "hotcoco": _peer("from hotcoco import COCO, COCOeval", load="load_res", is_peer=False),
    "ultrafast-pycocotools": _peer(
        "from ultrafast_pycocotools.coco import COCO\nfrom ultrafast_pycocotools.cocoeval import COCOeval"
    ),
    "faster-coco-eval": _peer("from faster_coco_eval import COCO, COCOeval_faster as COCOeval"),
    PYCOCOTOOLS: _peer("from pycocotools.coco import COCO\nfrom pycocotools.cocoeval import COCOeval", is_peer=False),
}


def main() -> None:
    """Print a table for each number of images."""
    with tempfile.TemporaryDirectory() as folder:
        for images in SIZES:
            paths = Path(folder) / f"truth_{images}.json", Path(folder) / f"predictions_{images}.json"
            write_files(paths, images)
            _print(images, {name: found for name in CONTENDERS if (found := _measure(name, paths, images))})


def _measure(name: str, paths: tuple[Path, Path], images: int) -> dict[str, object]:
    """Return what the contender says; it is called twice where its code is compiled once and kept."""
    contender = CONTENDERS[name]
    python = peers.python_of(PEERS) if contender.is_peer else sys.executable
    if not python or (name == PYCOCOTOOLS and images > PYCOCOTOOLS_MOST):
        why = peers.how_to(PEERS) if not python else f"over {PYCOCOTOOLS_MOST:,} images"
        print(f"{name} is not measured: {why}")
        return {}
    script = _MEASURED.format(prepare=contender.prepare, read=contender.read, evaluate=contender.evaluate)
    for _ in range(2 if name.startswith("driveflow") and images == SIZES[0] else 1):
        done = subprocess.run([python, "-c", script, *map(str, paths)], capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{name} ended with {done.returncode}: {done.stderr.strip().splitlines()[-1:]}")
        return {}
    return json.loads(done.stdout.splitlines()[-1])


def _print(images: int, found: dict[str, dict]) -> None:
    slow = found.get(PYCOCOTOOLS)
    print(f"Twelve numbers of {images:,} images, {images * DETECTIONS:,} detections, {CLASSES} classes")
    print(f"{'':40}{'read s':>9}{'evaluate s':>12}{'peak MB':>9}{'x pycocotools':>15}{'evaluate alone':>16}{'AP':>10}")
    for name, one in found.items():
        both = one["read_s"] + one["evaluate_s"]
        ratio = f"{(slow['read_s'] + slow['evaluate_s']) / both:15.1f}" if slow else f"{'':15}"
        alone = f"{slow['evaluate_s'] / one['evaluate_s']:16.1f}" if slow else f"{'':16}"
        figures = f"{one['read_s']:9.3f}{one['evaluate_s']:12.3f}{one['peak_mb']:9.0f}"
        print(f"{name:40}{figures}{ratio}{alone}{one['numbers'][0]:10.6f}")
    _assert_equal({name: one["numbers"] for name, one in found.items() if "strict" not in name})


def _assert_equal(numbers: dict[str, list[float]]) -> None:
    (name, first), *others = numbers.items()
    for other, values in others:
        if not np.allclose(first, values[: len(first)], rtol=0, atol=AGREE):
            raise SystemExit(f"{name} says {first}, {other} says {values}")
    print(f"all twelve numbers of {', '.join(numbers)} are equal to {AGREE:g}")


def write_files(paths: tuple[Path, Path], images: int) -> None:
    """Write a COCO document and a result list; images repeat after BLOCK, with scores a little higher each time."""
    random = np.random.default_rng(7)
    block = [_image(random) for _ in range(min(BLOCK, images))]
    with paths[0].open("w", encoding="utf-8") as truth, paths[1].open("w", encoding="utf-8") as found:
        truth.write('{"annotations": [')
        number = 0
        for image in range(images):
            objects, detections = block[image % BLOCK]
            for label, box, area, crowd in objects:
                said = f'"category_id": {label}, "bbox": {box}, "area": {area}, "iscrowd": {crowd}'
                truth.write(f'{", " if number else ""}{{"id": {number + 1}, "image_id": {image + 1}, {said}}}')
                number += 1
            for place, (label, box, score) in enumerate(detections):
                begin = "[" if image == place == 0 else ", "
                said = f'"category_id": {label}, "bbox": {box}, "score": {score + image // BLOCK * 1e-8:.8f}'
                found.write(f'{begin}{{"image_id": {image + 1}, {said}}}')
        found.write("]")
        size = {"width": 640, "height": 480}
        listed = [{"id": image + 1, "file_name": f"{image:08d}.jpg", **size} for image in range(images)]
        categories = [{"id": label + 1, "name": f"class_{label:02d}"} for label in range(CLASSES)]
        truth.write(f'], "images": {json.dumps(listed)}, "categories": {json.dumps(categories)}}}')


def _image(random: np.random.Generator) -> tuple[list[tuple], list[tuple]]:
    """Return objects (category, box, area, crowd) and detections (category, box, score) of one image."""
    weights = 1 / np.arange(1, CLASSES + 1) ** 0.8
    weights /= weights.sum()
    count = int(random.poisson(OBJECTS))
    classes = random.choice(CLASSES, count, p=weights)
    size = np.exp(random.normal(4, 0.9, (count, 2))).clip(4, 400)
    boxes = np.round(np.column_stack([random.uniform(0, 1, (count, 2)) * np.maximum((640, 480) - size, 40), size]), 2)
    shares, crowds = random.uniform(0.5, 1, count), (random.random(count) < 0.01).astype(int)
    areas = np.round(boxes[:, 2] * boxes[:, 3] * shares, 4).tolist()
    near = min(2 * count, 24)
    source = random.integers(0, max(count, 1), near)
    moved = boxes[source].copy() if near else np.zeros((0, 4))
    moved[:, :2] += random.normal(0, 0.12, (near, 2)) * moved[:, 2:]
    moved[:, 2:] *= np.exp(random.normal(0, 0.15, (near, 2)))
    rest = DETECTIONS - near
    noise = np.column_stack([random.uniform(0, 400, (rest, 2)), np.exp(random.normal(4, 0.9, (rest, 2)))])
    wrong = random.random(near) >= 0.85
    said = np.where(wrong, random.integers(0, CLASSES, near), classes[source] if near else 0)
    labels = (np.concatenate([said, random.choice(CLASSES, rest, p=weights)]).astype(int) + 1).tolist()
    scores = np.concatenate([random.beta(4, 2, near), random.beta(1, 8, rest)]).round(6).tolist()
    objects = zip((classes + 1).tolist(), boxes.tolist(), areas, crowds.tolist(), strict=True)
    return list(objects), list(zip(labels, np.round(np.vstack([moved, noise]), 2).tolist(), scores, strict=True))


if __name__ == "__main__":
    main()
