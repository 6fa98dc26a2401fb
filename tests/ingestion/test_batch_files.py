import time

from ingestion import batch_files
from ingestion.batch_files import open_files
from ingestion.kept_texts import KeptTexts
from ingestion.listing import list_batch
from tests.ingestion.batches import write


def test_label_files_are_read_ahead_of_what_keeps_them_but_not_all_of_them(tmp_path, monkeypatch):
    objects = list_batch(write(tmp_path / "b", {f"{number}.txt": str(number) for number in range(600)}).as_uri())
    read, keep, read_when_kept = [], KeptTexts.keep, []
    read_file = batch_files.read_file

    def reading(file):
        read.append(file.name)
        return read_file(file)

    def slowly(texts, place, data):
        if not read_when_kept:
            time.sleep(0.3)  # as a disk may take
        read_when_kept.append(len(read))
        keep(texts, place, data)

    monkeypatch.setattr(batch_files, "read_file", reading)
    monkeypatch.setattr(KeptTexts, "keep", slowly)
    files = open_files(objects)

    assert {place: files.read(place) for place in files.paths} == {f"{n}.txt": str(n).encode() for n in range(600)}
    assert 1 < read_when_kept[0] <= 256
