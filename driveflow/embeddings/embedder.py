"""What turns pictures into vectors: near vectors are pictures that show the same."""

from collections.abc import Sequence
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

Vectors: TypeAlias = npt.NDArray[np.float32]


class Embedder(Protocol):
    """A model whose answer to a picture is the same at every call, whatever other pictures come with it.

    `digest` changes with everything that may change a vector, so vectors of two digests are never compared.
    """

    @property
    def digest(self) -> str:
        """Which model this is: its bytes and how pictures are prepared for it."""

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""

    def embed(self, pictures: Sequence[bytes]) -> Vectors:
        """Return a row of length 1 for each encoded picture; safe to call from several threads.

        Raises:
            BrokenDataError: a picture cannot be decoded.
        """
