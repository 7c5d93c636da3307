"""The list of noises: what the command line, tables, guarantees and saved states read.

To add a noise is to add a file to this folder and its class to this list.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Final

from trustcal.noise.gaussian import ClampedGaussian, TruncatedGaussian
from trustcal.noise.laplace import ClampedLaplace, TruncatedLaplace
from trustcal.noise.mechanism import Noise
from trustcal.noise.plateau import ClampedPlateau
from trustcal.noise.rounding import RandomRounding
from trustcal.noise.uniform import UniformNoise

NOISES: Final[dict[str, type[Noise]]] = {
    noise.__name__: noise
    for noise in (
        UniformNoise,
        ClampedLaplace,
        ClampedGaussian,
        ClampedPlateau,
        RandomRounding,
        TruncatedLaplace,
        TruncatedGaussian,
    )
}
"""Every noise by the name of its class."""


def described(noise: Noise) -> dict[str, object]:
    """A noise as its name and parameters, which JSON can hold.

    >>> described(UniformNoise(0.1))
    {'name': 'UniformNoise', 'width': 0.1}
    """
    return {"name": type(noise).__name__, **asdict(noise)}


def revived(description: object) -> Noise:
    """The noise of a description.

    >>> revived({"name": "RandomRounding", "cells": 4})
    RandomRounding(cells=4.0)
    """
    parameters = dict(description) if isinstance(description, dict) else {}
    kind = NOISES.get(str(parameters.pop("name", None)))
    if kind is None:
        raise ValueError(f"the state is of a noise that this version of trustcal does not have: {description!r}.")
    try:
        return kind(**parameters)
    except TypeError:
        raise ValueError(f"the state's noise has parameters that do not fit it: {description!r}.") from None
