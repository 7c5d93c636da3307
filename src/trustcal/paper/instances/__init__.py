"""Predictors and sequences with known answers: the paper's examples and lower bounds, sharper ones, families for which
the sharp bounds are tight, and counterexamples to what is false in the paper.

Tests and documents share them.  An `Instance` is a predictor, a calibrated reference, the coupling between the two, and
the measures that are known in closed form; a `SequencePair` is the same for the online setting.
"""

from trustcal.paper.instances.batch import batch_hard, batch_hardest, constant_mean, rain
from trustcal.paper.instances.counterexamples import (
    Counterexample,
    cdl_beyond_ece,
    gaussian_cut_off,
    gaussian_not_private,
    smcal_beyond_dtc,
    tv_beyond_density,
    weak_certificate,
)
from trustcal.paper.instances.instance import Answers, Instance
from trustcal.paper.instances.sequences import Sequence, SequencePair, floor_cells, online_hard, online_hard_paper
from trustcal.paper.instances.tight import (
    PrivatePair,
    cdl_tight,
    decision_loss_tight,
    ece_tight,
    private_pair,
    uniform_attained,
)

__all__ = [
    "Answers",
    "Counterexample",
    "Instance",
    "PrivatePair",
    "Sequence",
    "SequencePair",
    "batch_hard",
    "batch_hardest",
    "cdl_beyond_ece",
    "cdl_tight",
    "constant_mean",
    "decision_loss_tight",
    "ece_tight",
    "floor_cells",
    "gaussian_cut_off",
    "gaussian_not_private",
    "online_hard",
    "online_hard_paper",
    "private_pair",
    "rain",
    "smcal_beyond_dtc",
    "tv_beyond_density",
    "uniform_attained",
    "weak_certificate",
]
