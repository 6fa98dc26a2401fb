"""The code of an evaluation is all that decides its numbers, so that no two are compared that were made otherwise."""

import ast
from pathlib import Path

import validation.model
from validation.model.scored import BELOW

DECIDES_NO_NUMBER = {
    "driveflow.canonical",
    "driveflow.code_digest",
    "driveflow.errors",
    "driveflow.flow.sections",
    "driveflow.time_of_day",  # doubts tags
    "driveflow.where",  # which frames a slice has stands in the digest of the hold-out
}


def test_whatever_the_evaluator_stands_on_is_part_of_its_code_or_decides_no_number():
    sources = Path(validation.model.__file__).parent.glob("*.py")
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in sources]
    found = {node.module for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}

    assert {name for name in found if name and name.startswith("driveflow")} == DECIDES_NO_NUMBER | set(BELOW)
