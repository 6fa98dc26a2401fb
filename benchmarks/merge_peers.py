"""What others do of a merge: msgspec written by hand, duckdb's SQL, datumaro."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from itertools import chain
from operator import attrgetter
from pathlib import Path

from benchmarks import peers
from benchmarks.contender import Figure
from benchmarks.merge_data import BATCHES, FOLDER, FOREIGN


def parse(images: int, batches: int) -> Callable[[], float]:
    """Return a typed parse of the same files and nothing else, one after the other: what no import can do without."""
    import msgspec

    folder, document = Path(os.environ[FOLDER]) / str(images), _typed_document()

    def work() -> float:
        count = 0
        for batch in range(batches):
            count += len(msgspec.json.decode((folder / f"{batch}.json").read_bytes(), type=document).images)
        return float(count)

    return work


def _typed_document() -> type:
    import msgspec

    image = msgspec.defstruct("Image", [("id", int), ("file_name", str), ("width", int), ("height", int)], gc=False)
    box = [("id", int), ("image_id", int), ("category_id", int), ("bbox", list[float]), ("iscrowd", int, 0)]
    category = msgspec.defstruct("Category", [("id", int), ("name", str)])
    lists = [
        ("images", list[image]),
        ("annotations", list[msgspec.defstruct("Box", box, gc=False)]),
        ("categories", list[category]),
    ]
    return msgspec.defstruct("Document", lists)


def typed(images: int, batches: int) -> Callable[[], float]:
    """Return what is written by hand to map classes, drop pictures that are there twice, and write Parquet.

    It does all by numbers and keeps the long ids of pictures once; nothing is checked, ordered, compared or digested.
    """
    import msgspec
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv
    import pyarrow.parquet as pq

    folder, document = Path(os.environ[FOLDER]) / str(images), _typed_document()

    def work() -> float:
        seen = pa.array([], pa.string())
        with tempfile.TemporaryDirectory() as target:
            for batch in range(batches):
                read = msgspec.json.decode((folder / f"{batch}.json").read_bytes(), type=document)
                told = pyarrow.csv.read_csv(folder / f"{batch}.csv")
                places = pc.index_in(pa.array([image.file_name for image in read.images]), told["path"])
                digests = told["digest"].combine_chunks().take(places)
                fresh = pc.invert(pc.is_in(digests, seen))
                seen = pa.concat_arrays([seen, digests.filter(fresh)])
                boxes = _typed_boxes(read, digests, fresh.to_numpy(zero_copy_only=False))
                pictures = pa.table({"frame_id": digests, "path": told["path"].take(places)}).filter(fresh)
                pq.write_table(pictures, f"{target}/pictures-{batch}.parquet", compression="zstd")
                pq.write_table(boxes, f"{target}/boxes-{batch}.parquet", compression="zstd")
        return float(len(seen))

    return work


def _typed_boxes(read, digests, fresh):  # noqa: ANN001, ANN202 heavy imports stay inside
    import numpy as np
    import pyarrow as pa

    drawn = read.annotations
    flat = chain.from_iterable(map(attrgetter("bbox"), drawn))
    corners = np.fromiter(flat, np.float64, 4 * len(drawn)).reshape(-1, 4)
    ids, images, categories, crowds = (
        np.fromiter(map(attrgetter(name), drawn), np.int64, len(drawn))
        for name in ("id", "image_id", "category_id", "iscrowd")
    )
    known = np.array([image.id for image in read.images])
    order = np.argsort(known, kind="stable")
    rows = order[np.searchsorted(known, images, sorter=order)]
    own = sorted(set(FOREIGN.values()))
    classes = np.zeros(max(category.id for category in read.categories) + 1, np.int32)
    for category in read.categories:
        classes[category.id] = own.index(FOREIGN[category.name])
    kept = fresh[rows]
    columns = {
        "frame_id": pa.DictionaryArray.from_arrays(rows[kept].astype(np.int32), digests),
        "box_id": ids[kept],
        "class_name": pa.DictionaryArray.from_arrays(classes[categories[kept]], pa.array(own)),
        **{name: corners[kept, place] for place, name in enumerate(("x", "y", "width", "height"))},
        "ignore": crowds[kept] != 0,
    }
    return pa.table(columns)


def duckdb_sql(images: int, batches: int) -> Callable[[], float]:
    import duckdb

    folder = Path(os.environ[FOLDER]) / str(images)

    def work() -> float:
        with duckdb.connect() as db:
            db.execute("create table classes as select unnest($1) as name, unnest($2) as own",
                       [list(FOREIGN), list(FOREIGN.values())])  # fmt: skip
            db.execute("create table pictures (batch int, id bigint, digest text)")
            db.execute("create table boxes (digest text, own text, x double, y double, w double, h double)")
            for batch in range(batches):
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


def datumaro(images: int) -> list[Figure]:
    """Return what datumaro takes for the smallest batches, where an environment has it."""
    python = peers.python_of("datumaro")
    if not python:
        print(f"Not measured: {peers.how_to('datumaro')}")
        return []
    home = Path(os.environ[FOLDER]) / str(images)
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
