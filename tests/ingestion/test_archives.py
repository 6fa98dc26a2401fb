import bz2
import gzip
import io
import lzma
import tarfile
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from driveflow.errors import BrokenDataError
from driveflow.images.pixels import PixelReader
from driveflow.storage.objects import write_bytes
from ingestion.archives import ArchiveLimits, list_members, read_members
from tests.ingestion.batches import adds_up, bring_in, coco, picture, quarantined, rows, write

PACKERS = {".tar": bytes, ".tar.gz": gzip.compress, ".tar.bz2": bz2.compress, ".tar.xz": lzma.compress}


def zipped(files, **options):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files:
            archive.writestr(name, data)
    return stream.getvalue()


def tarred(files):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, data in files:
            entry = tarfile.TarInfo(name)
            if isinstance(data, bytes):
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))
            else:
                entry.type, entry.linkname = data
                archive.addfile(entry)
    return stream.getvalue()


def _list(data, **limits):
    return list_members(lambda: io.BytesIO(data), len(data), ArchiveLimits(**limits))


def _all_read(data):
    return dict(read_members(lambda: io.BytesIO(data), {member.number for member in _list(data)}))


@pytest.mark.parametrize("kind", PACKERS)
def test_every_packing_yields_its_members(kind):
    data = PACKERS[kind](tarred([("./a/1.jpg", b"one"), ("2", b"two")]))

    assert [(m.name, m.byte_count, m.refused) for m in _list(data)] == [("a/1.jpg", 3, ""), ("2", 3, "")]
    assert list(_all_read(data).values()) == [b"one", b"two"]


def test_names_in_utf_8_are_read_as_such_where_the_archive_does_not_say_so():
    named = zipped([("fuur.jpg", b"one")]).replace(b"fuur.jpg", "für.jpg".encode())
    old = zipped([("fur.jpg", b"one")]).replace(b"fur.jpg", "für.jpg".encode("cp437"))

    assert [member.name for data in (named, old) for member in _list(data)] == ["für.jpg", "für.jpg"]
    assert [list(_all_read(data).values()) for data in (named, old)] == [[b"one"], [b"one"]]


@pytest.mark.parametrize("name", ["../x", "/x", "a/../../x", "C:/x", "..\\x", "\\x", "a/.."])
@pytest.mark.parametrize("pack", [zipped, tarred])
def test_a_name_that_leads_out_is_refused(name, pack):
    (member,) = _list(pack([(name, b"x")]))

    assert member.refused == "archive_path_escape"


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (tarfile.SYMTYPE, "archive_link"),
        (tarfile.LNKTYPE, "archive_link"),
        (tarfile.CHRTYPE, "archive_special"),
        (tarfile.FIFOTYPE, "archive_special"),
    ],
)
def test_links_and_devices_in_a_tar_are_refused(kind, reason):
    (member,) = _list(tarred([("x.jpg", (kind, "/etc/passwd"))]))

    assert member.refused == reason


@pytest.mark.parametrize(
    ("data", "why"), [(b"hello", "it begins as no zip and no tar does"), (b"", "it has no bytes"), (b"PK", "cannot be")]
)
def test_what_is_no_archive_is_told_in_one_line(data, why):
    with pytest.raises(BrokenDataError, match=why) as error:
        _list(data)

    assert "\n" not in error.value.detail


def test_a_zip_of_a_version_that_there_is_not_is_told_and_ends_nothing():
    data = bytearray(zipped([("a.jpg", b"x")]))
    data[data.index(b"PK\x01\x02") + 6] = 255

    with pytest.raises(BrokenDataError, match=r"archive_broken: .* zip file version 25\.5"):
        _list(bytes(data))


@pytest.mark.parametrize(
    ("name", "reason"), [(b"\0b.jpg", "archive_path_escape"), (b"././/.", "archive_member_broken")]
)
def test_a_member_without_a_name_is_refused_and_costs_no_other(name, reason):
    data = zipped([("a.jpg", b"x"), ("qb.jpg", b"y")]).replace(b"qb.jpg", name)

    assert [(member.number, member.refused) for member in _list(data)] == [(0, ""), (1, reason)]


def test_a_tar_cut_short_is_refused_as_a_whole():
    data = tarred([("a.jpg", b"x" * 5000), ("b.jpg", b"y" * 5000)])

    with pytest.raises(BrokenDataError, match="archive_broken"):
        _list(data[:8000])


def test_a_tar_with_a_broken_header_in_its_middle_is_not_taken_to_end_there():
    data = bytearray(tarred([("a.jpg", b"x" * 500), ("b.jpg", b"y" * 500)]))
    data[1024:1034] = b"\xff" * 10

    with pytest.raises(BrokenDataError, match="header at byte 1,024 is broken"):
        _list(bytes(data))


def test_a_packed_tar_that_blows_up_is_refused_before_it_is_read():
    data = gzip.compress(tarred([("zeros.bin", bytes(30_000_000))]))

    with pytest.raises(BrokenDataError, match="archive_ratio"):
        _list(data)


def test_too_many_members_are_refused():
    data = zipped([(str(n), b"") for n in range(4)])

    with pytest.raises(BrokenDataError, match="archive_too_large: more than 3 members"):
        _list(data, max_members=3)


@pytest.mark.parametrize(("most", "refused"), [(3, ""), (2, "too_large")])
def test_a_member_beyond_the_size_limit_is_refused(most, refused):
    (member,) = _list(zipped([("x", b"abc")]), max_member_bytes=most)

    assert member.refused == refused


