"""A record that states its own digest is what was written, or none."""

import pytest

from driveflow.canonical import sealed_json, unsealed_json

RECORD = {"metrics": {"AP": 1e-300, "loss": 0.25}, "model": "ü", "starts": 1}


def test_a_whole_record_is_read_as_it_was_written():
    assert unsealed_json(sealed_json(RECORD)) == RECORD


@pytest.mark.parametrize("bit", range(8))
def test_a_record_damaged_in_any_byte_is_none(bit):
    whole = sealed_json(RECORD)

    for place in range(len(whole)):
        damaged = whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :]
        try:
            assert unsealed_json(damaged) == RECORD  # 1E-300 is 1e-300
        except ValueError:
            continue


@pytest.mark.parametrize("text", [b"", b"null", b"[]", b"{}", b'"digest"', b'{"digest": 1}', b"[" * 100_000, b"\x8c"])
def test_what_is_no_record_is_told_as_a_value_that_is_none(text):
    with pytest.raises(ValueError, match=r"."):
        unsealed_json(text)
