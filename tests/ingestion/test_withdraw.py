import io
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest

import ingestion.import_batch
from driveflow import tables as columns
from driveflow.canonical import digest_bytes
from driveflow.errors import IntegrityError, NotFoundError, UsageError
from driveflow.flow.sections import BatchSection
from driveflow.images.pixels import PixelReader, open_pixels
from driveflow.ledger.ledger import open_ledger
from driveflow.ledger.rows import ModelEventRow, ModelVersionRow, TrainedModelRow
from driveflow.place import Place, sqlite_url
from driveflow.reuse import put_object
from driveflow.signal_store import SignalStore
from driveflow.snapshots import write_snapshot
from driveflow.storage.cache import Cache
from driveflow.storage.objects import local_path, write_bytes
from driveflow.withdrawn import list_tombstones, read_tombstone, withdrawn_ids
from ingestion.import_batch import BatchRequest, import_batch
from ingestion.listing import list_batch
from ingestion.purge import check_zeros
from ingestion.withdraw import Reach, Withdrawal, plan_withdrawal, withdraw
from tests.ingestion import batches
from tests.ingestion.batches import coco, picture, write

GONE, KEPT = picture(1), picture(2)
FRAME, OTHER = digest_bytes(GONE), digest_bytes(KEPT)


class Workspace:
    """A store with a batch of a loose file and an archive, campaign copies, signals, a cache, pages and a model."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = (folder / "store").as_uri()
        self.cache = Cache(folder / "scratch" / "cache", 1 << 20)
        self.reach = Reach(
            store=self.store,
            cache=self.cache,
            scratch=folder / "scratch",
            pages=(folder / "runs",),
            ledger=open_ledger(sqlite_url(folder / "ledger.db")),
        )
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr(zipfile.ZipInfo("in/a.jpg"), GONE)
            archive.writestr(zipfile.ZipInfo("in/b.jpg"), KEPT)
        write(folder / "loose", {"labels.json": coco([(1, "a.jpg"), (2, "b.jpg")]), "a.jpg": GONE, "b.jpg": KEPT})
        write(folder / "packed", {"drive.zip": packed.getvalue()})
        self.snapshots = [self.bring_in("loose"), self.bring_in("packed")]
        self._leave_traces()

    def bring_in(self, name):
        uri = (self.folder / name).as_uri()
        section = BatchSection(name=name, path=name)
        batch = import_batch(BatchRequest(section, uri, batches.TAXONOMY, self.store, list_batch(uri)))
        return write_snapshot(self.store, batch.tables, batch.beside, {"step": "import_batch"})

    def _leave_traces(self):
        rows = [{"frame_id": frame, "phash64": 7} for frame in (FRAME, OTHER)]
        SignalStore(self.store).append(pa.Table.from_pylist(rows, schema=columns.SIGNALS))
        for frame, data in ((FRAME, GONE), (OTHER, KEPT)):
            write_bytes(f"{self.store}/campaigns/c1/images/{frame}.jpg", data)
            self.cache.put(frame, data)
            write(self.folder / "scratch" / "training" / "job", {f"data/images/train/{frame}.jpg": data})
        put_object(self.store, b"<img src='data:image/jpeg;base64,AA'> loose/a.jpg", ".page")
        write(self.folder / "runs" / "r1", {"gallery": f"{FRAME[:12]} data:image/jpeg", "other": "data:image/jpeg"})
        self.reach.ledger.record_trained(
            TrainedModelRow(
                digest="d1", model="city", model_uri="", snapshot_uri=self.snapshots[0].uri, holdout_uri="",
                report_uri="", verdict="PASS", run_id="r1",
            )
        )  # fmt: skip
        self.reach.ledger.add_version(
            ModelVersionRow(model="city", digest="d1", model_uri="", snapshot_uri="", run_id="r1", report_uri="",
                            verdict={}),
            ModelEventRow(event_key="k", model="city", version=None, digest="d1", kind="registered", who="a", why="b"),
        )  # fmt: skip

    def withdraw(self, at="2026-01-01T00:00:00.000000Z", reach=None, **more):
        return withdraw(_asked(at, **more), reach or self.reach)[0]

    def shard(self):
        (path,) = (self.folder / "store" / "shards").iterdir()
        return path

    def files(self):
        """Every file of the workspace but the ledger, with its bytes."""
        places = [path for path in self.folder.rglob("*") if path.is_file() and "ledger" not in path.name]
        return {path.relative_to(self.folder).as_posix(): path.read_bytes() for path in places}


def _asked(at="2026-01-01T00:00:00.000000Z", reason="asked to", **more):
    return Withdrawal(frame_ids=(FRAME,), reason=reason, who="ann", at=at, **more)


@pytest.fixture
def workspace(tmp_path):
    return Workspace(tmp_path)


def test_no_copy_of_ours_holds_the_bytes_any_more_and_the_delivery_is_untouched(workspace):
    workspace.withdraw()

    left = [path for path, data in workspace.files().items() if GONE in data]
    assert sorted(left) == ["loose/a.jpg", "packed/drive.zip"]
    assert workspace.cache.get(FRAME) is None


def test_the_shard_keeps_its_length_and_its_other_frames(workspace):
    size = workspace.shard().stat().st_size

    workspace.withdraw()

    pixels = PixelReader(workspace.snapshots[1].locations())
    assert workspace.shard().stat().st_size == size
    assert pixels.read(OTHER) == KEPT
    with pytest.raises(IntegrityError):
        pixels.read(FRAME)


def test_nothing_reads_the_frame_any_more_though_its_file_is_still_there(workspace):
    workspace.withdraw()
    place = Place("local", workspace.store, "sqlite://", str(workspace.folder / "scratch"))

    pixels = open_pixels(workspace.snapshots[0], place)

    assert pixels.read(OTHER) == KEPT
    with pytest.raises(NotFoundError, match="was withdrawn"):
        pixels.read(FRAME)


def test_bytes_that_somebody_writes_back_at_the_same_moment_are_noticed(workspace):
    before = workspace.shard().read_bytes()
    trace = next(trace for trace in workspace.withdraw().purged if trace.kind == "shard")
    check_zeros([trace])
    workspace.shard().write_bytes(before)

    with pytest.raises(IntegrityError, match="withdraw it once more"):
        check_zeros([trace])


def test_what_was_measured_of_other_frames_stays(workspace):
    workspace.withdraw()

    assert SignalStore(workspace.store).load([FRAME, OTHER])["frame_id"].to_pylist() == [OTHER]


def _signal_part(workspace):
    (part,) = (workspace.folder / "store" / "signals").glob("*/*.parquet")
    return part


@pytest.mark.parametrize("flip_at", [0, -60, None])
def test_a_part_that_is_damaged_is_removed_and_told(workspace, flip_at):
    part = _signal_part(workspace)
    data = bytearray(part.read_bytes())
    data[len(data) // 2 if flip_at is None else flip_at] ^= 1
    part.write_bytes(data)

    planned = plan_withdrawal(_asked(), workspace.reach)[0]
    done = workspace.withdraw()

    assert not list(part.parent.iterdir())
    for tombstone in (planned, done):
        assert [trace.uri for trace in tombstone.purged if trace.kind == "rows"] == [part.as_uri()]


def test_what_a_damaged_part_says_is_given_no_digest_that_is_right(workspace):
    part = _signal_part(workspace)
    part.rename(part.with_name(f"{'0' * 64}.parquet"))

    workspace.withdraw()

    assert SignalStore(workspace.store).load([OTHER]).num_rows == 0


def test_the_tombstone_says_why_who_what_was_done_and_what_is_still_there(workspace):
    tombstone = workspace.withdraw()

    assert read_tombstone(workspace.store, FRAME) == tombstone == list_tombstones(workspace.store)[0]
    assert (tombstone.reason, tombstone.who, tombstone.state) == ("asked to", "ann", "done")
    assert {trace.kind for trace in tombstone.purged} == {"shard", "campaign", "rows", "cache", "training"}
    still = [(trace.kind, trace.uri.rpartition("/")[2]) for trace in tombstone.remaining]
    assert still == [("archive", "a.jpg"), ("source", "a.jpg")]


def test_snapshots_models_and_pages_that_have_to_do_with_the_frame_are_named(workspace):
    tombstone = workspace.withdraw()

    assert tombstone.snapshots == tuple(sorted(snapshot.snapshot_id for snapshot in workspace.snapshots))
    assert [(seen.model, seen.version, seen.state, seen.how) for seen in tombstone.models] == [
        ("city", 1, "candidate", "trained")
    ]
    assert [uri.rpartition("/")[2] for uri in tombstone.pages if "runs" in uri] == ["gallery"]
    assert len(tombstone.pages) == 2
    assert [row.action for row in workspace.reach.ledger.audit(FRAME)] == ["withdrawn"]


def test_withdrawing_twice_changes_nothing_and_keeps_the_first_reason(workspace):
    first = workspace.withdraw()
    before = workspace.files()

    second = workspace.withdraw("2027-01-01T00:00:00.000000Z", reason="another")

    assert second == first
    assert workspace.files() == before
    assert len(workspace.reach.ledger.audit(FRAME)) == 1


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    workspace = Workspace(tmp_path_factory.mktemp("undisturbed"))
    workspace.withdraw()
    return workspace


@pytest.mark.parametrize("step", ["purge_shards", "purge_copies", "purge_exports", "purge_rows", "purge_cache"])
def test_killed_before_any_part_of_the_purge_and_run_again_it_ends_in_the_same_state(
    workspace, undisturbed, step, monkeypatch
):
    with monkeypatch.context() as patched:
        patched.setattr(f"ingestion.withdraw.{step}", _die)
        with pytest.raises(KeyboardInterrupt):
            workspace.withdraw()
    assert withdrawn_ids(workspace.store) == {FRAME}
    assert read_tombstone(workspace.store, FRAME).state == "begun"

    workspace.withdraw("2027-01-01T00:00:00.000000Z")

    assert _state(workspace) == _state(undisturbed)


def _state(workspace):
    """Every file but the records of snapshots, with the workspace's own address taken out."""
    here = workspace.folder.as_uri().encode()
    files = workspace.files().items()
    return {path: data.replace(here, b"") for path, data in files if not path.startswith("store/snapshots")}


