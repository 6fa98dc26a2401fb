"""Tables in parts that are named by the digest of their bytes: only ever added, so several processes may at once."""

from collections.abc import Iterator
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from driveflow.canonical import digest_bytes
from driveflow.errors import NotFoundError
from driveflow.parquet_bytes import table_of
from driveflow.storage.objects import join, list_objects, read_bytes, write_bytes

SUFFIX: Final = ".parquet"


def write_part(folder: str, table: pa.Table, *, dense: bool = False) -> None:
    """Keep `table` as a part; keeping it twice changes nothing. `dense`: hardly a value is there twice, as of vectors.

    It is written even where a part of this name lies already: that one may be damaged.
    """
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", use_dictionary=not dense, write_statistics=not dense)
    data = sink.getvalue().to_pybytes()
    write_bytes(join(folder, digest_bytes(data) + SUFFIX), data)


def is_whole(name: str, data: bytes) -> bool:
    """Tell whether `data` are the bytes that the part called `name` was written with."""
    return digest_bytes(data) == name.removesuffix(SUFFIX)


def read_parts(folder: str) -> Iterator[pa.Table]:
    """Yield the parts, sorted by name; one that is not what was written counts as missing."""
    try:
        names = [item.path for item in list_objects(folder) if item.path.endswith(SUFFIX)]
    except NotFoundError:
        return
    for name in names:
        data = read_bytes(join(folder, name))
        if is_whole(name, data):
            yield table_of(data)