def test_a_member_whose_checksum_is_wrong_is_named_and_the_others_are_read():
    data = bytearray(zipped([("a", b"hello"), ("b", b"world")]))
    at = data.index(b"PK\x01\x02")
    data[at + 16] ^= 0xFF

    found = _all_read(bytes(data))

    assert isinstance(found[0], BrokenDataError)
    assert found[0].code == "archive_member_broken"
    assert found[1] == b"world"


def test_an_encrypted_member_is_refused():
    data = bytearray(zipped([("a", b"hello")]))
    at = data.index(b"PK\x01\x02")
    data[at + 8] |= 1

    (member,) = _list(bytes(data))

    assert member.refused == "archive_encrypted"


def test_a_whole_coco_set_in_an_archive_is_imported_with_its_labels(tmp_path):
    import json

    document = json.dumps(coco([(1, "a.jpg")], [(1, 1, 1, (1, 1, 9, 9))])).encode()
    packed = gzip.compress(tarred([("set/labels.json", document), ("set/a.jpg", picture(1)), ("set/x.jpg", b"no")]))
    batch = bring_in(write(tmp_path / "b", {"set.tar.gz": packed}))

    assert rows(batch.tables.sources, "path") == [("set.tar.gz!set/a.jpg",)]
    assert batch.tables.boxes["class_name"].to_pylist() == ["car"]
    assert quarantined(batch) == {"set.tar.gz!set/x.jpg": "not_an_image"}
    adds_up(batch)


def test_a_yolo_set_in_a_zip_finds_its_labels(tmp_path):
    files = [
        ("data.yaml", "names: [car]\ntrain: images"),
        ("images/a.jpg", picture(1)),
        ("labels/a.txt", "0 .5 .5 .1 .1"),
    ]
    batch = bring_in(write(tmp_path / "b", {"set.zip": zipped(files)}))

    assert batch.tables.boxes["class_name"].to_pylist() == ["car"]


def test_labels_in_one_archive_find_pictures_in_another(tmp_path):
    import json

    document = json.dumps(coco([(1, "a.jpg")], [(1, 1, 1, (1, 1, 9, 9))]))
    files = {"labels.zip": zipped([("l.json", document)]), "pictures.zip": zipped([("a.jpg", picture(1))])}
    batch = bring_in(write(tmp_path / "b", files))

    assert batch.tables.boxes.num_rows == 1


def test_pictures_of_archives_are_packed_and_read_back_and_nothing_is_unpacked(tmp_path):
    files = {"one.zip": zipped([("a.jpg", picture(1)), ("b.jpg", picture(2))]), "plain.jpg": picture(2)}
    batch = bring_in(write(tmp_path / "b", files))

    pixels = PixelReader(batch.beside.locations)
    frames = batch.tables.frames["frame_id"].to_pylist()
    assert sorted(pixels.read(frame) for frame in frames) == sorted([picture(1), picture(2)])
    written = [path for path in tmp_path.rglob("*") if path.is_file() and path.parent != tmp_path / "b"]
    assert sorted(path.parent.name for path in written) == ["shard_frames", "shards"]
    assert batch.beside.locations.num_rows == 2


def test_an_archive_in_an_archive_is_named_and_not_opened(tmp_path):
    inner = zipped([("a.jpg", picture(1))])
    batch = bring_in(write(tmp_path / "b", {"outer.zip": zipped([("in.zip", inner), ("b.jpg", picture(2))])}))

    assert quarantined(batch) == {"outer.zip!in.zip": "archive_nested"}
    adds_up(batch)


def test_two_members_of_one_name_both_stay(tmp_path):
    with pytest.warns(UserWarning, match="Duplicate name"):
        packed = zipped([("a.jpg", picture(1)), ("a.jpg", picture(2)), ("A.jpg", picture(3))])
    batch = bring_in(write(tmp_path / "b", {"x.zip": packed}))

    assert rows(batch.tables.sources, "path") == [("x.zip!A.jpg",), ("x.zip!a#2.jpg",), ("x.zip!a.jpg",)]


def test_an_archive_on_s3_is_read_in_place(tmp_path, s3_store):
    from driveflow.flow.sections import BatchSection
    from ingestion.import_batch import BatchRequest, import_batch
    from ingestion.listing import list_batch
    from tests.ingestion.batches import TAXONOMY

    home = f"{s3_store}/batch"
    write_bytes(f"{home}/set.zip", zipped([("a b#1.jpg", picture(1)), ("c.jpg", picture(2))]))
    write_bytes(f"{home}/d.jpg", picture(3))

    request = BatchRequest(BatchSection(name="b", path=home), home, TAXONOMY, f"{s3_store}/store", list_batch(home))
    batch = import_batch(request)

    assert rows(batch.tables.sources, "path") == [("d.jpg",), ("set.zip!a b#1.jpg",), ("set.zip!c.jpg",)]
    pixels = PixelReader(batch.beside.locations)
    assert {pixels.read(frame) for frame in batch.tables.frames["frame_id"].to_pylist()} == {
        picture(n) for n in (1, 2, 3)
    }


def _parquet(**columns):
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream)
    return stream.getvalue()


@pytest.mark.parametrize("table", [("metadata.csv", b"path,drive\na.jpg,d\n"), ("metadata.parquet", {})])
@pytest.mark.parametrize("home", ["", "top/"])
def test_metadata_in_an_archive_is_of_the_pictures_beside_it(tmp_path, table, home):
    name, data = table
    members = [(f"{home}a.jpg", picture(1)), (f"{home}{name}", data or _parquet(path=["a.jpg"], drive=["d"]))]

    made = bring_in(write(tmp_path / "b", {"s.zip": zipped(members), "a.jpg": picture(2)}))

    assert rows(made.tables.sources, "path", "drive") == [
        ("a.jpg", "b/a.jpg"),
        (f"s.zip!{home}a.jpg", "d"),
    ]
