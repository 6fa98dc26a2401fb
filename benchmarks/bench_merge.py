"""Merge of ten COCO batches with class map, duplicate pictures and boxes, and digests; beside duckdb and datumaro.

The peers do less: duckdb's SQL unites, maps classes and drops equal pictures and equal boxes, datumaro unites labels by
file name. Neither tells conflicts, groups drives, assigns splits or makes an identity. Also one, two and four times the
data, and a consensus of three contributors.
"""

import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.contender import Figure, measure, run_as_contender

FOLDER = "BENCH_MERGE_FOLDER"
DATUMARO = "DRIVEFLOW_BENCH_DATUMARO"  # python of an environment that has datumaro
IMAGES = int(os.environ.get("BENCH_MERGE_IMAGES", "100000"))
BATCHES = 10
BOXES = 10  # a picture
SHARED = 0.1  # of a batch's pictures are in the next batch too
MOVED = 0.01  # of the boxes of shared pictures were drawn anew
SMALL = 5_000  # pictures that datumaro gets
FOREIGN = {f"{prefix}_{number}": f"class_{number}" for number in range(10) for prefix in ("a", "b")}
CLASSES = tuple(sorted(set(FOREIGN.values())))
DRIVE_FRAMES = 200
_SCALES = (1, 2, 4)
_UNITS = IMAGES // 10


