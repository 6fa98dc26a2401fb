import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from driveflow.errors import NotFoundError, StorageError, StorageFullError, UsageError
from driveflow.storage import local, objects


def test_names_that_are_no_utf8_or_hold_newlines_survive(tmp_path: Path):
    names = [b"\xff\xfe.jpg", b"line\nbreak.jpg", b"tab\t.jpg", b"back\\slash.jpg", b"\xe9t\xe9.jpg"]
    for name in names:
        (tmp_path / os.fsdecode(name)).write_bytes(name)

    found = list(objects.list_objects(tmp_path.as_uri()))

    assert {objects.read_bytes(info.uri) for info in found} == set(names)
    for info in found:
        assert info.uri.isascii()
        assert objects.join(tmp_path.as_uri(), info.path) == info.uri


def test_links_and_pipes_are_left_out_and_named(tmp_path: Path):
    (tmp_path / "a.jpg").write_bytes(b"x")
    (tmp_path / "link.jpg").symlink_to("a.jpg")
    (tmp_path / "loop").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "pipe.jpg")

    assert [info.path for info in objects.list_objects(tmp_path.as_uri())] == ["a.jpg"]
    assert objects.list_skipped(tmp_path.as_uri()) == (
        ("link.jpg", "link"),
        ("loop", "link"),
        ("pipe.jpg", "special_file"),
    )


@pytest.mark.parametrize("below", ["", "/tags", "/snapshots/made_by"])
def test_a_file_in_the_place_of_a_folder_is_named(tmp_path: Path, below: str):
    (tmp_path / "store").write_bytes(b"x")

    with pytest.raises(UsageError, match=rf"^{tmp_path}/store is a file, and should be a folder"):
        list(objects.list_objects((tmp_path / "store").as_uri() + below))


def test_a_missing_folder_is_not_found(tmp_path: Path):
    with pytest.raises(NotFoundError, match="no folder"):
        list(objects.list_objects((tmp_path / "nothing").as_uri()))


def test_a_folder_is_no_object(tmp_path: Path):
    assert objects.stat(tmp_path.as_uri()) is None
    with pytest.raises(StorageError, match="Is a directory"):
        objects.read_bytes(tmp_path.as_uri())


def test_a_file_in_the_way_of_a_folder_fails_the_write(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(StorageError, match="Cannot write"):
        objects.write_bytes((tmp_path / "file" / "x").as_uri(), b"")


def test_a_write_that_fails_leaves_the_old_object_and_no_litter(tmp_path: Path):
    target = tmp_path / "x"
    target.write_bytes(b"old")

    with pytest.raises(RuntimeError):
        local.write_atomically(target, _fail)

    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def _fail(file: object) -> None:
    raise RuntimeError


def test_what_a_killed_writer_left_is_not_listed(tmp_path: Path):
    (tmp_path / f"{local.TEMPORARY_PREFIX}1-abc").write_bytes(b"half")

    assert list(objects.list_objects(tmp_path.as_uri())) == []


def test_a_full_disk_says_so():
    if not os.access("/dev/full", os.W_OK):
        pytest.skip("this system has no /dev/full")
    with (
        pytest.raises(StorageFullError, match="no space left"),
        local.told("write", "here"),
        Path("/dev/full").open("wb") as f,
    ):
        f.write(b"x" * 100_000)


def test_a_full_file_system_fails_the_write_and_keeps_what_was_there(tmp_path: Path):
    """A limit on the size of files stands for the disk: the kernel cuts the write as a full disk does."""
    script = f"""
import resource, signal
from driveflow.errors import StorageError
from driveflow.storage import objects
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
objects.write_bytes({(tmp_path / "x").as_uri()!r}, b"small")
try:
    objects.write_bytes({(tmp_path / "x").as_uri()!r}, b"x" * 5000)
except StorageError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert os.strerror(errno.EFBIG) in done.stdout
    assert (tmp_path / "x").read_bytes() == b"small"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_written_files_have_the_permissions_of_the_process(tmp_path: Path):
    old = os.umask(0o027)
    try:
        objects.write_bytes((tmp_path / "x").as_uri(), b"")
    finally:
        os.umask(old)

    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o640
