"""Instances: their known answers are what the measures say."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import trustcal as tc
from tests.oracles import worst_score
from trustcal.instances import (
    Instance,
    batch_hard,
    batch_hardest,
    cdl_beyond_ece,
    rain,
    smcal_beyond_dtc,
)

INSTANCES = [
    rain(),
    rain(0.3),
    *(make(eps) for make in (batch_hard, batch_hardest) for eps in (1e-6, 1e-3, 0.01, 1 / 9, 0.25)),
    *(smcal_beyond_dtc(d, h) for d, h in ((0.1, 0.1), (1e-3, 1e-3), (0.25, 0.25), (0.01, 0.4))),
    cdl_beyond_ece(0.1),
    cdl_beyond_ece(0.5),
]


@pytest.mark.parametrize("instance", INSTANCES, ids=repr)
def test_answers_are_what_the_measures_say(instance: Instance) -> None:
    q, known = instance.predictor, instance.answers
    for name, measure in (("dtc", tc.dtc), ("smcal", tc.smcal), ("ece", tc.ece), ("cdl", tc.cdl)):
        answer = getattr(known, name)
        if answer is not None:
            assert measure(q) == pytest.approx(answer, abs=1e-14), name


@pytest.mark.parametrize("instance", INSTANCES, ids=repr)
def test_the_reference_is_calibrated_and_nearest(instance: Instance) -> None:
    assert tc.ece(instance.reference) <= 1e-15
    rows = instance.coupling
    assert tc.distance(rows.p, rows.b, rows.mass) == pytest.approx(tc.dtc(instance.predictor), abs=1e-14)
    for law, values in ((instance.predictor, rows.p), (instance.reference, rows.b)):
        assert tc.Predictor.from_samples(rows.y, values, rows.mass).p.tolist() == law.p.tolist()


@pytest.mark.parametrize("make", [batch_hard, batch_hardest])
@pytest.mark.parametrize("eps", [1e-4, 0.01, 0.25])
def test_theorem_3_5_what_no_post_processing_can_avoid(make: Callable[[float], Instance], eps: float) -> None:
    """The best post-processing says the posterior (proof of Theorem 3.5); it loses this much to the reference."""
    instance = make(eps)
    best = instance.predictor.calibrated()
    loss = tc.decision_loss(best, instance.reference)
    assert tc.decision_loss(best, instance.reference, tc.umbrella()) == pytest.approx(
        instance.answers.umbrella_loss, abs=1e-13
    )
    assert loss == pytest.approx(worst_score(best, instance.reference), abs=1e-9)
    if instance.answers.decision_loss is not None:
        assert loss == pytest.approx(instance.answers.decision_loss, abs=1e-13)
    assert loss >= np.sqrt(eps) / 2 - 1e-13


def test_batch_hardest_beats_the_paper() -> None:
    for eps in (1e-6, 1e-4, 0.01):
        paper, ours = batch_hard(eps).answers.umbrella_loss, batch_hardest(eps).answers.umbrella_loss
        assert paper is not None
        assert ours is not None
        assert ours > paper * 1.3
        assert ours == pytest.approx(np.sqrt(eps / 2), abs=eps)


@pytest.mark.parametrize(
    ("make", "values"),
    [
        (rain, (0, 0.6, float("nan"))),
        (batch_hard, (0, 0.3, -1)),
        (batch_hardest, (0, 0.3)),
        (cdl_beyond_ece, (0, 0.6)),
        (lambda d: smcal_beyond_dtc(d, 0.4), (0.2, 0)),
    ],
)
def test_parameters_out_of_range_are_refused(make: Callable[[float], Instance], values: tuple[float, ...]) -> None:
    for value in values:
        with pytest.raises(ValueError, match="must lie in"):
            make(value)
