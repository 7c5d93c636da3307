"""What an audit holds about decisions, chance, groups and remedies: numbers and names, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from trustcal.inference import Uncertainty


@final
@dataclass(frozen=True)
class ThresholdLoss:
    """What the decision maker who acts above a threshold loses by believing the predictions."""

    threshold: float
    """Where they change action."""
    loss: float
    """Swap regret, as a share of the payoff range."""
    reversed: float
    """The share of rows on which they would have decided otherwise, had they known p_hat."""


@final
@dataclass(frozen=True)
class WorstCase:
    """The decision maker who loses most: CDL's witness."""

    thresholds: tuple[float, ...]
    """Where they change action: at most two."""
    weights: tuple[float, ...]
    """The stakes at each: passing a threshold changes the payoff by weight · (y − threshold)."""
    payoff: tuple[tuple[float, float], ...]
    """payoff[a][y], in [0, 1]: the action taken between thresholds a − 1 and a."""


@final
@dataclass(frozen=True)
class ProblemLoss:
    """What the user's own decision maker loses."""

    actions: tuple[str, ...]
    """The names of the actions."""
    payoff: tuple[tuple[float, float], ...]
    """payoff[a][y], in the user's units."""
    thresholds: tuple[float, ...]
    """Where the best action changes."""
    responses: tuple[int, ...]
    """The best actions from p = 0 to p = 1, changing at the thresholds."""
    value: float
    """What believing the predictions earns per row, in the user's units."""
    swap_regret: float
    """What it loses against the best use of the same predictions, in the user's units."""
    stakes: float
    """The payoff range: swap_regret / stakes is at most the CDL."""


@final
@dataclass(frozen=True)
class Inference:
    """What is known about the law behind the rows."""

    level: float
    """Of all intervals and bounds, 0.95 say."""
    draws: int
    """How many calibrated data sets the floors and p-values rest on."""
    measures: tuple[Uncertainty, ...]
    """One entry a measure."""
    dtc_at_most: float
    """The distance to calibration of the law behind the rows is at most this, with confidence `level`."""
    note: str
    """What was pooled or approximated, unequal weights say; empty where nothing was."""

    def of(self, measure: str) -> Uncertainty:
        """The entry of a measure by its short name."""
        return next(entry for entry in self.measures if entry.measure == measure)


@final
@dataclass(frozen=True)
class Guarantee:
    """What noise promises every decision maker, from the distance to calibration alone."""

    eps: float
    """The distance to calibration that the promise rests on."""
    level: float | None
    """The confidence that the law behind the rows is within eps; None: eps is that of the rows themselves."""
    noise: str
    """The noise that promises most."""
    cdl: float
    """After it, nobody loses more than this share of their payoff range."""
    source: str
    """The theorem."""
    least: float
    """No noise that answers predictions one by one can promise less than this."""
    least_source: str
    """The theorem that says so."""


@final
@dataclass(frozen=True)
class Group:
    """One group of rows, measured as the whole is."""

    name: str
    """As the data call it."""
    rows: int | None
    """How many rows it has; None for a known law."""
    base_rate: float
    """How often the outcome is 1."""
    mean_prediction: float
    """What is predicted on average."""
    cells: int | None
    """ECE, CDL and losses were taken on this many cells of equal mass; None: on the values as they are."""
    dtc: float
    """Distance to calibration."""
    ece: float
    """Expected calibration error."""
    cdl: float
    """Calibration decision loss."""
    worst_threshold: ThresholdLoss
    """Of all who act above one threshold, the one who loses most."""
    uncertainty: Uncertainty | None
    """Floor, interval and p-value of the group's CDL; None where none were asked for."""


@final
@dataclass(frozen=True)
class Read:
    """What was read, and what was left out."""

    source: str
    """The file or frame."""
    columns: tuple[tuple[str, str], ...]
    """Roles and columns: prediction, outcome, weight, group."""
    rows: int
    """Rows that were read."""
    dropped: tuple[tuple[str, int], ...]
    """Why rows were left out, and how many."""
    resolution: float | None
    """Predictions were rounded to this; None: they were taken as they are."""


@final
@dataclass(frozen=True)
class Method:
    """One way to change the predictions, judged on rows that it has not seen."""

    name: str
    """As `compare` calls it; "none" leaves the predictions as they are."""
    cdl: float
    """Calibration decision loss."""
    ece: float
    """Expected calibration error."""
    dtc: float
    """Distance to calibration."""
    brier: float
    """Brier score."""
    auc: float
    """Area under the ROC curve."""
    value_lost: float
    """What believing these predictions loses against believing the original ones, as a share of the payoff range."""
    guarantee: float | None
    """What the CDL is at most, whatever the outcomes; None where nothing is promised."""
    needs_outcomes: bool
    """Whether it is fitted to outcomes."""


@final
@dataclass(frozen=True)
class Methods:
    """Ways to fix the predictions side by side: what `trustcal.compare` found."""

    methods: tuple[Method, ...]
    """The first leaves the predictions as they are."""
    recommended: str
    """The name of one of them."""
    recommendation: str
    """What to do, in one line."""
    reason: str
    """Why."""
    rows: int
    """How many rows they were compared on."""
    folds: int
    """Each fold was held out once."""
    cells: int | None
    """ECE and CDL were taken on this many cells of equal mass; None: on the values as they are."""
