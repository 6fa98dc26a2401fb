"""A settings record out of a document: mended where the meaning is plain, refused in words where it is not."""

import functools
import json
import shlex
from dataclasses import replace
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from driveflow.flow.document import Node, find, plain
from driveflow.flow.problems import Fault, Problem, at, explain, got, refusal

T = TypeVar("T")
_PASSES = 8  # each mends one level deeper
_WORDS = {"yes": True, "on": True, "no": False, "off": False}


def build(kind: type[T], root: Node, source: str) -> T:
    """Return the record of type `kind` that the document spells; all that is wrong is named at once.

    Raises:
        UsageError: with file, line, key path, what was got and what would do.
    """
    for _ in range(_PASSES):
        faults = _faults(kind, root)
        if not isinstance(faults, list):
            return faults
        mended = [_mend(root, fault) for fault in faults]  # every one of them, not only the first
        if not any(mended):
            break
    faults = _faults(kind, root)
    if not isinstance(faults, list):
        return faults
    raise refusal(source, [_command(root, fault) or explain(kind, root, fault) for fault in faults])


def _faults(kind: type[T], root: Node) -> T | list[Fault]:
    try:
        record: T = _adapter(cast("Any", kind)).validate_json(json.dumps(plain(root)), strict=True)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
    else:
        return record
    faults = [Fault(item["type"], tuple(item["loc"]), dict(item.get("ctx", {}))) for item in found]
    faults = [told for fault in faults if (told := _of_number(root, fault)) is not None]
    return [fault for fault in faults if fault.kind != "too_short" or _is_empty(find(root, fault.path))]


def _of_number(root: Node, fault: Fault) -> Fault | None:
    """Return a fault of what may be whole or not at its own key, and once: pydantic names each kind it tried."""
    if not fault.path or fault.path[-1] not in {"int", "float"} or find(root, fault.path) is not None:
        return fault
    return replace(fault, path=fault.path[:-1]) if fault.kind.startswith("float") else None


def _is_empty(node: Node | None) -> bool:
    return node is None or not node.value  # pydantic counts entries that are wrong as missing


@functools.cache
def _adapter(kind: Any) -> TypeAdapter[Any]:  # noqa: ANN401 types are values here
    return TypeAdapter(kind)


def _mend(root: Node, fault: Fault) -> bool:
    """Change the document where its meaning is plain; return whether it was."""
    node = find(root, fault.path)
    if node is None:
        return False
    if fault.kind in {"tuple_type", "dict_type", "dataclass_type"} and node.value is None:
        return _leave_out(root, fault)  # a section whose every line is commented out
    if fault.kind == "tuple_type" and not isinstance(node.value, dict | list) and fault.path[-1] != "command":
        node.value = [Node(node.value, node.line, node.text)]
        return True
    if fault.kind == "string_type" and node.text and node.value is not None:
        node.value = node.text  # drive: 0012 is a name, not the number 12
        return True
    if fault.kind == "bool_type" and node.text and node.text.lower() in _WORDS:
        node.value = _WORDS[node.text.lower()]
        return True
    return False


def _leave_out(root: Node, fault: Fault) -> bool:
    parent: Any = find(root, fault.path[:-1])
    if not fault.path or not isinstance(parent.value, dict):
        return False
    del parent.value[str(fault.path[-1])]
    return True


def _command(root: Node, fault: Fault) -> Problem | None:
    node = find(root, fault.path)
    if fault.kind != "tuple_type" or fault.path[-1:] != ("command",) or node is None or not isinstance(node.value, str):
        return None
    try:
        words = ", ".join(shlex.split(node.value))
    except ValueError:
        words = "python, train.py"
    return at(root, fault.path, f"must be a list of words, got {got(node)}; [{words}] would do")
