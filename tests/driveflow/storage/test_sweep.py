"""What killed writers left half-written goes with the next writer, what living ones write stays."""

import os
import subprocess
import sys
import time

import pytest

from driveflow.storage.local import TEMPORARY_PREFIX, machine
from driveflow.storage.sweep import noted_writer


@pytest.fixture
def gone():
    """The id of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


@pytest.fixture
def store(tmp_path):
    (tmp_path / "shards").mkdir()
    (tmp_path / "writers").mkdir()
    return tmp_path


def half_written(store, writer):
    path = store / "shards" / f"{TEMPORARY_PREFIX}{writer}-0123"
    path.write_bytes(b"half")
    return path


def test_after_a_killed_writer_its_half_written_files_and_its_note_go(store, gone):
    left, note = half_written(store, gone), store / "writers" / f"{gone}-ab"
    note.touch()
    mine, whole = half_written(store, os.getpid()), store / "shards" / "whole.bin"
    whole.touch()

    with noted_writer(store.as_uri()):
        assert not left.exists()
        assert not note.exists()
        assert mine.exists()
        assert whole.exists()
        assert len(list((store / "writers").iterdir())) == 1

    assert list((store / "writers").iterdir()) == []


def test_a_store_is_not_searched_where_no_writer_was_killed(store, gone):
    left = half_written(store, gone)

    with noted_writer(store.as_uri()):
        assert left.exists()


def test_what_is_written_in_another_machine_or_container_stays_for_a_day(store, gone):
    here, there = f"{gone}-{machine()}-01", f"{gone}-elsewhr-01"
    notes = [store / "writers" / name for name in (here, there)]
    halves = [store / "shards" / f"{TEMPORARY_PREFIX}{name}" for name in (here, there, f"{gone}-elsewhr-02")]
    for path in (*notes, *halves):
        path.write_bytes(b"half")
    yesterday = time.time() - 25 * 3600
    os.utime(halves[2], (yesterday, yesterday))

    with noted_writer(store.as_uri()):
        assert [path.exists() for path in notes] == [False, True]
        assert [path.exists() for path in halves] == [False, True, False]

    os.utime(notes[1], (yesterday, yesterday))
    os.utime(halves[1], (yesterday, yesterday))
    with noted_writer(store.as_uri()):
        assert not notes[1].exists()
        assert not halves[1].exists()


def test_a_writer_that_fails_takes_its_note_along(store):
    with pytest.raises(ZeroDivisionError), noted_writer(store.as_uri()):
        raise ZeroDivisionError

    assert list((store / "writers").iterdir()) == []


def test_nothing_is_noted_on_s3():
    with noted_writer("s3://bucket/store"):
        pass
