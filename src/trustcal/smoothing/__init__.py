"""Post-processing by noise: the exact law of the output, the output itself for arrays, and one prediction at a time.

    smooth(q, noise, cells)    the law of M(q) rounded to a grid, a Predictor      (Section 3, with Section 4's grid)
    smooth(q, noise)           the law of M(q) itself, a SmoothedPredictor         (Section 3)
    perturb(y_prob, noise)     one draw of M for each row
    OnlineSmoother(noise, …)   the algorithm of Section 4, corrected
    worst_reference(q, …)      the calibrated reference and the score against which noise does worst    (Theorem 3.1)

The law of the output needs no sampling: with F_k the distribution function of M(p[k]), cell [c, d) has the mass
Σ mass[k]·(F_k(d−) − F_k(c−)), and this is a sum of nonnegative terms that two sweeps compute for Laplace noise and one
for uniform noise, however many values and cells there are.
"""

from trustcal.smoothing.draws import perturb
from trustcal.smoothing.online import OnlineSmoother
from trustcal.smoothing.smoothed import SmoothedPredictor, smooth
from trustcal.smoothing.worst import WorstReference, worst_reference

__all__ = ["OnlineSmoother", "SmoothedPredictor", "WorstReference", "perturb", "smooth", "worst_reference"]
