"""Decimal numbers of JSON as the nearest doubles, compiled: the method of Eisel and Lemire.

A text is the address of its first byte; more than eight zeros end it, and whoever calls holds it.
"""

from typing import Any, Final

import numba
import numpy as np
from numba.core import cgutils
from numba.extending import intrinsic

compiled: Any = numba.njit(cache=True, nogil=True)
MOST_POWER: Final = 60  # of ten, up or down; what is beyond is left to others
_MOST_DIGITS: Final = 18  # of a mantissa: it stays within 63 bits
_EXACT: Final = 1 << 53  # up to here a whole number is a double
_EXACT_POWER: Final = 22  # and up to here a power of ten
_HALF: Final = np.uint64(32)
_LOW_HALF: Final = np.uint64(0xFFFFFFFF)
_ONE: Final = np.uint64(1)
_ROUNDED: Final = np.uint64(0x1FF)  # where these bits are all set, the product must be told more exactly
_FRACTION: Final = np.uint64((1 << 52) - 1)
_TENS: Final = 10 ** np.arange(9)
_EXACT_TENS: Final = np.array([10.0**power for power in range(_EXACT_POWER + 1)])
_ZEROS: Final = np.uint64(0x3030303030303030)
_TO_HIGH: Final = np.uint64(0x7676767676767676)  # added to a byte over 9, the highest bit is set
_HIGH: Final = np.uint64(0x8080808080808080)
_LOW: Final = np.uint64(0x0101010101010101)
_PAIRS: Final = np.uint64(0x000000FF000000FF)


def _highest(power: int) -> int:
    """Return the highest 128 bits of 5 ** power: cut off where it is whole, rounded up where it is a share."""
    value = 5 ** abs(power)
    length = value.bit_length()
    if power >= 0:
        return value << 128 - length if length <= 128 else value >> length - 128
    share = (1 << length + 127) // value + 1
    return share if share < 1 << 128 else share >> 1


_FIVES: Final = np.array(
    [divmod(_highest(power), 1 << 64) for power in range(-MOST_POWER, MOST_POWER + 1)], np.uint64
)  # 5 ** power: its highest 64 bits, and the 64 after these


