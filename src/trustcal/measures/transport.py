"""Distance to calibration: how far predictions must move, on average, to become calibrated.

The answer is an interval with two proofs.  A law of b, coupled with the predictions, is an upper bound; a pair of
potentials is a lower one (`kernels.certificates`).  Both come from shooting (`kernels.transport`), which nobody has to
believe: only what the certificates confirm is returned.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import inf, isfinite, nextafter
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.checking import as_number
from trustcal.kernels.certificates import lower_certificate, monotone_coupling, upper_certificate
from trustcal.kernels.curve import guess
from trustcal.predictor import Predictor, as_predictor

FloatArray = NDArray[np.float64]

EXACT = 200
"""Up to so many nodes the certificates are evaluated without rounding, which takes about a millisecond."""
TINY = 1e-16
"""A distance that needs no lower bound but 0."""
PLENTY = 1e-12
"""Bounds this close need no look at the other side of the square."""
NOISE = (0.0, 1e-13, 1e-12, 1e-11, 1e-10)
"""Masses that tie can leave the curve undetermined.  Noise breaks ties, and moves the answer by no more than itself."""


@final
@dataclass(frozen=True, eq=False)
class Coupling:
    """Who moves where: of the rows with prediction p and outcome y, `mass` is to be predicted b.  Sorted by y, p, b."""

    p: FloatArray
    y: NDArray[np.int8]
    b: FloatArray
    mass: FloatArray


@final
@dataclass(frozen=True, eq=False)
class Potentials:
    """Two functions r0 and r1 at nodes that include 0, 1 and all predictions; E[r_y(p)] is a lower bound.

    That takes slopes of at most 1 and (1 − b)·r0(b) + b·r1(b) ≤ 0 for every b in [0, 1].  Both hold up to rounding, and
    what is missing is subtracted.
    """

    nodes: FloatArray
    r0: FloatArray
    r1: FloatArray


@final
@dataclass(frozen=True, eq=False)
class DtcWitness:
    """The distance to calibration lies in [lower, upper], proved by a coupling and by potentials."""

    lower: float
    upper: float
    nearest: Predictor
    """A calibrated predictor at distance at most `upper`."""
    potentials: Potentials
    shots: int
    """How many sweeps over the values it took to find them."""
    predictor: Predictor = field(repr=False)

    @cached_property
    def coupling(self) -> Coupling:
        """The cheapest way from `predictor` to `nearest`: for each outcome, predictions keep their order.  O(n)."""
        q, b = self.predictor, self.nearest
        return Coupling(*monotone_coupling.on(len(q) + len(b))(q.p, *_masses(q), b.p, b.mass))

    def verify(self, exact: bool = False) -> None:
        """Check both bounds afresh, and raise an `ArithmeticError` if one does not hold.

        In floating point up to the rounding errors of plain sums, 8·n·2⁻⁵³; with `exact` in rational arithmetic and
        with no tolerance at all.

        >>> dtc_witness(Predictor([0.25, 0.75], [0.5, 0.5], [0.25, 0.25])).verify(exact=True)

        O(n), and with `exact` some 20 µs a value.
        """
        if exact:
            lower, upper = _exact_lower(self.predictor, self.potentials), _exact_upper(self.predictor, self.nearest)
            holds = Fraction(self.lower) <= max(lower, Fraction(0)) and min(upper, Fraction(1)) <= Fraction(self.upper)
        else:
            slack = 8 * (len(self.potentials.nodes) + len(self.nearest)) * 2.0**-53
            cost = float((np.abs(self.coupling.p - self.coupling.b) * self.coupling.mass).sum())
            kept = _marginals_agree(self.predictor, self.nearest, self.coupling, slack)
            value = _plain_lower(self.predictor, self.potentials)
            holds = kept and cost <= self.upper + slack and self.lower <= max(value, 0.0) + slack
        if not (holds and self.lower <= self.upper):
            raise ArithmeticError(f"the distance to calibration is not proved to lie in [{self.lower}, {self.upper}].")


def dtc(
    y_true: Predictor | ArrayLike, y_prob: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> float:
    """Distance to calibration (Definition 2.16): the least E|p − b| over calibrated predictions b of the same outcomes.

        DTC = min over laws λ of b of W1(μ0, (1 − b)λ) + W1(μ1, bλ),    μ_y = the law of p where the outcome is y

    Returned is the certified upper bound; `dtc_witness` has the lower one, rarely more than 1e-14 below.

    >>> round(dtc(Predictor([0.4999, 0.5001], [0.5, 0.5], [0.5, 0.0])), 15)      # all could have said 0.5
    0.0001
    >>> dtc([0, 1, 1, 1], [0.5, 0.5, 1.0, 1.0])
    0.0

    O(n log n) with the number of shots about log n, after one sort for rows.
    """
    return dtc_witness(as_predictor(y_true, y_prob, sample_weight)).upper


def dtc_witness(q: Predictor, tol: float = 1e-9) -> DtcWitness:
    """The distance to calibration with both proofs: a coupling with a calibrated predictor, and potentials.

        DTC = max E[r_y(p)] over 1-Lipschitz r0, r1 with (1 − b)·r0(b) + b·r1(b) ≤ 0 for every b in [0, 1]

    Should the bounds end up more than `tol` apart, they are returned as they are, with a warning.

    >>> witness = dtc_witness(Predictor([0.4999, 0.5001], [0.5, 0.5], [0.5, 0.0]))
    >>> witness.nearest.p, witness.coupling.mass, witness.upper - witness.lower < 1e-15
    (array([0.5]), array([0.5, 0.5]), True)

    O(n) a shot; about log2(n) shots, and at most a few hundred.
    """
    q = as_predictor(q)
    if not as_number(tol) >= 0:
        raise ValueError(f"tol must be a number, 0 or more, not {tol!r}.")
    z, w0, w1 = _with_ends(q)
    # To begin with: r0 = r1 = 0, and b = y.
    over, under = float((z * w0).sum()), float(((1.0 - z) * w1).sum())
    lower, upper, shots = 0.0, over + under + 2.0**-45, 0
    potentials, support, law = Potentials(z, 0.0 * z, 0.0 * z), np.array([0.0, 1.0]), np.array([w0.sum(), w1.sum()])
    # Next, for predictors that are all but calibrated: b with the law of p, so that only biases move.
    own = w0 + w1
    near = upper_certificate.on(len(z))(z, w0, w1, own)
    if near <= tol and len(z) <= EXACT:
        near = _rounded(_exact_upper(q, _calibrated(z, own)), inf)
    if near <= min(tol, upper):
        upper, support, law = near, z, own
    sides = (True, False) if over <= under else (False, True)
    random = np.random.default_rng(0)
    for noise in NOISE if upper > TINY else ():
        moved0, moved1 = (w + noise * random.random(len(z)) / len(z) if noise else w for w in (w0, w1))
        for north in sides:
            with np.errstate(all="ignore"):  # a guess may divide by 5e-324; what comes of that is judged like any other
                found = guess(z, moved0, moved1, north)
                b, m0, m1, r0, r1, mass = found.on_nodes(z, w0, w1)
                low = lower_certificate.on(len(b))(b, m0, m1, r0, r1)
                up = upper_certificate.on(len(b))(b, m0, m1, mass)
            shots += found.shots
            if len(b) <= EXACT and isfinite(low) and isfinite(up):
                low = _rounded(_exact_lower(q, Potentials(b, r0, r1)), -inf)
                up = _rounded(_exact_upper(q, _calibrated(b, mass)), inf)
            if low > lower:
                lower, potentials = low, Potentials(b, r0, r1)
            if up < upper:
                upper, support, law = up, b, mass
            if upper - lower <= min(tol, PLENTY):
                break
        if upper - lower <= (tol if noise else min(tol, PLENTY)):
            break
    if upper - lower > tol:
        warnings.warn(
            f"the distance to calibration is only known to lie in [{lower}, {upper}]: no curve was found that fits.",
            stacklevel=2,
        )
    # Masses may sum to a rounding error more than 1; a distance does not.
    return DtcWitness(min(lower, 1.0), min(upper, 1.0), _calibrated(support, law), potentials, shots, q)


def _masses(q: Predictor) -> tuple[FloatArray, FloatArray]:
    """The mass of zeros and of ones at each prediction."""
    return q.mass - q.positive, q.positive


def _with_ends(q: Predictor) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Predictions and masses of zeros and ones, with 0 and 1 among the predictions."""
    first, last = int(q.p[0] > 0.0), int(q.p[-1] < 1.0)
    padded = np.zeros((3, len(q) + first + last))
    padded[:, first : first + len(q)] = q.p, *_masses(q)
    padded[0, -1] = 1.0
    return padded[0], padded[1], padded[2]


