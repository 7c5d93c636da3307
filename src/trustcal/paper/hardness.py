"""How hard is post-processing?  The lower-bound instances with what every noise reaches on them, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from trustcal.guarantees import batch_decision_loss, lower_batch_decision_loss, lower_batch_decision_loss_paper
from trustcal.measures.decision import cdl, decision_loss, ece
from trustcal.measures.transport import dtc
from trustcal.noise import ClampedGaussian, Noise, RandomRounding, TruncatedLaplace, UniformNoise
from trustcal.paper.instances import Instance, batch_hard, batch_hardest
from trustcal.predictor import Predictor
from trustcal.smoothing import smooth

_CELLS = 100_000
"""Decision loss against a reference is taken on so many cells, where the noise of each prediction lies, and is exact to
a cell (Theorem 19): a grid on all of [0, 1] would have to be as fine, and mostly empty."""
_BEYOND = 1e-15
"""How much of the noise may lie to either side of its cells."""


@final
@dataclass(frozen=True)
class HardRow:
    """One post-processing of a hard instance."""

    name: str
    decision_loss: float
    ece: float
    cdl: float
    guarantee: float | None
    """What the theorem promises for the decision loss."""


@final
@dataclass(frozen=True)
class HardCase:
    """A hard instance and what becomes of it."""

    title: str
    description: str
    rows: tuple[HardRow, ...]
    verdict: str


def hard_cases(eps: float) -> tuple[HardCase, HardCase]:
    """The paper's lower-bound instance (Theorem 3.5) and the sharper one (Theorem 20), 0 < eps ≤ 1/4.

    >>> ours = hard_cases(0.01)[1]
    >>> [(row.name, round(row.decision_loss, 3)) for row in ours.rows[:2]]
    [('none', 0.076), ('believing what it means', 0.066)]
    """
    return (
        _case("The paper's instance (Theorem 3.5)", batch_hard(eps), eps, lower_batch_decision_loss_paper(eps).value),
        _case("A harder one (Theorem 20)", batch_hardest(eps), eps, lower_batch_decision_loss(eps).value),
    )


def _case(title: str, instance: Instance, eps: float, lower: float) -> HardCase:
    q, reference = instance.predictor, instance.reference
    values = "; ".join(f"{p:.6g}, where {100 * h:.4g} % come true" for p, h in zip(q.p, q.p_hat, strict=True))
    noises: list[tuple[str, Noise]] = [
        ("uniform noise", UniformNoise.for_distance(eps)),
        ("Gaussian noise, clamped", ClampedGaussian.for_distance(eps)),
        ("Laplace noise", TruncatedLaplace.for_distance(eps)),
        ("the paper's Laplace noise", TruncatedLaplace.paper(eps)),
        ("random rounding", RandomRounding.for_distance(eps)),
    ]
    rows = [_row("none", q, reference), _row("believing what it means", q.calibrated(), reference)]
    for name, noise in noises:
        law = smooth(q, noise)
        finite = law if isinstance(law, Predictor) else _on_cells(q, noise)
        rows.append(
            HardRow(
                name,
                decision_loss(finite, reference),
                ece(law),
                cdl(law),
                batch_decision_loss(noise, eps).value,
            )
        )
    return HardCase(
        title,
        f"It says {values}. Its distance to calibration is {dtc(q):.6g}.",
        tuple(rows),
        f"No post-processing that sees no outcomes loses less than {lower:.6g} to the reference on it.",
    )


def _on_cells(q: Predictor, noise: Noise) -> Predictor:
    """The law after noise, with every cell announced as its middle.  O(cells) for each prediction."""
    low, high = noise.quantile([[_BEYOND], [1 - _BEYOND]], q.p)
    ends = np.unique(np.append(np.linspace(low, high, _CELLS + 1), [0.0, 1.0]))
    inside = np.diff(noise.cdf(ends[1:], q.p[:, None]), prepend=0.0)
    return Predictor((ends[1:] + ends[:-1]) / 2, q.mass @ inside, q.positive @ inside)


def _row(name: str, q: Predictor, reference: Predictor) -> HardRow:
    return HardRow(name, decision_loss(q, reference), ece(q), cdl(q), None)
