import inspect

import pytest

from cli.main import COMMANDS, load_command
from tests.cli.calling import call


def _commands():
    """Yield the words and the command of everything that can be called."""
    for name, lazy in COMMANDS.items():
        yield from _below((name,), load_command(lazy, name))


def _below(words, command):
    inner = getattr(command, "commands", None)
    if inner is None:
        yield words, command
    for word, found in (inner or {}).items():
        yield from _below((*words, word), found)


EVERY = dict(_commands())


def _examples(command):
    """Return the examples as the docstring has them."""
    text = inspect.cleandoc(command.callback.__doc__)
    return [line.strip() for line in text.splitlines() if line.startswith("  driveflow ")]


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_each_example_is_a_line_of_its_own_and_calls_the_command(words, capsys):
    examples = _examples(EVERY[words])

    code, said, _ = call(capsys, *words, "--help")

    assert code == 0
    assert examples
    assert [line.strip() for line in said.splitlines() if line.startswith("    driveflow ")] == examples
    assert all(example.split()[1] == words[0] for example in examples)


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_every_command_says_its_exit_codes_and_speaks_json(words, capsys):
    _, said, _ = call(capsys, *words, "--help")

    assert "Exit codes: 0 " in said
    assert "-o, --output" in said
    assert "json" in said.partition("-o, --output")[2]


@pytest.mark.parametrize("words", [(), *sorted({words[:-1] for words in EVERY if len(words) > 1})], ids=" ".join)
def test_no_help_line_of_a_command_is_cut_short(words, capsys):
    _, said, _ = call(capsys, *words, "--help")

    assert "..." not in said.partition("Commands:")[2]
