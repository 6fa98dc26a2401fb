"""The part of the report that says what the next curation searches for."""

from collections.abc import Sequence

from driveflow.next_curation import Query
from driveflow.pages import html
from driveflow.pages.html import Cell, Column, Html, Text
from validation.pages.measured import Section

_WORDS = (
    "Predicates of what failed and of errors that cluster; a corner case with `miner: failed_slices` searches by them. "
    "No frame of the hold-out steers the search."
)


def queries_sections(queries: Sequence[Query]) -> list[Section]:
    """Return the section of what the next curation searches for; none where nothing failed."""
    if not queries:
        return []
    rows: list[list[Cell | Text]] = [
        [query.kind, html.name(query.name), html.code(query.spelled()), query.why] for query in queries
    ]
    columns = [Column("kind"), Column("name"), Column("predicate"), Column("why")]
    content: Html = html.join([html.paragraph(_WORDS, tone="info"), html.table(columns, rows, label="Predicates")])
    return [Section("next", "Next curation", "What the next curation searches for", content)]