def _calibrated(b: FloatArray, law: FloatArray) -> Predictor:
    """The calibrated predictor whose predictions b have this law."""
    return Predictor(b, law, b * law)


def _plain_lower(q: Predictor, potentials: Potentials) -> float:
    """What the potentials prove, by plain vectorised sums: see `kernels.certificates`."""
    z, r = potentials.nodes, np.stack([potentials.r0, potentials.r1])
    at = np.searchsorted(z, q.p)
    if z[0] != 0 or z[-1] != 1 or not np.array_equal(z[at], q.p):
        return -inf
    excess = np.maximum(
        (r - z - np.minimum.accumulate(r - z, axis=1)).max(axis=1),
        (np.maximum.accumulate(r + z, axis=1) - r - z).max(axis=1),
    )
    rising, falling = r[0, 1:] - z[1:], r[1, :-1] + z[:-1]
    b = np.clip((1.0 - rising + falling) / 4.0, z[:-1], z[1:])
    inside = (1.0 - b) * (rising + b) + b * (falling - b)
    violation = max(0.0, float(((1.0 - z) * r[0] + z * r[1]).max()), float(inside.max()))
    w = np.stack(_masses(q))
    return float((w * r[:, at]).sum() - violation * w.sum() - excess @ w.sum(axis=1))


