"""Lower bounds: what post-processing that sees no outcomes cannot beat.

Batch bounds allow algorithms that see all predictions at once; online ones those that answer each prediction knowing it
and the earlier ones, hence also any that sees only the current one.  Each holds for predictors, or sequences, within
eps of calibration.  The paper's are valid where it proves them; the sharper ones stay valid beyond the range of their
construction, because a predictor within 1/4 (or 1/12) is also within any larger eps.
"""

from __future__ import annotations

from math import sqrt

from trustcal.checking import checked_eps
from trustcal.guarantees.bound import Bound, root_gap

PAPER_ONLINE_LIMIT = 1 - sqrt(3) / 2
"""The paper's two sequences have outcomes with frequencies in [0, 1], at distance eps, up to here."""


def lower_batch_decision_loss(eps: float) -> Bound:
    """Sharpening Theorem 3.5: (√(eps² + 2eps) − eps)/2 for eps ≤ 1/4, then 1/4; uniform noise attains √(eps/2).

    Parameters
    ----------
    eps : float
        How far from calibration predictors may be; beyond 1/4 the bound stays the same.

    Returns
    -------
    Bound
        Some predictor within eps loses as much, whatever is done to it without outcomes.

    >>> print(lower_batch_decision_loss(0.01))
    decision loss ≥ 0.0658872 (Theorem 20, sharpening Theorem 3.5)
    """
    known = min(checked_eps(eps), 0.25)
    value = known / (root_gap(known) + known)  # the same number without cancellation
    return Bound("decision loss", value, "Theorem 20, sharpening Theorem 3.5", True, "≥")


def lower_batch_decision_loss_paper(eps: float) -> Bound:
    """Theorem 3.5 as stated: √eps/2, for eps ≤ 1/4.

    Parameters
    ----------
    eps : float
        How far from calibration predictors may be, up to 1/4.

    Returns
    -------
    Bound

    >>> print(lower_batch_decision_loss_paper(0.01))
    decision loss ≥ 0.05 (Theorem 3.5)
    """
    return Bound("decision loss", sqrt(checked_eps(eps, 0.25, "Theorem 3.5")) / 2, "Theorem 3.5", True, "≥")


def lower_per_prediction_cdl(eps: float) -> Bound:
    """Corollary 3.6 with its constant: CDL ≥ √(eps/2) − 7.4·eps^(3/4), for one prediction at a time (Theorem 42).

    The value is the leading term: proved in the limit, not at this eps.

    Parameters
    ----------
    eps : float
        How far from calibration predictors may be, up to 1/8.

    Returns
    -------
    Bound

    >>> print(lower_per_prediction_cdl(0.02))
    CDL ≥ 0.1 (Theorem 42, the leading term only; not proved)
    """
    value = sqrt(checked_eps(eps, 1 / 8, "the lower bound per prediction") / 2)
    return Bound("CDL", value, "Theorem 42, the leading term only", False, "≥")


def lower_per_prediction_ece(eps: float) -> Bound:
    """Corollary 3.6 with its constant: ECE ≥ √(2eps)·(1 − o(1)) for algorithms that see one prediction (Theorem 43).

    The value is the leading term: proved in the limit, not at this eps.  Uniform noise attains it.

    Parameters
    ----------
    eps : float
        Distance to calibration, at most 1/8.

    Returns
    -------
    Bound

    >>> print(lower_per_prediction_ece(0.02))
    ECE ≥ 0.2 (Theorem 43, the leading term only; not proved)
    """
    value = sqrt(2 * checked_eps(eps, 1 / 8, "the lower bound per prediction"))
    return Bound("ECE", value, "Theorem 43, the leading term only", False, "≥")


def lower_online_ece_paper(eps: float) -> Bound:
    """Theorem 4.4 as stated for ECE: √eps/8 + eps/2, for eps ≤ 1 − √3/2: the game value of the paper's two sequences.

    Parameters
    ----------
    eps : float
        Distance to calibration, in (0, 1 − √3/2].

    Returns
    -------
    Bound

    >>> print(lower_online_ece_paper(0.01))
    ECE ≥ 0.0175 (Theorem 4.4)
    """
    known = checked_eps(eps, PAPER_ONLINE_LIMIT, "Theorem 4.4")
    return Bound("ECE", sqrt(known) / 8 + known / 2, "Theorem 4.4", True, "≥")


