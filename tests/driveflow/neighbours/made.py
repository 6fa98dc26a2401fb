"""Made-up vectors for the tests of this folder."""

import numpy as np


def walk(count, dimensions, seed=0, step=0.15):
    """Vectors of a slow drive: each a small step from the one before it, at times a jump to another place."""
    random = np.random.default_rng(seed)
    rows = np.empty((count, dimensions))
    for at in range(count):
        fresh = at % 20 == 0
        rows[at] = random.normal(size=dimensions) if fresh else rows[at - 1] + step * random.normal(size=dimensions)
        rows[at] /= np.linalg.norm(rows[at])
    return rows.astype(np.float32)
