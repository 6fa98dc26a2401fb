"""At which scale pictures are measured, and from which levels on."""

from typing import Final

DECODED_LONG_SIDE_PX: Final = 120  # halving stops before the long side is shorter
SCALE_PX: Final = 120  # the long side at which edges are measured
DARK_LEVEL: Final = 10  # grey levels under it are dark
BRIGHT_LEVEL: Final = 245  # grey levels over it are bright
GRID_ROWS: Final = 4  # cells in which colour and edges are measured apart
GRID_COLUMNS: Final = 8
HASH_GRID: Final = 32  # cells a side that a perceptual hash sees
SHORT_HASH: Final = 8  # frequencies in each direction that a hash keeps
LONG_HASH: Final = 16
TAIL_RANGE: Final = 6  # levels within which rows at the bottom are of one colour, so much does recoding move them
STEEPNESS_STEPS: Final = 16  # a byte of the grid holds the square root of a steepness, times this
