"""The lower-bound instances, and what each noise achieves on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from trustcal.guarantees import batch_decision_loss, lower_batch_decision_loss, lower_batch_decision_loss_paper
from trustcal.measures.decision import cdl, decision_loss, ece
from trustcal.measures.transport import dtc
from trustcal.noise import NOISES, Noise, TruncatedLaplace
from trustcal.paper.examples import batch_hard, batch_hardest
from trustcal.paper.instance import Instance
from trustcal.predictor import Predictor
from trustcal.smoothing import smooth

_CELLS = 100_000
"""Cells per prediction on which the distribution after noise is discretised.  They cover the noise only: a grid on
[0, 1] of the same width would be mostly empty.  The decision loss is exact up to the width of a cell (Theorem 19)."""
_BEYOND = 1e-15
"""Mass of the noise that may lie outside the cells, on either side."""


@final
@dataclass(frozen=True)
class HardRow:
    """One post-processing of a hard instance."""

    name: str
    decision_loss: float
    ece: float
    cdl: float
    guarantee: float | None
    """The proved upper bound on the decision loss."""


@final
@dataclass(frozen=True)
class HardCase:
    """A hard instance after each post-processing."""

    title: str
    description: str
    rows: tuple[HardRow, ...]
    verdict: str


def hard_cases(eps: float) -> tuple[HardCase, HardCase]:
    """The paper's lower-bound instance (Theorem 3.5) and a sharper one (Theorem 20), after each post-processing.

    Parameters
    ----------
    eps : float
        Distance to calibration, in (0, 1/4].

    Returns
    -------
    tuple of HardCase
        The paper's instance, then ours.

    Examples
    --------
    >>> ours = hard_cases(0.01)[1]
    >>> [(row.name, round(row.decision_loss, 3)) for row in ours.rows[:2]]
    [('none', 0.076), ('perfect recalibration', 0.066)]
    """
    return (
        _case("The paper's instance (Theorem 3.5)", batch_hard(eps), eps, lower_batch_decision_loss_paper(eps).value),
        _case("A harder instance (Theorem 20)", batch_hardest(eps), eps, lower_batch_decision_loss(eps).value),
    )


def _case(title: str, instance: Instance, eps: float, lower: float) -> HardCase:
    q, reference = instance.predictor, instance.reference
    values = " and ".join(f"{p:.6g} (base rate {100 * h:.4g} %)" for p, h in zip(q.p, q.p_hat, strict=True))
    noises = [(family.title, family.for_distance(eps)) for family in NOISES.values()]
    noises.append(("the paper's Laplace noise", TruncatedLaplace.paper(eps)))
    rows = [
        HardRow(name, decision_loss(p, reference), ece(p), cdl(p), None)
        for name, p in (("none", q), ("perfect recalibration", q.calibrated()))
    ]
    for name, noise in noises:
        after = smooth(q, noise)
        lost = decision_loss(after if isinstance(after, Predictor) else _on_cells(q, noise), reference)
        rows.append(HardRow(name, lost, ece(after), cdl(after), batch_decision_loss(noise, eps).value))
    return HardCase(
        title,
        f"Predictions: {values}. Distance to calibration: {dtc(q):.6g}.",
        tuple(rows),
        f"No post-processing that sees no outcomes loses less than {lower:.6g} to the reference.",
    )


def _on_cells(q: Predictor, noise: Noise) -> Predictor:
    """The distribution after noise, with each cell at its midpoint.  O(cells) per prediction."""
    low, high = noise.quantile([[_BEYOND], [1 - _BEYOND]], q.p)
    ends = np.unique(np.append(np.linspace(low, high, _CELLS + 1), [0.0, 1.0]))
    inside = np.diff(noise.cdf(ends[1:], q.p[:, None]), prepend=0.0)
    return Predictor((ends[1:] + ends[:-1]) / 2, q.mass @ inside, q.positive @ inside)
