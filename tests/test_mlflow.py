"""MLflow finds the evaluator by its entry point, and logs the numbers, the page and the pictures."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import trustcal as tc

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what MLflow imports is its own affair
    mlflow = pytest.importorskip("mlflow", reason="mlflow-skinny is not installed")
    pytest.importorskip("mlflow.models.evaluation")

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def tracked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    return tmp_path


@pytest.mark.slow
def test_an_evaluation_end_to_end(tracked: Path) -> None:
    import pandas as pd

    rng = np.random.default_rng(0)
    p = rng.random(1500)
    y = rng.random(1500) < p**2
    frame = pd.DataFrame({"p": p, "y": y.astype(int)})
    treat = tc.DecisionProblem([[0, 0], [-100, 300]], actions=["wait", "treat"])
    with mlflow.start_run() as run:
        result = mlflow.models.evaluate(
            data=frame, targets="y", predictions="p", model_type="classifier", evaluators="trustcal",
            evaluator_config={"payoff": treat, "title": "Model 7"},
        )  # fmt: skip
    expected = tc.audit(y, p, payoff=treat)
    logged = mlflow.get_run(run.info.run_id).data.metrics
    assert logged["trustcal/loss"] == result.metrics["trustcal/loss"] == expected.loss.estimate
    assert expected.problem is not None
    assert logged["trustcal/regret"] == expected.problem.regret
    assert logged["trustcal/smcal"] == expected.measures["smcal"]
    folder = Path(mlflow.artifacts.download_artifacts(run_id=run.info.run_id, artifact_path="trustcal"))
    assert sorted(file.name for file in folder.iterdir()) == sorted(result.artifacts)
    assert "Model 7" in (folder / "audit.html").read_text()
    assert tc.Audit.from_json((folder / "audit.json").read_text()) == expected
    for picture in ("reliability.png", "loss_profile.png"):
        assert (folder / picture).read_bytes().startswith(b"\x89PNG")


def test_what_is_not_a_probability_is_refused() -> None:
    from trustcal.mlflow_evaluator import probabilities

    with pytest.raises(ValueError, match="pyfunc_predict_fn"):
        probabilities(np.array(["yes", "no"]))
    with pytest.raises(ValueError, match=r"the shape \(2, 3\)"):
        probabilities(np.ones((2, 3)))
    assert probabilities(np.array([[0.25, 0.75]])).tolist() == [0.75]
