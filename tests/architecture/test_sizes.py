"""Files and functions stay small enough to read."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MOST_LINES = 300
MOST_FUNCTION_LINES = 40
# Compiled, a call with arrays counts their references: split up, this reader of bits takes five times as long.
IN_ONE_PIECE = {("eighth_kernel.py", "read")}
SOURCES = sorted(
    path
    for package in ROOT.glob("*/__init__.py")
    if package.parent.name not in {"tests", "benchmarks"}
    for path in package.parent.rglob("*.py")
)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_file_stays_under_300_lines_and_a_function_under_40(path):
    text = path.read_text(encoding="utf-8")
    long_functions = [
        f"{node.name}: {_body_lines(node)}"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and _body_lines(node) > MOST_FUNCTION_LINES
        and (path.name, node.name) not in IN_ONE_PIECE
    ]

    assert len(text.splitlines()) <= MOST_LINES
    assert long_functions == []


def _body_lines(node):
    """Count the lines of code; a docstring and a signature with one parameter a line are no code."""
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return 0 if not body else body[-1].end_lineno - body[0].lineno + 1
