"""Small Markdown pages that steps show in the KFP UI."""

from collections.abc import Iterable, Mapping, Sequence

_MOST_ROWS = 200


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table; more than 200 rows are counted instead of shown."""
    shown = [tuple(str(cell).replace("|", "\\|").replace("\n", " ") for cell in row) for row in rows]
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    lines += ["| " + " | ".join(row) + " |" for row in shown[:_MOST_ROWS]]
    if len(shown) > _MOST_ROWS:
        lines.append(f"\n… and {len(shown) - _MOST_ROWS} more")
    return "\n".join(lines) + "\n"


def counts_page(title: str, counts: Mapping[str, int], more: str = "") -> str:
    """Return a page with a title, a table of counts and whatever follows."""
    return f"# {title}\n\n{markdown_table(('what', 'count'), sorted(counts.items()))}\n{more}"
