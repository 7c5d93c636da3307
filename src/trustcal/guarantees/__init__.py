"""Guarantees: every theorem, lemma and corollary of the paper as a number, as stated and in the sharpest form proved.

    batch_…      what noise guarantees of a predictor within eps of calibration             (the paper's Section 3)
    online_…     the same for a sequence of rounds, with discretisation and sampling        (Section 4)
    lower_…      what post-processing that sees no outcomes cannot beat, or that answers each prediction in turn
    lipschitz_…  when no post-processing is needed                                          (the discussion)

Functions ending in _paper give the paper's numbers; the others cite theory.md, which proves them.

>>> from trustcal.noise import UniformNoise
>>> print(batch_decision_loss(UniformNoise.for_distance(0.0002), 0.0002))
decision loss ≤ 0.01 (Theorem 14, sharpening Theorem 3.1)
>>> print(lower_batch_decision_loss(0.0002))
decision loss ≥ 0.0099005 (Theorem 20, sharpening Theorem 3.5)
"""

from trustcal.guarantees.batch import (
    batch_best,
    batch_cdl,
    batch_cdl_smcal,
    batch_decision_loss,
    batch_ece,
    batch_ece_smcal,
    batch_ece_split,
    smece_dtc,
)
from trustcal.guarantees.batch_paper import (
    batch_cdl_paper,
    batch_decision_loss_paper,
    batch_ece_paper,
    batch_laplace_paper,
    total_variation,
    total_variation_paper,
)
from trustcal.guarantees.bound import Bound
from trustcal.guarantees.choice import NoiseChoice, best_noise, choices, noise_kinds, noise_of_kind
from trustcal.guarantees.lipschitz import LipschitzVerdict, bias_is_lipschitz, lipschitz_ece, lipschitz_ece_smcal
from trustcal.guarantees.lower import (
    lower_batch_decision_loss,
    lower_batch_decision_loss_paper,
    lower_decision_maker,
    lower_online_cdl,
    lower_online_cdl_game,
    lower_online_cdl_paper,
    lower_online_cdl_step,
    lower_online_ece,
    lower_online_ece_paper,
    lower_per_prediction_cdl,
    lower_per_prediction_ece,
)
from trustcal.guarantees.online import online_cdl, online_cdl_paper, online_ece, online_ece_paper
from trustcal.guarantees.overview import BoundTable, bounds

__all__ = [
    "Bound",
    "BoundTable",
    "LipschitzVerdict",
    "NoiseChoice",
    "batch_best",
    "batch_cdl",
    "batch_cdl_paper",
    "batch_cdl_smcal",
    "batch_decision_loss",
    "batch_decision_loss_paper",
    "batch_ece",
    "batch_ece_paper",
    "batch_ece_smcal",
    "batch_ece_split",
    "batch_laplace_paper",
    "best_noise",
    "bias_is_lipschitz",
    "bounds",
    "choices",
    "lipschitz_ece",
    "lipschitz_ece_smcal",
    "lower_batch_decision_loss",
    "lower_batch_decision_loss_paper",
    "lower_decision_maker",
    "lower_online_cdl",
    "lower_online_cdl_game",
    "lower_online_cdl_paper",
    "lower_online_cdl_step",
    "lower_online_ece",
    "lower_online_ece_paper",
    "lower_per_prediction_cdl",
    "lower_per_prediction_ece",
    "noise_kinds",
    "noise_of_kind",
    "online_cdl",
    "online_cdl_paper",
    "online_ece",
    "online_ece_paper",
    "smece_dtc",
    "total_variation",
    "total_variation_paper",
]
