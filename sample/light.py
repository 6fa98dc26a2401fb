"""Light a scene by time of day and weather: ambient, haze, the own headlights and street lamps."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sample.camera import Color, Floats
from sample.plan import TimeOfDay, Weather

OWN_COLOR = (0.86, 0.95, 1.0)  # of the headlights: blue, green, red
LAMP_COLOR = (0.55, 0.82, 1.0)
LampPlaces = Sequence[tuple[float, float]]  # x, z of each lamp that burns, in metres from the camera


@dataclass(frozen=True, slots=True)
class Light:
    """How bright things are; gains multiply blue, green and red."""

    ambient: tuple[float, float, float]
    haze: Color
    haze_range_m: float
    headlight: float  # 0: off
    noise_levels: float  # standard deviation of the sensor noise, grey levels
    glow: float  # how much lamps bleed into their surroundings, 0..1


_LIGHTS: dict[tuple[TimeOfDay, Weather], Light] = {
    ("day", "clear"): Light((1.0, 1.0, 1.0), (225, 215, 200), 220.0, 0.0, 1.8, 0.0),
    ("day", "rain"): Light((0.74, 0.70, 0.66), (178, 172, 166), 70.0, 0.0, 2.6, 0.25),
    ("dusk", "clear"): Light((0.52, 0.47, 0.52), (120, 130, 190), 130.0, 0.22, 3.4, 0.55),
    ("dusk", "rain"): Light((0.44, 0.40, 0.42), (112, 108, 122), 65.0, 0.25, 3.8, 0.6),
    ("night", "clear"): Light((0.20, 0.16, 0.13), (36, 26, 20), 90.0, 0.85, 5.5, 1.0),
    ("night", "rain"): Light((0.19, 0.16, 0.14), (44, 36, 30), 55.0, 0.75, 6.0, 1.0),
}


def light_of(time_of_day: TimeOfDay, weather: Weather) -> Light:
    """Return the light of a time of day in some weather."""
    return _LIGHTS[time_of_day, weather]


@dataclass(frozen=True, slots=True)
class Tint:
    """What the light makes of the colours of one thing."""

    gain: tuple[float, float, float]  # blue, green, red
    haze: Color
    share: float  # of haze
    lit: bool  # whether lamps shine

    def of(self, color: Color, level: float = 1.0) -> Color:
        """Return `color` as the camera sees it; `level` darkens or lightens a face."""
        own, (blue, green, red), gain, haze = level * (1 - self.share), color, self.gain, self.haze
        return (
            min(round(blue * own * gain[0] + haze[0] * self.share), 255),
            min(round(green * own * gain[1] + haze[1] * self.share), 255),
            min(round(red * own * gain[2] + haze[2] * self.share), 255),
        )

    def many(self, colors: Floats) -> Floats:
        """Return colours of shape (..., 3) as the camera sees them, in whole grey levels."""
        gain, haze = np.array(self.gain), np.array(self.haze, dtype=np.float64)
        return np.asarray(np.rint(np.clip(colors * gain * (1 - self.share) + haze * self.share, 0, 255)))


def beam(x_m: Floats, z_m: Floats) -> Floats:
    """Return how strongly the own headlights reach x, z, 0..1."""
    spread = x_m / (0.33 * z_m + 1.3)
    return np.asarray(np.exp(-(spread**2)) * np.clip(17.0 / np.maximum(z_m, 1.0), 0.0, 1.0))


def pools(x_m: Floats, z_m: Floats, lamps: LampPlaces) -> Floats:
    """Return how strongly the street lamps reach x, z."""
    total = np.zeros(np.broadcast(x_m, z_m).shape)
    for lamp_x, lamp_z in lamps:
        total += np.exp(-((x_m - lamp_x * 0.75) ** 2 / 18.0 + (z_m - lamp_z) ** 2 / 30.0))
    return total


def tints(light: Light, places: tuple[Floats, Floats], bend_per_m: float, lamps: LampPlaces) -> list[Tint]:
    """Return the tint of each of the things that stand at `places`, their x and their z on a bending road."""
    x, z = places
    gains = np.tile(np.array(light.ambient), (len(x), 1))
    if light.headlight:
        own = beam(x + bend_per_m * z * z / 2, np.maximum(z, 1.0))
        gains += (light.headlight * own)[:, None] * np.array(OWN_COLOR)
        gains += (0.55 * light.glow * pools(x, z, lamps))[:, None] * np.array(LAMP_COLOR)
    shares = 1 - np.exp(-np.maximum(z, 0.0) / light.haze_range_m)
    listed = zip(np.minimum(gains, 1.15).tolist(), shares.tolist(), strict=True)
    return [Tint((blue, green, red), light.haze, share, light.glow > 0) for (blue, green, red), share in listed]
