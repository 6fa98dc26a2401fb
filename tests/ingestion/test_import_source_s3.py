"""A source on S3 becomes a snapshot in a store on S3, and names move there."""

import io
import json
import zipfile
from datetime import UTC, datetime

import pytest

from driveflow.errors import EmptyBatchError
from driveflow.flow.sections import BatchSection
from driveflow.snapshots import open_snapshot
from driveflow.storage.objects import list_objects, write_bytes
from driveflow.tags import find_tagged
from ingestion.import_source import SourceRequest, import_source
from tests.ingestion.batches import coco, picture

NOW = datetime(2026, 11, 29, tzinfo=UTC)


def request(uri, store, **section):
    return SourceRequest(uri, BatchSection(name="far", path=uri, **section), None, store)


@pytest.fixture
def source(s3_store):
    """A prefix with labels, a picture, an archive, and names that are hard for addresses."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("in the zip.jpg", picture(2))
    labels = coco([(1, "a #1?%.jpg")], [(1, 1, 1, (1, 2, 3, 4))])
    write_bytes(f"{s3_store}/source/labels.json", json.dumps(labels).encode())
    write_bytes(f"{s3_store}/source/a #1?%.jpg", picture(1))
    write_bytes(f"{s3_store}/source/packed.zip", packed.getvalue())
    return f"{s3_store}/source"


def test_a_prefix_is_imported_into_a_store_on_s3_and_again_without_a_write(source, s3_store):
    store = f"{s3_store}/store"

    first = import_source(request(source, store), NOW)
    before = [(item.path, item.version) for item in list_objects(store)]
    again = import_source(request(source, store), NOW)

    assert [(item.path, item.version) for item in list_objects(store)] == before
    assert (first.moved, again.moved, again.reused) == (True, False, True)
    tables = open_snapshot(find_tagged(store, "far").uri(store)).tables()
    assert sorted(tables.sources["path"].to_pylist()) == ["a #1?%.jpg", "packed.zip!in the zip.jpg"]
    assert tables.boxes.num_rows == 1


def test_one_object_is_imported_for_itself(source, s3_store):
    made = import_source(request(f"{source}/packed.zip", f"{s3_store}/store"), NOW)

    assert made.snapshot.sources()["path"].to_pylist() == ["packed.zip!in the zip.jpg"]


def test_a_label_object_stands_for_the_prefix_it_is_in(source, s3_store):
    made = import_source(request(f"{source}/labels.json", f"{s3_store}/store"), NOW)

    assert (made.label_format, made.counts["frames"], made.counts["boxes"]) == ("coco", 2, 1)


def test_a_prefix_with_nothing_in_it_is_empty(s3_store):
    with pytest.raises(EmptyBatchError, match="not one file"):
        import_source(request(f"{s3_store}/nothing", f"{s3_store}/store"), NOW)
