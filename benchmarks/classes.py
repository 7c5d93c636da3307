"""What K-class models cost a decision maker on real sets, before and after a remedy.

    python -m benchmarks.classes            # the table
    python -m benchmarks.classes pages      # and a page for each set in the folder pages

The sets ship with packages: digits (scikit-learn), image segments (river), and a text set, the docstrings of four
packages, to be told apart by their words.  The decision maker names the class for 1, loses 4 if that is wrong, and may
ask for 0.2.  Each set is split in halves: a remedy is chosen on one by cross-validation, and both are judged on the
other.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB, MultinomialNB

import trustcal as tc
from trustcal.estimators import Recalibrated

Set = tuple[Any, np.ndarray, Any]


def digits() -> Set:
    x, y = load_digits(return_X_y=True)
    return x, np.array([f"digit {k}" for k in y]), GaussianNB()


def image_segments() -> Set:
    shipped: Any = importlib.import_module("river.datasets")  # without types
    rows = list(shipped.ImageSegments())
    return np.array([list(x.values()) for x, _ in rows]), np.array([y for _, y in rows]), GaussianNB(var_smoothing=1e-3)


def docstrings() -> Set:
    """First paragraphs of docstrings, without the names of the packages."""
    texts, labels = [], []
    for package in ("numpy", "scipy", "pandas", "sklearn"):
        for text in sorted(_paragraphs(package))[:1500]:
            texts.append(re.sub(r"numpy|scipy|pandas|sklearn|scikit-learn", "", text.lower()))
            labels.append(package)
    return CountVectorizer(min_df=3).fit_transform(texts), np.array(labels), MultinomialNB()


def _paragraphs(package: str) -> set[str]:
    home, found = importlib.import_module(package), set()
    for info in pkgutil.iter_modules(home.__path__, f"{package}."):
        if "._" in info.name or "test" in info.name or "conftest" in info.name:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                module = importlib.import_module(info.name)
            except ImportError:
                continue
            things = [getattr(module, name, None) for name in dir(module)]
        for thing in things:
            text = (getattr(thing, "__doc__", None) or "").strip().split("\n\n")[0]
            if 40 < len(text) < 600:
                found.add(" ".join(text.split()))
    return found


def main() -> None:
    pages = Path("pages") if "pages" in sys.argv[1:] else None
    if pages is not None:
        pages.mkdir(exist_ok=True)
    print("set                K  rows accuracy   said  payoff  regret swapped      remedy   after")
    for name, make in (("digits", digits), ("image segments", image_segments), ("docstrings", docstrings)):
        x, y, model = make()
        train, test, known, fresh = train_test_split(x, y, test_size=0.5, random_state=0, stratify=y)
        classes = np.unique(y)
        payoff = np.vstack([5 * np.eye(len(classes)) - 4, np.full(len(classes), 0.2)])
        problem = tc.OutcomeProblem(payoff, [*(f"say {one}" for one in classes), "ask"], classes)
        said = model.fit(train, known).predict_proba(test)
        found = tc.audit(fresh, said, classes=classes, payoff=problem, draws=40)
        remedied = Recalibrated(model, payoff).fit(train, known)
        after = problem.value(fresh, remedied.predict_proba(test))
        loss = found.problem
        print(
            f"{name:16} {len(classes):3} {len(fresh):5} {found.top.base_rate:8.1%} {found.top.mean_prediction:6.1%} "
            f"{loss.value:7.3f} {loss.action_regret:7.3f} {loss.value + loss.action_regret:7.3f} "
            f"{remedied.remedy_.method:>11} {after:7.3f}"
        )
        if pages is not None:
            found.to_html(pages / f"{name.replace(' ', '-')}.html")


if __name__ == "__main__":
    main()
