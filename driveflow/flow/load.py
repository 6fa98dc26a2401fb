"""Flow files: read, checked at the edge, with every default filled; and the canonical text that a pipeline carries."""

from dataclasses import asdict, replace
from pathlib import Path

from driveflow.canonical import canonical_json
from driveflow.errors import NotFoundError, UsageError
from driveflow.flow.build import build
from driveflow.flow.document import MAX_BYTES, Node, find, parse_document
from driveflow.flow.problems import at, refusal
from driveflow.flow.rules import contradictions, states_holdout
from driveflow.flow.sections import Flow
from driveflow.flow.shorthand import expand

DEFAULT_HOLDOUT_FRACTION = 0.2


def load_flow(path: Path) -> Flow:
    """Return the flow that the file at `path` defines.

    Raises:
        NotFoundError: there is no such file.
        UsageError: with file, line, key path, what was got and what would do; all at once, at most five in words.
    """
    return load_flow_text(read_settings(path), str(path))


def load_flow_text(text: str, name: str) -> Flow:
    """Return the flow that `text` defines, in YAML or as `flow_to_json` wrote it; errors call it `name`."""
    return build_flow(parse_document(text, name), name)


def build_flow(root: Node, source: str) -> Flow:
    """Return the flow that a document spells; its short forms are written out in place."""
    contradicting = expand(root)
    if contradicting:
        raise refusal(source, contradicting)
    flow = build(Flow, root, source)
    problems = [at(root, path, text) for path, text in contradictions(flow)]
    if not states_holdout(flow) and find(root, ("holdout", "fraction")):
        problems.append(
            at(root, ("holdout", "fraction"), "is 0 and nothing else is stated: nothing would judge models")
        )
    if problems:
        raise refusal(source, problems)
    return _filled(flow)


def flow_to_json(flow: Flow) -> str:
    """Return the flow as the one canonical text that `load_flow_text` reads back."""
    return canonical_json(asdict(flow))


def read_settings(path: Path) -> str:
    """Return the text of a settings file; larger ones than are read anyway are refused unread."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise UsageError(f"{path} is larger than {MAX_BYTES} bytes; a settings file is smaller")
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{path}:{line}: not UTF-8: the byte 0x{error.object[error.start]:02x}") from error
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFoundError(f"There is no file '{path}'.") from error
    except OSError as error:
        raise UsageError(f"'{path}' cannot be read: {error.strerror or error}") from error


def _filled(flow: Flow) -> Flow:
    """Return the flow with the defaults that depend on other sections."""
    registry = replace(flow.registry, model=flow.registry.model or flow.name)
    if states_holdout(flow):
        return replace(flow, registry=registry)
    return replace(flow, registry=registry, holdout=replace(flow.holdout, fraction=DEFAULT_HOLDOUT_FRACTION))
