"""scikit-learn estimators: recalibration and noise behind its interface, and actions chosen by a payoff table.

    Recalibrated         wraps a binary classifier: recalibrates its probabilities, predicts the best actions
    TrustedClassifier    the same, with noise where noise lowers the promise
    NoiseSmoother        takes one column of probabilities and adds noise, as the paper does

Any measure can be a scorer:

    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.metrics import make_scorer
    >>> from sklearn.model_selection import cross_val_score
    >>> import numpy as np
    >>> import trustcal as tc
    >>> scorer = make_scorer(tc.smcal, response_method="predict_proba", greater_is_better=False)
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(300, 1))
    >>> y = rng.random(300) < 1 / (1 + np.exp(-x[:, 0]))
    >>> bool((cross_val_score(LogisticRegression(), x, y, scoring=scorer) > -0.2).all())
    True
"""

try:
    from trustcal.estimators.classifiers import Recalibrated, TrustedClassifier
    from trustcal.estimators.noise_smoother import NoiseSmoother
except ModuleNotFoundError as missing:
    raise ImportError(
        "trustcal.estimators needs scikit-learn 1.6 or later: pip install 'trustcal[sklearn]'."
    ) from missing

__all__ = ["NoiseSmoother", "Recalibrated", "TrustedClassifier"]
