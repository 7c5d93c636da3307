"""Logs of evaluations: rows of one question are one cluster, and what cannot be an outcome is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import trustcal as tc
from trustcal.evaluations import read_answers, read_forecasts, read_inspect

LOG = Path(__file__).parent / "inspect_log.json"
"""Written by Inspect: see examples/make_inspect_log.py."""


def test_a_log_that_inspect_wrote() -> None:
    q = read_inspect(LOG)
    assert q.rows == 8
    assert dict(zip(q.p.tolist(), q.p_hat.tolist(), strict=True)) == {
        0.6: 0, 0.7: 0, 0.75: 1, 0.8: 1, 0.85: 1, 0.9: 1, 0.95: 1, 0.99: 1,
    }  # fmt: skip
    assert q.effective_rows == 4  # questions, not answers


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda log: log.update(samples=[]), "has none"),
        (lambda log: log["samples"][2]["scores"]["stated_confidence"].update(value="P"), "sample 3: a score must be"),
        (lambda log: log["samples"][1]["scores"]["stated_confidence"].update(metadata={}), "sample 2: 'confidence'"),
        (lambda log: log["samples"][0].update(scores={}), "sample 1 must have the score of one scorer"),
    ],
)
def test_a_log_that_is_not_valid_is_refused(tmp_path: Path, change: object, message: str) -> None:
    log = json.loads(LOG.read_text())
    change(log)  # type: ignore[operator]
    file = tmp_path / "log.json"
    file.write_text(json.dumps(log))
    with pytest.raises(ValueError, match=message):
        read_inspect(file)


def test_a_packed_log_must_be_converted(tmp_path: Path) -> None:
    (tmp_path / "log.eval").write_bytes(b"PK\x03\x04\xff")
    with pytest.raises(ValueError, match="inspect log convert"):
        read_inspect(tmp_path / "log.eval")
    with pytest.raises(ValueError, match="cannot be read: No such file"):
        read_inspect(tmp_path / "none.json")


def test_answers_of_one_question_are_one_cluster(tmp_path: Path) -> None:
    rows = [{"question": i // 5, "confidence": 0.8, "correct": (i // 5) % 4 > 0} for i in range(200)]
    file = tmp_path / "answers.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    q = read_answers(file)
    assert q.rows == 200
    assert q.effective_rows == pytest.approx(40)


def test_forecasts_meet_their_resolutions(tmp_path: Path) -> None:
    def entry(number: int, date: str, **more: object) -> dict[str, object]:
        return {"id": f"q{number}", "source": "market", "resolution_date": date, "direction": None, **more}

    given = [
        entry(1, "a", forecast=0.2),
        entry(1, "b", forecast=0.4),
        entry(2, "a", forecast=0.7),
        entry(3, "a", forecast=1),
    ]
    known = [
        entry(1, "a", resolved=True, resolved_to=0.0),
        entry(1, "b", resolved=True, resolved_to=1.0),
        entry(2, "a", resolved=True, resolved_to=0.63),  # the price of a market that is still open
        entry(3, "a", resolved=False, resolved_to=1.0),
    ]
    forecasts, resolutions = tmp_path / "forecasts.json", tmp_path / "resolutions.json"
    forecasts.write_text(json.dumps({"forecasts": given}))
    resolutions.write_text(json.dumps({"resolutions": known}))
    q = read_forecasts(forecasts, resolutions)
    assert (q.p.tolist(), q.p_hat.tolist(), q.effective_rows) == ([0.2, 0.4], [0, 1], 1)
    forecasts.write_text(json.dumps({"forecasts": given[2:]}))
    with pytest.raises(ValueError, match="no forecast of"):
        read_forecasts(forecasts, resolutions)
    forecasts.write_text("[]")
    with pytest.raises(ValueError, match='a list "forecasts"'):
        read_forecasts(forecasts, resolutions)


@pytest.mark.slow
def test_the_level_is_that_of_questions() -> None:
    """60 questions answered 10 times alike: resampling rows rejects a calibrated model often, questions about 5 %."""
    rng, rejected = np.random.default_rng(0), np.zeros(2)
    for _ in range(60):
        p = np.repeat(rng.choice([0.3, 0.5, 0.7, 0.9], size=60), 10)
        y = np.repeat(rng.random(60) < p[::10], 10)
        for place, cluster in enumerate((None, np.repeat(np.arange(60), 10))):
            q = tc.Predictor.from_samples(y, p, cluster=cluster)
            rejected[place] += tc.inference.combined_test(q, draws=60, rng=rng).p_value <= 0.05
    assert rejected[0] > 20  # rows: far above 3
    assert rejected[1] <= 9  # Pr[Binomial(60, 0.05) > 9] < 0.001
