"""A fitted remedy: a map of predictions with its name, what it was learned from, and what was certified of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, final, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.checking import checked_predictions, refuse_other
from trustcal.guarantees import Bound
from trustcal.noise import Noise
from trustcal.noise.mechanism import as_noise
from trustcal.predictor import Predictor
from trustcal.remedies.certificates import Certificate
from trustcal.remedies.grouped_maps import GROUPED, GroupedMap
from trustcal.remedies.maps import MAPS, Map, NoiseMap, Unchanged, described_map
from trustcal.remedies.mean_maps import MeanMap
from trustcal.smoothing import SmoothedPredictor, smooth
from trustcal.states import damage_refused, loaded, saved
from trustcal.writing import atomically

FloatArray = NDArray[np.float64]

VERSION: Final = 1
"""The version of the file format."""


@final
@dataclass(frozen=True)
class Learned:
    """What a remedy was learned from."""

    rows: int | None
    """The number of rows; None for a known distribution."""
    effective_rows: float | None
    base_rate: float
    fingerprint: str
    """A hash of the predictions, outcomes and weights, whatever the order of the rows."""
    prediction: str | None = None
    """The column of predictions, where rows came from a file or frame."""
    by: str | None = None
    """The column of groups, where there is a map for each."""

    @classmethod
    def from_predictor(cls, q: Predictor, prediction: str | None = None) -> Learned:
        """The facts about the rows behind a predictor.  O(n)."""
        digest = blake2b(digest_size=16)
        for part in (q.p, q.mass, q.positive):
            digest.update(part.tobytes())
        return cls(q.rows, q.effective_rows, q.base_rate, digest.hexdigest(), prediction)


@final
@dataclass(frozen=True)
class Remedy:
    """A map of predictions to predictions, ready to be applied and saved.

    `trustcal.remedies.fit` and `choose` make one from outcomes, `noise_remedy` one that needs none.

    Examples
    --------
    >>> from trustcal.remedies import fit, from_json
    >>> remedy = fit("temperature", [0, 0, 1, 0, 1, 1, 0, 1], [0.01] * 3 + [0.99] * 5)
    >>> remedy.apply([0.01, 0.5, 0.99]).round(2)
    array([0.42, 0.5 , 0.58])
    >>> print(remedy)
    Temperature scaling: predictions are multiplied by 0.0732 on the logit scale. Learned from 8 rows.
    >>> from_json(remedy.to_json()) == remedy
    True
    """

    method: str
    """The name of the method, such as "beta"."""
    title: str
    """Its name in sentences."""
    map: Map
    """What it does to a prediction."""
    learned: Learned | None = None
    """What it was learned from; None for noise, which needs no outcomes."""
    guarantee: Bound | None = None
    """What noise guarantees, in expectation, for any outcomes within `eps` of calibration."""
    eps: float | None = None
    """The distance to calibration that the noise was chosen for."""
    certificate: Certificate | None = None
    """What rows that it was not learned from prove about it."""

    @property
    def needs_outcomes(self) -> bool:
        """Whether it was learned from outcomes."""
        return not isinstance(self.map, NoiseMap | Unchanged)

    @property
    def random(self) -> bool:
        """Whether a new prediction depends on the row, not only on the old prediction."""
        return isinstance(self.map, NoiseMap)

    @property
    def by_group(self) -> bool:
        """Whether it was learned by group, so that it needs the group of each row."""
        return isinstance(self.map, GroupedMap)

    def group_column(self, by: str | None) -> str | None:
        """The column of groups in a file or frame: as given, or that which it was learned from; None if not needed."""
        if not self.by_group:
            if by is not None:
                raise ValueError("by= names the groups of a remedy that was learned by group, which this is not.")
            return None
        name = by or (None if self.learned is None else self.learned.by)
        if name is None:
            raise ValueError("this remedy was learned by group: name the column of groups, by=.")
        return name

    @property
    def suffix(self) -> str:
        """The end of the name of a column that it makes."""
        return "_noised" if self.random else "_recalibrated"

    @overload
    def apply(self, y_prob: Predictor) -> Predictor | SmoothedPredictor: ...
    @overload
    def apply(
        self, y_prob: ArrayLike, *, ids: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> FloatArray: ...
    def apply(
        self, y_prob: Predictor | ArrayLike, *, ids: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> FloatArray | Predictor | SmoothedPredictor:
        """The new predictions.

        Parameters
        ----------
        y_prob : array-like or Predictor
            Predictions in [0, 1]; or a predictor, for its distribution after the remedy (after noise: over all draws).
        ids : array-like, optional
            Row ids, integers or text, for noise: the same id and prediction get the same draw.  Default: the position.

        groups : array-like, optional
            The group of each row, for a remedy that was learned by group; unknown groups get the common map.  For one
            learned by segments: a line of memberships for each row, as `Segments.members` gives it.

        Returns
        -------
        ndarray, or Predictor, or SmoothedPredictor after noise

        O(n log k) for a map of k points.
        """
        if isinstance(self.map, GroupedMap) and (groups is None or isinstance(y_prob, Predictor)):
            raise ValueError("this remedy was learned by group: give the group of each row, groups=.")
        if isinstance(y_prob, Predictor):
            return smooth(y_prob, self.map.noise) if isinstance(self.map, NoiseMap) else y_prob.map(self.map)
        p = np.atleast_1d(checked_predictions(y_prob))
        if isinstance(self.map, GroupedMap):
            return self.map.by_group(p, np.atleast_1d(np.asarray(groups)))
        if ids is not None and isinstance(self.map, NoiseMap):
            return self.map.draw(p, np.asarray(ids))
        return self.map(p)

    def apply_to_rows(self, y_prob: FloatArray, labels: NDArray[Any]) -> FloatArray:
        """The new predictions of rows with labels: their groups, if it was learned by group, or else their ids."""
        return self.apply(y_prob, groups=labels) if self.by_group else self.apply(y_prob, ids=labels)

    def apply_to_scores(self, scores: FloatArray) -> FloatArray:
        """The new predictions of a stream, which depend on nothing but the old ones.  O(n log k)."""
        if self.random:
            raise ValueError("noise depends on the row, not only on its score: use the column that has the noise.")
        return self.apply(scores)

    @property
    def fingerprint(self) -> str:
        """A hash of all that is saved; remedies that are equal have the same."""
        return blake2b(self.to_json().encode(), digest_size=16).hexdigest()

    def describe(self) -> str:
        """What it does, from what it was learned, and what is certified, in sentences."""
        told = f"{self.title}: predictions are {self.map.describe()}."
        if self.learned is not None and self.learned.rows is not None:
            told += f" Learned from {self.learned.rows:,} rows."
        if self.guarantee is not None:
            told += f" If the distance to calibration is at most {self.eps:.4g}: {self.guarantee}, in expectation."
        return told if self.certificate is None else f"{told} {self.certificate.sentence}"

    def __str__(self) -> str:
        return self.describe()

    def certified(self, certificate: Certificate) -> Remedy:
        """The same remedy with a certificate."""
        return replace(self, certificate=certificate)

    def to_json(self) -> str:
        """All of it as JSON, with a version and a checksum; the remedy that `from_json` makes gives the same bits."""
        parts = {
            "method": self.method,
            "title": self.title,
            "map": described_map(self.map),
            **{name: _plain(getattr(self, name)) for name in ("learned", "guarantee", "eps", "certificate")},
        }
        return saved("Remedy", VERSION, parts)

    def save(self, path: str | Path) -> None:
        """Write the JSON to a file, completely or not at all."""
        with atomically(path) as fresh:
            fresh.write_text(self.to_json() + "\n", encoding="utf-8")


@damage_refused()
def remedy_of_json(text: str) -> Remedy:
    """The remedy that `Remedy.to_json` saved; text that was changed, or is of a newer version, raises an error."""
    names = ("method", "title", "map", "learned", "guarantee", "eps", "certificate")
    state = loaded(text, "Remedy", VERSION, names)
    given = dict(state["map"])
    kind = (MAPS | GROUPED | {MeanMap.__name__: MeanMap}).get(given.pop("kind"))
    if kind is None:
        raise ValueError(f"the remedy has a map that this version of trustcal does not have: {state['map']['kind']!r}.")
    remedy = Remedy(
        state["method"],
        state["title"],
        kind.from_fields(given),
        None if state["learned"] is None else Learned(**state["learned"]),
        None if state["guarantee"] is None else Bound(**state["guarantee"]),
        state["eps"],
        None if state["certificate"] is None else Certificate(**state["certificate"]),
    )
    _try(remedy)
    return remedy


def _try(remedy: Remedy) -> None:
    """Use what was loaded once, before anybody else does: a damaged remedy fails here."""
    for name in ("method", "title"):
        refuse_other(name, getattr(remedy, name), str, "text")
    remedy.describe()
    if not isinstance(remedy.map, GroupedMap):
        p = remedy.map(np.linspace(0, 1, 17))
        if not ((p >= 0) & (p <= 1)).all():
            raise ValueError("the remedy is damaged: it gives predictions outside [0, 1].")


def noise_remedy(noise: Noise, seed: int, guarantee: Bound | None = None, eps: float | None = None) -> Remedy:
    """Noise as a remedy: it needs no outcomes.

    Parameters
    ----------
    noise : Noise
    seed : int
        The draw of a row depends on this, its row id and its prediction only.
    guarantee : Bound, optional
        What is proved of it.
    eps : float, optional
        The distance to calibration for which it is proved.

    Returns
    -------
    Remedy

    Examples
    --------
    >>> from trustcal.noise import UniformNoise
    >>> noise_remedy(UniformNoise(0.1), seed=1).apply([0.5, 0.5], ids=["a", "a"]).round(3)
    array([0.467, 0.467])

    O(1).
    """
    return Remedy("noise", f"Noise, {as_noise(noise).title}", NoiseMap(noise, seed), None, guarantee, eps)


def _plain(value: object) -> Any:
    return asdict(value) if isinstance(value, Learned | Bound | Certificate) else value
