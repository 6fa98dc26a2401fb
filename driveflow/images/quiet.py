"""Silence the warnings of image libraries, from many threads at once."""

import threading
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

_lock = threading.Lock()
_depth = [0]
_restore = ExitStack()


@contextmanager
def quiet() -> Iterator[None]:
    """Ignore warnings while any thread is inside.

    `warnings.catch_warnings` swaps global state and two threads would restore it in the wrong order; here the first
    thread that enters sets the filter and the last one that leaves puts the old filters back.
    """
    with _lock:
        if _depth[0] == 0:
            _restore.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore")
        _depth[0] += 1
    try:
        yield
    finally:
        with _lock:
            _depth[0] -= 1
            if _depth[0] == 0:
                _restore.close()
