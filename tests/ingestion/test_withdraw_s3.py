import io
import zipfile

import pytest

from driveflow.canonical import digest_bytes
from driveflow.errors import IntegrityError
from driveflow.flow.sections import BatchSection
from driveflow.images.pixels import PixelReader
from driveflow.snapshots import write_snapshot
from driveflow.storage.cache import Cache
from driveflow.storage.objects import list_objects, read_bytes, write_bytes
from ingestion.import_batch import BatchRequest, import_batch
from ingestion.listing import list_batch
from ingestion.withdraw import Reach, Withdrawal, withdraw
from tests.ingestion.batches import TAXONOMY, picture

GONE, KEPT, LOOSE = picture(1), picture(2), picture(3)


def test_on_s3_shards_lose_the_frame_and_objects_of_the_delivery_stay(s3_store, tmp_path):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.jpg", GONE)
        archive.writestr("b.jpg", KEPT)
    store, delivery = f"{s3_store}/store", f"{s3_store}/delivery"
    write_bytes(f"{delivery}/drive.zip", packed.getvalue())
    write_bytes(f"{delivery}/loose.jpg", LOOSE)
    section = BatchSection(name="may", path=delivery)
    batch = import_batch(BatchRequest(section, delivery, TAXONOMY, store, list_batch(delivery)))
    snapshot = write_snapshot(store, batch.tables, batch.beside, {"step": "import_batch"})
    cache = Cache(tmp_path / "cache", 1 << 20)
    before = PixelReader(snapshot.locations(), cache)
    before.read(digest_bytes(GONE))

    ids = (digest_bytes(GONE), digest_bytes(LOOSE))
    request = Withdrawal(frame_ids=ids, reason="law", who="ann", at="2026-01-01T00:00:00.000000Z")
    packed_away, loose = withdraw(request, Reach(store=store, cache=cache))

    assert {trace.kind for trace in packed_away.purged} == {"shard", "cache"}
    assert [trace.uri for trace in loose.remaining] == [f"{delivery}/loose.jpg"]
    assert read_bytes(f"{delivery}/loose.jpg") == LOOSE
    assert before.read(digest_bytes(LOOSE)) == LOOSE  # by a reader that was opened before
    assert [cache.get(name) for name in ids] == [None, None]
    assert not any(GONE in read_bytes(item.uri) for item in list_objects(store))
    pixels = PixelReader(snapshot.locations())
    assert pixels.read(digest_bytes(KEPT)) == KEPT
    with pytest.raises(IntegrityError):
        pixels.read(digest_bytes(GONE))
