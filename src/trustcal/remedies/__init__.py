"""Remedies: recalibrators and noise behind one interface, compared on rows that they have not seen.

    choose(y_true, y_prob)              every method on held-out rows, and the recommended one fitted
    fit("beta", y_true, y_prob)         one method fitted
    Remedy                              apply to arrays and predictors, describe, to_json
    ClassRemedy                         what both give for K classes, from tables of probabilities
    from_json, load                     a remedy that was saved
    noise_remedy                        noise, which needs no outcomes
    refit_advice                        whether recent rows ask for a new remedy
    Refitted, Mixed                     for streams: a method refitted as outcomes arrive, and a mixture by past loss

A method is fitted to a predictor, so the cost is that of the distinct values, not of the rows.
"""

from typing import TYPE_CHECKING

import lazy_loader

from trustcal.remedies.certificates import Certificate, certify
from trustcal.remedies.choosing import Choice, choose, chosen, recalibration
from trustcal.remedies.class_choosing import ClassChoice, ClassResult
from trustcal.remedies.class_remedy import ClassRemedy
from trustcal.remedies.comparison import Comparison, MethodResult
from trustcal.remedies.gain import HeldOutGain, held_out_gain
from trustcal.remedies.held_out import compared
from trustcal.remedies.loading import from_json, load
from trustcal.remedies.methods import fit
from trustcal.remedies.refitting import RefitAdvice, refit_advice
from trustcal.remedies.remedy import Learned, Remedy, noise_remedy
from trustcal.remedies.splitting import single_rows

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
    "chosen",
    "compared",
    "fit",
    "from_json",
    "held_out_gain",
    "load",
    "noise_remedy",
    "recalibration",
    "refit_advice",
    "single_rows",
]
