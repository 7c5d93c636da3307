"""Hard sequences for the online setting: pairs with the same first half, and a counterexample to Corollary 4.2.

An algorithm that sees no outcomes answers both sequences of a pair alike until they diverge, and so does badly on one.
Counts of outcomes must be whole numbers; each function documents how.  Within a stretch of equal frequency
the order of outcomes is random, from a seed: the theorems are about the mean over orders.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, sqrt
from typing import final

import numpy as np
from numpy.typing import NDArray

from trustcal.checking import Role, checked_count, checked_number, generator
from trustcal.guarantees import lower_online_cdl_game, lower_online_ece_paper
from trustcal.guarantees.bound import root_gap
from trustcal.guarantees.lower import PAPER_ONLINE_LIMIT
from trustcal.predictor import Predictor


@final
@dataclass(frozen=True, eq=False)
class Sequence:
    """Predictions and outcomes of consecutive rounds."""

    predictions: NDArray[np.float64]
    outcomes: NDArray[np.int8]

    @property
    def predictor(self) -> Predictor:
        """The empirical distribution of the rounds."""
        return Predictor.from_samples(self.outcomes, self.predictions)


@final
@dataclass(frozen=True, eq=False)
class SequencePair:
    """Two sequences whose predictions agree in the first `shared` rounds, and the resulting lower bounds.

    `ece`, `cdl` and `swap_regret` (of the umbrella problem) are the values of the game: the smallest error that an
    algorithm which sees no outcomes can guarantee on both, as the number of rounds grows.
    """

    one: Sequence
    other: Sequence
    shared: int
    eps: float
    """The distance to calibration of both."""
    ece: float
    cdl: float
    swap_regret: float | None


def online_hard(eps: float, horizon: int, rng: np.random.Generator | int = 0) -> SequencePair:
    """The pair of Theorem 21, sharper than Theorem 4.4's: predictions 1/2 first, then 1/2 + 2h or 1/2 − 2h.

    The frequency of ones is 1/2 + h throughout, or 1/2 − h.  h is the largest value for which the counts are whole and
    the distance 2h²/(1 + 2h) is at most eps.  For each of ECE, CDL and swap regret, at least one of the two has h/2.

    Parameters
    ----------
    eps : float
        Largest distance to calibration, in (0, 1/12].
    horizon : int
        Number of rounds, even.
    rng : Generator or int, default 0
        Source of the order of outcomes.

    Returns
    -------
    SequencePair
        Its `eps` is the distance 2h²/(1 + 2h).  O(horizon).

    >>> pair = online_hard(1 / 12, 1000)
    >>> pair.cdl, pair.one.predictor.p, pair.one.predictor.p_hat
    (0.125, array([0.5, 1. ]), array([0.75, 0.75]))
    """
    checked_number("eps", eps, 0, 1 / 12, "(]")
    half = _half(horizon)
    ones = floor(half * (0.5 + (eps + root_gap(eps)) / 2) + 1e-9)
    h = (2 * ones - half) / (2 * half)
    if h <= 0:
        raise ValueError(f"{horizon} rounds are too few for whole counts of outcomes at eps = {eps!r}; use more.")
    random = generator(rng, Role.OUTCOMES)
    one, other = (
        Sequence(
            np.repeat([0.5, 0.5 + sign * 2 * h], half),
            np.concatenate([_shuffled(count, half, random) for _ in range(2)]),
        )
        for sign, count in ((1, ones), (-1, half - ones))
    )
    return SequencePair(one, other, half, 2 * h * h / (1 + 2 * h), h / 2, h / 2, h / 2)


def online_hard_paper(eps: float, horizon: int, rng: np.random.Generator | int = 0) -> SequencePair:
    """The paper's pair (Theorem 4.4), with s = √eps.

    One sequence predicts 1/2 − s and then 1/2 + s, with frequencies of ones 1/2 ∓ (s/2 − eps).  The other predicts
    1/2 − s throughout, with frequency 1/2 − s − eps.  The value of the game for ECE is the theorem's √eps/8 + eps/2;
    that for CDL is smaller (Theorem 22), contrary to the theorem.

    Parameters
    ----------
    eps : float
        Distance to calibration, in (0, 1 − √3/2].
    horizon : int
        Number of rounds for which all counts are whole: with eps = 1/k², a multiple of 4k².
    rng : Generator or int, default 0
        Source of the order of outcomes.

    Returns
    -------
    SequencePair
        Without a value for swap regret.  O(horizon).

    >>> pair = online_hard_paper(0.01, 400)
    >>> round(pair.ece, 6), round(pair.cdl, 6), pair.other.predictor.p_hat
    (0.0175, 0.015232, array([0.39]))
    """
    checked_number("eps", eps, 0, PAPER_ONLINE_LIMIT, "(]")
    half, s = _half(horizon), sqrt(eps)
    counts = half * np.array([0.5 - s / 2 + eps, 0.5 + s / 2 - eps, 1 - 2 * s - 2 * eps])
    first, second, throughout = np.round(counts).astype(int)
    if np.abs(counts - np.round(counts)).max() > 1e-6:
        raise ValueError(
            f"the counts of ones must be whole, but {horizon} rounds at eps = {eps!r} ask for "
            f"{', '.join(f'{count:.6g}' for count in counts)}. With eps = 1/k² use a multiple of 4k² rounds."
        )
    random = generator(rng, Role.OUTCOMES)
    one = np.concatenate([_shuffled(first, half, random), _shuffled(second, half, random)])
    return SequencePair(
        Sequence(np.repeat([0.5 - s, 0.5 + s], half), one),
        Sequence(np.full(2 * half, 0.5 - s), _shuffled(throughout, 2 * half, random)),
        half,
        eps,
        lower_online_ece_paper(eps).value,
        lower_online_cdl_game(eps).value,
        None,
    )


def floor_cells() -> Sequence:
    """A counterexample to Corollary 4.2 with ⌊T^(1/3)⌋ cells: T = 26 predictions of 25/26, 25 of which come true.

    The sequence is calibrated, so it needs almost no noise.  But on 2 cells the answer is 1/2, and the CDL is 24/26 =
    0.923, above 2·T^(−1/3) = 0.675.

    Returns
    -------
    Sequence

    >>> len(floor_cells().predictions), int(floor_cells().outcomes.sum())
    (26, 25)
    """
    outcomes = np.ones(26, dtype=np.int8)
    outcomes[0] = 0
    return Sequence(np.full(26, 25 / 26), outcomes)


def _half(horizon: int) -> int:
    if checked_count("horizon", horizon, 2) % 2:
        raise ValueError(f"horizon must be even, since the sequences diverge half-way, not {horizon!r}.")
    return horizon // 2


def _shuffled(ones: int, rounds: int, random: np.random.Generator) -> NDArray[np.int8]:
    outcomes = np.zeros(rounds, dtype=np.int8)
    outcomes[:ones] = 1
    random.shuffle(outcomes)
    return outcomes
