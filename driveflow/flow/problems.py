"""What is wrong with a settings file, said with file, line, key path, what was got and what would do."""

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

from driveflow.errors import UsageError
from driveflow.flow.document import Key, Node, find

MAX_SHOWN = 5
_WIDTH = 60  # of a value that is quoted back
_EXAMPLES = {
    "name": "name: my-flow",
    "taxonomy": "classes: [car, pedestrian]",
    "classes": "classes: [car, pedestrian]",
    "batches": "batches: [data/batch_a]",
    "path": "path: data/batch_a",
    "where": "where: {classes: [car]}",
    "at_least": "at_least: 0.5",
    "profile": "profile: local",
}
_SHORT_FORMS = {"taxonomy": "classes"}  # a key beside a section that shorthand.py writes into it
_BOUNDS = {
    "ge": "{} or more",
    "gt": "more than {}",
    "le": "{} or less",
    "lt": "less than {}",
    "multiple_of": "a multiple of {}",
}
_PATTERNS = {  # by how they begin
    "^[a-z0-9][": "lower-case letters, digits, _ and -, beginning with a letter or digit, at most 41 of them",
    "^([a-z0-9]": "empty, or letters a-z, digits, _ . and -, beginning with a letter or digit",
    "^[A-Za-z_]": "the name of an environment variable (its value lies in the secret, never here)",
    r"^(\d{4}-": "empty, or a day such as 2026-11-29",
    "^[0-9]+": "a Kubernetes quantity such as 2, 500m or 4Gi",
}
_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "string": "text",
    "tuple": "a list such as [a, b]",
    "dict": "a mapping such as {a: b}",
    "dataclass": "a section of keys",
}


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing that is wrong."""

    line: int
    path: tuple[Key, ...]
    text: str

    def say(self, source: str) -> str:
        """Return it as one line."""
        where = spell(self.path)
        line = f"{source}:{self.line}: {where + ': ' if where else ''}{self.text}"
        return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in line)


@dataclass(frozen=True, slots=True)
class Fault:
    """What pydantic found, in the part that is used here."""

    kind: str
    path: tuple[Key, ...]
    limits: dict[str, Any]


def refusal(source: str, problems: Iterable[Problem]) -> UsageError:
    """Return the error that names all `problems`, at most five of them in words."""
    found = sorted(set(problems), key=lambda problem: (problem.line, spell(problem.path), problem.text))
    shown = [problem.say(source) for problem in found[:MAX_SHOWN]]
    if len(found) == 1:
        return UsageError(shown[0])
    rest = [f"and {len(found) - MAX_SHOWN} more"] if len(found) > MAX_SHOWN else []
    return UsageError("\n  ".join([f"{source} has {len(found)} errors:", *shown, *rest]))


def spell(path: Sequence[Key]) -> str:
    """Return a key path as people write it.

    >>> spell(("batches", 0, "path"))
    'batches[0].path'
    """
    text = ""
    for key in path:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else key
    return text


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the known word that `word` is most like, empty where none is like it."""
    close = difflib.get_close_matches(word.lower(), list(known), n=1, cutoff=0.6)
    return close[0] if close else ""


def at(root: Node, path: tuple[Key, ...], text: str) -> Problem:
    """Return the problem `text` at the line of `path`, or of the nearest section around it."""
    for end in range(len(path), -1, -1):
        node = find(root, path[:end])
        if node is not None:
            return Problem(node.line if end == len(path) else node.key_line or node.line, path, text)
    return Problem(root.line, path, text)


def explain(kind: type, root: Node, fault: Fault) -> Problem:
    """Return what pydantic found in words, at its line."""
    if fault.kind == "unexpected_keyword_argument":
        return _unknown_key(kind, root, fault.path)
    if fault.kind in {"missing", "missing_argument", "missing_keyword_only_argument"}:
        key = str(fault.path[-1])
        hint = f"; for example {_EXAMPLES[key]}" if key in _EXAMPLES else ""
        return at(root, fault.path, f"missing{hint}")
    node = find(root, fault.path)
    would_do = _would_do(kind, fault, node)
    return at(root, fault.path, f"must be {_expected(kind, fault)}, got {got(node)}{would_do}")


