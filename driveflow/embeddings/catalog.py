"""Which embedding model an address names."""

from collections.abc import Callable, Mapping
from typing import Final

from driveflow.canonical import digest_bytes
from driveflow.embeddings.declaration import EmbeddingDeclaration, read_declaration
from driveflow.embeddings.efficientnet_lite import DIMENSIONS, SIDE_PX, efficientnet_lite0
from driveflow.embeddings.embedder import Embedder
from driveflow.embeddings.onnx_embedder import OnnxEmbedder
from driveflow.errors import IntegrityError, NotFoundError, UsageError
from driveflow.storage.objects import read_bytes, stat

BUILT_IN: Final = "builtin://efficientnet-lite0"
MAX_MODEL_BYTES: Final = 2 << 30
MAX_DECLARATION_BYTES: Final = 1 << 16


def load_embedder(uri: str) -> Embedder:
    """Return the embedder at `uri`: a built-in one, or an ONNX model with its declaration `<uri>.json` beside it.

    Raises:
        UsageError: the address is of no kind that is known.
        NotFoundError: there is no model, or no declaration beside it.
        IntegrityError: it is not what it declares.
    """
    if uri in _BUILT_IN:
        return _BUILT_IN[uri]()
    declaration = _declaration(uri)
    return OnnxEmbedder(_read(uri, MAX_MODEL_BYTES), declaration, uri)


def declared_digest(uri: str) -> str:
    """Return the digest that names the model at `uri`, by its declaration; empty for a built-in one.

    Raises:
        UsageError, NotFoundError, IntegrityError: as `load_embedder`.
    """
    return "" if uri in _BUILT_IN else _declaration(uri).digest()


def _declaration(uri: str) -> EmbeddingDeclaration:
    check_uri(uri)
    return read_declaration(_read(f"{uri}.json", MAX_DECLARATION_BYTES), f"{uri}.json")


def check_uri(uri: str) -> None:
    """Refuse an address that no embedder can have."""
    if uri in _BUILT_IN or (uri.startswith(("file://", "s3://")) and uri.endswith(".onnx")):
        return
    known = ", ".join(sorted(_BUILT_IN))
    raise UsageError(f"No embedding lies at {uri!r}: file://... or s3://... of an .onnx file would do, or {known}.")


def _read(uri: str, most: int) -> bytes:
    found = stat(uri)
    if found is None:
        raise NotFoundError(f"There is nothing at {uri}.")
    if found.size > most:
        raise IntegrityError(f"{uri} has {found.size:,} bytes, {most:,} at most are read.")
    return read_bytes(uri)


def _efficientnet_lite0() -> Embedder:
    data = efficientnet_lite0()
    declared = EmbeddingDeclaration(
        sha256=digest_bytes(data),
        input="pictures",
        output="vectors",
        dimensions=DIMENSIONS,
        width=SIDE_PX,
        height=SIDE_PX,
        mean=(127.0, 127.0, 127.0),
        std=(128.0, 128.0, 128.0),
    )
    return OnnxEmbedder(data, declared, BUILT_IN)


_BUILT_IN: Final[Mapping[str, Callable[[], Embedder]]] = {BUILT_IN: _efficientnet_lite0}
