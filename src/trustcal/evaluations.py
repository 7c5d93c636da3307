"""Evaluations of language models and forecasters: logs to predictors whose clusters are questions.

A question that is asked several times, or forecast at several dates, gives rows that are not independent.  So each
reader puts rows of one question into one cluster, and tests and intervals resample questions, not rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from trustcal.predictor import Predictor
from trustcal.reading import read

__all__ = ["read_answers", "read_forecasts", "read_inspect"]

_GRADES: Final = {"C": 1, "I": 0, "N": 0, True: 1, False: 0}
"""The values of Inspect's scores that are an outcome: correct, incorrect, no answer.  Partial credit is none."""


def read_answers(
    source: Any, *, question: str = "question", confidence: str = "confidence", correct: str = "correct"
) -> Predictor:
    r"""Read answers with a stated confidence: one row per answer, such as JSON lines {question, confidence, correct}.

    Parameters
    ----------
    source : str, Path or frame
        Anything that `read` takes.
    question, confidence, correct : str
        Names of the columns.

    Returns
    -------
    Predictor
        Of the confidence that an answer is correct, with questions as clusters.  O(n log n).

    Examples
    --------
    >>> import tempfile
    >>> lines = '{"question": 1, "confidence": 0.9, "correct": 1}\n{"question": 1, "confidence": 0.8, "correct": 0}\n'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "answers.jsonl"
    ...     _ = file.write_text(lines)
    ...     q = read_answers(file)
    >>> q.rows, q.effective_rows
    (2, 1.0)
    """
    return read(source, prediction=confidence, outcome=correct, cluster=question)


def read_inspect(path: str | Path, *, scorer: str | None = None, confidence: str = "confidence") -> Predictor:
    """Read a log of the Inspect framework, in its JSON format.

    The outcome is the grade that a scorer gave (C, I or N, true or false, 0 or 1).  The confidence is a number in the
    metadata of the score, or of the sample.  Epochs of a sample are one cluster.

    Parameters
    ----------
    path : str or Path
        A log in JSON; `inspect log convert --to json --output-dir DIR FILE` converts others.
    scorer : str, optional
        Name of the scorer; by default the only one.
    confidence : str, default "confidence"
        Key of the confidence in the metadata.

    Returns
    -------
    Predictor
        Of the confidence that an answer is correct, with samples as clusters.  O(size of the log).

    References
    ----------
    UK AI Security Institute, Inspect, https://inspect.aisi.org.uk/eval-logs.html.
    """
    log = _parsed(path, "a log of Inspect in JSON: convert others with inspect log convert --to json")
    samples = log.get("samples") if isinstance(log, dict) else None
    if not samples:
        raise ValueError(f"{path} must be a log with samples, but has none.")
    rows = []
    for place, sample in enumerate(samples, 1):
        where = f"{path}, sample {place}"
        scores = sample.get("scores") or {}
        name = scorer or (next(iter(scores)) if len(scores) == 1 else None)
        if name not in scores:
            raise ValueError(f"{where} must have the score of one scorer, but has {sorted(scores)}. Name it: scorer=….")
        held = {**(sample.get("metadata") or {}), **(scores[name].get("metadata") or {})}
        rows.append((_outcome(scores[name].get("value"), where), _number(held, confidence, where), str(sample["id"])))
    return _predictor(rows)


def read_forecasts(forecasts: str | Path, resolutions: str | Path) -> Predictor:
    """Read forecasts of questions with their resolutions, as ForecastBench publishes them.

    A forecast is resolved by the entry with the same id, source, resolution date and direction.  Forecasts without one,
    and questions resolved to neither 0 nor 1, are left out.  Forecasts of one question are one cluster.

    Parameters
    ----------
    forecasts : str or Path
        JSON {"forecasts": [{"id", "source", "forecast", "resolution_date", "direction"}, …]}.
    resolutions : str or Path
        JSON {"resolutions": [{"id", "source", "resolution_date", "direction", "resolved", "resolved_to"}, …]}.

    Returns
    -------
    Predictor
        Of the events, with questions as clusters.  O(n log n).

    References
    ----------
    Karger et al., ForecastBench: A Dynamic Benchmark of AI Forecasting Capabilities, ICLR 2025.
    """
    answers = {
        _question(entry): entry["resolved_to"]
        for entry in _entries(resolutions, "resolutions")
        if entry.get("resolved", True) and entry.get("resolved_to") in (0, 1)
    }
    rows = [
        (int(answers[key]), _number(entry, "forecast", f"{forecasts}, forecast {place}"), str(key[:2]))
        for place, entry in enumerate(_entries(forecasts, "forecasts"), 1)
        if (key := _question(entry)) in answers
    ]
    if not rows:
        raise ValueError(f"no forecast of {forecasts} has a resolution to 0 or 1 in {resolutions}.")
    return _predictor(rows)


def _predictor(rows: Iterable[tuple[int, float, str]]) -> Predictor:
    y, p, cluster = zip(*rows, strict=True)
    return Predictor.from_samples(y, p, cluster=cluster)


def _parsed(path: str | Path, expected: str) -> Any:
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}.") from None
    except ValueError:  # neither UTF-8 nor JSON
        raise ValueError(f"{path} must be {expected}.") from None


def _entries(path: str | Path, name: str) -> list[dict[str, Any]]:
    found = _parsed(path, f'JSON with a list "{name}"')
    entries = found.get(name) if isinstance(found, dict) else None
    if not isinstance(entries, list):
        raise ValueError(f'{path} must be JSON with a list "{name}", but has none.')
    return entries


def _question(entry: dict[str, Any]) -> tuple[str, ...]:
    """What tells one forecast from another; a question that combines two others has a list as its id."""
    return tuple(str(entry.get(name)) for name in ("source", "id", "resolution_date", "direction"))


def _outcome(value: Any, where: str) -> int:
    grade = value if isinstance(value, str | bool) else {0: False, 1: True}.get(value)
    if grade not in _GRADES:
        raise ValueError(f"{where}: a score must be C, I, N, true, false, 0 or 1 to be an outcome, but is {value!r}.")
    return _GRADES[grade]


def _number(held: dict[str, Any], name: str, where: str) -> float:
    value = held.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{where}: {name!r} must be a number between 0 and 1, but is {value!r}.")
    return float(value)
