"""Remedies: recalibrators and noise behind one interface, compared on rows that they have not seen.

    choose(y_true, y_prob)              every method on held-out rows, and the recommended one fitted
    fit("beta", y_true, y_prob)         one method fitted
    Remedy                              apply to arrays and predictors, describe, to_json
    from_json, load                     a remedy that was saved
    noise_remedy                        noise, which needs no outcomes
    choose_classes, fit_classes         the same for K classes: temperature, vector, matrix, Dirichlet, isotonic
    refit_advice                        whether recent rows ask for a new remedy
    Refitted, Mixed                     for streams: a method refitted as outcomes arrive, and a mixture by past loss

A method is fitted to a predictor, so the cost is that of the distinct values, not of the rows.
"""

from typing import TYPE_CHECKING

import lazy_loader

from trustcal.remedies.certificates import Certificate, certify
from trustcal.remedies.choosing import Choice, choose, chosen, compared, learned, single_rows
from trustcal.remedies.class_choosing import ClassChoice, ClassResult, choose_classes
from trustcal.remedies.class_remedy import ClassRemedy, fit_classes
from trustcal.remedies.comparison import Comparison, MethodResult
from trustcal.remedies.gain import HeldOutGain, held_out_gain
from trustcal.remedies.methods import fit
from trustcal.remedies.refitting import RefitAdvice, refit_advice
from trustcal.remedies.remedy import Learned, Remedy, from_json, load, noise_remedy

if TYPE_CHECKING:
    from trustcal.remedies.online import Mixed, Refitted

# Only streams need these, and with them all of the online forecasters: when they are first named.
__getattr__, _, _ = lazy_loader.attach(__name__, submod_attrs={"online": ["Mixed", "Refitted"]})

__all__ = [
    "Certificate",
    "Choice",
    "ClassChoice",
    "ClassRemedy",
    "ClassResult",
    "Comparison",
    "HeldOutGain",
    "Learned",
    "MethodResult",
    "Mixed",
    "RefitAdvice",
    "Refitted",
    "Remedy",
    "certify",
    "choose",
    "choose_classes",
    "chosen",
    "compared",
    "fit",
    "fit_classes",
    "from_json",
    "held_out_gain",
    "learned",
    "load",
    "noise_remedy",
    "refit_advice",
    "single_rows",
]
