"""Small real batches on disk for the tests of ingestion."""

import io
import json
import random
from pathlib import Path

from PIL import Image

from driveflow.flow.sections import BatchSection, TaxonomySection
from ingestion.import_batch import BatchRequest, ImportedBatch, import_batch
from ingestion.listing import list_batch
from ingestion.merge import Merged, MergeRules, NamedSnapshot, merge_snapshots

TAXONOMY = TaxonomySection(classes=("car", "truck"), aliases={"vehicle": "car"}, drop=("tree",), ignore=("misc",))


def picture(seed, size=(64, 48), **options):
    """Return the bytes of a JPEG that no other seed has."""
    image = Image.frombytes("RGB", size, random.Random(seed).randbytes(size[0] * size[1] * 3))
    stream = io.BytesIO()
    image.save(stream, "JPEG", quality=60, **options)
    return stream.getvalue()


def turned_picture(seed, orientation, size=(64, 48)):
    """Return a JPEG of stored `size` that EXIF says to turn."""
    exif = Image.Exif()
    exif[0x0112] = orientation
    return picture(seed, size, exif=exif)


def write(folder, files):
    """Write `files` (path -> bytes, text or JSON value) under `folder` and return it."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content))
    return folder


def coco(images, annotations=(), categories=((1, "car"), (2, "truck"))):
    """Return a COCO document: images are (id, file_name), annotations are (id, image_id, category_id, bbox)."""
    return {
        "images": [{"id": key, "file_name": name, "width": 64, "height": 48} for key, name in images],
        "annotations": [
            {"id": key, "image_id": image, "category_id": category, "bbox": list(box)}
            for key, image, category, box in annotations
        ],
        "categories": [{"id": key, "name": name} for key, name in categories],
    }


def bring_in(folder, taxonomy=TAXONOMY, **section) -> ImportedBatch:
    """Import the batch in `folder`; its store is beside it."""
    section = {"name": folder.name.lower(), "path": str(folder)} | section
    uri = Path(folder).as_uri()
    store = (folder.parent / f"{folder.name}-store").as_uri()
    return import_batch(BatchRequest(BatchSection(**section), uri, taxonomy, store, list_batch(uri)))


def merge(*batches: tuple[str, ImportedBatch], **rules) -> Merged:
    """Merge imported batches under their names."""
    return merge_snapshots(
        [NamedSnapshot(name, batch.tables, batch.beside) for name, batch in batches], MergeRules(**rules)
    )


def rows(table, *names):
    """Return the columns `names` of a table as a sorted list of tuples."""
    return sorted(zip(*(table[name].to_pylist() for name in names), strict=True), key=str)


def quarantined(batch):
    """Return path -> reason of the files and lines put aside."""
    return dict(rows(batch.beside.quarantine, "path", "reason"))


def adds_up(batch):
    """Check that every file and every box of an import is accounted for."""
    counts = batch.counts
    assert counts["files_in"] == counts["files_kept"] + counts["files_quarantined"] + counts["files_skipped"]
    assert counts["files_kept"] == batch.tables.sources.num_rows == counts["frames"] + counts["frames_repeated"]
    went = ("boxes", "boxes_dropped", "boxes_quarantined", "boxes_without_picture", "boxes_united")
    assert counts["boxes_read"] + counts["boxes_multiplied"] == sum(counts[name] for name in went)
    assert counts["boxes"] == batch.tables.boxes.num_rows
