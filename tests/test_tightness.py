"""Tightness: families of instances on which noise does as badly as the sharp bounds allow, or nearly."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

import trustcal as tc
from tests.couplings import FloatArray, Joint
from trustcal import guarantees, umbrella
from trustcal.noise import (
    ClampedGaussian,
    ClampedLaplace,
    ClampedPlateau,
    Noise,
    RandomRounding,
    TruncatedLaplace,
    UniformNoise,
)
from trustcal.noise.clamped import ClampedNoise
from trustcal.paper import Instance, cdl_tight, decision_loss_tight, ece_tight, uniform_attained

EPS = 1e-8
ENOUGH = 0.97


def joint_of(instance: Instance) -> Joint:
    rows = instance.coupling
    return Joint(rows.b, rows.p, rows.y.astype(float), rows.mass)


def around(place: float, reach: float) -> FloatArray:
    """Edges of many small cells around a place, which is one of them; the rest of [0, 1] makes two."""
    return np.concatenate([[0.0], place + np.linspace(-reach, reach, 200_001), [1.0]])


@pytest.mark.parametrize("instance", [uniform_attained(0.02), cdl_tight(EPS), ece_tight(UniformNoise(1e-4), EPS)])
def test_the_reference_is_calibrated_and_within_eps(instance: Instance) -> None:
    assert tc.ece(instance.reference) <= 1e-15
    eps = joint_of(instance).eps
    assert eps == pytest.approx(0.02 if eps > EPS * 2 else EPS, rel=1e-9)
    assert tc.dtc(instance.predictor) <= eps + 1e-14


@pytest.mark.parametrize(
    "family", [UniformNoise, ClampedLaplace, TruncatedLaplace, ClampedGaussian, ClampedPlateau, RandomRounding]
)
def test_theorem_13_is_asymptotically_tight(family: type[Noise]) -> None:
    noise = family.for_distance(EPS, "ece")
    instance = ece_tight(noise, EPS)
    joint = joint_of(instance)
    assert joint.eps == pytest.approx(EPS)
    found = tc.ece(joint.after(noise, around(float(instance.reference.p[0]), 25 * sqrt(EPS))))
    assert ENOUGH <= found / guarantees.batch_ece(noise, EPS).value <= 1 + 1e-4


@pytest.mark.parametrize("eps", [1e-8, 1e-3, 0.02, 0.125])
def test_theorem_14_is_attained_by_uniform_noise(eps: float) -> None:
    instance, noise = uniform_attained(eps), UniformNoise.for_distance(eps)
    joint = joint_of(instance)
    assert joint.eps == pytest.approx(eps, rel=1e-9)
    after = joint.after(noise, np.array([0.0, 0.5, 1.0]))  # all that matters is the side of 1/2
    lost = umbrella().value(instance.reference) - umbrella().value(after)
    assert lost == pytest.approx(guarantees.batch_decision_loss(noise, eps).value, rel=1e-7, abs=1e-15)


@pytest.mark.parametrize("family", [UniformNoise, ClampedLaplace, ClampedGaussian, ClampedPlateau])
def test_theorem_14_is_asymptotically_tight(family: type[ClampedNoise]) -> None:
    noise = family.for_distance(EPS)
    instance = decision_loss_tight(noise, EPS)
    joint = joint_of(instance)
    assert joint.eps == pytest.approx(EPS)
    after = joint.after(noise, around(0.5, 25 * sqrt(EPS)))
    bound = guarantees.batch_decision_loss(noise, EPS).value
    assert ENOUGH <= (umbrella().value(instance.reference) - umbrella().value(after)) / bound <= 1 + 1e-9
    assert ENOUGH <= tc.decision_loss(after, instance.reference) / bound <= 1 + 1e-4


def test_theorem_15_is_asymptotically_tight() -> None:
    noise = UniformNoise.for_distance(EPS, "cdl")
    joint = joint_of(cdl_tight(EPS))
    assert joint.eps == pytest.approx(EPS)
    found = tc.cdl(joint.after(noise, around(0.5, 3 * noise.width)))
    assert ENOUGH <= found / guarantees.batch_cdl(noise, EPS).value <= 1 + 1e-4


@pytest.mark.parametrize("family", [ClampedLaplace, ClampedGaussian, ClampedPlateau, UniformNoise])
def test_the_ratio_grows_as_eps_falls(family: type[ClampedNoise]) -> None:
    ratios = []
    for eps in (1e-4, 1e-6, 1e-8):
        noise = family.for_distance(eps)
        instance = decision_loss_tight(noise, eps)
        after = joint_of(instance).after(noise, np.array([0.0, 0.5, 1.0]))
        lost = umbrella().value(instance.reference) - umbrella().value(after)
        ratios.append(lost / guarantees.batch_decision_loss(noise, eps).value)
    assert ratios == sorted(ratios)


def test_bad_input() -> None:
    for make in (uniform_attained, cdl_tight):
        for eps in (0.0, 0.5, float("nan")):
            with pytest.raises(ValueError, match="eps must lie in"):
                make(eps)
    with pytest.raises(ValueError, match="eps must lie in"):
        ece_tight(UniformNoise(0.1), 0.5)
    with pytest.raises(ValueError, match="the family is for clamped noise"):
        decision_loss_tight(TruncatedLaplace(0.1), 1e-6)  # type: ignore[arg-type]
