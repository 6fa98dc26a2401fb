"""Go through the rows of a CSV that is decoded some of it at a time."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TextIO

_MAX_ROW_CHARACTERS: Final = 4 << 20


class CsvRowError(ValueError):
    """A row that cannot be told apart from the next, or is none; `line` is where."""

    def __init__(self, detail: str, line: int) -> None:
        """Keep what is wrong and the line."""
        super().__init__(detail)
        self.line = line


@dataclass(slots=True)
class _Lines:
    """The lines of a file for one reader, which keeps what it has taken until a row is whole."""

    stream: TextIO
    taken: int = 0  # characters since the last row

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self.stream.readline(_MAX_ROW_CHARACTERS + 1)
        if not line:
            raise StopIteration
        self.taken += len(line)
        if self.taken > _MAX_ROW_CHARACTERS:
            raise csv.Error(f"a row is longer than {_MAX_ROW_CHARACTERS >> 20} MiB")
        return line.replace("\0", "")


def csv_rows(stream: TextIO, separator: str, *, skips_blanks: bool = False) -> Iterator[tuple[int, int, Sequence[str]]]:
    """Yield each row with its first and its last line; a cell may hold line breaks.

    Raises:
        CsvRowError: what follows is no CSV, or a row is longer than 4 MiB.
    """
    lines = _Lines(stream)
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=skips_blanks)
    while True:
        first = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise CsvRowError(str(error), reader.line_num) from None
        lines.taken = 0
        yield first, reader.line_num, row