def _die(*_):
    raise KeyboardInterrupt


def test_with_delete_sources_the_loose_file_goes_and_an_archive_stays(workspace):
    tombstone = workspace.withdraw(delete_sources=True)

    assert not (workspace.folder / "loose" / "a.jpg").exists()
    assert (workspace.folder / "loose" / "b.jpg").exists()
    assert [trace.kind for trace in tombstone.remaining] == ["archive"]


def test_a_source_that_is_another_picture_by_now_is_not_deleted(workspace):
    (workspace.folder / "loose" / "a.jpg").write_bytes(KEPT)

    workspace.withdraw(delete_sources=True)

    assert (workspace.folder / "loose" / "a.jpg").read_bytes() == KEPT


def test_a_later_import_quarantines_the_same_bytes_whatever_they_are_called(workspace):
    workspace.withdraw()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("renamed.jpg", GONE)
    write(workspace.folder / "later", {"new.jpg": GONE, "b.jpg": KEPT, "again.zip": packed.getvalue()})

    later = workspace.bring_in("later")

    assert later.frames()["frame_id"].to_pylist() == [OTHER]
    assert {(row["path"], row["reason"]) for row in later.quarantine().to_pylist()} == {
        ("new.jpg", "withdrawn"),
        ("again.zip!renamed.jpg", "withdrawn"),
    }
    assert all(GONE not in data for path, data in workspace.files().items() if path.startswith("store/"))


