"""The paper as code: examples and lower bounds, counterexamples to false statements, and every claim recomputed.

    rain, batch_hard, batch_hardest, constant_mean                    examples and lower bounds, batch setting
    online_hard, online_hard_paper, floor_cells                       the same, online setting
    uniform_attained, decision_loss_tight, ece_tight, cdl_tight,
    private_pair                                                      where the sharp bounds are tight
    cdl_beyond_ece, smcal_beyond_dtc, gaussian_not_private,
    gaussian_cut_off, tv_beyond_density, weak_certificate,
    ceiling_cells, additive_cells                                     counterexamples
    hard_cases(eps)                                                   what each noise achieves on the lower bounds
    claims()                                                          every claim, as stated and as corrected

An `Instance` is a predictor, a calibrated reference, the coupling of the two, and the measures known in closed form.  A
`SequencePair` is the same for the online setting.
"""

from trustcal.paper.claim import Claim
from trustcal.paper.counterexamples import (
    Counterexample,
    additive_cells,
    cdl_beyond_ece,
    ceiling_cells,
    gaussian_cut_off,
    gaussian_not_private,
    smcal_beyond_dtc,
    tv_beyond_density,
    weak_certificate,
)
from trustcal.paper.examples import batch_hard, batch_hardest, constant_mean, rain
from trustcal.paper.hard_cases import HardCase, HardRow, hard_cases
from trustcal.paper.hard_sequences import Sequence, SequencePair, floor_cells, online_hard, online_hard_paper
from trustcal.paper.instance import Answers, Instance
from trustcal.paper.recomputing import claims
from trustcal.paper.tight_instances import (
    PrivatePair,
    cdl_tight,
    decision_loss_tight,
    ece_tight,
    private_pair,
    uniform_attained,
)

__all__ = [
    "Answers",
    "Claim",
    "Counterexample",
    "HardCase",
    "HardRow",
    "Instance",
    "PrivatePair",
    "Sequence",
    "SequencePair",
    "additive_cells",
    "batch_hard",
    "batch_hardest",
    "cdl_beyond_ece",
    "cdl_tight",
    "ceiling_cells",
    "claims",
    "constant_mean",
    "decision_loss_tight",
    "ece_tight",
    "floor_cells",
    "gaussian_cut_off",
    "gaussian_not_private",
    "hard_cases",
    "online_hard",
    "online_hard_paper",
    "private_pair",
    "rain",
    "smcal_beyond_dtc",
    "tv_beyond_density",
    "uniform_attained",
    "weak_certificate",
]