def lower_online_cdl_paper(eps: float) -> Bound:
    """Theorem 4.4 as stated for CDL: √eps/8 + eps/2, for eps ≤ 1 − √3/2.

    False of the paper's two sequences (see `lower_online_cdl_game`), true with those of Theorem 21.

    Parameters
    ----------
    eps : float
        Distance to calibration, at most 1 − √3/2.

    Returns
    -------
    Bound

    >>> print(lower_online_cdl_paper(0.01))
    CDL ≥ 0.0175 (Theorem 4.4, by the sequences of Theorem 21 instead of its own)
    """
    known = checked_eps(eps, PAPER_ONLINE_LIMIT, "Theorem 4.4")
    source = "Theorem 4.4, by the sequences of Theorem 21 instead of its own"
    return Bound("CDL", sqrt(known) / 8 + known / 2, source, True, "≥")


def lower_online_cdl_step(eps: float) -> Bound:
    """What the paper's argument for CDL yields before its false last step: (√eps + 4eps)/(8 + 12√eps).

    Parameters
    ----------
    eps : float
        Distance of the two sequences to calibration, at most 1 − √3/2.

    Returns
    -------
    Bound
        Slightly less than `lower_online_cdl_game`.

    >>> print(lower_online_cdl_step(0.01))
    CDL ≥ 0.0152174 (Theorem 4.4, its last step corrected)
    """
    known = checked_eps(eps, PAPER_ONLINE_LIMIT, "Theorem 4.4")
    s = sqrt(known)
    return Bound("CDL", (s + 4 * known) / (8 + 12 * s), "Theorem 4.4, its last step corrected", True, "≥")


def lower_online_cdl_game(eps: float) -> Bound:
    """The best CDL that can be had on both of the paper's sequences, exactly (Theorem 22), with s = √eps:

        v* = (√B − √A)/(2(√A + √B)),   A = 1/2 + s/2 − eps,   B = 1/2 + s + eps

    Parameters
    ----------
    eps : float
        Distance of both sequences to calibration, at most 1 − √3/2.

    Returns
    -------
    Bound

    >>> print(lower_online_cdl_game(0.01))
    CDL ≥ 0.0152315 (Theorem 22, correcting Theorem 4.4)
    """
    known = checked_eps(eps, PAPER_ONLINE_LIMIT, "Theorem 4.4")
    s = sqrt(known)
    a, b = 0.5 + s / 2 - known, 0.5 + s + known
    value = (s / 2 + 2 * known) / (2 * (sqrt(a) + sqrt(b)) ** 2)
    return Bound("CDL", value, "Theorem 22, correcting Theorem 4.4", True, "≥")


def lower_online_ece(eps: float) -> Bound:
    """Sharpening Theorem 4.4: (eps + √(eps² + 2eps))/4 for eps ≤ 1/12, then 1/8.

    Parameters
    ----------
    eps : float
        Distance to calibration, in (0, 1]; larger than 1/12 counts as 1/12.

    Returns
    -------
    Bound

    >>> print(lower_online_ece(0.01))
    ECE ≥ 0.0379436 (Theorem 21, sharpening Theorem 4.4)
    """
    return Bound("ECE", _improved_pair(eps), "Theorem 21, sharpening Theorem 4.4", True, "≥")


def lower_online_cdl(eps: float) -> Bound:
    """Correcting and sharpening Theorem 4.4: (eps + √(eps² + 2eps))/4 for eps ≤ 1/12, then 1/8.

    Parameters
    ----------
    eps : float
        Distance to calibration of the rounds, in (0, 1].

    Returns
    -------
    Bound

    >>> print(lower_online_cdl(1 / 12))
    CDL ≥ 0.125 (Theorem 21, correcting Theorem 4.4)
    """
    return Bound("CDL", _improved_pair(eps), "Theorem 21, correcting Theorem 4.4", True, "≥")


def lower_decision_maker(eps: float) -> Bound:
    """Corollary 4.5, corrected and sharpened: a decision maker with threshold 1/2 regrets at least this much.

    The regret is that of payoffs 1 and 0, the umbrella's: (eps + √(eps² + 2eps))/4 for eps ≤ 1/12, then 1/8.

    Parameters
    ----------
    eps : float
        Distance to calibration of the rounds before post-processing, in (0, 1].

    Returns
    -------
    Bound
        Swap regret per round.

    >>> print(lower_decision_maker(0.01))
    swap regret ≥ 0.0379436 (Theorem 21, correcting Corollary 4.5)
    """
    return Bound("swap regret", _improved_pair(eps), "Theorem 21, correcting Corollary 4.5", True, "≥")


def _improved_pair(eps: float) -> float:
    known = min(checked_eps(eps), 1 / 12)
    return (known + root_gap(known)) / 4
