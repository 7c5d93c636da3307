"""Monitor: the calibration of a window of a stream, and an alarm over the whole stream."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import asdict, dataclass
from math import ceil, inf, isinf, log
from typing import Self, SupportsFloat, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.checking import checked_count, checked_number
from trustcal.inference import combined_test, sampling_floor
from trustcal.measures.pooling import sparse
from trustcal.measures.table import MEASURES, monitored, values_of
from trustcal.monitoring.betting import Bet, Bets
from trustcal.predictor import Predictor
from trustcal.rows import checked_rows
from trustcal.states import damage_refused, loaded, saved

WINDOW = 1000
"""Default number of rows in the window."""
DRAWS = 50
"""Default number of simulated windows for floors and p-value."""
FORGOTTEN = 2.0**-40
"""With decay, rows are dropped once the total weight of older rows is below this share."""
_STATE_VERSION = 1
_FIELDS = ("window", "decay", "alarm_rate", "rounds", "alarmed_at", "failed_at", "predictions", "outcomes", "bets")


@final
@dataclass(frozen=True)
class WindowMeasure:
    """A measure of the window, and its distribution if the stream were calibrated."""

    value: float
    floor: float | None
    """Mean over calibrated streams with the same predictions: positive, since rows are finite; None without draws."""
    quantile_95: float | None
    """At most one calibrated window in twenty exceeds this."""


@final
@dataclass(frozen=True)
class Alarm:
    """The state of the bets on the whole stream.  A calibrated stream ever alarms with probability at most `rate`."""

    rate: float
    log10_e: float
    """Decimal logarithm of the e-value: infinite once a prediction of 0 or 1 has failed."""
    alarmed_at: int | None
    """The round (from 1) in which the e-value first reached 1/rate."""
    failed_at: int | None
    """The round in which a prediction of 0 or 1 first failed, which has probability 0 for a calibrated stream."""
    pays: Bet
    """The most profitable bet; failures of predictions of 0 or 1 are not included (see `failed_at`)."""
    hurt: Bet
    """The most profitable bet on one bin of predictions: where the predictions are worst."""

    @property
    def e_value(self) -> float:
        """The value of a stake of 1."""
        return inf if self.log10_e > 308 else float(10**self.log10_e)

    @property
    def e_text(self) -> str:
        """The e-value as text; it may be too large for a float."""
        if isinf(self.log10_e):
            return "infinite"
        return f"{10**self.log10_e:.3g}" if self.log10_e < 6 else f"10^{self.log10_e:.0f}"

    def verdict(self, rounds: int) -> str:
        """The result after this many rounds, in a sentence or two."""
        if self.alarmed_at is None:
            return (
                f"No alarm in {rounds:,} row{'s' * (rounds != 1)}. The e-value against calibration is {self.e_text}; "
                f"on a calibrated stream it ever reaches {1 / self.rate:g} with probability at most {self.rate:g}."
            )
        since = f"ALARM at row {self.alarmed_at:,}"
        if self.failed_at == self.alarmed_at:
            return f"{since}: a prediction of 0 or 1 failed. On a calibrated stream none does."
        return f"{since}: {self.pays}. A calibrated stream ever alarms with probability at most {self.rate:g}."


@final
@dataclass(frozen=True)
class Snapshot:
    """The measures of the window, and the alarm over the whole stream."""

    rounds: int
    """Number of rows so far."""
    rows: int
    """Number of rows in the window."""
    effective_rows: float
    """Effective sample size of the window: smaller than `rows` with decay."""
    values: int
    """Number of distinct predictions in the window."""
    base_rate: float
    mean_prediction: float
    p_value: float | None
    """The p-value of calibration in the window, by the combined test; None without draws."""
    measures: dict[str, WindowMeasure]
    """By their keys in the table of measures; ECE and CDL only where predictions repeat."""
    alarm: Alarm

    def to_json(self) -> str:
        """All numbers, by the names of fields and measures.  Infinity, which JSON does not have, is null."""
        fields = asdict(self)
        measures, alarm = fields.pop("measures"), fields.pop("alarm")
        for part in (alarm, alarm["pays"], alarm["hurt"]):
            part["log10_e"] = None if isinf(part["log10_e"]) else part["log10_e"]
        return json.dumps({**fields, **measures, "alarm": alarm}, indent=2, allow_nan=False)

    def __str__(self) -> str:
        values = "  ".join(f"{key} {measure.value:.4f}" for key, measure in self.measures.items())
        return f"row {self.rounds}  {values}  e-value {self.alarm.e_text}"


@final
class Monitor:
    """Measures a window of a stream of (prediction, outcome) pairs, and alarms when the stream is not calibrated.

    The alarm is a test martingale over the whole stream.  If each outcome is 1 with probability q given everything
    before it, the alarm ever goes off with probability at most `alarm_rate`, however long the stream and however often
    it is checked (monitoring.md has the proof).

    Parameters
    ----------
    window : int, optional
        Number of rows to measure.  Default 1000.
    decay : float, optional
        Measure all rows instead, with weights decay^age.
    alarm_rate : float, default 0.01
        False-alarm probability over the whole stream.

    Attributes
    ----------
    rounds : int
        Number of rows so far.
    alarmed_at : int or None
        The round (from 1) of the alarm.

    Notes
    -----
    O(1) per row.  Memory: the window (with decay, 28/(1 − decay) rows) and about 400 numbers.

    Examples
    --------
    >>> monitor = Monitor(window=500)
    >>> rng = np.random.default_rng(1)
    >>> q = rng.random(2000)
    >>> monitor.learn_many(q[:1000], rng.random(1000) < q[:1000])        # calibrated
    >>> monitor.alarm.alarmed_at is None
    True
    >>> monitor.learn_many(q[1000:], rng.random(1000) < q[1000:] ** 2)   # no longer calibrated
    >>> monitor.alarm.alarmed_at
    1277
    >>> print(monitor.alarm.pays)
    predictions are too high: the odds are 1/2 of those predicted
    """

    def __init__(self, *, window: int | None = None, decay: float | None = None, alarm_rate: float = 0.01) -> None:
        if window is not None and decay is not None:
            raise ValueError("give window= or decay=, not both.")
        if decay is not None:
            decay = checked_number("decay", decay, 0, 1, "()", rule="lie between 0 and 1, such as 0.999")
        self.decay = decay
        self.window = checked_count("window", WINDOW if window is None else window) if decay is None else None
        self.alarm_rate = checked_number(
            "alarm_rate", alarm_rate, 1e-12, 1, "[)", rule="be a probability from 1e-12 to below 1"
        )
        capacity = ceil(log(FORGOTTEN) / log(decay)) if decay is not None else self.window
        self._q: deque[float] = deque(maxlen=capacity)
        self._y: deque[bool] = deque(maxlen=capacity)
        self._bets = Bets()
        self.alarmed_at: int | None = None
        self._failed_at: int | None = None
        self.rounds = 0

    def __repr__(self) -> str:
        kept = f"window={self.window}" if self.decay is None else f"decay={self.decay}"
        return f"Monitor({kept}, alarm_rate={self.alarm_rate}, rounds={self.rounds})"

    def learn_one(self, q: SupportsFloat, y: SupportsFloat) -> None:
        """Learn the next prediction and its outcome.  O(1)."""
        if isinstance(q, float | int) and 0 <= q <= 1 and (y == 0 or y == 1):
            self._feed([float(q) + 0.0], [bool(y == 1)])
        else:
            self.learn_many(np.array([q]), np.array([y]))  # converts other numbers, or raises

    def learn_many(self, q: ArrayLike, y: ArrayLike) -> None:
        """Learn the next rows, in their order: bit for bit the same as `learn_one` on each.  O(n)."""
        outcome, prediction, _ = checked_rows(y, q, None, ("y", "q"))
        self._feed((prediction + 0.0).tolist(), outcome.tolist())

    def _feed(self, q: list[float], y: list[bool]) -> None:
        reached, failed = self._bets.feed(q, y, 1 / self.alarm_rate)
        if failed is not None and self._failed_at is None:
            self._failed_at = self.rounds + failed + 1
        alarms = [index for index in (reached, failed) if index is not None]
        if alarms and self.alarmed_at is None:
            self.alarmed_at = self.rounds + min(alarms) + 1
        self._q.extend(q)
        self._y.extend(y)
        self.rounds += len(q)

    @property
    def alarm(self) -> Alarm:
        """The state of the alarm.  O(1)."""
        return Alarm(
            rate=self.alarm_rate,
            log10_e=self._bets.log10_e if self._failed_at is None else inf,
            alarmed_at=self.alarmed_at,
            failed_at=self._failed_at,
            pays=self._bets.best(),
            hurt=self._bets.best(bins_only=True),
        )

    @property
    def recent(self) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """The outcomes and the predictions of the window, oldest first, whatever their weights.  O(n)."""
        return np.array(self._y, dtype=np.bool_), np.array(self._q, dtype=np.float64)

    def predictor(self) -> Predictor:
        """The empirical distribution of the window, with weights decay^age if there is decay.  O(n log n)."""
        if not self._q:
            raise ValueError("there are no rows to measure yet: call learn_one(q, y) first.")
        age = np.arange(len(self._q) - 1, -1, -1)
        weight = None if self.decay is None else self.decay**age
        return Predictor.from_samples(np.array(self._y), np.array(self._q), weight)

    def current(self, draws: int = DRAWS, rng: np.random.Generator | int = 0) -> Snapshot:
        """Measure the window, with what a calibrated stream would show, and the alarm.

        Parameters
        ----------
        draws : int, default 50
            Simulated windows for floors and p-value: the same predictions, outcomes y ~ Bernoulli(q).  0: neither.
        rng : Generator or int, default 0
            Source of the simulated outcomes.

        Returns
        -------
        Snapshot
            O(draws·n log n) for n rows in the window.

        Examples
        --------
        >>> monitor = Monitor(window=4)
        >>> monitor.learn_many([0.9, 0.5, 0.5, 0.5, 0.5], [0, 0, 1, 0, 0])
        >>> snapshot = monitor.current()
        >>> snapshot.rows, snapshot.measures["monotone_cdl"].value, snapshot.p_value > 0.05
        (4, 0.5, True)
        """
        q = self.predictor()
        keys = [key for key in monitored() if not (MEASURES[key].conditional and sparse(q))]

        def measured(key: str, value: float) -> WindowMeasure:
            if draws == 0:
                return WindowMeasure(value, None, None)
            floor = sampling_floor(q, key, draws=draws, rng=rng)
            return WindowMeasure(value, floor.mean, floor.quantile_95)

        return Snapshot(
            rounds=self.rounds,
            rows=len(self._q),
            effective_rows=float(q.effective_rows or 0.0),
            values=len(q),
            base_rate=q.base_rate,
            mean_prediction=float(q.p @ q.mass / q.mass.sum()),
            p_value=combined_test(q, draws=draws, rng=rng).p_value if draws else None,
            measures={key: measured(key, value) for key, value in values_of(keys, q, q).items()},
            alarm=self.alarm,
        )

    def to_json(self) -> str:
        """The state; the monitor that `from_json` makes of it continues bit for bit."""
        fields = {
            "window": self.window,
            "decay": self.decay,
            "alarm_rate": self.alarm_rate,
            "rounds": self.rounds,
            "alarmed_at": self.alarmed_at,
            "failed_at": self._failed_at,
            "predictions": list(self._q),
            "outcomes": "".join("01"[y] for y in self._y),
            "bets": self._bets.fields(),
        }
        return saved("Monitor", _STATE_VERSION, fields)

    @classmethod
    @damage_refused()
    def from_json(cls, text: str) -> Self:
        """The monitor that `to_json` saved.

        Examples
        --------
        >>> monitor = Monitor(decay=0.99)
        >>> monitor.learn_many([0.2, 0.7], [0, 1])
        >>> twin = Monitor.from_json(monitor.to_json())
        >>> monitor.learn_one(0.4, 1), twin.learn_one(0.4, 1)
        (None, None)
        >>> twin.to_json() == monitor.to_json()
        True
        """
        state = loaded(text, "Monitor", _STATE_VERSION, _FIELDS)
        monitor = cls(window=state["window"], decay=state["decay"], alarm_rate=state["alarm_rate"])
        monitor.rounds = checked_count("rounds", state["rounds"], least=0, most=2**53)
        monitor.alarmed_at, monitor._failed_at = (
            None if state[name] is None else checked_count(name, state[name], most=monitor.rounds)
            for name in ("alarmed_at", "failed_at")
        )
        predictions, outcomes = state["predictions"], state["outcomes"]
        paired = len(predictions) == len(outcomes) == min(monitor.rounds, monitor._q.maxlen or 0)
        if not paired or not set(outcomes) <= {*"01"} or not all(type(q) is float and 0 <= q <= 1 for q in predictions):
            raise ValueError("the state's rows are damaged. They must be what Monitor.to_json returned.")
        monitor._q.extend(predictions)
        monitor._y.extend(y == "1" for y in outcomes)
        monitor._bets = Bets.from_fields(state["bets"])
        if monitor._bets.rounds > monitor.rounds or (monitor._failed_at or inf) < (monitor.alarmed_at or 0):
            raise ValueError("the state's rounds are impossible. They must be what Monitor.to_json returned.")
        return monitor
