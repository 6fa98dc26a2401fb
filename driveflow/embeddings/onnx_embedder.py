"""Turn pictures into vectors with an ONNX model, each picture on its own."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from driveflow.canonical import digest_bytes
from driveflow.detectors.onnx_session import open_session, run_session
from driveflow.embeddings.declaration import EmbeddingDeclaration
from driveflow.embeddings.embedder import Vectors
from driveflow.errors import IntegrityError
from driveflow.images.decode import decode_rgb_reduced


class OnnxEmbedder:
    """An embedder that runs picture by picture, on one thread each, so that no picture sees another."""

    def __init__(self, data: bytes, declaration: EmbeddingDeclaration, where: str) -> None:
        """Open a model.

        Raises:
            IntegrityError: the bytes have another digest than is declared, are no model, name files outside themselves,
                or take and give something else than is declared.
        """
        if digest_bytes(data) != declaration.sha256:
            raise IntegrityError(f"{where} has the digest {digest_bytes(data)}, declared is {declaration.sha256}.")
        self.digest = declaration.digest()
        self.dimensions = declaration.dimensions
        self._declared, self._where = declaration, where
        self._session = open_session(data, where)
        _check_names(self._session, declaration, where)

    def embed(self, pictures: Sequence[bytes]) -> Vectors:
        """Return a row of length 1 for each encoded picture; all zeros where the model gives nothing else.

        Raises:
            BrokenDataError: a picture cannot be decoded.
            IntegrityError: the model answers otherwise than it declares.
        """
        if not pictures:
            return np.zeros((0, self.dimensions), np.float32)
        workers = min(len(pictures), len(os.sched_getaffinity(0)))
        if workers == 1:
            return np.stack([self._embed_one(picture) for picture in pictures])
        with ThreadPoolExecutor(workers, thread_name_prefix="embed") as pool:
            return np.stack(list(pool.map(self._embed_one, pictures)))

    def _embed_one(self, picture: bytes) -> Vectors:
        tensor = prepared(picture, self._declared)
        declared = self._declared
        (answer,) = run_session(self._session, [declared.output], {declared.input: tensor}, self._where)
        values = np.asarray(answer, np.float64).reshape(-1)
        if values.shape != (self.dimensions,) or not np.isfinite(values).all():
            raise IntegrityError(
                f"{self._where} declares {self.dimensions} numbers, got an answer of shape {np.shape(answer)}"
                f"{'' if np.isfinite(values).all() else ' with values that are no numbers'}."
            )
        length = float(np.linalg.norm(values))
        return (values / length if length else values).astype(np.float32)


def prepared(picture: bytes, declared: EmbeddingDeclaration) -> npt.NDArray[np.float32]:
    """Return the picture as the model takes it, a batch of one.

    Raises:
        BrokenDataError: it cannot be decoded.
    """
    import cv2

    pixels = decode_rgb_reduced(picture, 2 * max(declared.width, declared.height))
    smaller = pixels.shape[0] >= declared.height and pixels.shape[1] >= declared.width
    how = cv2.INTER_AREA if smaller else cv2.INTER_LINEAR_EXACT
    resized = cv2.resize(pixels, (declared.width, declared.height), interpolation=how)
    values = (np.asarray(resized, np.float32) - np.array(declared.mean)) / np.array(declared.std)
    ordered = values.transpose(2, 0, 1) if declared.layout == "NCHW" else values
    return np.ascontiguousarray(ordered[None], dtype=np.float32)


def _check_names(session: Any, declared: EmbeddingDeclaration, where: str) -> None:  # noqa: ANN401
    taken = {item.name: item.type for item in session.get_inputs()}
    if taken != {declared.input: "tensor(float)"}:
        raise IntegrityError(f"{where} takes {taken}, declared is {declared.input!r} of float.")
    given = sorted(item.name for item in session.get_outputs())
    if declared.output not in given:
        raise IntegrityError(f"{where} gives {given}, declared is {declared.output!r}.")