def main() -> None:
    """Print the tables; the answer is how many distinct pictures there are."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ[FOLDER] = folder
        for images in sorted({IMAGES, *(_UNITS * times for times in _SCALES), SMALL}):
            write_batches(Path(folder) / str(images), images)
        figures = [
            measure("benchmarks.bench_merge", f"{kind} {IMAGES}") for kind in ("merge", "tables", "parse", "duckdb")
        ]
        _print(f"Ten COCO batches, {IMAGES:,} pictures, {IMAGES * BOXES:,} boxes", figures, IMAGES)
        scaled = [measure("benchmarks.bench_merge", f"merge {_UNITS * times}") for times in _SCALES]
        for figure, times in zip(scaled, _SCALES, strict=True):
            _print("", [figure], _UNITS * times)
        agreeing = measure("benchmarks.bench_merge", f"consensus {IMAGES}")  # AC-B3: 100,000 frames under ten minutes
        _print("Consensus of three who drew every box of every frame", [agreeing], IMAGES)
        small = [measure("benchmarks.bench_merge", f"merge {SMALL}"), *_datumaro()]
        _print(f"{SMALL} pictures", small, SMALL)


def _print(title: str, figures: list[Figure], images: int) -> None:
    if title:
        print(title)
        print(f"{'':44}{'CPU s':>9}{'boxes / CPU s':>15}{'peak MB':>9}{'MB / 1,000 boxes':>18}{'pictures':>10}")
    for figure in figures:
        boxes = images * BOXES
        each = f"{boxes / max(figure.cpu_s, 1e-9):15,.0f}{figure.peak_mb:9.0f}{figure.peak_mb / boxes * 1000:18.2f}"
        print(f"{_shown(figure.name):44}{figure.cpu_s:9.2f}{each}{figure.answer:10.0f}")


def _shown(name: str) -> str:
    kind, _, images = name.partition(" ")
    told = {
        "merge": "driveflow, files to snapshot id",
        "tables": "driveflow, tables to snapshot id",
        "parse": "typed parse of the files alone",
        "duckdb": "duckdb SQL, files to table",
        "consensus": "driveflow, consensus of three",
    }
    return f"{told[kind]}, {int(images):,}" if kind in told else name


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


class _Files:
    """One COCO file and the names of its pictures, as a reader of labels sees them."""

    def __init__(self, path: Path, pictures: list[str]) -> None:
        self.path = path
        self.paths = sorted([*pictures, "labels.json"])

    def read(self, _path: str) -> bytes:
        return self.path.read_bytes()


def imported(folder: Path, batch: int):  # noqa: ANN201 heavy imports stay inside
    """Return the batch as an import would make it, but for looking at pictures."""
    import polars as pl

    from driveflow import tables as columns
    from driveflow.aside import set_aside
    from driveflow.flow.sections import BatchSection, TaxonomySection
    from driveflow.formats.coco import read_coco
    from driveflow.snapshots import SnapshotTables
    from ingestion.merge import NamedSnapshot
    from ingestion.take_boxes import take_boxes
    from ingestion.taxonomy import map_classes

    name = f"batch-{batch}"
    listed = pl.read_csv(folder / f"{batch}.csv")
    labels = read_coco(_Files(folder / f"{batch}.json", listed["path"].to_list()), "labels.json")
    classes = map_classes(TaxonomySection(classes=CLASSES, aliases=FOREIGN), dict.fromkeys(FOREIGN, 1))
    pictures = listed.select("path", name="path", frame_id="digest").with_columns(
        width=pl.lit(1280, pl.Int32), height=pl.lit(720, pl.Int32), turned=pl.lit(1, pl.Int32)
    )
    taken = take_boxes(labels, pictures, classes, BatchSection(name=name, path="."))
    drive = pl.col("path").str.split("/").list.first()
    nothing = {kind.name: pl.lit(None).alias(kind.name) for kind in columns.SOURCES}
    told = {"batch": pl.lit(name), "camera": pl.lit("front"), "clock": pl.lit("none"), "source_split": pl.lit("")}
    sized = pictures.select("frame_id", "width", "height")
    frames = sized.join(taken.annotated, on="frame_id", how="left", maintain_order="left").with_columns(
        media_type=pl.lit("image/jpeg"), byte_count=pl.lit(1, pl.Int64), split=pl.lit("train"), attributes=pl.lit("{}"),
        drive_group=pictures.select(drive).to_series(), annotated_classes=pl.col("annotated_classes").fill_null([]),
    )  # fmt: skip
    sources = pictures.select("frame_id", "path", drive=drive).with_columns(**told)
    sources = sources.with_columns([nothing[key] for key in columns.SOURCES.names if key not in sources.columns])
    tables = SnapshotTables(
        frames.select(columns.FRAMES.names).to_arrow(),
        sources.select(columns.SOURCES.names).to_arrow(),
        set_aside([taken.boxes.to_arrow().cast(columns.BOXES)], columns.BOXES),
        CLASSES,
    )
    return NamedSnapshot(name, tables)


def merge(images: int) -> Callable[[], float]:
    from driveflow.snapshots import snapshot_id
    from ingestion.merge import MergeRules, merge_snapshots

    folder = Path(os.environ[FOLDER]) / str(images)

    def work() -> float:
        merged = merge_snapshots([imported(folder, batch) for batch in range(BATCHES)], MergeRules())
        snapshot_id(merged.tables)
        return float(merged.counts["frames"])

    return work


def tables(images: int) -> Callable[[], float]:
    """Return the merge alone, of batches that are tables already."""
    from driveflow.snapshots import snapshot_id
    from ingestion.merge import MergeRules, merge_snapshots

    folder = Path(os.environ[FOLDER]) / str(images)
    batches = [imported(folder, batch) for batch in range(BATCHES)]

    def work() -> float:
        merged = merge_snapshots(batches, MergeRules())
        snapshot_id(merged.tables)
        return float(merged.counts["frames"])

    return work


def parse(images: int) -> Callable[[], float]:
    """Return a typed parse of the same files and nothing else: what no import can do without."""
    from driveflow.formats.coco_records import decode_coco

    folder = Path(os.environ[FOLDER]) / str(images)

    def work() -> float:
        found = [decode_coco(str(batch), (folder / f"{batch}.json").read_bytes()) for batch in range(BATCHES)]
        return float(sum(len(one.document.images) for one in found if one.document))

    return work


def duckdb_sql(images: int) -> Callable[[], float]:
    import duckdb

    folder = Path(os.environ[FOLDER]) / str(images)

    def work() -> float:
        with duckdb.connect() as db:
            db.execute("create table classes as select unnest($1) as name, unnest($2) as own",
                       [list(FOREIGN), list(FOREIGN.values())])  # fmt: skip
            db.execute("create table pictures (batch int, id bigint, digest text)")
            db.execute("create table boxes (digest text, own text, x double, y double, w double, h double)")
            for batch in range(BATCHES):
                _read_into(db, folder, batch)
            db.execute("create table merged as select distinct * from boxes")
            return float(db.execute("select count(distinct digest) from pictures").fetchone()[0])

    return work


def _read_into(db, folder: Path, batch: int) -> None:  # noqa: ANN001 of duckdb
    source = f"read_json('{folder / f'{batch}.json'}', maximum_object_size=2000000000)"
    db.execute(f"create or replace temp table doc as select * from {source}")
    db.execute(
        f"insert into pictures select {batch}, i.id, d.digest from (select unnest(images) as i from doc) "
        f"join read_csv('{folder / f'{batch}.csv'}') d on d.path = i.file_name"
    )
    db.execute(
        "insert into boxes select p.digest, k.own, a.bbox[1], a.bbox[2], a.bbox[3], a.bbox[4] "
        "from (select unnest(annotations) as a from doc) "
        "join (select unnest(categories) as c from doc) on c.id = a.category_id "
        f"join classes k on k.name = c.name join pictures p on p.id = a.image_id and p.batch = {batch}"
    )


def consensus(images: int) -> Callable[[], float]:
    """Return the merge of three contributors who drew every box of every frame, each a little off."""
    import numpy as np
    import pyarrow as pa

    from driveflow.flow.merge_section import MergeSection
    from driveflow.snapshots import SnapshotTables
    from ingestion.merge import MergeRules, NamedSnapshot, merge_snapshots

    folder = Path(os.environ[FOLDER]) / str(images)
    whole = merge_snapshots([imported(folder, batch) for batch in range(BATCHES)], MergeRules()).tables
    rng = np.random.default_rng(5)
    contributors = []
    for number in range(3):
        boxes = whole.boxes
        for name in ("x1", "y1", "x2", "y2"):
            moved = pa.array(boxes[name].to_numpy() + rng.uniform(-2, 2, boxes.num_rows))
            boxes = boxes.set_column(boxes.column_names.index(name), name, moved)
        tables = SnapshotTables(whole.frames, whole.sources, boxes, whole.classes)
        contributors.append(NamedSnapshot(f"person-{number}", tables))
    rules = MergeRules(merge=MergeSection(rule="consensus", quorum=2))
    return lambda: float(merge_snapshots(contributors, rules).counts["frames"])


_DATUMARO = """
import json, resource, sys, time
from datumaro.components.dataset import Dataset
start = time.process_time()
parts = [Dataset.import_from(path, "coco_instances") for path in sys.argv[1:]]
merged = Dataset.from_extractors(*parts, merge_policy="union")
count = len(merged)
cpu_s = time.process_time() - start
peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
print(json.dumps({"cpu_s": cpu_s, "peak_mb": peak_mb, "answer": count}))
"""


def _datumaro() -> list[Figure]:
    """Return what datumaro takes for the smallest batches, where an environment has it."""
    python = os.environ.get(DATUMARO, "")
    if not python:
        print(f"datumaro is not measured: {DATUMARO} must name the python of an environment that has it")
        return []
    home = Path(os.environ[FOLDER]) / str(SMALL)
    paths = []
    for batch in range(BATCHES):
        target = home / f"set-{batch}" / "annotations" / f"instances_b{batch}.json"
        target.parent.mkdir(parents=True)
        (target.parent.parent / "images" / f"b{batch}").mkdir(parents=True)  # it insists on the folder, not on pictures
        shutil.copy(home / f"{batch}.json", target)
        paths.append(str(target.parent.parent))
    done = subprocess.run([python, "-c", _DATUMARO, *paths], capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"datumaro ended with {done.returncode}: {done.stderr.strip().splitlines()[-1:]}")
        return []
    values = json.loads(done.stdout.splitlines()[-1])
    return [Figure("datumaro union", values["cpu_s"], values["peak_mb"], values["answer"])]


_KINDS = {"merge": merge, "tables": tables, "parse": parse, "duckdb": duckdb_sql, "consensus": consensus}


def _contenders() -> dict[str, Callable[[], Callable[[], float]]]:
    kind, _, images = sys.argv[1].partition(" ")
    return {sys.argv[1]: lambda: _KINDS[kind](int(images))}


if __name__ == "__main__":
    run_as_contender(_contenders())
