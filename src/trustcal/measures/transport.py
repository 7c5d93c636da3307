"""Distance to calibration: how far predictions must move, on average, to become calibrated.

The answer is an interval with two proofs.  A law of b, coupled with the predictions, is an upper bound; a pair of
potentials is a lower one (`kernels.certificates`).  Both come from shooting (`kernels.transport`), which need not be
right: only what the certificates confirm is returned.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import inf, isfinite
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.checking import checked_number, generator
from trustcal.kernels.certificates import lower_certificate, monotone_coupling, upper_certificate
from trustcal.kernels.curve import guess
from trustcal.measures.exact_bounds import exact_lower, exact_upper, rounded
from trustcal.predictor import Predictor, as_predictor

FloatArray = NDArray[np.float64]

EXACT = 200
"""Up to this many nodes the certificates are evaluated without rounding, which takes about a millisecond."""
TINY = 1e-16
"""A distance that needs no lower bound but 0."""
PLENTY = 1e-12
"""Bounds this close need no second attempt on the other side of the square."""
NOISE = (0.0, 1e-13, 1e-12, 1e-11, 1e-10)
"""Equal masses can leave the curve undetermined.  Noise breaks ties and moves the answer by at most its own size."""


@final
@dataclass(frozen=True, eq=False)
class Coupling:
    """Which predictions move where, sorted by y, p and b."""

    p: FloatArray
    """The prediction."""
    y: NDArray[np.int8]
    """The outcome."""
    b: FloatArray
    """The calibrated prediction."""
    mass: FloatArray
    """The share of rows with this p, y and b."""


@final
@dataclass(frozen=True, eq=False)
class Potentials:
    """Two functions r0 and r1 at nodes that include 0, 1 and all predictions; E[r_y(p)] is a lower bound.

    This requires slopes of at most 1 and (1 − b)·r0(b) + b·r1(b) ≤ 0 for every b in [0, 1].  Both hold up to rounding,
    and the violation is subtracted.
    """

    nodes: FloatArray
    """Increasing, from 0 to 1."""
    r0: FloatArray
    """For outcome 0."""
    r1: FloatArray
    """For outcome 1."""


@final
@dataclass(frozen=True, eq=False)
class DtcWitness:
    """The distance to calibration lies in [lower, upper], proved by a coupling and by potentials."""

    lower: float
    """Proved by `potentials`."""
    upper: float
    """Proved by `coupling`."""
    nearest: Predictor
    """A calibrated predictor at distance at most `upper`."""
    potentials: Potentials
    """The lower bound's proof."""
    shots: int
    """The number of sweeps over the values that the search took."""
    predictor: Predictor = field(repr=False)
    """What was measured."""

    @cached_property
    def coupling(self) -> Coupling:
        """The cheapest way from `predictor` to `nearest`: for each outcome, predictions keep their order.  O(n)."""
        q, b = self.predictor, self.nearest
        steps = (len(q) + len(b)) // 16  # once per audit: below that, plain Python takes less time than compiling
        return Coupling(*monotone_coupling.on(steps)(q.p, *_masses(q), b.p, b.mass))

    def verify(self, exact: bool = False) -> None:
        """Check both bounds again, and raise an `ArithmeticError` if one does not hold.

        Parameters
        ----------
        exact : bool
            Use rational arithmetic and no tolerance; unless set, floating point up to the rounding of sums, 8·n·2⁻⁵³.

        >>> dtc_witness(Predictor([0.25, 0.75], [0.5, 0.5], [0.25, 0.25])).verify(exact=True)

        O(n), and with `exact` about 20 µs per value.
        """
        if exact:
            lower, upper = exact_lower(self.predictor, self.potentials), exact_upper(self.predictor, self.nearest)
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

    The certified upper bound is returned; `dtc_witness` has the lower one, rarely more than 1e-14 below.

    Parameters
    ----------
    y_true, y_prob, sample_weight : Predictor, or array-likes
        A predictor alone, or rows in scikit-learn's order.

    Returns
    -------
    float

    >>> round(dtc(Predictor([0.4999, 0.5001], [0.5, 0.5], [0.5, 0.0])), 15)      # all could have said 0.5
    0.0001
    >>> dtc([0, 1, 1, 1], [0.5, 0.5, 1.0, 1.0])
    0.0

    O(n log n): about log n sweeps, after one sort for rows.
    """
    return dtc_witness(as_predictor(y_true, y_prob, sample_weight)).upper


def dtc_witness(q: Predictor, tol: float = 1e-9) -> DtcWitness:
    """The distance to calibration with both proofs: a coupling with a calibrated predictor, and potentials.

        DTC = max E[r_y(p)] over 1-Lipschitz r0, r1 with (1 − b)·r0(b) + b·r1(b) ≤ 0 for every b in [0, 1]

    Parameters
    ----------
    q : Predictor
    tol : float
        If the bounds end up more than this apart, they are returned with a warning.

    Returns
    -------
    DtcWitness

    >>> witness = dtc_witness(Predictor([0.4999, 0.5001], [0.5, 0.5], [0.5, 0.0]))
    >>> witness.nearest.p, witness.coupling.mass, witness.upper - witness.lower < 1e-15
    (array([0.5]), array([0.5, 0.5]), True)

    O(n) per sweep; about log2(n) sweeps, and at most a few hundred.
    """
    q = as_predictor(q)
    tol = checked_number("tol", tol, 0, inf, rule="be a number, 0 or more")
    z, w0, w1 = _with_ends(q)
    # To begin with: r0 = r1 = 0, and b = y.
    over, under = float((z * w0).sum()), float(((1.0 - z) * w1).sum())
    lower, upper, shots = 0.0, over + under + 2.0**-45, 0
    potentials, support, law = Potentials(z, 0.0 * z, 0.0 * z), np.array([0.0, 1.0]), np.array([w0.sum(), w1.sum()])
    # Next, for predictors that are almost calibrated: b with the law of p, so that only biases move.
    own = w0 + w1
    near = upper_certificate.on(len(z))(z, w0, w1, own)
    if near <= tol and len(z) <= EXACT:
        near = rounded(exact_upper(q, _calibrated(z, own)), inf)
    if near <= min(tol, upper):
        upper, support, law = near, z, own
    sides = (True, False) if over <= under else (False, True)
    random = generator(0)
    for noise in NOISE if upper > TINY else ():
        moved0, moved1 = (w + noise * random.random(len(z)) / len(z) if noise else w for w in (w0, w1))
        for north in sides:
            with np.errstate(all="ignore"):  # a guess may divide by 5e-324; the certificates judge the result
                found = guess(z, moved0, moved1, north)
                b, m0, m1, r0, r1, mass = found.on_nodes(z, w0, w1)
                low = lower_certificate.on(len(b))(b, m0, m1, r0, r1)
                up = upper_certificate.on(len(b))(b, m0, m1, mass)
            shots += found.shots
            if len(b) <= EXACT and isfinite(low) and isfinite(up):
                low = rounded(exact_lower(q, Potentials(b, r0, r1)), -inf)
                up = rounded(exact_upper(q, _calibrated(b, mass)), inf)
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
            f"the distance to calibration is only known to lie in [{lower}, {upper}]: no fitting curve was found.",
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
