"""How many bits of a code are set, in compiled code."""

from typing import Any

from numba.core import types
from numba.extending import intrinsic


@intrinsic
def popcount(_context: Any, _value: Any) -> Any:  # noqa: ANN401 numba's words
    """Return how many bits of a uint64 are set, by the processor's own instruction."""
    return types.uint64(types.uint64), lambda _context, builder, _signature, values: builder.ctpop(values[0])