def _unknown_key(kind: type, root: Node, path: tuple[Key, ...]) -> Problem:
    word, node = str(path[-1]), find(root, path)
    section = type_at(kind, path[:-1])
    known = _keys(section)
    near, elsewhere = nearest(word, known), _sections_with(kind, word)
    if near:
        text = f'unknown key "{word}", did you mean "{near}"?'
    elif elsewhere:
        text = f'unknown key "{word}" here; it is a key of {" and ".join(elsewhere)}'
    else:
        text = f'unknown key "{word}"; known are {", ".join(known)}'
    line = (node.key_line or node.line) if node else root.line
    return Problem(line, path, text)


def type_at(kind: Any, path: Sequence[Key]) -> Any:  # noqa: ANN401 types are values here
    """Return the type that the settings have at `path`, None where they have none."""
    for key in path:
        origin = get_origin(kind)
        if is_dataclass(kind):
            kind = get_type_hints(kind).get(str(key))
        elif origin is tuple or origin is list:
            kind = get_args(kind)[0]
        elif origin is dict:
            kind = get_args(kind)[1]
        else:
            return None
    return kind


def _keys(section: Any) -> list[str]:  # noqa: ANN401 types are values here
    names = [field.name for field in fields(section)] if is_dataclass(section) else []
    return [*names, *(_SHORT_FORMS[name] for name in names if name in _SHORT_FORMS)]


def _sections_with(kind: type, word: str) -> list[str]:
    hints = get_type_hints(kind)
    inner = {name: get_args(hint)[0] if get_origin(hint) is tuple else hint for name, hint in hints.items()}
    return [f'"{name}"' for name, section in inner.items() if word in _keys(section)][:2]


def _would_do(kind: type, fault: Fault, node: Node | None) -> str:
    if node is None or not isinstance(node.value, str):
        return ""
    wanted = type_at(kind, fault.path)
    if get_origin(wanted) is Literal:
        near = nearest(node.value, [str(choice) for choice in get_args(wanted)])
        return f", did you mean {near}?" if near else ""
    if fault.kind == "string_pattern_mismatch" and fault.limits["pattern"].startswith("^[a-z0-9]["):
        return f"; '{slug(node.value)}' would do"
    number = re.fullmatch(r"[0-9][0-9_,]*(\.[0-9]+)?", node.value)
    return f"; {re.sub('[_,]', '', node.value)} would do" if number and fault.kind.startswith(("int", "float")) else ""


def slug(text: str) -> str:
    """Return `text` as a name: lower case, digits, _ and -.

    >>> slug("Batch A.v2/")
    'batch-a-v2'
    """
    return re.sub(r"[^a-z0-9_-]+", "-", text.lower()).strip("-_")[:41] or "name"


def _expected(kind: type, fault: Fault) -> str:
    wanted = type_at(kind, fault.path)
    if fault.kind == "string_pattern_mismatch":
        return next(
            (words for start, words in _PATTERNS.items() if fault.limits["pattern"].startswith(start)), "another text"
        )
    if get_origin(wanted) is Literal:
        return " or ".join(str(choice) or "empty" for choice in get_args(wanted))
    if fault.kind in {"too_short", "string_too_short"}:
        return "at least one entry" if fault.kind == "too_short" else "some text"
    for name, words in _BOUNDS.items():
        if name in fault.limits:
            return words.format(f"{fault.limits[name]:g}")
    base = next((words for prefix, words in _KINDS.items() if fault.kind.startswith(prefix)), "")
    keys = _keys(wanted)
    return f"a section of the keys {', '.join(keys)}" if keys else base or f"another value ({fault.kind})"


def got(node: Node | None) -> str:
    """Return the value of `node` as an error quotes it back."""
    if node is None or node.value is None:
        return "nothing"
    if isinstance(node.value, list):
        return f"a list of {len(node.value)}"
    if isinstance(node.value, dict):
        return f"a section with {', '.join(list(node.value)[:3]) or 'no keys'}"
    if isinstance(node.value, str):
        return f"'{node.value if len(node.value) <= _WIDTH else node.value[:_WIDTH] + '...'}'"
    return node.text or str(node.value).lower()
