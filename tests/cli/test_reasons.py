import io
import sys

import pytest

from cli.reasons import shown_reason


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("where", "shown"), [(Terminal, "the re…"), (io.StringIO, "the reason")])
def test_a_reason_is_cut_on_a_terminal_alone(monkeypatch, where, shown):
    monkeypatch.setattr(sys, "stdout", where())

    assert shown_reason("the reason", 7) == shown
