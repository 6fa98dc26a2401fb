"""Tables that steps hand on: kept under the digest of their bytes."""

import json

import pyarrow as pa
import pyarrow.parquet as pq

from driveflow.parquet_bytes import table_of
from driveflow.reuse import put_object, read_object


def put_table(store: str, table: pa.Table) -> str:
    """Keep `table` and return its address."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return put_object(store, sink.getvalue().to_pybytes(), ".parquet")


def read_table(uri: str) -> pa.Table:
    """Return the table at `uri`, checked against the digest in its name."""
    return table_of(read_object(uri))


def read_withdrawn(uri: str) -> frozenset[str]:
    """Return the ids of the frames that were withdrawn when the run was planned; no `uri`: none were."""
    return frozenset(json.loads(read_object(uri))) if uri else frozenset()
