"""`driveflow filter relations`: what each limit finds among pairs whose relation is known."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.output import DEFAULT_WORKSPACE, Output, ProfileHere, Workspace, emit, read_sheet, table

if TYPE_CHECKING:
    from driveflow.canonical import Json
    from filtering.relations import Embed, Limit, NamedPair, RelationTable

Read = Callable[[str], bytes]


def relations(  # noqa: PLR0913, PLR0917 one parameter an option
    where: Annotated[
        str, typer.Argument(metavar="WHERE", help="A folder of pictures, or a snapshot.", show_default=False)
    ],
    pairs: Annotated[
        list[Path],
        typer.Option("--pairs", help="CSV with base, variant, relation, or a, b; may be repeated.", dir_okay=False),
    ],
    bits: Annotated[str, typer.Option(help="Limits of the 64-bit hash.")] = "2,4",
    cosine: Annotated[str, typer.Option(help="Limits of the distance of embeddings; empty: none.")] = "0.02,0.05",
    model: Annotated[str, typer.Option(help="The model that embeds.")] = "builtin://efficientnet-lite0",
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """Print a table by relation: how many pairs each limit finds of those it should, and of those it should not.

    Pairs that are exact_bytes, same_pixels or near should be found; mirrored and hard ones (lists without a relation
    are hard) never. Nothing is written. For one limit of embeddings alone: --bits "" --cosine 0.05.

    Examples:
      driveflow filter relations pictures --pairs pairs.csv --pairs hard_pairs.csv
      driveflow filter relations may --pairs reviewed.csv --bits 2,4,8 --cosine 0.05 -o json

    Exit codes: 0 done, 2 usage, 3 a picture is not there.
    """
    from filtering.relations import relation_table

    limits = _limits(bits, cosine)
    named = _pairs(pairs)
    embed = _embed(model) if any(limit.method == "cosine" for limit in limits) else None
    found = relation_table(named, _reader(where, workspace, profile), limits, embed)
    emit(found.to_json(), output, _text(found))


def _limits(bits: str, cosine: str) -> "list[Limit]":
    from filtering.relations import Limit

    return [
        Limit("bytes"),
        Limit("pixels"),
        *(Limit("bits", most) for most in _numbers("--bits", bits, 64)),
        *(Limit("cosine", most) for most in _numbers("--cosine", cosine, 2)),
    ]


def _numbers(option: str, text: str, top: int) -> list[float]:
    from driveflow.errors import UsageError

    try:
        found = [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        found = [-1.0]
    if any(not 0 <= number <= top for number in found):
        raise UsageError(f"{option} takes numbers from 0 to {top} with commas between them, got {text!r}.")
    return found


def _pairs(paths: list[Path]) -> "list[NamedPair]":
    from filtering.relations import read_pairs

    return [pair for path in paths for pair in read_pairs(read_sheet(path), str(path))]


def _embed(model: str) -> "Embed":
    from driveflow.embeddings.catalog import load_embedder

    return load_embedder(model).embed


def _reader(where: str, workspace: Path, profile: str) -> Read:
    if Path(where).is_dir() and not (Path(where) / "snapshot.json").is_file():
        return _folder_reader(Path(where))
    return _snapshot_reader(where, workspace, profile)


def _folder_reader(folder: Path) -> Read:
    """Return what reads a picture by its path in `folder`, or by its name where only one is called so."""
    from driveflow.errors import NotFoundError, UsageError

    by_name: dict[str, list[Path]] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            by_name.setdefault(path.name, []).append(path)
            by_name.setdefault(path.relative_to(folder).as_posix(), []).append(path)

    def read(name: str) -> bytes:
        found = list(dict.fromkeys(by_name.get(name, [])))
        if not found:
            raise NotFoundError(f"No picture in {folder} is called {name!r}.")
        if len(found) > 1 and folder / name not in found:
            raise UsageError(f"{len(found)} pictures in {folder} are called {name!r}; write the path.")
        return (folder / name if folder / name in found else found[0]).read_bytes()

    return read


def _snapshot_reader(text: str, workspace: Path, profile: str) -> Read:
    from cli.frame_argument import find_frame
    from cli.output import place_from
    from cli.snapshot_argument import find_snapshot, lineage
    from driveflow.images.pixels import open_pixels

    snapshot = find_snapshot(text, workspace, profile)
    records = list(lineage(snapshot))
    readers = [open_pixels(record, place_from(workspace, profile)) for record in records]

    def read(name: str) -> bytes:
        frame_id = find_frame(name, records)
        return next((reader for reader in readers if frame_id in reader), readers[0]).read(frame_id)

    return read


def _text(found: "RelationTable") -> str:
    rows: list[dict[str, Json]] = [
        {
            "relation": row.relation,
            "pairs": row.pairs,
            **{
                str(limit): f"{count} {count / row.pairs:.0%}"
                for limit, count in zip(found.limits, row.found, strict=True)
            },
            "should be found": {True: "yes", False: "never", None: "either way"}[row.wanted],
        }
        for row in found.rows
    ]
    false = ", ".join(f"{found.false_finds(limit)} at {limit}" for limit in found.limits)
    lines = [table(rows), f"false finds: {false}"]
    if found.unreadable:
        lines.append(f"unreadable: {', '.join(found.unreadable[:5])} ({len(found.unreadable)} in all)")
    return "\n".join(lines)