@pytest.fixture
def later(workspace):
    """A batch with the frame as a file of its own, in an archive, and beside another frame."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("renamed.jpg", GONE)
        archive.writestr("third.jpg", picture(3))
    write(workspace.folder / "later", {"b.jpg": KEPT, "again.zip": packed.getvalue()})
    return workspace.folder / "later"


@pytest.mark.parametrize("packed_first", [False, True], ids=["before it is packed", "after it is packed"])
def test_a_frame_withdrawn_while_an_import_reads_it_is_neither_kept_nor_left_in_a_shard(
    workspace, later, monkeypatch, packed_first
):
    pack, gone = ingestion.import_batch.pack_shards, []

    def packing(store, blobs):
        rows = pack(store, blobs) if packed_first else None
        gone.append(workspace.withdraw())
        return rows if packed_first else pack(store, blobs)

    monkeypatch.setattr(ingestion.import_batch, "pack_shards", packing)
    made = workspace.bring_in("later")

    assert [tombstone.state for tombstone in gone] == ["done"]
    assert made.frames()["frame_id"].to_pylist() == sorted([OTHER, digest_bytes(picture(3))])
    assert {(row["path"], row["reason"]) for row in made.quarantine().to_pylist()} == {
        ("again.zip!renamed.jpg", "withdrawn")
    }
    assert FRAME not in made.locations()["frame_id"].to_pylist()
    assert all(GONE not in data for path, data in workspace.files().items() if path.startswith("store/"))
    assert PixelReader(made.locations()).read(digest_bytes(picture(3))) == picture(3)


def test_a_file_withdrawn_while_an_import_reads_it_is_not_kept(workspace, monkeypatch):
    look = ingestion.import_batch.look_at_objects

    def looking(files, bright):
        yield from look(files, bright)
        workspace.withdraw()

    monkeypatch.setattr(ingestion.import_batch, "look_at_objects", looking)

    assert workspace.bring_in("loose").frames()["frame_id"].to_pylist() == [OTHER]


def test_a_shard_of_which_no_snapshot_tells_loses_the_frame_too(workspace, later, monkeypatch):
    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(ingestion.import_batch, "_assemble", killed)
    with pytest.raises(KeyboardInterrupt):
        workspace.bring_in("later")
    monkeypatch.undo()

    tombstone = workspace.withdraw()

    assert len([trace for trace in tombstone.purged if trace.kind == "shard"]) == 2
    assert all(GONE not in data for path, data in workspace.files().items() if path.startswith("store/"))
    assert workspace.bring_in("later").frames().num_rows == 2


def test_a_plan_changes_nothing(workspace):
    before = workspace.files()

    (planned,) = plan_withdrawal(_asked(), workspace.reach)

    assert planned.state == "begun"
    assert workspace.files() == before


def test_a_frame_nothing_holds_can_be_withdrawn_before_it_comes(tmp_path):
    store = (tmp_path / "store").as_uri()

    withdraw(_asked(), Reach(store=store))

    assert withdrawn_ids(store) == {FRAME}


@pytest.mark.parametrize("more", [{"reason": " "}, {"who": ""}, {"frame_ids": ()}])
def test_a_withdrawal_needs_a_frame_a_reason_and_a_name(more):
    given = {"frame_ids": (FRAME,), "reason": "law", "who": "ann", "at": "", **more}

    with pytest.raises(UsageError):
        Withdrawal(**given)


def test_the_file_of_a_source_is_named_as_an_address(workspace):
    tombstone = workspace.withdraw()

    assert local_path(tombstone.remaining[1].uri) == workspace.folder / "loose" / "a.jpg"
