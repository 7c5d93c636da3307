"""A river pipeline whose probabilities are recalibrated as it learns.

    python examples/river_pipeline.py

A river model has predict_proba_one and learn_one, a recalibrator transform_one and learn_one.
"""

from __future__ import annotations

from river import datasets, linear_model, preprocessing

import trustcal as tc
from trustcal.forecasters import Calibeating, OnlinePlatt


def progressive() -> dict[str, tuple[list[bool], list[float]]]:
    """Predict, then learn, on the phishing data set of river: outcomes and probabilities by method."""
    model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    recalibrators = {"online Platt": OnlinePlatt(), "calibeating": Calibeating(), "TOPS": Calibeating(OnlinePlatt())}
    said: dict[str, list[float]] = {"river": [], **{name: [] for name in recalibrators}}
    outcomes = []
    for x, y in datasets.Phishing():
        q = model.predict_proba_one(x).get(True, 0.5)
        said["river"].append(q)
        for name, recalibrator in recalibrators.items():
            said[name].append(recalibrator.transform_one(q))
            recalibrator.learn_one(q, y)
        model.learn_one(x, y)
        outcomes.append(y)
    return {name: (outcomes, probabilities) for name, probabilities in said.items()}


def main() -> None:
    for name, (y, p) in progressive().items():
        q = tc.Predictor.from_samples(y, p)
        brier = sum((a - b) ** 2 for a, b in zip(p, y, strict=True)) / len(y)
        print(f"{name:>12}: DTC {tc.dtc(q):.4f}, ECE on 10 bins {tc.ece(q, cells=10):.4f}, Brier score {brier:.4f}")


if __name__ == "__main__":
    main()
