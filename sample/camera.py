"""Project points of the road ahead into the picture, as a pinhole camera on a gently bending road sees them."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Pixels = npt.NDArray[np.uint8]
Color = tuple[int, int, int]  # blue, green, red

NEAR_M = 0.8  # nothing nearer is drawn


def grey_levels(values: npt.NDArray[np.floating | np.signedinteger]) -> Pixels:
    """Return `values` as whole grey levels 0..255."""
    return np.asarray(np.rint(np.clip(values, 0, 255)), dtype=np.uint8)


@dataclass(frozen=True, slots=True)
class Camera:
    """Metres to pixels: x to the right of the camera, y above the ground, z ahead."""

    width_px: int
    height_px: int
    focal_px: float
    horizon_px: float
    height_m: float
    bend_per_m: float  # 1 / radius of the road, positive to the right

    def project(self, points: Floats) -> Floats:
        """Return u, v in pixels for `points` of shape (..., 3); every z must be positive."""
        flat = np.empty((*points.shape[:-1], 2))
        z = points[..., 2]
        flat[..., 0] = self.width_px / 2 + self.focal_px * (points[..., 0] / z + self.bend_per_m / 2 * z)
        flat[..., 1] = self.horizon_px + self.focal_px * (self.height_m - points[..., 1]) / z
        return flat

    def scale(self, z_m: float) -> float:
        """Return how many pixels one metre has at `z_m`."""
        return self.focal_px / z_m

    def sees(self, x_m: float, z_m: float, reach_m: float) -> bool:
        """Return whether something of radius `reach_m` at x, z may touch the picture."""
        if z_m + reach_m < NEAR_M:
            return False
        half = self.width_px / 2 / self.focal_px
        return abs(x_m + self.bend_per_m * z_m * z_m / 2) < half * max(z_m, 0.0) + reach_m * 1.6
