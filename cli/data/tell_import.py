"""What an import, a merge or an inspection made, as a person reads it."""

import io
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.output import visible

if TYPE_CHECKING:
    from driveflow.canonical import Json

_ROWS = 10
_WIDTH = 120
_MIB = 1 << 20


def import_text(report: Mapping[str, Any]) -> str:
    """Return the report of an import as text."""
    return joined(
        f"{_move(report)}  snapshot {report['snapshot'][:16]}",
        f"Read as {report['format']} {_cost(report)}"
        + (", nothing new: taken from the last time" if report["reused"] else ""),
        _line(report, ("frames", "frames_labeled", "sources", "drives", "boxes", "ignored_boxes")),
        f"files {report['files_in']:,} = kept {report['files_kept']:,} + quarantined {report['files_quarantined']:,}"
        f" + skipped {report['files_skipped']:,}",
        _boxes_read(report["counts"]),
        counted("class", "boxes", report["classes"]),
        *quarantine_text(report["quarantined"]),
        counted("remark", "times", report["remarks"]["reasons"]),
        _conflicts(report),
        *(visible(note) for note in report["notes"] if note != f"Read as {report['format']}."),
    )


def merge_text(report: Mapping[str, Any]) -> str:
    """Return the report of a merge as text."""
    counts = report["counts"]
    return joined(
        f"{_move(report)}  snapshot {report['snapshot'][:16]}",
        f"Merged {', '.join(report['merged'])} {_cost(report)}",
        *(_adds_up(counts, name) for name in ("frames", "sources", "boxes")),
        counted("split", "frames", report["splits"]),
        counted("class", "boxes", report["classes"]),
        _conflicts(report),
        "" if counts["frames"] else "Nothing is left: the rules leave every frame out.",
    )


def quarantine_text(held: Mapping[str, Any], most: int = _ROWS) -> list[str]:
    """Return the counts by reason and the first rows of a quarantine, as tables."""
    if not held["total"]:
        return ["Nothing was quarantined."]
    rows = [
        (row["path"] + (f":{row['line']}" if row["line"] else ""), row["reason"], row["detail"])
        for row in held["rows"][:most]
    ]
    more = f"... and {held['total'] - len(rows):,} more" if held["total"] > len(rows) else ""
    return [counted("reason", "quarantined", held["reasons"]), drawn(("path", "reason", "detail"), rows), more]


def nothing_called(said: str, asked: str, what: str, known: "Json") -> str:
    """Return that nothing is called as was `asked`; the keys of `known` are what there is."""
    names = ", ".join(known) if isinstance(known, Mapping) else ""
    return f"{said} {asked!r}; {what} here: {names or 'none'}."


def rest_of(total: int, shown: int) -> str:
    """Return how many rows of `total` are not shown, and what writes them out; nothing where all are."""
    return f"... and {total - shown:,} more; --limit {total} writes out all" if total > shown else ""


def counted(name: str, what: str, counts: Mapping[str, int]) -> str:
    """Return counts as a table, the largest first."""
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return drawn((name, what), [(key, f"{count:,}") for key, count in rows]) if rows else ""


def drawn(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of cells; letters that cannot be seen are spelled out."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in columns:
        table.add_column(name, overflow="fold", justify="right" if name in {"boxes", "frames", "files"} else "left")
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    console = Console(file=io.StringIO(), width=_WIDTH, color_system=None)
    console.print(table)
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().rstrip().splitlines())


def joined(*parts: str) -> str:
    """Return the parts that say something, tables with a line of space around them."""
    shown = [part for part in parts if part]
    return "\n".join(f"\n{part}\n" if "\n" in part else part for part in shown).strip("\n").replace("\n\n\n", "\n\n")


def _move(report: Mapping[str, Any]) -> str:
    moved = "is now" if report["tag_moved"] else "unchanged:"
    return f"{report['tag']}@{report['tag_number']} {moved}"


def _cost(report: Mapping[str, Any]) -> str:
    return f"in {report['seconds']:.1f} s, peak memory {report['peak_memory_bytes'] // _MIB:,} MiB"


def _line(report: Mapping[str, Any], names: Sequence[str]) -> str:
    return "  ".join(f"{name.replace('_', ' ')} {report[name]:,}" for name in names)


def _boxes_read(counts: Mapping[str, int]) -> str:
    """Say where boxes went, where not all that were read are kept."""
    came, went = counts["boxes_read"], {way: counts[f"boxes_{way}"] for way in _BOXES_WENT}
    if counts["boxes"] == came and not any(went.values()):
        return ""
    more = f" + for more classes {counts['boxes_multiplied']:,}" if counts["boxes_multiplied"] else ""
    rest = "".join(f" + {way.replace('_', ' ')} {count:,}" for way, count in went.items() if count)
    return f"boxes read {came:,}{more} = kept {counts['boxes']:,}{rest}"


def _adds_up(counts: Mapping[str, int], name: str) -> str:
    went = {way: counts.get(f"{name}_{way}", 0) for way in _WENT[name]}
    rest = "".join(f" + {way.replace('_', ' ')} {count:,}" for way, count in went.items() if count)
    return f"{name} in {counts[f'{name}_in']:,} = kept {counts[name]:,}{rest}"


_BOXES_WENT = ("dropped", "quarantined", "without_picture", "united")
_WENT = {
    "frames": ("shared", "leaked", "withdrawn", "where", "sampling", "quota"),
    "sources": ("repeated", "leaked", "withdrawn", "left_out"),
    "boxes": ("united", "overruled", "in_review", "leaked", "withdrawn", "left_out", "filtered"),
}


def _conflicts(report: Mapping[str, Any]) -> str:
    kinds = report["conflict_kinds"]
    told = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    see = f"; `driveflow data conflicts {report['tag']}` lists them"
    return f"conflicts {sum(kinds.values())}: {told}{see}" if kinds else "No conflicts."
