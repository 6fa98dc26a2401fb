"""Hostile YAML or JSON text as a small tree of values that know their lines."""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NoReturn, TypeAlias, Union

import yaml

from driveflow.canonical import Json
from driveflow.errors import UsageError

MAX_BYTES = 2**20
MAX_NODES = 50_000  # after aliases are expanded: nine lists of nine aliases each would be a billion
MAX_DEPTH = 32
_NOTHING = {"", "~", "null", "Null", "NULL"}
_TRUTH = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_WHOLE = re.compile(r"[-+]?[0-9]{1,18}")
_REAL = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_LOADER: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Scalar: TypeAlias = Union[bool, int, float, str, None]  # noqa: UP007 one union of plain values
Key: TypeAlias = str | int


@dataclass(slots=True)
class Node:
    """A value and the line that holds it; `text` is what an unquoted scalar was written as."""

    value: Scalar | list["Node"] | dict[str, "Node"]
    line: int
    text: str | None = None
    key_line: int = 0  # of the key in front of it; 0: it has none
    size: int = 1  # nodes in it
    depth: int = 1


def parse_document(text: str, source: str) -> Node:
    """Return the tree of the one YAML document in `text`; `source` names it in errors.

    Raises:
        UsageError: no YAML, more than one document, a duplicate key, a tag, or too large once aliases are expanded.
    """
    if len(text) > MAX_BYTES:
        raise UsageError(f"{source} has {len(text)} characters; at most {MAX_BYTES} are read")
    _refuse_half_letters(text, source)
    one_line_json = _from_one_line_json(text, source)
    try:
        root = one_line_json or _Composer(source).compose(text)
    except yaml.YAMLError as error:
        raise UsageError(_why_no_yaml(error, source)) from error
    if not isinstance(root.value, dict):
        raise UsageError(f"{source}:{root.line}: the file must be a mapping of keys such as 'name: my-flow'")
    return root


def plain(node: Node) -> Json:
    """Return the bare value of a tree."""
    if isinstance(node.value, dict):
        return {key: plain(item) for key, item in node.value.items()}
    if isinstance(node.value, list):
        return [plain(item) for item in node.value]
    return node.value


def find(root: Node, path: tuple[Key, ...]) -> Node | None:
    """Return the node at `path`, None where there is none."""
    node: Node | None = root
    for key in path:
        if node is None:
            return None
        if isinstance(node.value, dict):
            node = node.value.get(str(key))
        elif isinstance(node.value, list) and isinstance(key, int) and key < len(node.value):
            node = node.value[key]
        else:
            return None
    return node


