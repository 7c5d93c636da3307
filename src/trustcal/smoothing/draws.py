"""Draws of noise for rows: by a generator, or by row id so that a row keeps its draw."""

from __future__ import annotations

import secrets
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.checking import FloatArray, Role, checked_predictions, checked_seed
from trustcal.kernels.blocks import blocks
from trustcal.noise import Noise
from trustcal.noise.mechanism import as_noise

WordArray = NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def perturb(
    y_prob: ArrayLike,
    noise: Noise,
    rng: np.random.Generator | int | None = None,
    *,
    ids: ArrayLike | None = None,
    seed: int | None = None,
) -> FloatArray:
    """Draw M(q) once for each prediction (the algorithm of Section 3).

    With `ids` and a `seed` the draw of a row depends only on its prediction, its id and the seed, so scoring the row
    again gives the same value, in any order and among any other rows.  Equal ids share their randomness.

    Parameters
    ----------
    y_prob : array_like
        Predictions in [0, 1].
    noise : Noise
    rng : numpy.random.Generator or int, optional
        Generator or its seed, for draws that depend on the order of rows.
    ids : array_like of int or str, optional
        Row ids, as many as predictions; they need `seed`.
    seed : int, optional
        From 0 to 2**64 − 1, with `ids` only.

    Returns
    -------
    ndarray
        One noised prediction for each prediction.  O(n).

    >>> from trustcal.noise import TruncatedLaplace
    >>> noise = TruncatedLaplace(0.1)
    >>> perturb([0.2, 0.7], noise, rng=1).round(3)
    array([0.402, 0.711])
    >>> a = perturb([0.2, 0.7], noise, ids=[17, 4], seed=1)
    >>> b = perturb([0.7, 0.2], noise, ids=[4, 17], seed=1)
    >>> bool((a == b[::-1]).all())
    True
    """
    as_noise(noise)
    if ids is None:
        if seed is not None:
            raise ValueError(
                "seed belongs to ids: pass ids= with it, or rng= for draws that depend on the order of rows."
            )
        return noise.sample(y_prob, rng)
    if seed is None or rng is not None:
        raise ValueError("draws by row id need seed= (an integer) and no rng=: they must not depend on a generator.")
    prediction = checked_predictions(y_prob) + 0.0  # some engines turn 0.0 into −0.0
    words = _words(np.asarray(ids))
    if words.shape != prediction.shape:
        raise ValueError(f"ids must pair up with y_prob, but their shapes are {words.shape} and {prediction.shape}.")
    drawn = np.empty(prediction.shape)
    for block in blocks(len(prediction)) if prediction.ndim == 1 else (...,):
        drawn[block] = noise.quantile(uniforms(seed, Role.ROW_NOISE, words[block]), prediction[block])
    return drawn


def uniforms(seed: int, role: Role, words: WordArray) -> FloatArray:
    """A number in (0, 1) for each word: splitmix64, started where the role's stream says, at its word-th step."""
    mixed = _mixed(_start(checked_seed(seed), role) + words * _GOLDEN)
    return ((mixed >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52


@lru_cache(maxsize=64)
def _start(seed: int, role: Role) -> WordArray:
    return np.asarray(role.stream(seed).generate_state(1, np.uint64), dtype=np.uint64)


def _mixed(z: WordArray) -> WordArray:
    """The output function of splitmix64 (Steele, Lea and Flood 2014)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _words(ids: NDArray[Any]) -> WordArray:
    """Row ids as 64-bit words: integers as they are, strings, and integers that need more bits, by their digest."""
    if ids.dtype.kind in "iub":
        return ids.astype(np.uint64)
    if ids.dtype.kind in "UO":
        names = ids.ravel().tolist()
        if all(isinstance(name, str | int) for name in names):
            return np.array([_word(name) for name in names], dtype=np.uint64).reshape(ids.shape)
    raise ValueError(f"ids must be integers or strings, not of dtype {ids.dtype}: equal rows must have equal ids.")


def _word(name: str | int) -> int:
    if isinstance(name, int) and -(2**63) <= name < 2**64:
        return name % 2**64
    return int.from_bytes(blake2b(str(name).encode(), digest_size=8).digest(), "little")


def seed_from(rng: np.random.Generator | int | None) -> int:
    """The seed itself, one drawn from a generator, or a fresh one."""
    if rng is None:
        return secrets.randbits(64)
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(0, 2**64, dtype=np.uint64))
    return checked_seed(rng)
