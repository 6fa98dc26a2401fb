"""Say how high the sun stood, by the low-accuracy formulas of the NOAA Solar Calculator.

They are those of NOAA's Global Monitoring Laboratory (gml.noaa.gov/grad/solcalc, "Calculation details"), which are
taken from Jean Meeus, Astronomical Algorithms, chapters 25 and 28; good to a hundredth of a degree for 1950 to 2050.
Refraction is left out: at the horizon it lifts the sun by half a degree.
"""

from math import asin, cos, degrees, radians, sin, tan
from typing import Final

_DAY_NS: Final = 86_400 * 10**9
_UNIX_EPOCH_JD: Final = 2_440_587.5
_J2000_JD: Final = 2_451_545.0


def sun_elevation_deg(lat_deg: float, lon_deg: float, utc_ns: int) -> float:
    """Return the height of the sun's middle over the horizon at a place (north and east count up) and time."""
    declination, equation_min = _sun((utc_ns / _DAY_NS + _UNIX_EPOCH_JD - _J2000_JD) / 36_525)
    clock_min = (utc_ns % _DAY_NS) / (60 * 10**9)
    hour_angle = radians((clock_min + equation_min + 4 * lon_deg) / 4 - 180)
    lat = radians(lat_deg)
    height = sin(lat) * sin(declination) + cos(lat) * cos(declination) * cos(hour_angle)
    return degrees(asin(max(-1.0, min(1.0, height))))


def _sun(centuries: float) -> tuple[float, float]:
    """Return the declination in radians and the equation of time in minutes, `centuries` after noon of 1 Jan 2000."""
    mean_longitude = radians((280.46646 + centuries * (36_000.76983 + centuries * 0.0003032)) % 360)
    anomaly = radians(357.52911 + centuries * (35_999.05029 - 0.0001537 * centuries))
    eccentricity = 0.016708634 - centuries * (0.000042037 + 0.0000001267 * centuries)
    center = (
        sin(anomaly) * (1.914602 - centuries * (0.004817 + 0.000014 * centuries))
        + sin(2 * anomaly) * (0.019993 - 0.000101 * centuries)
        + sin(3 * anomaly) * 0.000289
    )
    node = radians(125.04 - 1934.136 * centuries)
    longitude = mean_longitude + radians(center - 0.00569 - 0.00478 * sin(node))
    seconds = 21.448 - centuries * (46.815 + centuries * (0.00059 - centuries * 0.001813))
    obliquity = radians(23 + (26 + seconds / 60) / 60 + 0.00256 * cos(node))
    y = tan(obliquity / 2) ** 2
    equation = (
        y * sin(2 * mean_longitude)
        - 2 * eccentricity * sin(anomaly)
        + 4 * eccentricity * y * sin(anomaly) * cos(2 * mean_longitude)
        - 0.5 * y * y * sin(4 * mean_longitude)
        - 1.25 * eccentricity**2 * sin(2 * anomaly)
    )
    return asin(sin(obliquity) * sin(longitude)), 4 * degrees(equation)
