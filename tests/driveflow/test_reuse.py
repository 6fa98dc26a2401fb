"""A kept result is used again only where its record is what was written."""

from pathlib import Path

import pytest

from driveflow.reuse import KeptResult, kept_parts, load_result, store_result

RESULT = KeptResult({"frames": 24}, {"kept": 24}, {"AP50": 1.0, "AP": 1e-300}, {"page": "ü"}, (), ("A note.",))


@pytest.fixture
def store(tmp_path: Path) -> str:
    store_result(tmp_path.as_uri(), "merge_batches", "key", RESULT, {"code": "1"})
    return tmp_path.as_uri()


def _load(store: str) -> KeptResult | None:
    return load_result(store, "merge_batches", "key")


def test_a_whole_record_gives_the_result_back(store):
    assert _load(store) == RESULT
    assert kept_parts(store, "merge_batches", "key") == {"code": "1"}


@pytest.mark.parametrize("bit", range(8))
def test_a_record_damaged_in_any_byte_never_gives_another_result(store, tmp_path, bit):
    record = tmp_path / "reuse" / "merge_batches" / "key.json"
    whole = record.read_bytes()

    for place in range(len(whole)):
        record.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :])

        assert _load(store) in (None, RESULT)  # 1E-300 is 1e-300
        assert kept_parts(store, "merge_batches", "key") in (None, {"code": "1"})


@pytest.mark.parametrize("text", [b"", b"null", b"[]", b"{}", b'{"digest": 1}', b"[" * 100_000, b"\x8c"])
def test_a_record_of_another_shape_is_a_result_that_has_to_be_made_again(store, tmp_path, text):
    (tmp_path / "reuse" / "merge_batches" / "key.json").write_bytes(text)

    assert _load(store) is None
