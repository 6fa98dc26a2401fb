import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa

from driveflow.aside import Aside, let_go, set_aside

SCHEMA = pa.schema([("name", pa.string()), ("number", pa.int64())])


def _rows(first, count):
    return pa.table({"name": [f"{n:064}" for n in range(first, first + count)], "number": range(first, first + count)})


def _resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_few_rows_are_what_was_added():
    found = set_aside([_rows(0, 3), _rows(3, 2)], SCHEMA)

    assert found.equals(_rows(0, 5))


def test_nothing_has_the_columns():
    assert Aside(SCHEMA).table().equals(SCHEMA.empty_table())


def test_many_rows_stay_readable_after_their_memory_was_given_back():
    parts = [_rows(first, 70_000) for first in (0, 70_000, 140_000, 210_000)]

    found = set_aside(parts, SCHEMA)
    let_go()

    assert found.equals(pa.concat_tables(parts))


def test_many_rows_take_no_memory_but_when_they_are_looked_at():
    found = set_aside((_rows(first, 100_000) for first in range(0, 1_000_000, 100_000)), SCHEMA)
    assert found["number"][999_999].as_py() == 999_999
    looked_at = sum(len(chunk.buffers()[2]) for chunk in found["name"].chunks)
    _ = found["name"].combine_chunks()[0]
    before = _resident_bytes()

    let_go()

    assert before - _resident_bytes() > looked_at // 2


def test_without_a_folder_for_temporary_files_rows_stay_in_memory(monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", "/nowhere")

    assert set_aside([_rows(0, 200_000)], SCHEMA).num_rows == 200_000


def test_no_file_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    found = set_aside([_rows(0, 200_000)], SCHEMA)

    assert (found.num_rows, list(tmp_path.iterdir())) == (200_000, [])


def test_a_full_folder_for_temporary_files_is_named_with_what_would_do(tmp_path: Path):
    """A limit on the size of files stands for the disk: the kernel cuts the write as a full disk does."""
    script = """
import resource, signal
import pyarrow as pa
from driveflow.aside import set_aside
from driveflow.errors import StorageFullError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
rows = pa.table({"number": range(300_000)})
try:
    set_aside([rows], rows.schema)
except StorageFullError as error:
    print(error)
"""
    found = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert str(tmp_path) in found.stdout
    assert "TMPDIR" in found.stdout
    assert found.stderr == ""
