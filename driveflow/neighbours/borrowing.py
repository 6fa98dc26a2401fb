"""Compile functions that take arrays and make none.

numba counts who holds an array, for each array of each call, atomically: in a search whose inner functions take a dozen
of them that is most of the time. The caller holds them all until the outermost function returns, so nothing is counted
here; a function that makes an array is refused.
"""

from typing import Any, Final

import numba

_OPTIONS: Final[dict[str, Any]] = {"cache": True, "nogil": True, "_nrt": False}  # numba's types leave out the last
borrowing: Final[Any] = numba.njit(**_OPTIONS)
borrowing_in_any_order: Final[Any] = numba.njit(**_OPTIONS, fastmath=True)  # sums may be in any order
