"""The pixel digests of frames that were once decoded for it, kept for all runs."""

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from driveflow.canonical import digest_bytes
from driveflow.code_digest import module_digest
from driveflow.errors import NotFoundError
from driveflow.parquet_bytes import table_of
from driveflow.storage.objects import join, list_objects, read_bytes, write_bytes

_MADE_BY = ("driveflow.images.pixel_digest", "driveflow.images.probe")
_SUFFIX = ".parquet"


class PixelDigests:
    """Digests by frame under `<store>/pixel_digests/<code>/`, in parts named by the digest of their bytes.

    Parts are only ever added; one that is not what was written counts as missing, and its frames are decoded again.
    """

    def __init__(self, store: str) -> None:
        self._folder = join(store, "pixel_digests", module_digest(*_MADE_BY))
        self._known: dict[str, str] | None = None

    def known(self, frame_ids: Sequence[str]) -> dict[str, str]:
        """Return the digests that are known of `frame_ids`."""
        if self._known is None:
            self._known = self._read()
        return {name: self._known[name] for name in frame_ids if name in self._known}

    def append(self, found: Mapping[str, str]) -> None:
        """Keep the digest of each frame of `found`."""
        if not found:
            return
        names = sorted(found)
        sink = pa.BufferOutputStream()
        table = pa.table({"frame_id": names, "digest": [found[name] for name in names]})
        pq.write_table(table, sink, compression="zstd")
        data = sink.getvalue().to_pybytes()
        write_bytes(join(self._folder, digest_bytes(data) + _SUFFIX), data)
        self._known = {**(self._known or {}), **found}

    def _read(self) -> dict[str, str]:
        known: dict[str, str] = {}
        try:
            names = sorted(item.path for item in list_objects(self._folder) if item.path.endswith(_SUFFIX))
        except NotFoundError:
            return known
        for name in names:
            data = read_bytes(join(self._folder, name))
            if digest_bytes(data) == name.removesuffix(_SUFFIX):
                table = table_of(data)
                known.update(zip(table["frame_id"].to_pylist(), table["digest"].to_pylist(), strict=True))
        return known
