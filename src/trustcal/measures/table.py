"""The one list of measures.  Terminal, page, JSON, gates, inference, monitor, arena and docs read it.

To add a measure, write its function (a `Predictor` to a float, in a module of this room) and its entry here.  Importing
this module is cheap: functions and kernels are imported at their first use, so that parsing a command line stays fast.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Final, final

if TYPE_CHECKING:
    from trustcal.predictor import Predictor


@final
@dataclass(frozen=True)
class Measure:
    """A measure of miscalibration: 0 is perfect.

    >>> from trustcal.predictor import Predictor
    >>> MEASURES["cdl"].title, MEASURES["cdl"].value(Predictor([0.5], [1.0], [0.75]))
    ('Calibration decision loss', 0.5)
    """

    key: str
    """The short name, in gates and in JSON; also the name of the function."""
    symbol: str
    """The abbreviation, as guarantees use it."""
    title: str
    """The full name, for tables."""
    question: str
    """What it answers, in plain words."""
    module: str
    """Where the function is defined."""
    conditional: bool = False
    """Whether it conditions on single prediction values, so that it needs bins where these are rare."""
    debiased: bool = False
    """Whether rows overstate it by about its sampling floor wherever the truth is: the best of many rules."""
    strict: bool = True
    """Whether it is 0 for calibrated predictors only, so that a test of calibration tells whether it is 0."""
    rounding: str | None = None
    """The function of `trustcal.measures.rounding` that bounds the effect of moving predictions; None if none does."""
    kernels: tuple[str, ...] = ()
    """The kernels to compile before the measure is taken of many draws."""
    audited: bool = True
    """Whether audits and gates include it; inference takes every measure."""
    monitored: bool = True
    """Whether the monitor includes it."""
    played: bool = True
    """Whether the arena includes it."""

    def value(self, q: Predictor) -> float:
        """The measure of a predictor as it is."""
        return float(getattr(import_module(self.module), self.key)(q))

    def rounding_effect(self, q: Predictor) -> float | None:
        """How far the measure can be from that of the predictor before its predictions were moved; None if unknown."""
        if self.rounding is None:
            return None
        return float(getattr(import_module("trustcal.measures.rounding"), self.rounding)(q))

    def compile_for(self, steps: int) -> None:
        """Compile the kernels if that many elementary steps, over all draws, are worth it."""
        for name in self.kernels:
            module, kernel = name.split(".")
            getattr(import_module(f"trustcal.kernels.{module}"), kernel).on(steps)


_ALL = (
    Measure(
        key="monotone_cdl",
        symbol="monotone CDL",
        title="Monotone decision loss",
        question="What is the most that anyone loses by not moving their thresholds, as a share of their payoff range?",
        module="trustcal.measures.monotone",
        debiased=True,
        kernels=("minorant.pooled_blocks",),
        played=False,
    ),
    Measure(
        key="cutoff",
        symbol="cutoff",
        title="Cutoff calibration error",
        question="How many events too many or too few do predictions in the worst range announce, per row?",
        module="trustcal.measures.interval_bias",
        played=False,
    ),
    Measure(
        key="dtc",
        symbol="DTC",
        title="Distance to calibration",
        question="How far must predictions move, on average, to become calibrated?",
        module="trustcal.measures.transport",
        rounding="dtc_change",
        kernels=(
            "sums.compensated_sums",
            "transport.shot_without_shortfall",
            "curve.potentials_along",
            "certificates.lower_certificate",
            "certificates.upper_certificate",
        ),
    ),
    Measure(
        key="smcal",
        symbol="smCal",
        title="Smooth calibration error",
        question="How much bias does the best smooth weighting of the predictions find?",
        module="trustcal.measures.continuous",
        rounding="smcal_change",
        kernels=("isotonic.smooth_error_value",),
    ),
    Measure(
        key="smece",
        symbol="SmoothECE",
        title="SmoothECE",
        question="How much bias is left after smoothing the predictions by that same amount?",
        module="trustcal.measures.kernel_smoothing",
        rounding="smece_change",
        monitored=False,
        played=False,
    ),
    Measure(
        key="atb",
        symbol="ATB",
        title="Averaged two-bin error",
        question="How large is the squared bias on the two sides of a random cut, on average?",
        module="trustcal.measures.atb",
        monitored=False,
        played=False,
    ),
    Measure(
        key="ece",
        symbol="ECE",
        title="Expected calibration error",
        question="How far is a prediction from the frequency of the outcome given it, on average?",
        module="trustcal.measures.decision",
        conditional=True,
    ),
    Measure(
        key="cdl",
        symbol="CDL",
        title="Calibration decision loss",
        question="What is the most that anyone loses by believing the predictions, as a share of their payoff range?",
        module="trustcal.measures.decision",
        conditional=True,
    ),
    Measure(
        key="ucal",
        symbol="U-calibration",
        title="U-calibration error",
        question="What is the most that anyone would gain by acting on the base rate instead?",
        module="trustcal.measures.decision",
        strict=False,
        audited=False,
        monitored=False,
    ),
    Measure(
        key="two_action_regret",
        symbol="two-action regret",
        title="Two-action regret",
        question="What is the most that anyone with two actions loses who sees only which one is recommended?",
        module="trustcal.measures.actions",
        strict=False,
        audited=False,
        monitored=False,
        played=False,
    ),
    Measure(
        key="stepcal",
        symbol="step",
        title="Step calibration error",
        question="How many events too many or too few do predictions up to the worst threshold announce, per row?",
        module="trustcal.measures.interval_bias",
        audited=False,
        monitored=False,
    ),
    Measure(
        key="atb_l1",
        symbol="ℓ1-ATB",
        title="Absolute two-bin error",
        question="How large is the absolute bias on the two sides of a random cut, on average?",
        module="trustcal.measures.atb",
        audited=False,
        monitored=False,
        played=False,
    ),
)

MEASURES: Final[Mapping[str, Measure]] = {measure.key: measure for measure in _ALL}
"""Every measure by its key, in the order of the tables."""


def audited() -> tuple[str, ...]:
    """The keys of the measures in audits and gates, in the order of the tables."""
    return tuple(key for key, measure in MEASURES.items() if measure.audited)


def monitored() -> tuple[str, ...]:
    """The keys of the measures in a monitor's snapshots, in the order of the tables."""
    return tuple(key for key, measure in MEASURES.items() if measure.monitored)


def played() -> tuple[str, ...]:
    """The keys of the measures that the arena takes, in the order of the tables."""
    return tuple(key for key, measure in MEASURES.items() if measure.played)


def values_of(keys: Iterable[str], q: Predictor, binned: Predictor) -> dict[str, float]:
    """Measures of a predictor by their keys: conditional ones of the same predictor on bins, the others as it is.

    >>> from trustcal.predictor import Predictor
    >>> q = Predictor.from_samples([0, 1, 0, 1], [0.25, 0.375, 0.625, 0.75])
    >>> values_of(["ece", "smcal"], q, q.coarsen(2))
    {'ece': 0.1875, 'smcal': 0.0390625}
    """
    return {key: MEASURES[key].value(binned if MEASURES[key].conditional else q) for key in keys}
