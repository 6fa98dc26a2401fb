"""The short forms of a flow file, written out: top-level classes, a batch as a path, derived names."""

from collections import Counter
from pathlib import PurePosixPath

from driveflow.flow.document import Node
from driveflow.flow.problems import Problem, at, slug


def expand(root: Node) -> list[Problem]:
    """Write the short forms in `root` out in place; return what contradicts itself."""
    problems = _lift_classes(root)
    assert isinstance(root.value, dict)
    batches = root.value.get("batches")
    if batches is not None:
        _expand_batches(batches)
    return problems


def _lift_classes(root: Node) -> list[Problem]:
    assert isinstance(root.value, dict)
    classes = root.value.pop("classes", None)
    if classes is None:
        return []
    taxonomy = root.value.setdefault("taxonomy", Node({}, classes.line, key_line=classes.key_line))
    if taxonomy.value is None:
        taxonomy.value = {}
    if not isinstance(taxonomy.value, dict):
        return []  # a wrong taxonomy is named later
    if "classes" in taxonomy.value:
        return [at(root, ("taxonomy", "classes"), f"stated twice; the short form is on line {classes.key_line}")]
    taxonomy.value["classes"] = classes
    return []


def _expand_batches(batches: Node) -> None:
    if _text(batches):
        batches.value = [Node(batches.value, batches.line, batches.text)]
    if not isinstance(batches.value, list):
        return
    for entry in batches.value:
        if _text(entry):
            entry.value = {"path": Node(entry.value, entry.line, entry.text)}
    taken = Counter(_word(entry, "name") for entry in batches.value)
    for entry in batches.value:
        _derive_name(entry, taken)


def _derive_name(entry: Node, taken: Counter[str]) -> None:
    path = _word(entry, "path")
    if not isinstance(entry.value, dict) or "name" in entry.value or not path:
        return
    base = slug(PurePosixPath(path.rstrip("/")).name)
    name = base
    while name in taken:
        taken[base] += 1
        name = f"{base[:34]}-{taken[base]}"
    taken[name] += 1
    entry.value["name"] = Node(name, entry.line)


def _word(entry: Node, key: str) -> str:
    node = entry.value.get(key) if isinstance(entry.value, dict) else None
    return _text(node) if node else ""


def _text(node: Node) -> str:
    """Return a scalar as it was written: the folder 0012 is no number; empty for anything else."""
    if isinstance(node.value, str):
        return node.value
    return node.text or "" if isinstance(node.value, int | float) else ""
