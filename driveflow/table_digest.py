"""Digest a table by what it says, whatever its chunks, its order and the machine."""

import hashlib
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from driveflow.aside import let_go, set_aside
from driveflow.errors import InvalidInputError

_BLOCK_ROWS = 65_536


def sort_by_key(table: pa.Table, keys: Sequence[str]) -> pa.Table:
    """Return `table` sorted by `keys` (bytewise), refusing two rows of one key."""
    if _is_sorted(table, keys):
        return table
    table = table.combine_chunks()
    order = pc.sort_indices(table, sort_keys=[(key, "ascending") for key in keys])
    starts = range(0, table.num_rows, _BLOCK_ROWS)
    ordered = set_aside((table.take(order.slice(start, _BLOCK_ROWS)) for start in starts), table.schema)
    equal = _beside(ordered, keys, pc.equal)
    if pc.any(equal).as_py():
        row = ordered.slice(pc.index(equal, value=True).as_py(), 1).select(list(keys)).to_pylist()[0]
        raise InvalidInputError(f"Two rows have the key {row}; each key must be there once.")
    return ordered


def _is_sorted(table: pa.Table, keys: Sequence[str]) -> bool:
    """Tell whether each row comes after the one before by `keys`, so that no two have one key either."""
    known = table.select(list(keys))
    return all(
        _is_block_sorted(known.slice(start, _BLOCK_ROWS + 1), keys) for start in range(0, table.num_rows, _BLOCK_ROWS)
    )


def _is_block_sorted(table: pa.Table, keys: Sequence[str]) -> bool:
    let_go()
    after = None
    for key in reversed(keys):
        more = _beside(table, [key], pc.greater)
        after = more if after is None else pc.or_(more, pc.and_(_beside(table, [key], pc.equal), after))
    return bool(pc.all(pc.fill_null(after, False)).as_py())


def _beside(table: pa.Table, keys: Sequence[str], compare: Callable[[pa.Array, pa.Array], pa.Array]) -> pa.Array:
    """Compare each row but the first with the one before it, by all `keys`."""
    found = None
    for key in keys:
        column = table.column(key)
        these = compare(column.slice(1), column.slice(0, max(table.num_rows - 1, 0)))
        found = these if found is None else pc.and_(found, these)
    return found


def first_of_equal(table: pa.Table) -> npt.NDArray[np.int64]:
    """Return the first row of each run of rows that are equal, none of them null.

    >>> first_of_equal(pa.table({"a": [1, 1, 2], "b": ["x", "x", "x"]})).tolist()
    [0, 2]
    """
    if not table.num_rows:
        return np.empty(0, np.int64)
    begins = np.ones(table.num_rows, np.bool_)
    begins[1:] = ~_beside(table, table.column_names, pc.equal).combine_chunks().to_numpy(zero_copy_only=False)
    return np.flatnonzero(begins)


def rows_of_runs(starts: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the rows of all runs, one run after the other.

    >>> rows_of_runs(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    firsts = np.repeat(starts - (np.cumsum(counts) - counts), counts)
    rows: npt.NDArray[np.int64] = firsts + np.arange(len(firsts))
    return rows


def first_of_runs(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the values of a sorted column, each once."""
    found = [column.slice(0, 1)]
    for start in range(0, len(column), _BLOCK_ROWS):
        some = column.slice(start, _BLOCK_ROWS + 1)
        begins = pc.not_equal(some.slice(1), some.slice(0, max(len(some) - 1, 0)))
        found.append(some.slice(1).filter(begins))
        let_go()
    return pa.chunked_array([chunk for part in found for chunk in part.chunks], column.type)


def table_digest(table: pa.Table) -> str:
    """Return the sha256 over the rows of `table` as they are ordered; sort it by its key first."""
    total = hashlib.sha256()
    for name in table.column_names:
        column = table.column(name)
        total.update(f"{name}:{column.type}:{len(column)}\n".encode())
        for start in range(0, len(column), _BLOCK_ROWS):
            block = column.slice(start, _BLOCK_ROWS).combine_chunks()
            _update(total, block if isinstance(block, pa.Array) else pa.concat_arrays(block.chunks))
            let_go()
    return total.hexdigest()


def _update(total: "hashlib._Hash", block: pa.Array) -> None:
    total.update(_validity(block))
    if pa.types.is_list(block.type):
        total.update(pc.list_value_length(block).fill_null(0).to_numpy(zero_copy_only=False).astype("<i8"))
        _update(total, block.flatten())
    elif pa.types.is_string(block.type):
        filled = block.fill_null("") if block.null_count else block
        total.update(np.diff(_ends(filled)).astype("<i8").tobytes())
        total.update(_letters(filled))
    elif pa.types.is_boolean(block.type):
        total.update(block.fill_null(False).to_numpy(zero_copy_only=False).astype("u1"))
    elif pa.types.is_floating(block.type):
        values = (block.fill_null(0.0) if block.null_count else block).to_numpy(zero_copy_only=False)
        if np.isnan(values).any():
            raise InvalidInputError("A column holds NaN; use null for what is not known.")
        total.update((values + 0.0).astype("<f8", copy=False))  # -0.0 + 0.0 is 0.0
    else:
        total.update(block.fill_null(0).to_numpy(zero_copy_only=False).astype("<i8"))


def _validity(block: pa.Array) -> bytes:
    """Return a bit a row, most significant first, that tells whether it has a value."""
    if block.null_count in {0, len(block)}:
        there = block.null_count == 0
        whole = (b"\xff" if there else b"\x00") * (len(block) // 8)
        return whole + np.packbits(np.full(len(block) % 8, there)).tobytes()
    return np.packbits(block.is_valid().to_numpy(zero_copy_only=False)).tobytes()


def _ends(texts: pa.Array) -> npt.NDArray[np.int32]:
    """Return where each text begins, and where the last one ends."""
    if not len(texts):
        return np.zeros(1, np.int32)
    return np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts) + 1]


def _letters(texts: pa.Array) -> memoryview:
    """Return the bytes of all texts, one after the other."""
    ends, letters = _ends(texts), texts.buffers()[2]
    return memoryview(letters)[int(ends[0]) : int(ends[-1])] if letters is not None else memoryview(b"")
