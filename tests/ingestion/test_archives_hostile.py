import gzip
import io
import struct
import tarfile
import time
import zipfile
import zlib

import pytest

from driveflow.errors import BrokenDataError
from ingestion.archives import ArchiveLimits, list_members, read_members
from ingestion.batch_files import open_files
from ingestion.listing import list_batch
from tests.ingestion.batches import adds_up, bring_in, picture, quarantined, write


def zipped(*files):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in files:
            archive.writestr(name, data)
    return stream.getvalue()


def tarred(*files):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, data in files:
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return stream.getvalue()


def head(name, size, kind):
    """Return the head of a member of a tar of which it says more than there is."""
    entry = tarfile.TarInfo(name)
    entry.size, entry.type = size, kind
    return entry.tobuf(tarfile.GNU_FORMAT)


def _list(data):
    return list_members(lambda: io.BytesIO(data), len(data), ArchiveLimits())


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE, tarfile.XGLTYPE])
@pytest.mark.parametrize("first", [b"", tarred(("a.jpg", b"x"))[:1024]])
def test_a_tar_whose_member_has_a_name_of_gigabytes_is_refused_before_the_name_is_read(kind, first):
    bomb = gzip.compress(first + head("long", 40 << 20, kind) + b"a" * (40 << 20) + head("b.jpg", 0, tarfile.REGTYPE))

    with pytest.raises(BrokenDataError, match="archive_broken: the head of a member has more than 1,048,576 bytes"):
        _list(bomb)


def test_a_sparse_file_of_very_many_pieces_in_a_tar_is_refused():
    sparse = bytearray(head("s.jpg", 0, tarfile.GNUTYPE_SPARSE))
    sparse[482] = 1  # the map goes on in the next block
    sparse[148:156] = b"%06o\0 " % sum(sparse[:148] + b" " * 8 + sparse[156:])
    block = b"00000000001\0" * 42 + b"\1" + bytes(7)

    with pytest.raises(BrokenDataError, match="the head of a member has more than"):
        _list(bytes(sparse) + block * 3000)


def test_a_chain_of_long_names_in_a_tar_ends_no_import(tmp_path):
    link = head("././@LongLink", 5, tarfile.GNUTYPE_LONGNAME) + b"abcd\0".ljust(512, b"\0")
    files = {"x.tar": link * 900 + tarred(("a.jpg", picture(1))), "good.jpg": picture(2)}
    batch = bring_in(write(tmp_path / "b", files), taxonomy=None)

    assert quarantined(batch) == {"x.tar": "archive_broken"}
    assert batch.counts["frames"] == 1


def test_members_of_a_zip_that_share_their_bytes_are_refused_but_for_one():
    data = zipped(("a.jpg", b"x" * 5000))
    at, end = data.index(b"PK\x01\x02"), data.index(b"PK\x05\x06")
    listed = data[at:end] * 200
    tail = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 200, 200, len(listed), at, 0)

    members = _list(data[:at] + listed + tail)

    assert [member.refused for member in members] == [""] + ["archive_member_broken"] * 199
    assert "those of another" in members[1].detail


def test_a_member_of_a_zip_that_reaches_into_the_next_is_refused():
    data = bytearray(zipped(("a.jpg", b"x" * 50), ("b.jpg", b"y" * 50)))
    data[data.index(b"PK\x01\x02") + 20] += 100

    assert [member.refused for member in _list(bytes(data))] == ["archive_member_broken", ""]


def test_a_tar_of_one_name_takes_no_longer_than_one_of_many(tmp_path):
    data = gzip.compress(tarred(*[("a.jpg", b"")] * 20_000))
    write(tmp_path / "b", {"x.tar.gz": data})
    before_s = time.process_time()
    files = open_files(list_batch((tmp_path / "b").as_uri())).files

    assert time.process_time() - before_s < 15
    assert {file.name for file in files} >= {"x.tar.gz!a.jpg", "x.tar.gz!a#2.jpg", "x.tar.gz!a#20000.jpg"}


TWO = {
    "zip": (zipped(("a.jpg", picture(1))) + zipped(("b.jpg", picture(2))), "b.jpg", "are of no member"),
    "tar": (tarred(("b.jpg", picture(2))) + tarred(("a.jpg", picture(1))), "b.jpg", "two in one file"),
    "tar.gz": (gzip.compress(tarred(("b.jpg", picture(2)))) + b"no gzip", "b.jpg", "behind its end it is damaged"),
    "tgz": (gzip.compress(tarred(("b.jpg", picture(2))))[:-8] + bytes(8), "b.jpg", "behind its end it is damaged"),
}


@pytest.mark.parametrize("ending", TWO)
def test_what_is_read_of_no_archive_although_it_is_in_its_file_is_named(tmp_path, ending):
    data, kept, why = TWO[ending]
    batch = bring_in(write(tmp_path / "b", {f"x.{ending}": data}), taxonomy=None)

    assert batch.tables.sources["path"].to_pylist() == [f"x.{ending}!{kept}"]
    assert quarantined(batch) == {f"x.{ending}": "archive_stray_bytes"}
    assert why in batch.beside.quarantine["detail"][0].as_py()
    adds_up(batch)


def test_zeros_behind_the_end_of_a_tar_and_a_comment_of_a_zip_are_nothing(tmp_path):
    commented = zipped(("a.jpg", picture(1)))[:-2] + struct.pack("<H", 4) + b"note"
    tape = tarred(("b.jpg", picture(2))) + bytes(30_000)
    files = {"a.zip": commented, "b.tar": tape, "c.tar.gz": gzip.compress(tape) + bytes(512)}
    batch = bring_in(write(tmp_path / "b", files), taxonomy=None)

    assert quarantined(batch) == {}
    assert batch.counts["files_kept"] == 3


@pytest.mark.parametrize(
    ("beside", "found"),
    [("中文.jpg", "中文.jpg"), ("../中文.jpg", "../中文.jpg"), ("", "╓╨╬─.jpg"), (b"\xff\xfe", "╓╨╬─.jpg")],
)
def test_a_name_that_a_packer_put_beside_the_one_of_its_code_page_counts(beside, found):
    raw = "中文.jpg".encode("gbk")
    named = beside if isinstance(beside, bytes) else beside.encode()
    entry = zipfile.ZipInfo("XXXX.jpg")
    said = b"\1" + zlib.crc32(raw).to_bytes(4, "little") + named
    entry.extra = struct.pack("<HHHH", 0x5455, 2, 7, 0x7075) + struct.pack("<H", len(said)) + said
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(entry, b"x")
    data = stream.getvalue().replace(b"XXXX.jpg", raw)

    (member,) = _list(data)

    assert member.name == found
    assert member.refused == ("archive_path_escape" if ".." in found else "")
    assert dict(read_members(lambda: io.BytesIO(data), {0})) == {0: b"x"}


def test_a_name_beside_another_name_counts_for_nothing():
    entry = zipfile.ZipInfo("Xa.jpg")
    said = b"\1" + bytes(4) + "ü.jpg".encode()
    entry.extra = struct.pack("<HH", 0x7075, len(said)) + said
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(entry, b"x")

    assert _list(stream.getvalue().replace(b"Xa.jpg", b"\x81a.jpg"))[0].name == "üa.jpg"
