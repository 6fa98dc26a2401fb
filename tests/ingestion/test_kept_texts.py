import gc
import tempfile
from pathlib import Path

from ingestion.kept_texts import KeptTexts


def _kept(most_bytes):
    texts = KeptTexts(most_bytes)
    for place in "abcd":
        texts.keep(place, place.encode() * 10)
    return texts


def test_what_does_not_fit_into_memory_is_there_all_the_same():
    texts = _kept(most_bytes=25)

    assert dict(texts) == {place: place.encode() * 10 for place in "abcd"}
    assert len(texts) == 4
    assert "d" in texts
    assert texts.get("e") is None


def test_a_file_of_nothing_is_kept():
    texts = _kept(most_bytes=0)
    texts.keep("e", b"")

    assert texts["e"] == b""


def test_what_does_not_fit_onto_the_disk_either_stays_in_memory(monkeypatch):
    def full(prefix, **how):
        return Path("/dev/full").open("w+b", **how)

    monkeypatch.setattr(tempfile, "TemporaryFile", full)

    texts = _kept(most_bytes=25)

    assert dict(texts) == {place: place.encode() * 10 for place in "abcd"}
    del texts
    gc.collect()  # an error of the file that is closed would fail this test


def test_without_a_folder_for_temporary_files_all_stays_in_memory(monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")

    assert dict(_kept(most_bytes=25)) == {place: place.encode() * 10 for place in "abcd"}
