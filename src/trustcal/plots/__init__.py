"""The pictures, by matplotlib: `trustcal.plots`.

    reliability       what predictions mean, against what they say, with what chance alone would show
    murphy            the mean loss at every threshold, of one predictor or of several
    decision_curve    the net benefit at every threshold, against treating everybody and nobody
    loss_profile      what is lost at every threshold by not moving it, and the better threshold
    regret_matrix     which recommended action is wrong, which would be better, and by how much
    movement          how predictions must move to become calibrated

Each takes a `Predictor`, or outcomes, predictions and weights (`regret_matrix`: a table); draws on `ax`, or on new
axes; and returns the axes.
The colours suit the background of the axes, light or dark, and matplotlib's settings are left alone.
"""

from trustcal.plots.matrix import regret_matrix
from trustcal.plots.profile import loss_profile
from trustcal.plots.reliability_diagram import reliability
from trustcal.plots.streams import movement
from trustcal.plots.threshold_curves import decision_curve, murphy

__all__ = ["decision_curve", "loss_profile", "movement", "murphy", "regret_matrix", "reliability"]
