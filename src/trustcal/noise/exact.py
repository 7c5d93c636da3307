"""Arithmetic in two doubles: the result and its rounding error, for exponents that magnify the last bit.

exp(−z) turns a relative error η of z into z·η, which at z = 700 is three digits.  So z is computed as hi + lo, and
exp(−hi)·(1 − lo) is right to the last bits again.  The classical error-free transformations (Knuth, Dekker), valid for
magnitudes between 1e-100 and 1e100.
"""

from __future__ import annotations

import numpy as np

from trustcal.kernels import FloatArray

_SPLIT = 2.0**27 + 1


def product(a: FloatArray, b: FloatArray | float) -> tuple[FloatArray, FloatArray]:
    """a·b = hi + lo, exactly (Dekker).

    >>> hi, lo = product(np.array(1 / 3), 3.0)
    >>> float(hi), float(lo)
    (1.0, -5.551115123125783e-17)
    """
    hi = np.asarray(a * b)
    a_hi, a_lo = _halves(a)
    b_hi, b_lo = _halves(b)
    return hi, a_lo * b_lo - (((hi - a_hi * b_hi) - a_lo * b_hi) - a_hi * b_lo)


def difference(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """a − b = hi + lo, exactly (Knuth)."""
    hi = np.asarray(a - b)
    back = hi - a
    return hi, (a - (hi - back)) - (b + back)


def distance_in(scale: float, x: FloatArray, q: FloatArray) -> tuple[FloatArray, FloatArray]:
    """|x − q| / scale = hi + lo to about 30 digits.

    >>> hi, lo = distance_in(0.1, np.array(1.0), np.array(0.0))     # the double 0.1 is a little more than a tenth
    >>> float(hi), float(lo)
    (10.0, -5.551115123125783e-16)
    """
    difference_hi, difference_lo = difference(x, q)
    hi = difference_hi / scale
    back, back_lo = product(hi, scale)
    lo = ((difference_hi - back) - back_lo + difference_lo) / scale
    return np.abs(hi), np.where(hi < 0, -lo, lo)


def exponential(x: FloatArray, q: FloatArray, scale: float) -> FloatArray:
    """exp(−|x − q|/scale) to the last bits, however small."""
    hi, lo = distance_in(scale, x, q)
    return np.asarray(np.exp(-hi) * (1 - lo))


def bell(x: FloatArray, q: FloatArray, scale: float) -> FloatArray:
    """exp(−(x − q)²/(2·scale²)) to the last bits, however small."""
    hi, lo = distance_in(scale, x, q)
    square, rest = product(hi, hi)
    return np.asarray(np.exp(-square / 2) * (1 - (rest / 2 + hi * lo)))


def _halves(a: FloatArray | float) -> tuple[FloatArray, FloatArray]:
    """The leading 26 bits and the rest."""
    large = np.asarray(a * _SPLIT)
    hi = large - (large - a)
    return hi, a - hi
