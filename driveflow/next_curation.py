"""What a validation asks the next curation to look for: predicates over frames and boxes, never frames it has seen."""

from dataclasses import asdict, dataclass, field
from typing import Literal

from driveflow.canonical import Json, canonical_json
from driveflow.flow.build import build
from driveflow.flow.document import parse_document
from driveflow.flow.fields import STRICT
from driveflow.flow.sections import WhereSection
from driveflow.reuse import put_object, read_object


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Frames to look for: those that meet `where`, `expression` and, with some box, `boxes_expression`.

    `kind` says what asks for them: a slice or a class that failed the gate, or a cluster of errors; `why` says it in a
    sentence with its numbers.
    """

    __pydantic_config__ = STRICT
    name: str
    kind: Literal["slice", "class", "missed", "false"] = "slice"
    where: WhereSection = field(default_factory=WhereSection)
    expression: str = ""
    boxes_expression: str = ""
    why: str = ""

    def spelled(self) -> str:
        """Return the predicate in one line."""
        parts = [f"any of {', '.join(self.where.classes)}"] if self.where.classes else []
        parts += [f"{key} in {', '.join(values)}" for key, values in self.where.attributes.items()]
        return "; ".join([*parts, *(text for text in (self.expression, self.boxes_expression) if text)])


@dataclass(frozen=True, slots=True, kw_only=True)
class NextCuration:
    """The queries of one validation, and which it was: run, model, its digest, hold-out and verdict."""

    __pydantic_config__ = STRICT
    run_id: str
    model: str
    digest: str
    holdout_id: str
    outcome: str
    queries: tuple[Query, ...] = ()

    def origin(self) -> str:
        """Return which validation this is, for people."""
        return f"run {self.run_id} of {self.model} {self.digest[:12]}: {self.outcome}"


def put_next_curation(store: str, made: NextCuration) -> str:
    """Keep what a validation asks for, and return its address."""
    return put_object(store, canonical_json(_plain(asdict(made))).encode(), ".json")


def read_next_curation(uri: str) -> NextCuration:
    """Return what lies at `uri`, checked.

    Raises:
        NotFoundError, IntegrityError: it is gone, or is not what was written.
    """
    return build(NextCuration, parse_document(read_object(uri).decode(), uri), uri)


def _plain(value: Json) -> Json:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
