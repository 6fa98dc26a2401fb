"""Checkpoints lie in the store too, so that another machine can go on."""

import pytest

from training import mirror
from training.mirror import CheckpointMirror


@pytest.fixture
def uri(tmp_path):
    return (tmp_path / "store" / "checkpoints").as_uri()


def _folder(tmp_path, name):
    folder = tmp_path / name
    folder.mkdir()
    return folder


def test_what_one_machine_saved_another_finds(tmp_path, uri):
    here, there = _folder(tmp_path, "here"), _folder(tmp_path, "there")
    (here / "part").mkdir()
    (here / "part" / "a").write_bytes(b"1")
    (here / "LATEST").write_bytes(b"part")

    CheckpointMirror(here, uri).save()
    CheckpointMirror(there, uri).restore()

    assert (there / "part" / "a").read_bytes() == b"1"
    assert (there / "LATEST").read_bytes() == b"part"


def test_files_that_are_still_being_written_are_left_out(tmp_path, uri):
    here, there = _folder(tmp_path, "here"), _folder(tmp_path, "there")
    (here / ".half").write_bytes(b"1")

    CheckpointMirror(here, uri).save()
    CheckpointMirror(there, uri).restore()

    assert list(there.iterdir()) == []


def test_what_lies_here_is_not_replaced(tmp_path, uri):
    here, there = _folder(tmp_path, "here"), _folder(tmp_path, "there")
    (here / "a").write_bytes(b"old")
    CheckpointMirror(here, uri).save()
    (there / "a").write_bytes(b"new")

    CheckpointMirror(there, uri).restore()

    assert (there / "a").read_bytes() == b"new"


def test_a_restore_that_was_broken_off_is_done_again(tmp_path, uri, monkeypatch):
    here, there = _folder(tmp_path, "here"), _folder(tmp_path, "there")
    (here / "latest").write_bytes(b"weights-3")
    (here / "weights-3").write_bytes(b"3")
    CheckpointMirror(here, uri).save()
    fetched = mirror.fetch_file

    def killed(item, path):
        if path.name == "weights-3":
            raise KeyboardInterrupt
        fetched(item, path)

    monkeypatch.setattr(mirror, "fetch_file", killed)
    with pytest.raises(KeyboardInterrupt):
        CheckpointMirror(there, uri).restore()
    monkeypatch.setattr(mirror, "fetch_file", fetched)

    CheckpointMirror(there, uri).restore()

    assert {path.name: path.read_bytes() for path in there.iterdir()} == {"latest": b"weights-3", "weights-3": b"3"}


def test_a_store_without_checkpoints_changes_nothing(tmp_path, uri):
    here = _folder(tmp_path, "here")

    CheckpointMirror(here, uri).restore()

    assert list(here.iterdir()) == []


def test_a_job_that_is_done_leaves_no_checkpoints(tmp_path, uri):
    here, there = _folder(tmp_path, "here"), _folder(tmp_path, "there")
    (here / "a").write_bytes(b"1")
    saved = CheckpointMirror(here, uri)
    saved.save()

    saved.forget()
    CheckpointMirror(there, uri).restore()

    assert list(there.iterdir()) == []