class _Composer:
    """Builds the tree from events, without recursion; owns the open collections and the anchors."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.open: list[tuple[Node, str | None]] = []  # and their anchors
        self.keys: list[tuple[str, int] | None] = []  # the key that waits for its value, per open collection
        self.anchors: dict[str, Node] = {}
        self.root: Node | None = None

    def compose(self, text: str) -> Node:
        for event in self._events(text):
            if isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent):
                self._refuse_tag(event)
            if isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
                self._start(event)
            elif isinstance(event, yaml.CollectionEndEvent):
                self._end()
            elif isinstance(event, yaml.ScalarEvent):
                self._scalar(event)
            elif isinstance(event, yaml.AliasEvent):
                self._alias(event)
        if self.root is None:
            raise UsageError(
                f"{self.source} is empty; to start from, `driveflow init` writes a flow file and "
                "`driveflow data inspect SRC --write-map FILE` a map of classes"
            )
        return self.root

    def _events(self, text: str) -> Iterator[yaml.Event]:
        documents = 0
        for event in yaml.parse(text, Loader=_LOADER):
            documents += isinstance(event, yaml.DocumentStartEvent)
            if documents > 1:
                self._fail(event, "a second document starts here; one file holds one")
            yield event

    def _start(self, event: yaml.MappingStartEvent | yaml.SequenceStartEvent) -> None:
        if self._wants_key():
            self._fail(event, "a key must be one word, not a list or a mapping")
        if len(self.open) >= MAX_DEPTH:
            self._fail(event, f"nested deeper than {MAX_DEPTH} levels")
        self.open.append((Node({} if isinstance(event, yaml.MappingStartEvent) else [], _line(event)), event.anchor))
        self.keys.append(None)

    def _end(self) -> None:
        node, anchor = self.open.pop()
        self.keys.pop()
        self._place(node, anchor, node.line)

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        quoted = not event.implicit[0]
        if self._wants_key():
            self._take_key(event)
            return
        text = str(event.value)
        node = Node(text if quoted else _resolve(text), _line(event), None if quoted else text)
        self._place(node, event.anchor, node.line)

    def _alias(self, event: yaml.AliasEvent) -> None:
        if self._wants_key():
            self._fail(event, "a key must be one word, not an alias")
        target = self.anchors.get(event.anchor or "")
        if target is None:
            self._fail(event, f"the alias *{event.anchor} names no finished value before it")
        room = MAX_NODES - sum(node.size for node, _ in self.open)
        if target.size > room or target.depth + len(self.open) > MAX_DEPTH:
            self._fail(event, f"aliases make more than {MAX_NODES} values or {MAX_DEPTH} levels out of this file")
        self._place(_copied(target), None, _line(event))

    def _wants_key(self) -> bool:
        return bool(self.open) and isinstance(self.open[-1][0].value, dict) and self.keys[-1] is None

    def _take_key(self, event: yaml.ScalarEvent) -> None:
        key, mapping = str(event.value), self.open[-1][0].value
        if isinstance(mapping, dict) and key in mapping:
            self._fail(event, f'the key "{key}" stands twice; the first is on line {mapping[key].key_line}')
        if key == "<<":
            self._fail(event, "merge keys (<<) are not read; write the keys out")
        self.keys[-1] = (key, _line(event))

    def _place(self, node: Node, anchor: str | None, line: int) -> None:
        if anchor:
            self.anchors[anchor] = node
        if not self.open:
            self.root = node
            return
        parent, waiting = self.open[-1][0], self.keys[-1]
        parent.size += node.size
        parent.depth = max(parent.depth, node.depth + 1)
        if isinstance(parent.value, list):
            parent.value.append(node)
        elif isinstance(parent.value, dict) and waiting:
            node.key_line = waiting[1]
            parent.value[waiting[0]] = node
            self.keys[-1] = None
        if parent.size > MAX_NODES:
            raise UsageError(f"{self.source}:{line}: more than {MAX_NODES} values; at most so many are read")

    def _refuse_tag(self, event: yaml.ScalarEvent | yaml.CollectionStartEvent) -> None:
        if event.tag and event.tag != "!":
            self._fail(event, f"the tag {event.tag} is not read; write plain values only")

    def _fail(self, event: yaml.Event, why: str) -> NoReturn:
        raise UsageError(f"{self.source}:{_line(event)}: {why}")


def _copied(node: Node) -> Node:
    value = node.value
    if isinstance(value, dict):
        value = {key: _copied(item) for key, item in value.items()}
    elif isinstance(value, list):
        value = [_copied(item) for item in value]
    return replace(node, value=value)


def _line(event: yaml.Event) -> int:
    return int(event.start_mark.line) + 1 if event.start_mark else 1


def _resolve(text: str) -> Scalar:
    """Return the value of an unquoted scalar, read as YAML 1.2 does: no dates, no octals, and `no` is a word."""
    if text in _NOTHING:
        return None
    if text in _TRUTH:
        return _TRUTH[text]
    if _WHOLE.fullmatch(text):
        return int(text)
    if _REAL.fullmatch(text) and math.isfinite(float(text)):
        return float(text)
    return text


def _refuse_half_letters(text: str, source: str) -> None:
    if re.search("[\ud800-\udfff]", text):
        raise UsageError(f"{source} holds half of a surrogate pair, which is no letter")


def _why_no_yaml(error: yaml.YAMLError, source: str) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        context = f" {error.context}" if error.context else ""
        return f"{source}:{error.problem_mark.line + 1}: no YAML: {error.problem}{context}"
    return f"{source}: no YAML: {' '.join(str(error).split())}"


def _from_one_line_json(text: str, source: str) -> Node | None:
    """Return the tree of canonical JSON, None for anything else: YAML would fold some letters that JSON keeps."""
    stripped = text.strip()
    if not stripped.startswith("{") or "\n" in stripped:
        return None
    try:
        value = json.loads(stripped, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        return None
    return _json_node(value, source, 1)


class _Pairs(list[tuple[str, Json]]):
    """The members of a JSON object in the order they stand, duplicates included."""


def _json_node(value: Json, source: str, depth: int) -> Node:
    if depth > MAX_DEPTH:
        raise UsageError(f"{source}:1: nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, _Pairs):
        members: dict[str, Node] = {}
        for key, item in value:
            if key in members:
                raise UsageError(f'{source}:1: the key "{key}" stands twice')
            members[key] = _json_node(item, source, depth + 1)
        return Node(members, 1, key_line=1)
    if isinstance(value, list):
        return Node([_json_node(item, source, depth + 1) for item in value], 1, key_line=1)
    if isinstance(value, float) and not math.isfinite(value):
        return Node(str(value), 1)
    if isinstance(value, str):
        _refuse_half_letters(value, source)
    assert value is None or isinstance(value, bool | int | float | str)
    return Node(value, 1)