def _load(stored: Any, kind: Any) -> Any:  # noqa: ANN401 what reads an unsigned number at any address, aligned or not
    @intrinsic
    def load(_typing: Any, _address: Any) -> Any:  # noqa: ANN401 as numba asks for it
        def loaded(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:  # noqa: ANN401
            value = builder.load(builder.inttoptr(arguments[0], stored.as_pointer()), align=1)
            return builder.zext(value, cgutils.intp_t)

        return kind(numba.types.int64), loaded

    return load


_word, _byte = _load(cgutils.intp_t, numba.types.uint64), _load(cgutils.int8_t, numba.types.int64)


@compiled
def word(text: int, at: int) -> Any:  # noqa: ANN401 64 bits
    """Return the eight bytes from `at` on, the first one lowest."""
    return _word(text + at)


@compiled
def byte(text: int, at: int) -> int:
    """Return the byte at `at`."""
    return _byte(text + at)


@compiled
def number(text: int, at: int) -> Any:  # noqa: ANN401 a pair
    """Return the number that begins at `at`, and where it ends; -1 where it is none, or none that is read here."""
    negative = byte(text, at) == 45
    begin = at + 1 if negative else at
    mantissa, at = _digits(text, begin, 0)
    if at == begin or (at > begin + 1 and byte(text, begin) == 48):
        return 0.0, -1
    count, power = at - begin, 0
    if byte(text, at) == 46:
        mark = at + 1
        mantissa, at = _digits(text, mark, mantissa)
        power = mark - at
        count -= power
        if not power:
            return 0.0, -1
    if count > _MOST_DIGITS and count - _zeros(text, begin) > _MOST_DIGITS:
        return 0.0, -1
    if byte(text, at) | 32 == 101:
        more, at = _exponent(text, at + 1)
        power += more
    if at < 0 or abs(power) > MOST_POWER:
        return 0.0, -1
    value = _double(mantissa, power)
    return -value if negative and (mantissa or at > begin + 1) else value, at  # -0 is a whole number, so 0


@compiled
def number_end(text: int, at: int) -> int:
    """Return where the number that begins at `at` ends, of however many digits; -1 where it is none."""
    begin = at + 1 if byte(text, at) == 45 else at
    at = _digits(text, begin, 0)[1]
    if at == begin or (at > begin + 1 and byte(text, begin) == 48):
        return -1
    if byte(text, at) == 46:
        begin = at + 1
        at = _digits(text, begin, 0)[1]
    if at > begin and byte(text, at) | 32 == 101:
        begin = at + 2 if byte(text, at + 1) == 43 or byte(text, at + 1) == 45 else at + 1
        at = _digits(text, begin, 0)[1]
    return at if at > begin else -1


@compiled
def whole_number(text: int, at: int) -> Any:  # noqa: ANN401 a pair
    """Return the whole number that begins at `at`, and where it ends; -1 where it is none that is read here."""
    negative = byte(text, at) == 45
    begin = at + 1 if negative else at
    value, at = _digits(text, begin, 0)
    count, follows = at - begin, byte(text, at)
    if not 0 < count <= _MOST_DIGITS or ((count > 1 or negative) and byte(text, begin) == 48):
        return 0, -1
    if follows == 46 or follows | 32 == 101:
        return 0, -1
    return -value if negative else value, at


@compiled
def _digits(text: int, at: int, value: int) -> Any:  # noqa: ANN401 a pair
    """Return `value` with the digits at `at` behind its own, eight at once, and where they end."""
    while True:
        digits = word(text, at) ^ _ZEROS
        others = (digits + _TO_HIGH | digits) & _HIGH  # of the first that is no digit the highest bit is set
        if others:
            count = np.int64(((others - _ONE & ~others & _LOW) * _LOW) >> np.uint64(56)) - 1
            if not count:
                return value, at
            return value * _TENS[count] + _eight(digits << np.uint64(64 - 8 * count)), at + count
        value, at = value * _TENS[8] + _eight(digits), at + 8


@compiled
def _eight(digits: Any) -> int:  # noqa: ANN401 64 bits
    """Return the number of eight digits, a byte each, the first one lowest."""
    pairs = digits * np.uint64(10) + (digits >> np.uint64(8))
    first = (pairs & _PAIRS) * np.uint64(100 + (1_000_000 << 32))
    second = (pairs >> np.uint64(16) & _PAIRS) * np.uint64(1 + (10_000 << 32))
    return np.int64((first + second) >> _HALF)


@compiled
def _zeros(text: int, at: int) -> int:
    """Return how many zeros a number begins with."""
    zeros = 0
    while byte(text, at) == 48 or byte(text, at) == 46:
        zeros += byte(text, at) == 48
        at += 1
    return zeros


@compiled
def _exponent(text: int, at: int) -> Any:  # noqa: ANN401 a pair
    negative = byte(text, at) == 45
    if negative or byte(text, at) == 43:
        at += 1
    value, end = _digits(text, at, 0)
    if not 0 < end - at < 4:
        return 0, -1
    return -value if negative else value, end


@compiled
def _double(mantissa: int, power: int) -> float:
    """Return the double nearest to mantissa * 10 ** power."""
    if mantissa <= _EXACT and -_EXACT_POWER <= power <= _EXACT_POWER:
        return mantissa / _EXACT_TENS[-power] if power < 0 else mantissa * _EXACT_TENS[power]
    if mantissa == 0:
        return 0.0
    return _nearest(mantissa, power)


@compiled
def _nearest(mantissa: int, power: int) -> float:
    shift = _leading_zeros(np.uint64(mantissa))
    word = np.uint64(mantissa) << np.uint64(shift)
    high, low = _product(word, _FIVES[power + MOST_POWER, 0])
    if high & _ROUNDED == _ROUNDED:
        more, _ = _product(word, _FIVES[power + MOST_POWER, 1])
        low += more
        high += _ONE if more > low else np.uint64(0)
    upper = np.int64(high >> np.uint64(63))
    kept = np.uint64(upper + 9)
    bits = high >> kept
    if low <= _ONE and -4 <= power <= 23 and bits & np.uint64(3) == _ONE and bits << kept == high:
        bits &= ~_ONE  # half way between two doubles: the even one
    bits = (bits + (bits & _ONE)) >> _ONE
    exponent = ((217706 * power) >> 16) + 63 + upper - shift + 1023
    if bits >> np.uint64(53):
        bits, exponent = _FRACTION + _ONE, exponent + 1
    return np.uint64((bits & _FRACTION) | (np.uint64(exponent) << np.uint64(52))).view(np.float64)


@compiled
def _leading_zeros(word: Any) -> int:  # noqa: ANN401 64 bits
    count = 0
    for step in (32, 16, 8, 4, 2, 1):
        if not word >> np.uint64(64 - step):
            word <<= np.uint64(step)
            count += step
    return count


@compiled
def _product(one: Any, two: Any) -> Any:  # noqa: ANN401 64 bits each, and a pair
    """Return the high and the low 64 bits of a product."""
    high, low = one >> _HALF, one & _LOW_HALF
    other_high, other_low = two >> _HALF, two & _LOW_HALF
    lowest = low * other_low
    first = high * other_low + (lowest >> _HALF)
    second = low * other_high + (first & _LOW_HALF)
    return high * other_high + (first >> _HALF) + (second >> _HALF), one * two
