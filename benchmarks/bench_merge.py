"""Merge of ten COCO batches with class map, duplicate pictures and boxes, and digests; beside duckdb and datumaro.

The peers do less: msgspec's typed parse into Parquet (written by hand, all by numbers, without rules) and duckdb's SQL
unite, map classes and drop equal pictures (duckdb: and equal boxes), datumaro unites labels by file name. None tells
conflicts, groups drives, assigns splits or makes an identity. Also one, two and four times the batches, and a consensus
of three contributors. A ratio says how many times its CPU seconds the whole merge takes.
"""

import os
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from benchmarks.contender import Figure, measure, run_as_contender
from benchmarks.merge_data import BATCHES, BOXES, CLASSES, FOLDER, FOREIGN, write_batches
from benchmarks.merge_peers import datumaro, duckdb_sql, parse, typed

IMAGES = int(os.environ.get("BENCH_MERGE_IMAGES", "100000"))
SMALL = 5_000  # pictures that datumaro gets
_SCALES = (1, 2, 4)
_UNIT = 2  # batches


def main() -> None:
    """Print the tables; the answer is how many distinct pictures there are."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ[FOLDER] = folder
        for images in sorted({IMAGES, SMALL}):
            write_batches(Path(folder) / str(images), images)
        figures = [_measured(kind, IMAGES) for kind in ("merge", "tables", "parse", "typed", "duckdb")]
        _print(f"Ten COCO batches, {IMAGES:,} pictures, {IMAGES * BOXES:,} boxes", figures, IMAGES)
        ours, _, parsed, typed, _ = figures
        print(
            f"files to snapshot id: {ours.cpu_s / parsed.cpu_s:.2f} times the parse alone, "
            f"{ours.cpu_s / typed.cpu_s:.2f} times the typed parse with classes, duplicates and Parquet"
        )
        each = IMAGES // BATCHES
        for batches in (_UNIT * times for times in _SCALES):
            _print("", [_measured("merge", IMAGES, batches)], each * batches)
        agreeing = _measured("consensus", IMAGES)  # AC-B3: 100,000 frames under ten minutes
        _print("Consensus of three who drew every box of every frame", [agreeing], IMAGES)
        small = [_measured("merge", SMALL), *datumaro(SMALL)]
        _print(f"{SMALL} pictures", small, SMALL)
        if len(small) > 1:
            ratio = (ours.cpu_s / IMAGES) / (small[1].cpu_s / SMALL)
            print(f"boxes / CPU s: ours of {IMAGES:,} pictures is {1 / ratio:.1f} times datumaro's of {SMALL:,}")


def _measured(kind: str, images: int, batches: int = BATCHES) -> Figure:
    return measure("benchmarks.bench_merge", f"{kind} {images} {batches}")


def _print(title: str, figures: list[Figure], images: int) -> None:
    if title:
        print(title)
        print(f"{'':44}{'CPU s':>9}{'boxes / CPU s':>15}{'peak MB':>9}{'MB / 1,000 boxes':>18}{'pictures':>10}")
    for figure in figures:
        boxes = images * BOXES
        each = f"{boxes / max(figure.cpu_s, 1e-9):15,.0f}{figure.peak_mb:9.0f}{figure.peak_mb / boxes * 1000:18.2f}"
        print(f"{_shown(figure.name):44}{figure.cpu_s:9.2f}{each}{figure.answer:10.0f}")


def _shown(name: str) -> str:
    told = {
        "merge": "driveflow, files to snapshot id",
        "tables": "driveflow, tables to snapshot id",
        "parse": "msgspec, typed parse of the files alone",
        "typed": "msgspec, typed parse into Parquet",
        "duckdb": "duckdb SQL, files to table",
        "consensus": "driveflow, consensus of three",
    }
    kind, _, rest = name.partition(" ")
    return f"{told[kind]}, {rest.split()[1]} batches" if kind in told else name


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


def merge(images: int, batches: int) -> Callable[[], float]:
    from driveflow.snapshots import snapshot_id
    from ingestion.merge import MergeRules, merge_snapshots

    for name in ("driveflow.formats.coco", "ingestion.take_boxes", "ingestion.taxonomy"):
        import_module(name)  # what a process loads once is no work, and a peer's is not counted either
    folder = Path(os.environ[FOLDER]) / str(images)

    def work() -> float:
        merged = merge_snapshots([imported(folder, batch) for batch in range(batches)], MergeRules())
        snapshot_id(merged.tables)
        return float(merged.counts["frames"])

    return work


def tables(images: int, batches: int) -> Callable[[], float]:
    """Return the merge alone, of batches that are tables already."""
    from driveflow.snapshots import snapshot_id
    from ingestion.merge import MergeRules, merge_snapshots

    folder = Path(os.environ[FOLDER]) / str(images)
    found = [imported(folder, batch) for batch in range(batches)]

    def work() -> float:
        merged = merge_snapshots(found, MergeRules())
        snapshot_id(merged.tables)
        return float(merged.counts["frames"])

    return work


def consensus(images: int, batches: int) -> Callable[[], float]:
    """Return the merge of three contributors who drew every box of every frame, each a little off."""
    import numpy as np
    import pyarrow as pa

    from driveflow.aside import set_aside
    from driveflow.flow.merge_section import MergeSection
    from driveflow.snapshots import SnapshotTables
    from ingestion.merge import MergeRules, NamedSnapshot, merge_snapshots

    folder = Path(os.environ[FOLDER]) / str(images)
    whole = merge_snapshots([imported(folder, batch) for batch in range(batches)], MergeRules()).tables
    rng = np.random.default_rng(5)
    contributors = []
    for number in range(3):
        boxes = whole.boxes
        for name in ("x1", "y1", "x2", "y2"):
            moved = pa.array(boxes[name].to_numpy() + rng.uniform(-2, 2, boxes.num_rows))
            boxes = boxes.set_column(boxes.column_names.index(name), name, moved)
        boxes = set_aside((boxes.slice(start, 65_536) for start in range(0, boxes.num_rows, 65_536)), boxes.schema)
        tables = SnapshotTables(whole.frames, whole.sources, boxes, whole.classes)
        contributors.append(NamedSnapshot(f"person-{number}", tables))
    rules = MergeRules(merge=MergeSection(rule="consensus", quorum=2))
    return lambda: float(merge_snapshots(contributors, rules).counts["frames"])


_KINDS = {
    "merge": merge,
    "tables": tables,
    "parse": parse,
    "typed": typed,
    "duckdb": duckdb_sql,
    "consensus": consensus,
}


def _contenders() -> dict[str, Callable[[], Callable[[], float]]]:
    kind, images, batches = sys.argv[1].split()
    return {sys.argv[1]: lambda: _KINDS[kind](int(images), int(batches))}


if __name__ == "__main__":
    run_as_contender(_contenders())
