"""An evaluator for MLflow, found by its entry point: mlflow.models.evaluate(…, evaluators="trustcal")."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from trustcal import plots
from trustcal.auditing import Audit, audit

if TYPE_CHECKING:
    from mlflow.models import EvaluationResult

FOLDER = "trustcal"
"""Where the artifacts of a run are, and the first part of the name of every metric."""


@final
class TrustcalEvaluator:
    """Audits the probabilities of a binary classifier, and logs the numbers, the page and two pictures.

    `evaluator_config` may hold `payoff` (a `DecisionProblem`), `draws`, `rng`, `positive` and `title`, with the
    meaning that they have for `audit`.  It has the methods of MLflow's ModelEvaluator without being one, so that this
    module is imported where MLflow is not installed.
    """

    @classmethod
    def can_evaluate(cls, *, model_type: str | None, **_: Any) -> bool:
        """Evaluate classifiers, and predictions without a model type."""
        return model_type in (None, "classifier")

    def evaluate(
        self,
        *,
        dataset: Any,
        run_id: str,
        evaluator_config: dict[str, Any] | None,
        model: Any = None,
        predictions: str | None = None,
        **_: Any,
    ) -> EvaluationResult:
        """Audit the predictions of the dataset, or those that the model makes for its features."""
        from mlflow import MlflowClient
        from mlflow.models import EvaluationResult
        from mlflow.models.evaluation.artifacts import ImageEvaluationArtifact, TextEvaluationArtifact

        options = dict(evaluator_config or {})
        options.pop("_disable_candidate_model", None)
        title = options.pop("title", "Audit")
        given = dataset.predictions_data if model is None else model.predict(dataset.features_data)
        found = audit(dataset.labels_data, probabilities(given, predictions), **options)
        metrics, client = metrics_of(found), MlflowClient()
        for name, value in metrics.items():
            client.log_metric(run_id, name, value)
        with tempfile.TemporaryDirectory() as folder:
            files = _written(found, Path(folder), title)
            client.log_artifacts(run_id, folder, FOLDER)
        root = client.get_run(run_id).info.artifact_uri
        artifacts = {
            name: (ImageEvaluationArtifact if name.endswith(".png") else TextEvaluationArtifact)(
                uri=f"{root}/{FOLDER}/{name}"
            )
            for name in files
        }
        return EvaluationResult(metrics=metrics, artifacts=artifacts, run_id=run_id)


def probabilities(given: Any, column: str | None = None) -> NDArray[Any]:
    """Probabilities of outcome 1: a vector, the second of two columns, or a named column of a frame.

    >>> probabilities([[0.75, 0.25], [0.5, 0.5]])
    array([0.25, 0.5 ])
    """
    found = np.asarray(given[column] if column is not None and hasattr(given, "columns") else given)
    if found.ndim == 2 and found.shape[1] in (1, 2):
        found = found[:, -1]
    if found.ndim != 1 or found.dtype.kind not in "fiub":
        raise ValueError(
            f"the predictions must be probabilities of outcome 1, one or two per row, but have the shape {found.shape} "
            f'and the type {found.dtype}. Log a scikit-learn model with pyfunc_predict_fn="predict_proba".'
        )
    return found


def metrics_of(found: Audit) -> dict[str, float]:
    """The headline loss with its bounds and its p-value, and every measure, by the names that MLflow shows."""
    named = {"loss": found.loss.estimate, "loss_lower": found.loss.lower, "loss_upper": found.loss.upper}
    if found.inference is not None:
        named["p_value"] = found.inference.test.p_value
    if found.problem is not None:
        named["regret"] = found.problem.regret
    named |= found.measures
    return {f"{FOLDER}/{name}": float(value) for name, value in named.items() if value is not None}


def _written(found: Audit, folder: Path, title: str) -> list[str]:
    """The page, the JSON and two pictures, in a folder; returns their names."""
    from matplotlib.figure import Figure

    found.to_html(folder / "audit.html", title)
    (folder / "audit.json").write_text(found.to_json(), encoding="utf-8")
    for name, draw in (("reliability", plots.reliability), ("loss_profile", plots.loss_profile)):
        figure = Figure(figsize=(6.4, 4.8), layout="constrained")
        draw(found, ax=figure.subplots())
        figure.savefig(folder / f"{name}.png", dpi=120)
    return sorted(file.name for file in folder.iterdir())
