"""The online algorithm: noise for predictions that arrive one at a time."""

from __future__ import annotations

from typing import Self, final

import numpy as np
from numpy.typing import ArrayLike

from trustcal.cells import ENDS, End, announced, cells_for
from trustcal.checking import Role, checked_cells, checked_choice, checked_count, checked_predictions, checked_seed
from trustcal.kernels import FloatArray
from trustcal.kernels.blocks import blocks
from trustcal.noise import Noise
from trustcal.noise.mechanism import as_noise
from trustcal.noise.table import described, revived
from trustcal.smoothing.draws import seed_from, uniforms
from trustcal.states import damage_refused, loaded, saved

_STATE_VERSION = 2


@final
class OnlineSmoother:
    """Noise for predictions that arrive one at a time (Section 4's algorithm, corrected; Theorem 4.1).

        draw p' ~ M(q);   i = min(⌊m·p'⌋, m − 1);   announce i/m, or (i + 1/2)/m with end="middle"

    It needs no outcomes.  The draw of round t depends only on the seed, t and q: the state is (seed, t), saved by
    `to_json`.  O(1) per prediction.

    Parameters
    ----------
    noise : Noise
    horizon : int, optional
        The number T of rounds; then m = ⌈T^(1/3)⌉, which the theorem's 2T^(−1/3) needs (⌊·⌋ is not enough).
    cells : int, optional
        m itself, in place of `horizon`.  Noise on a grid of its own, such as `RandomRounding`, needs neither.
    end : {"left", "middle"}
        What is announced for a cell.
    rng : numpy.random.Generator or int, optional
        The seed, or a generator to draw it from; by default a fresh one.

    >>> from trustcal.noise import TruncatedLaplace
    >>> smoother = OnlineSmoother(TruncatedLaplace(0.1), horizon=1000, rng=7)
    >>> smoother.cells, smoother.transform_one(0.32), smoother.transform_many([0.32, 0.9])
    (10, 0.2, array([0.4, 0.8]))
    """

    def __init__(
        self,
        noise: Noise,
        *,
        horizon: int | None = None,
        cells: int | None = None,
        end: End = "left",
        rng: np.random.Generator | int | None = None,
    ) -> None:
        self.noise = as_noise(noise)
        self.end = checked_choice("end", end, ENDS)
        if horizon is not None and cells is not None:
            raise ValueError("give horizon= or cells=, not both: the horizon T means ⌈T^(1/3)⌉ cells.")
        if horizon is None and cells is None and noise.grid_size() is None:
            raise ValueError("give horizon= (the number of predictions) or cells=: the output must be on a grid.")
        self.cells: int | None = None if cells is None else checked_cells(cells)
        if horizon is not None:
            self.cells = cells_for(checked_count("horizon", horizon))
        self.seed = seed_from(rng)
        self.rounds = 0
        """How many predictions have been transformed."""

    def __repr__(self) -> str:
        return f"OnlineSmoother({self.noise!r}, cells={self.cells}, end={self.end!r}, rounds={self.rounds})"

    def transform_one(self, q: float) -> float:
        """The next prediction with noise, on the grid.  O(1)."""
        return float(self.transform_many([q])[0])

    def transform_many(self, q: ArrayLike) -> FloatArray:
        """The next predictions: the same stream as `transform_one` on each in turn.  O(n)."""
        prediction = checked_predictions(q)
        if prediction.ndim != 1:
            raise ValueError(f"predictions must come in one dimension, in the order of rounds, not {prediction.ndim}.")
        rounds = np.arange(self.rounds, self.rounds + len(prediction), dtype=np.uint64)
        safe = np.empty(len(prediction))
        for block in blocks(len(prediction)):
            drawn = self.noise.quantile(uniforms(self.seed, Role.ONLINE_NOISE, rounds[block]), prediction[block])
            safe[block] = drawn if self.cells is None else announced(drawn, self.cells, self.end)
        self.rounds += len(prediction)
        return safe

    def to_json(self) -> str:
        """The state, from which `from_json` continues to the same bits."""
        fields = {"cells": self.cells, "end": self.end, "seed": self.seed, "rounds": self.rounds}
        return saved("OnlineSmoother", _STATE_VERSION, {"noise": described(self.noise), **fields})

    @classmethod
    @damage_refused()
    def from_json(cls, text: str, noise: Noise | None = None) -> Self:
        """The smoother that `to_json` saved.  Where a noise is given, a state of any other noise is refused.

        >>> from trustcal.noise import UniformNoise
        >>> smoother = OnlineSmoother(UniformNoise(0.1), cells=10, rng=3)
        >>> first, saved = smoother.transform_one(0.5), smoother.to_json()
        >>> OnlineSmoother.from_json(saved).transform_one(0.5) == smoother.transform_one(0.5)
        True
        """
        state = loaded(text, "OnlineSmoother", _STATE_VERSION, ("noise", "cells", "end", "seed", "rounds"))
        own = revived(state["noise"])
        if noise is not None and noise != own:
            raise ValueError(
                f"the state belongs to {own!r}, not to {noise!r}. Start a new OnlineSmoother for another noise."
            )
        smoother = cls(own, cells=state["cells"], end=state["end"], rng=checked_seed(state["seed"]))
        smoother.rounds = checked_count("rounds", state["rounds"], least=0)
        return smoother
