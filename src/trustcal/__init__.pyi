from . import (
    classes as classes,
    estimators as estimators,
    evaluations as evaluations,
    forecasters as forecasters,
    guarantees as guarantees,
    inference as inference,
    paper as paper,
    plots as plots,
    remedies as remedies,
)
from .auditing import Audit as Audit, ClassAudit as ClassAudit, audit as audit
from .class_predictor import ClassPredictor as ClassPredictor
from .decisions import (
    DecisionProblem as DecisionProblem,
    OutcomeProblem as OutcomeProblem,
    threshold as threshold,
    umbrella as umbrella,
)
from .measures.actions import (
    two_action_regret as two_action_regret,
    two_action_regret_witness as two_action_regret_witness,
)
from .measures.atb import (
    AtbFloor as AtbFloor,
    atb as atb,
    atb_floor as atb_floor,
    atb_l1 as atb_l1,
    atb_unbiased as atb_unbiased,
)
from .measures.binned import binned_ece as binned_ece
from .measures.continuous import (
    smcal as smcal,
    smcal_witness as smcal_witness,
    ssce as ssce,
    ssce_estimate as ssce_estimate,
)
from .measures.corp import Corp as Corp, corp as corp, murphy as murphy, net_benefit as net_benefit
from .measures.decision import (
    cdl as cdl,
    cdl_witness as cdl_witness,
    decision_loss as decision_loss,
    decision_loss_witness as decision_loss_witness,
    distance as distance,
    ece as ece,
    ucal as ucal,
)
from .measures.interval_bias import cutoff as cutoff, cutoff_witness as cutoff_witness, stepcal as stepcal
from .measures.kernel_smoothing import smece as smece, smece_curve as smece_curve
from .measures.monotone import monotone_cdl as monotone_cdl, monotone_cdl_witness as monotone_cdl_witness
from .measures.rounding import rounding_effect as rounding_effect
from .measures.scores import auc as auc, brier as brier, log_loss as log_loss
from .measures.transport import dtc as dtc, dtc_witness as dtc_witness
from .monitoring import Monitor as Monitor, watch as watch
from .noise import (
    ClampedGaussian as ClampedGaussian,
    ClampedLaplace as ClampedLaplace,
    ClampedPlateau as ClampedPlateau,
    RandomRounding as RandomRounding,
    TruncatedGaussian as TruncatedGaussian,
    TruncatedLaplace as TruncatedLaplace,
    UniformNoise as UniformNoise,
)
from .predictor import Predictor as Predictor
from .reading import read as read
from .comparing import ModelComparison as ModelComparison, compare as compare
from .rewriting import fix_file as fix_file, fix_frame as fix_frame, perturb_frame as perturb_frame
from .segmenting import Segments as Segments, segments as segments
from .smoothing import (
    OnlineSmoother as OnlineSmoother,
    SmoothedPredictor as SmoothedPredictor,
    WorstReference as WorstReference,
    perturb as perturb,
    smooth as smooth,
    worst_reference as worst_reference,
)
from .testing import assert_trustworthy as assert_trustworthy

__all__: list[str]
__version__: str
