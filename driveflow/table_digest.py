"""Digest a table by what it says, whatever its chunks, its order and the machine."""

import hashlib
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from driveflow.errors import InvalidInputError

_BLOCK_ROWS = 65_536


def sort_by_key(table: pa.Table, keys: Sequence[str]) -> pa.Table:
    """Return `table` sorted by `keys` (bytewise), refusing two rows of one key."""
    table = table.combine_chunks()
    if _is_sorted(table, keys):
        return table
    order = pc.sort_indices(table, sort_keys=[(key, "ascending") for key in keys])
    ordered = table.take(order).combine_chunks()
    equal = _beside(ordered, keys, pc.equal)
    if pc.any(equal).as_py():
        row = ordered.slice(pc.index(equal, value=True).as_py(), 1).select(list(keys)).to_pylist()[0]
        raise InvalidInputError(f"Two rows have the key {row}; each key must be there once.")
    return ordered


def _is_sorted(table: pa.Table, keys: Sequence[str]) -> bool:
    """Tell whether each row comes after the one before by `keys`, so that no two have one key either."""
    after = None
    for key in reversed(keys):
        more, same = _beside(table, [key], pc.greater), _beside(table, [key], pc.equal)
        after = more if after is None else pc.or_(more, pc.and_(same, after))
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


def first_of_runs(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the values of a sorted column, each once."""
    begins = pc.not_equal(column.slice(1), column.slice(0, max(len(column) - 1, 0)))
    return pa.chunked_array([column.slice(0, 1).combine_chunks(), column.slice(1).filter(begins).combine_chunks()])


def table_digest(table: pa.Table) -> str:
    """Return the sha256 over the rows of `table` as they are ordered; sort it by its key first."""
    total = hashlib.sha256()
    for name in table.column_names:
        column = table.column(name)
        total.update(f"{name}:{column.type}:{len(column)}\n".encode())
        for start in range(0, len(column), _BLOCK_ROWS):
            block = column.slice(start, _BLOCK_ROWS).combine_chunks()
            _update(total, block if isinstance(block, pa.Array) else pa.concat_arrays(block.chunks))
    return total.hexdigest()


def _update(total: "hashlib._Hash", block: pa.Array) -> None:
    total.update(np.packbits(block.is_valid().to_numpy(zero_copy_only=False)).tobytes())
    if pa.types.is_list(block.type):
        total.update(pc.list_value_length(block).fill_null(0).to_numpy(zero_copy_only=False).astype("<i8").tobytes())
        _update(total, block.flatten())
    elif pa.types.is_string(block.type):
        filled = block.fill_null("")
        total.update(pc.binary_length(filled).to_numpy(zero_copy_only=False).astype("<i8").tobytes())
        total.update(_letters(filled))
    elif pa.types.is_boolean(block.type):
        total.update(block.fill_null(False).to_numpy(zero_copy_only=False).astype("u1").tobytes())
    elif pa.types.is_floating(block.type):
        values = block.fill_null(0.0).to_numpy(zero_copy_only=False)
        if np.isnan(values).any():
            raise InvalidInputError("A column holds NaN; use null for what is not known.")
        total.update((values + 0.0).astype("<f8").tobytes())  # -0.0 + 0.0 is 0.0
    else:
        total.update(block.fill_null(0).to_numpy(zero_copy_only=False).astype("<i8").tobytes())


def _letters(texts: pa.Array) -> memoryview:
    """Return the bytes of all texts, one after the other."""
    if not len(texts):
        return memoryview(b"")
    ends = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts) + 1]
    letters = texts.buffers()[2]
    return memoryview(letters)[int(ends[0]) : int(ends[-1])] if letters is not None else memoryview(b"")
