"""Files that hold a part of a flow: a map of classes, or the rules of a merge; read and refused like a flow file."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from pydantic import ConfigDict

from driveflow.canonical import Json, canonical_json
from driveflow.errors import UsageError
from driveflow.flow.build import build
from driveflow.flow.data_validation_section import DataValidationSection
from driveflow.flow.document import Key, Node, find, parse_document
from driveflow.flow.load import read_settings
from driveflow.flow.merge_section import MergeSection
from driveflow.flow.problems import at, refusal
from driveflow.flow.rules import contradictions
from driveflow.flow.sections import BatchSection, Flow, GateSection, HoldoutSection, SplitSection, TaxonomySection

_Section = TypeVar("_Section")
_ANY_BATCH = BatchSection(name="any", path=".")


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesFile:
    """How snapshots become one: the sections of a flow that say so."""

    __pydantic_config__ = ConfigDict(extra="forbid", str_strip_whitespace=True)
    merge: MergeSection = field(default_factory=MergeSection)
    holdout: HoldoutSection = field(default_factory=HoldoutSection)
    splits: SplitSection = field(default_factory=SplitSection)


def load_taxonomy(path: Path) -> TaxonomySection:
    """Return the map of classes in the file at `path`: classes, aliases, drop, ignore.

    Raises:
        NotFoundError: there is no such file.
        UsageError: with file, line, key path, what was got and what would do.
    """
    root = parse_document(read_settings(path), str(path))
    taxonomy = build(TaxonomySection, root, str(path))
    flow = Flow(name="any", taxonomy=taxonomy, batches=(_ANY_BATCH,))
    _refuse(root, str(path), ((where[1:], text) for where, text in contradictions(flow) if where[0] == "taxonomy"))
    return taxonomy


def load_rules(path: Path, batches: Sequence[str]) -> RulesFile:
    """Return the merge rules in the file at `path`: the sections merge, holdout and splits; `batches` are merged.

    Raises:
        NotFoundError: there is no such file.
        UsageError: with file, line, key path, what was got and what would do.
    """
    root = parse_document(read_settings(path), str(path))
    rules = build(RulesFile, root, str(path))
    flow = Flow(
        name="any",
        taxonomy=TaxonomySection(classes=tuple(rules.merge.per_class) or ("any",)),  # the merge knows its classes
        batches=tuple(BatchSection(name=name, path=".") for name in batches) or (_ANY_BATCH,),
        merge=rules.merge,
        holdout=rules.holdout,
        splits=rules.splits,
    )
    _refuse(root, str(path), (found for found in contradictions(flow) if found[0][0] in {"merge", "holdout", "splits"}))
    return rules


def load_data_validation(path: Path) -> DataValidationSection:
    """Return the limits in the file at `path`: the section `data_validation` of a flow file, or that section alone.

    Raises:
        NotFoundError: there is no such file.
        UsageError: with file, line, key path, what was got and what would do.
    """
    return _section(DataValidationSection, "data_validation", path)


def load_gate(path: Path) -> GateSection:
    """Return what the file at `path` asks of a model: the section `gate` of a flow file, or that section alone.

    Raises:
        NotFoundError: there is no such file.
        UsageError: with file, line, key path, what was got and what would do.
    """
    return _section(GateSection, "gate", path)


def _section(kind: type[_Section], name: str, path: Path) -> _Section:
    """Return the section of a flow file, as it is by default where the flow has none; or the section alone."""
    root = parse_document(read_settings(path), str(path))
    inner = find(root, (name,))
    if inner is None and find(root, ("batches",)) is not None:
        return kind()
    return build(kind, root if inner is None else inner, str(path))


def batch_section(values: Mapping[str, str], more: Sequence[str] = ()) -> BatchSection:
    """Return the section of a batch that is told by options of a command and not by a flow file.

    `more` has other settings as "key=value", where the value is read as YAML.

    Raises:
        UsageError: an option cannot be what it is.
    """
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in values.items() if value]
    for setting in more:
        key, is_set, value = setting.partition("=")
        if not is_set:
            raise UsageError(f"--set {setting!r} has no value; --set clock=utc would do.")
        if values.get(key.strip()):
            raise UsageError(f"--set {setting!r}: {key.strip()} has an option or an argument of its own.")
        lines.append(f"{key.strip()}: {value}")
    try:
        root = parse_document("\n".join(lines), "options")
        section = build(BatchSection, root, "options")
        _refuse(root, "options", _contradictions_of(section))
    except UsageError as error:  # a person gave no lines, so none is told
        raise UsageError(re.sub(r"^( *options):[0-9]+: ", r"\1: ", str(error), flags=re.MULTILINE)) from error
    return section


def _contradictions_of(section: BatchSection) -> Iterable[tuple[tuple[Key, ...], str]]:
    known = TaxonomySection(classes=section.annotated_classes or ("any",))  # which classes there are is seen later
    found = contradictions(Flow(name="any", taxonomy=known, batches=(section,)))
    return ((where[2:], text) for where, text in found if where[:2] == ("batches", 0))


def _refuse(root: Node, source: str, findings: Iterable[tuple[tuple[Key, ...], str]]) -> None:
    problems = [at(root, where, text) for where, text in findings]
    if problems:
        raise refusal(source, problems)


def write_text(path: Path, text: str, *, new: bool = False) -> None:
    """Write `text` to a file.

    Raises:
        UsageError: its folder is none, or it is there and has to be `new`.
    """
    try:
        with path.open("x" if new else "w", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise UsageError(f"'{path}' is there already; name another file.") from error
    except OSError as error:
        raise UsageError(f"'{path}' cannot be written: {error.strerror or error}") from error


def batch_section_of(values: Json) -> BatchSection:
    """Return the section that the record of an import holds."""
    return build(BatchSection, parse_document(canonical_json(values), "record"), "record")


def taxonomy_of(values: Json) -> TaxonomySection:
    """Return the taxonomy that the record of an import holds."""
    return build(TaxonomySection, parse_document(canonical_json(values), "record"), "record")
