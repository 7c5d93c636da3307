"""Best responses to vectors of probabilities, and what replacing them gains, for payoffs with K outcomes.

Only differences of payoffs are used, so that what all actions pay in common cannot hide a gain, and a gain that is a
smaller share of its terms than rounding can make is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trustcal.decisions.recommendations import Recommendation
from trustcal.kernels.blocks import blocks

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]


class ActionTables(NamedTuple):
    """What happens where each action is recommended, a row per action and a column per outcome."""

    taken: IntArray
    """The action at each vector of the predictor."""
    seen: FloatArray
    """Pr[a is recommended, y = k]."""
    said: FloatArray
    """E[p_k; a is recommended]."""


def best_responses(p: FloatArray, payoff: FloatArray) -> IntArray:
    """The first of the best actions for each vector.  O(K·actions) each."""
    best = np.zeros(len(p), dtype=np.intp)
    for block in blocks(len(p)):
        best[block] = _best(p[block], payoff)
    return best


def gains(payoff: FloatArray, seen: FloatArray) -> FloatArray:
    """gain[a, b]: what action b would earn more than a where a is recommended; 0 where that is rounding, or less.

    O(actions²·K).
    """
    gain = np.zeros((len(seen), len(seen)))
    for a, weight in enumerate(seen):
        terms = (payoff - payoff[a]) * weight
        more, size = terms.sum(axis=1), np.abs(terms).sum(axis=1)
        gain[a] = np.where(more > _slack(terms.shape[1]) * size, more, 0.0)
    return gain


def recommended_by(payoff: FloatArray, actions: Sequence[str], tables: ActionTables) -> tuple[Recommendation, ...]:
    """Action by action: how often it is recommended, what it promises and earns, and the best swap.  O(actions²·K)."""
    gain = gains(payoff, tables.seen)
    better = np.argmax(gain, axis=1).tolist()
    return tuple(
        Recommendation(
            name,
            float(tables.seen[a].sum()),
            float((tables.said[a] * payoff[a]).sum()),
            float((tables.seen[a] * payoff[a]).sum()),
            actions[better[a]] if gain[a, better[a]] > 0 else name,
            float(gain[a, better[a]]),
        )
        for a, name in enumerate(actions)
    )


def projected_scores(p: FloatArray, step: FloatArray, taken: IntArray) -> FloatArray:
    """The expected difference of two actions, from 0 to 1: above −min/(max − min) where the second one is taken.

    Rounding must not move a score to the other side of that threshold, nor off it.
    """
    low, width = float(step.min()), float(np.ptp(step))
    terms, mu = p * step, -low / width
    score: FloatArray = np.clip((terms.sum(axis=1) - low) / width, 0.0, 1.0)
    if not 0 <= mu <= 1:
        return score
    score = np.where(taken == 1, np.maximum(score, np.nextafter(mu, 2)), np.minimum(score, mu))
    tied = np.abs(terms.sum(axis=1)) <= _slack(len(step)) * np.abs(terms).sum(axis=1)
    return np.clip(np.where(tied, mu, score), 0.0, 1.0)


def _best(p: FloatArray, payoff: FloatArray) -> IntArray:
    """The first of the best actions for each vector.  O(K·actions) each."""
    best = np.argmax(np.einsum("nk,ak->na", p, payoff - payoff[0]), axis=1)
    slack, todo = _slack(p.shape[1]), np.arange(len(p))
    # Payoffs of very different sizes may have hidden a better action: compare again, by differences to the one found.
    for _ in range(len(payoff)):
        moved = []
        for action in np.unique(best[todo]):
            here = todo[best[todo] == action]
            step = payoff - payoff[action]
            gain = np.einsum("nk,ak->na", p[here], step)
            size = slack * np.einsum("nk,ak->na", p[here], np.abs(step))
            highest = np.argmax(gain, axis=1)
            line = np.arange(len(here))
            more = gain[line, highest] > size[line, highest]
            best[here] = np.where(more, highest, np.argmax(gain >= -size, axis=1))
            moved.append(here[more])
        todo = np.concatenate(moved)
        if not len(todo):
            break
    return np.asarray(best)


def _slack(outcomes: int) -> float:
    """Gains that are a smaller share of their terms than this are rounding."""
    return 8 * outcomes * float(np.finfo(float).eps)