def _marginals_agree(q: Predictor, nearest: Predictor, coupling: Coupling, slack: float) -> bool:
    """Whether the coupling starts from q, ends in `nearest`, and `nearest` is calibrated."""
    agree = bool(np.all(np.abs(nearest.positive - nearest.p * nearest.mass) <= slack * nearest.mass))
    for y, mass in enumerate(_masses(q)):
        of = coupling.y == y
        start = np.bincount(np.searchsorted(q.p, coupling.p[of]), coupling.mass[of], len(q))
        end = np.bincount(np.searchsorted(nearest.p, coupling.b[of]), coupling.mass[of], len(nearest))
        target = nearest.mass * (nearest.p if y else 1.0 - nearest.p)
        agree &= bool(np.abs(start - mass).sum() <= slack and np.abs(end - target).sum() <= slack)
    return agree


def _whole(*arrays: FloatArray) -> tuple[int, list[list[int]]]:
    """Rational arithmetic with whole numbers: k, and the arrays times 2**k, exactly.  Floats allow it."""
    ratios = [[value.as_integer_ratio() for value in array.tolist()] for array in arrays]
    length = max(denominator.bit_length() for column in ratios for _, denominator in column)
    return length - 1, [[a << (length - b.bit_length()) for a, b in column] for column in ratios]


def _exact_masses(nodes: list[int], p: list[int], mass: list[int], positive: list[int]) -> list[tuple[int, int]]:
    """Zeros and ones at each node."""
    law = {x: (both - one, one) for x, both, one in zip(p, mass, positive, strict=True)}
    return [law.get(node, (0, 0)) for node in nodes]


def _exact_lower(q: Predictor, potentials: Potentials) -> Fraction:
    """What the potentials prove, exactly: see `kernels.certificates`."""
    unit, (z, r0, r1, *law) = _whole(potentials.nodes, potentials.r0, potentials.r1, q.p, q.mass, q.positive)
    one, masses = 1 << unit, _exact_masses(z, *law)
    if z[0] != 0 or z[-1] != one or not set(law[0]) <= set(z):
        return Fraction(-1)
    total0, total1 = (sum(column) for column in zip(*masses, strict=True))
    value = sum(w0 * a + w1 * c for (w0, w1), a, c in zip(masses, r0, r1, strict=True))
    excess = []
    for r in (r0, r1):
        lowest, highest, worst = r[0] - z[0], r[0] + z[0], 0
        for x, y in zip(z, r, strict=True):
            lowest, highest = min(lowest, y - x), max(highest, y + x)
            worst = max(worst, y - x - lowest, highest - y - x)
        excess.append(worst)
    violation = max(0, *((one - x) * a + x * c for x, a, c in zip(z, r0, r1, strict=True))) * 8
    for left, right, a, c in zip(z[:-1], z[1:], r0[1:], r1[:-1], strict=True):
        rising, falling = a - right, c + left
        b = min(max(one - rising + falling, 4 * left), 4 * right)  # 4·b*, clipped to the gap
        violation = max(violation, 2 * (4 * one - b) * rising + 2 * b * (one + falling) - b * b)
    lost = excess[0] * total0 + excess[1] * total1
    return Fraction(8 * (value - lost) * one - violation * (total0 + total1), 8 << 3 * unit)


def _exact_upper(q: Predictor, nearest: Predictor) -> Fraction:
    """The cost of the law of `nearest`, completed by atoms at 0 and 1, exactly: see `kernels.certificates`."""
    unit, (b, mass, *given) = _whole(nearest.p, nearest.mass, q.p, q.mass, q.positive)
    law, one = dict(zip(b, mass, strict=True)), 1 << unit
    z = sorted({0, one, *b, *given[0]})
    masses = _exact_masses(z, *given)
    total0, total1 = (sum(column) * one for column in zip(*masses, strict=True))
    law0, law1 = sum(m * (one - x) for x, m in law.items()), sum(m * x for x, m in law.items())
    scale = min([Fraction(1)] + [Fraction(t, s) for t, s in ((total0, law0), (total1, law1)) if s > 0])
    k, share = scale.denominator, scale.numerator
    area, ahead0, ahead1 = 0, share * law0 - k * total0, 0
    for (w0, w1), left, right in zip(masses, z[:-1], z[1:], strict=False):
        stay = share * law.get(left, 0)
        ahead0 += k * w0 * one - stay * (one - left)
        ahead1 += k * w1 * one - stay * left
        area += (right - left) * (abs(ahead0) + abs(ahead1))
    return Fraction(area, k << 3 * unit)


def _rounded(value: Fraction, towards: float) -> float:
    """The float next to the value in that direction, or the value where it is one."""
    near = float(value)
    wrong = Fraction(near) < value if towards > 0 else Fraction(near) > value
    return nextafter(near, towards) if wrong else near
