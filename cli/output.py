"""How a command speaks: data to stdout as text or JSON, words to stderr."""

import errno
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer

from driveflow.canonical import Json

if TYPE_CHECKING:
    from driveflow.place import Place

Format: TypeAlias = Literal["text", "json"]
Output: TypeAlias = Annotated[Format, typer.Option("--output", "-o", help="Words for a person, or JSON for a program.")]
Workspace: TypeAlias = Annotated[
    Path, typer.Option("--workspace", "-w", help="Folder of the local store, ledger and runs.", file_okay=False)
]
ProfileOption: TypeAlias = Annotated[
    str, typer.Option("--profile", help="A profile file, or the name of one in profiles/ beside the flow file.")
]
ProfileHere: TypeAlias = Annotated[
    str, typer.Option("--profile", help="A profile file, or the name of one in ./profiles.")
]
Most: TypeAlias = Annotated[
    int, typer.Option("--limit", min=0, max=1_000_000_000, help="So many rows are written out; all are counted.")
]
AnySnapshot: TypeAlias = Annotated[str, typer.Argument(help="A tag, id or address of a snapshot.", show_default=False)]
DEFAULT_WORKSPACE = Path(".driveflow")


def emit(value: Json, output: Format, text: str | None = None) -> None:
    """Print `value` to stdout: as JSON, or as `text`, or where there is none as a table or lines of its own."""
    typer.echo(
        json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) if output == "json" else text or as_text(value)
    )


def write_file(path: Path, data: bytes, option: str = "--to") -> None:
    """Write what a person asked to have in a file that `option` names, and make its folder.

    Raises:
        UsageError: it is an address.
        InvalidInputError: nothing can be written there.
    """
    from driveflow.errors import InvalidInputError
    from driveflow.storage.uris import require_local

    require_local(path, option)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise
        raise InvalidInputError(
            f"{path} cannot be written: {error.strerror}; name another file by {option}."
        ) from error


def read_sheet(path: Path) -> str:
    """Return the text of a table that a person filled in.

    Raises:
        NotFoundError: there is no such file.
        UsageError: it is no text in UTF-8.
    """
    from driveflow.errors import NotFoundError, UsageError

    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise NotFoundError(f"There is no file {path}.") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is no text in UTF-8: {error.reason}; save it as CSV in UTF-8.") from error


def say(text: str) -> None:
    """Print words for a person to stderr."""
    typer.echo(text, err=True)


def as_text(value: Json) -> str:
    """Return records as a table, one record as lines, anything else as itself."""
    if isinstance(value, Mapping):
        return "\n".join(f"{key}: {_paragraph(item)}" for key, item in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        rows = [item for item in value if isinstance(item, Mapping)]
        return table(rows) if rows and len(rows) == len(value) else "\n".join(_cell(item) for item in value)
    return _cell(value)


def visible(text: str) -> str:
    """Return `text` on one line: line breaks, commands to terminals, and marks that turn writing are spelled out."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def table(rows: Sequence[Mapping[str, Json]], columns: Sequence[str] | None = None) -> str:
    """Return `rows` as aligned columns under their names; numbers stand right."""
    names = list(columns or dict.fromkeys(name for row in rows for name in row))
    cells = [[_cell(row.get(name, "")) for name in names] for row in rows]
    widths = [max(len(line[i]) for line in [names, *cells]) for i in range(len(names))]
    right = [all(isinstance(row.get(name), int | float) for row in rows) and bool(rows) for name in names]
    return "\n".join(_line(line, widths, right) for line in [names, *cells])


def place_from(workspace: Path, profile: str = "") -> "Place":
    """Return the place that `profile` names, with everything local under `workspace`."""
    from driveflow.flow.profile import load_profile, place_of

    found = load_profile(profile, Path.cwd())
    os.environ.update(found.s3_variables())
    return place_of(found, workspace)


def _cell(value: Json) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "-"}[value]
    if isinstance(value, float):
        return f"{value:.4g}"
    return visible(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _paragraph(value: Json) -> str:
    """Return a value as words, which may be on several lines."""
    return "\n".join(map(visible, value.split("\n"))) if isinstance(value, str) else _cell(value)


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = (c.rjust(w) if r else c.ljust(w) for c, w, r in zip(cells, widths, right, strict=True))
    return "  ".join(padded).rstrip()
