"""Tables that people fill in: CSV with commas, or with the semicolons or tabs that their spreadsheet writes instead."""

import csv
import io
from typing import TypeAlias

Sheet: TypeAlias = "csv.DictReader[str]"


def open_sheet(text: str) -> Sheet:
    """Return the rows of a CSV by the names of its first line, which tells what stands between cells.

    >>> open_sheet("frame_id;score;answer").fieldnames
    ['frame_id', 'score', 'answer']
    """
    header = text.partition("\n")[0]
    return csv.DictReader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=header.count))
