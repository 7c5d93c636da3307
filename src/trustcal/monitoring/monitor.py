"""Monitor: how calibrated a stream is now, and whether it is time to stop believing it."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import asdict, dataclass
from math import ceil, inf, isinf, log
from typing import Self, SupportsFloat, final

import numpy as np
from numpy.typing import ArrayLike

from trustcal.checking import as_number, checked_count
from trustcal.inference import sampling_floor
from trustcal.measures.continuous import smcal
from trustcal.measures.decision import cdl, ece
from trustcal.measures.pooling import pooled
from trustcal.measures.transport import dtc
from trustcal.monitoring.betting import Bet, Bets
from trustcal.predictor import Predictor
from trustcal.rows import checked_rows
from trustcal.states import damage_refused, loaded, saved

WINDOW = 1000
"""How many rows are measured unless something else is said."""
FORGOTTEN = 2.0**-40
"""With decay, rows are kept until their weights sum to less than this share of the total."""
_STATE_VERSION = 1
_FIELDS = (
    "window",
    "decay",
    "alarm_rate",
    "rounds",
    "alarmed_at",
    "failed_at",
    "predictions",
    "outcomes",
    "bets",
)


@final
@dataclass(frozen=True)
class Reading:
    """A measure of the window, beside what it would be if the stream were calibrated."""

    value: float
    floor: float | None
    """Its mean over calibrated streams with the same predictions, never 0 since rows are finite; None without draws."""
    quantile_95: float | None
    """At most one calibrated window in twenty shows more."""


@final
@dataclass(frozen=True)
class Alarm:
    """What the bets on the whole stream say.  A calibrated stream ever alarms with probability at most `rate`."""

    rate: float
    log10_e: float
    """What a stake of 1 is worth by now, as a power of ten: infinite once a certain prediction has failed."""
    alarmed_at: int | None
    """The round (from 1) in which the stake first was worth 1/rate."""
    failed_at: int | None
    """The round in which a prediction of 0 or 1 first failed, which a calibrated one never does."""
    pays: Bet
    """The bet that pays most; it knows nothing of a certain prediction that failed, which `failed_at` tells."""
    hurt: Bet
    """Who is hurt: of the bets on a cell of predictions, the one that pays most; `failed_at` goes before it too."""

    @property
    def e_value(self) -> float:
        """What a stake of 1 is worth by now."""
        return inf if self.log10_e > 308 else float(10**self.log10_e)


@final
@dataclass(frozen=True)
class Snapshot:
    """A window of the stream in numbers, and the alarm, which is about all of it."""

    rounds: int
    """How many rows have come."""
    rows: int
    """How many of them are in the window."""
    effective_rows: float
    values: int
    base_rate: float
    mean_prediction: float
    cells: int | None
    """ECE and CDL were taken on this many cells of equal mass; None: on the values as they are."""
    dtc: Reading
    smcal: Reading
    ece: Reading
    cdl: Reading
    alarm: Alarm

    def to_json(self) -> str:
        """All numbers, by the names of the fields; what is infinite is null, since JSON has no infinity."""
        fields = asdict(self)
        for part in (fields["alarm"], fields["alarm"]["pays"], fields["alarm"]["hurt"]):
            part["log10_e"] = None if isinf(part["log10_e"]) else part["log10_e"]
        return json.dumps(fields, indent=2, allow_nan=False)


@final
class Monitor:
    """A stream of (prediction, outcome) pairs: a window measured, and an alarm with a false-alarm rate.

    The measures are those of the last `window` rows, or of all rows with weights decay^age.  The alarm is a test
    martingale: if each outcome is 1 with probability q given all that came before, it ever goes off with probability
    at most `alarm_rate`, however long the stream and however often one looks.

    >>> monitor = Monitor(window=500)
    >>> rng = np.random.default_rng(1)
    >>> q = rng.random(2000)
    >>> monitor.learn_many(q[:1000], rng.random(1000) < q[:1000])        # calibrated
    >>> monitor.alarm.alarmed_at is None
    True
    >>> monitor.learn_many(q[1000:], rng.random(1000) < q[1000:] ** 2)   # and then no longer
    >>> monitor.alarm.alarmed_at
    1277
    >>> print(monitor.alarm.pays)
    predictions are too high: the odds are 1/2 of those predicted

    O(1) per row; memory for the window (with decay, for 28/(1 − decay) rows) and 400 numbers more.
    """

    def __init__(self, *, window: int | None = None, decay: float | None = None, alarm_rate: float = 0.01) -> None:
        if window is not None and decay is not None:
            raise ValueError("give window= or decay=, not both: rows count alike until they leave, or ever less.")
        if decay is not None and not 0 < as_number(decay) < 1:
            raise ValueError(
                f"decay must lie between 0 and 1, such as 0.999, not {decay!r}: a row's weight is decay^age."
            )
        if not 1e-12 <= as_number(alarm_rate) < 1:
            raise ValueError(f"alarm_rate must be a probability from 1e-12 to below 1, not {alarm_rate!r}.")
        self.decay = decay = None if decay is None else float(decay)
        self.window = checked_count("window", WINDOW if window is None else window) if decay is None else None
        self.alarm_rate = float(alarm_rate)
        capacity = ceil(log(FORGOTTEN) / log(decay)) if decay is not None else self.window
        self._q: deque[float] = deque(maxlen=capacity)
        self._y: deque[bool] = deque(maxlen=capacity)
        self._bets = Bets()
        self.alarmed_at: int | None = None
        """The round (from 1) of the alarm; None as long as there is none."""
        self._failed_at: int | None = None
        self.rounds = 0
        """How many rows have come."""

    def __repr__(self) -> str:
        kept = f"window={self.window}" if self.decay is None else f"decay={self.decay}"
        return f"Monitor({kept}, alarm_rate={self.alarm_rate}, rounds={self.rounds})"

    def learn_one(self, q: SupportsFloat, y: SupportsFloat) -> None:
        """The next prediction and its outcome.  O(1)."""
        if isinstance(q, float | int) and 0 <= q <= 1 and (y == 0 or y == 1):
            self._feed([float(q) + 0.0], [bool(y == 1)])
        else:
            self.learn_many(np.array([q]), np.array([y]))  # takes other numbers, or says what is wrong

    def learn_many(self, q: ArrayLike, y: ArrayLike) -> None:
        """The next rows, in their order: the same, to the last bit, as `learn_one` on each in turn.  O(n)."""
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
        """What the bets say so far.  O(1)."""
        return Alarm(
            rate=self.alarm_rate,
            log10_e=self._bets.log10_e if self._failed_at is None else inf,
            alarmed_at=self.alarmed_at,
            failed_at=self._failed_at,
            pays=self._bets.best(),
            hurt=self._bets.best(cells_only=True),
        )

    def predictor(self) -> Predictor:
        """The empirical law of the window, with weights decay^age if there is decay.  O(n log n) for n rows."""
        if not self._q:
            raise ValueError("there is no row to measure yet: feed the monitor with learn_one(q, y) first.")
        age = np.arange(len(self._q) - 1, -1, -1)
        weight = None if self.decay is None else self.decay**age
        return Predictor.from_samples(np.array(self._y), np.array(self._q), weight)

    def current(self, draws: int = 50, rng: np.random.Generator | int = 0) -> Snapshot:
        """The window measured, beside what a calibrated stream would show; and the alarm.

        The floors are means over `draws` windows of the same predictions with outcomes y ~ Bernoulli(q); that of ECE
        is exact where values are seen often.  Without draws, which are most of the work, there are no floors.

        >>> monitor = Monitor(window=4)
        >>> monitor.learn_many([0.9, 0.5, 0.5, 0.5, 0.5], [0, 0, 1, 0, 0])
        >>> snapshot = monitor.current()
        >>> snapshot.rows, snapshot.ece.value, snapshot.cdl.value
        (4, 0.25, 0.5)

        O(draws·n log n) for n rows in the window.
        """
        q = self.predictor()
        measured, cells = pooled(q)

        def reading(statistic: str, value: float) -> Reading:
            if draws == 0:
                return Reading(float(value), None, None)
            floor = sampling_floor(q, statistic, draws=draws, rng=rng)
            return Reading(float(value), floor.mean, floor.quantile_95)

        return Snapshot(
            rounds=self.rounds,
            rows=len(self._q),
            effective_rows=float(q.effective_rows or 0.0),
            values=len(q),
            base_rate=q.base_rate,
            mean_prediction=float(q.p @ q.mass / q.mass.sum()),
            cells=cells,
            dtc=reading("dtc", dtc(q)),
            smcal=reading("smcal", smcal(q)),
            ece=reading("ece", ece(measured)),
            cdl=reading("cdl", cdl(measured)),
            alarm=self.alarm,
        )

    def to_json(self) -> str:
        """The state, from which `from_json` continues to the same bits."""
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
        monitor.rounds = checked_count("rounds", state["rounds"], least=0)
        monitor.alarmed_at, monitor._failed_at = (
            None if state[name] is None else checked_count(name, state[name]) for name in ("alarmed_at", "failed_at")
        )
        if state["predictions"] or state["outcomes"]:
            y, q, _ = checked_rows([int(y) for y in state["outcomes"]], state["predictions"], None, ("y", "q"))
            monitor._q.extend(q.tolist())
            monitor._y.extend(y.tolist())
        monitor._bets = Bets.from_fields(state["bets"])
        return monitor
