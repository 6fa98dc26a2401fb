"""Every store keeps the same promises: the contract suite of local folders and a real S3 server."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from driveflow.errors import InvalidInputError, NotFoundError, StorageError, UsageError
from driveflow.storage import objects

HARD_NAMES = [
    "blank name.jpg",
    "quote'\".jpg",
    "hash#query?percent%41.jpg",
    "plus+amp&semi;.jpg",
    "日本語/フレーム🚗.jpg",
    "cafe\u0301.jpg",
    "caf\u00e9.jpg",
    "deep/er/and/deeper.jpg",
]


@pytest.fixture(params=["file", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "s3":
        return request.getfixturevalue("s3_store")
    return (tmp_path / "st ore#1").as_uri()


def test_what_is_written_is_read_back(store: str):
    uri = objects.join(store, "a/b.bin")

    assert objects.write_bytes(uri, b"0123456789")

    assert objects.read_bytes(uri) == b"0123456789"
    assert objects.read_bytes(uri, offset=3) == b"3456789"
    assert objects.read_bytes(uri, offset=3, length=4) == b"3456"
    assert objects.read_bytes(uri, offset=8, length=40) == b"89"
    assert objects.read_bytes(uri, offset=10) == b""
    assert objects.read_bytes(uri, offset=2, length=0) == b""


def test_an_empty_object_is_an_object(store: str):
    uri = objects.join(store, "empty")

    objects.write_bytes(uri, b"")

    assert objects.read_bytes(uri) == b""
    assert objects.stat(uri).size == 0


def test_a_second_write_replaces_the_first_and_changes_the_version(store: str):
    uri = objects.join(store, "x")
    objects.write_bytes(uri, b"one")
    before = objects.stat(uri)

    objects.write_bytes(uri, b"two")

    assert objects.read_bytes(uri) == b"two"
    assert objects.stat(uri).version != before.version


def test_a_conditional_write_leaves_what_is_there(store: str):
    uri = objects.join(store, "x")

    assert objects.write_bytes(uri, b"one", if_absent=True)
    assert not objects.write_bytes(uri, b"two", if_absent=True)

    assert objects.read_bytes(uri) == b"one"


@pytest.mark.parametrize("harm", [b"onf", b"on", b"", b"one and more"])
def test_ac_o1_an_object_named_by_its_digest_is_written_once_and_made_good_where_it_was_damaged(store, harm):
    uri = objects.join(store, "digest")

    first, again = objects.keep_bytes(uri, b"one"), objects.keep_bytes(uri, b"one")
    objects.write_bytes(uri, harm)
    healed = objects.keep_bytes(uri, b"one")

    assert (first, again, healed) == (True, False, True)
    assert objects.read_bytes(uri) == b"one"


def test_of_eight_conditional_writers_one_wins(store: str):
    uri = objects.join(store, "race")
    gate = threading.Barrier(8)

    def write(number: int) -> bool:
        gate.wait()
        return objects.write_bytes(uri, str(number).encode(), if_absent=True)

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(write, range(8)))

    assert sum(won) == 1
    assert objects.read_bytes(uri) == str(won.index(True)).encode()


def test_hard_names_survive(store: str):
    for name in HARD_NAMES:
        objects.write_bytes(objects.join(store, name), name.encode())

    found = list(objects.list_objects(store))

    assert [info.path for info in found] == sorted(HARD_NAMES)
    for info in found:
        assert objects.read_bytes(info.uri) == info.path.encode()
        assert info.uri == objects.join(store, info.path)
        assert objects.to_uri(info.uri) == info.uri
        assert objects.stat(info.uri).version == info.version
        assert info.size == len(info.path.encode())


def test_a_listing_stays_inside_its_folder(store: str):
    objects.write_bytes(objects.join(store, "run1/x"), b"")
    objects.write_bytes(objects.join(store, "run10/x"), b"")

    assert [info.path for info in objects.list_objects(objects.join(store, "run1"))] == ["x"]


def test_a_listing_of_more_than_one_page_is_whole_and_sorted(store: str):
    names = [f"{number % 7}/{number:05}" for number in range(1100)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: objects.write_bytes(objects.join(store, name), b""), names))

    assert [info.path for info in objects.list_objects(store)] == sorted(names)


def test_what_is_absent_says_so(store: str):
    uri = objects.join(store, "nothing")

    assert objects.stat(uri) is None
    with pytest.raises(NotFoundError, match="nothing"):
        objects.read_bytes(uri)
    with pytest.raises(NotFoundError):
        objects.read_bytes(uri, offset=0, length=0)
    objects.delete(uri)


def test_a_deleted_object_is_gone(store: str):
    uri = objects.join(store, "x")
    objects.write_bytes(uri, b"x")

    objects.delete(uri)

    assert objects.stat(uri) is None


@pytest.mark.parametrize("size", [0, 5, (16 << 20) + 17])
def test_a_file_goes_there_and_back(store: str, tmp_path: Path, size: int):
    source, target = tmp_path / "source.bin", tmp_path / "new folder" / "target.bin"
    source.write_bytes(os.urandom(size))
    uri = objects.join(store, "large.bin")

    objects.put_file(source, uri)
    objects.fetch_file(uri, target)

    assert target.read_bytes() == source.read_bytes()
    assert objects.stat(uri).size == size
    assert [path.name for path in target.parent.iterdir()] == ["target.bin"]


def test_fetching_what_is_absent_leaves_no_file(store: str, tmp_path: Path):
    target = tmp_path / "out" / "x"

    with pytest.raises(NotFoundError):
        objects.fetch_file(objects.join(store, "nothing"), target)

    assert not target.exists()


@pytest.mark.parametrize("part", ["../x", "a/../../x", "/etc/passwd", "a\0b"])
def test_a_part_that_leaves_the_folder_is_refused(store: str, part: str):
    with pytest.raises(InvalidInputError, match="no path inside a folder"):
        objects.join(store, part)


def test_a_missing_bucket_is_not_found(s3_store: str):
    with pytest.raises(NotFoundError, match="no-such-bucket"):
        list(objects.list_objects("s3://no-such-bucket-here/x"))


def test_a_name_that_is_no_utf8_cannot_be_an_s3_key(s3_store: str):
    with pytest.raises(InvalidInputError, match="keys are UTF-8"):
        objects.write_bytes(objects.join(s3_store, "\udcff.jpg"), b"")


@pytest.mark.parametrize("uri", ["gs://bucket/key", "http://host/x", "plain/path", "file://host/x", "file:///a%00b"])
def test_an_address_of_another_kind_is_refused(uri: str):
    with pytest.raises(UsageError):
        objects.read_bytes(uri)


def test_relative_paths_become_uris(tmp_path: Path):
    assert objects.to_uri("a b/../c#d", tmp_path) == (tmp_path / "c#d").as_uri()
    assert objects.to_uri("s3://bucket/a b#c/") == "s3://bucket/a b#c"
    assert objects.to_uri("file:///a b/x%23y") == "file:///a%20b/x%23y"
    assert objects.local_path("file:///a%20b/x%23y") == Path("/a b/x#y")
    assert objects.local_path("s3://bucket/x") is None


def test_the_home_of_nobody_is_no_place():
    with pytest.raises(UsageError, match="'~no-such-user/x' begins with a home"):
        objects.to_uri("~no-such-user/x")


def test_s3_without_keys_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))

    with pytest.raises(StorageError, match=r"Unable to locate credentials; the AWS_\* environment says how"):
        objects.read_bytes("s3://no-such-bucket-without-keys/x")
