"""The methods that `compare` tries: each is fitted to one law and applied to another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from trustcal.guarantees import Bound, batch_cdl
from trustcal.noise import ClampedGaussian, Noise, TruncatedLaplace, UniformNoise
from trustcal.predictor import Predictor
from trustcal.remedies import recalibrators
from trustcal.remedies.folds import Fold
from trustcal.remedies.recalibrators import Map
from trustcal.smoothing import smooth

FINE: Final = 2048
"""The law after noise is computed on a grid of this many bins: no prediction is off by more than 1/4096."""


@final
@dataclass(frozen=True, eq=False)
class FittedMethod:
    """A method fitted to the rows that are not held out."""

    apply: Callable[[Predictor], Predictor]
    guarantee: Bound | None = None


@final
@dataclass(frozen=True)
class Method:
    """A way to change predictions."""

    name: str
    fit: Callable[[Fold], FittedMethod]
    needs_outcomes: bool
    eligible: bool = True
    """Whether it may be recommended; noise, rounding and the constant are only shown."""


def _mapped(fit: Callable[[Predictor], Map]) -> Callable[[Fold], FittedMethod]:
    def fitted(fold: Fold) -> FittedMethod:
        f = fit(fold.train)
        return FittedMethod(lambda q: q.map(f))

    return fitted


def _noised(choose: Callable[[float], Noise]) -> Callable[[Fold], FittedMethod]:
    """Noise chosen for the distance to calibration of the rows it is fitted to; the exact law, not a draw."""

    def fitted(fold: Fold) -> FittedMethod:
        noise = choose(fold.eps)

        return FittedMethod(lambda q: _law_after(q, noise), batch_cdl(noise, fold.eps))

    return fitted


def _law_after(q: Predictor, noise: Noise) -> Predictor:
    """The law after noise on a fine grid; atoms of clamped noise stay at 0 and 1, where log loss can be infinite."""
    q = q if len(q) <= FINE else q.on_grid(FINE, "middle")
    law = smooth(q, noise, FINE, "middle")
    atoms = noise.atoms(q.p).mass
    if not atoms.shape[-1]:
        return law
    ends = np.stack([q.mass - q.positive, q.positive]) @ atoms
    split = np.stack([law.mass - law.positive, law.positive])
    for place in (0, -1):  # the bins at the ends hold the atoms
        ends[:, place] = np.minimum(ends[:, place], split[:, place])
        split[:, place] -= ends[:, place]
    split = np.column_stack([ends[:, 0], split, ends[:, 1]])
    return Predictor(
        np.concatenate([[0.0], law.p, [1.0]]),
        split.sum(axis=0),
        split[1],
        rows=law.rows,
        effective_rows=law.effective_rows,
        moved=law.moved,
    )


def _rounded(fold: Fold) -> FittedMethod:
    cells = fold.train.suggested_cells
    return FittedMethod(lambda q: q.on_grid(cells, "middle"))


METHODS: Final = (
    Method("none", lambda _: FittedMethod(lambda q: q), needs_outcomes=False),
    Method(
        "uniform",
        _noised(lambda eps: UniformNoise.for_distance(eps, "cdl")),
        needs_outcomes=False,
        eligible=False,
    ),
    Method("Laplace (paper)", _noised(TruncatedLaplace.paper), needs_outcomes=False, eligible=False),
    Method(
        "Gaussian",
        _noised(lambda eps: ClampedGaussian.for_distance(eps, "cdl")),
        needs_outcomes=False,
        eligible=False,
    ),
    Method("rounding", _rounded, needs_outcomes=False, eligible=False),
    Method("temperature", _mapped(recalibrators.temperature), needs_outcomes=True),
    Method("Platt", _mapped(recalibrators.platt), needs_outcomes=True),
    Method("beta", _mapped(recalibrators.beta), needs_outcomes=True),
    Method("isotonic", _mapped(recalibrators.isotonic), needs_outcomes=True),
    Method("histogram", _mapped(recalibrators.histogram), needs_outcomes=True),
    Method("Venn–Abers", _mapped(recalibrators.venn_abers), needs_outcomes=True),
    Method("constant", _mapped(recalibrators.constant), needs_outcomes=True, eligible=False),
)
"""In the order of the table; among those that may be recommended, from the simplest to the least simple."""
