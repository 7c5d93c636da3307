"""An audit as one self-contained HTML page.  Text from the user's data is always escaped."""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING

from trustcal import plots
from trustcal.formats import rounded, small, where, whole
from trustcal.measures.table import MEASURES
from trustcal.report.page.svg import AxesBox, svg
from trustcal.report.page.tables import comparison_table, figures, groups_table, measures_table, provenance_table

if TYPE_CHECKING:
    from trustcal.auditing import Audit
    from trustcal.remedies import Comparison

EXAMPLE = (("do not act", 0, 0), ("act", -1, 3))
"""The payoffs shown if the user gave none."""


def page(audit: Audit, title: str) -> str:
    """The whole page.  O(size of the audit)."""
    from trustcal import __version__

    profile, frame = svg(
        plots.loss_profile, audit, 3.1, "profile", "The loss at every threshold, now and after the noise"
    )
    sections = [
        _verdict(audit),
        figures(audit),
        _section("What does this mean?", "For those who decide by these predictions.", _advice(audit, "meaning")),
        _explorer(audit, profile),
        _section("The measures", _measures_lead(audit), f'<div class="card">{measures_table(audit)}</div>'),
        _pictures(audit),
    ]
    if audit.groups:
        sections.append(_groups(audit))
    if audit.comparison is not None:
        sections.append(_comparison(audit, audit.comparison))
    if audit.guarantee is not None:
        body = f'<div class="card">{_advice(audit, "guarantee", "noise")}</div>'
        sections.append(_section("What noise guarantees", "A theorem, whatever the outcomes will be.", body))
    sections.append(_section("What was read", "", f'<div class="card">{provenance_table(audit)}</div>'))
    return Template(_file("page.html")).substitute(
        title=escape(title),
        about=escape(_about(audit)),
        style=_file("page.css"),
        sections="\n".join(sections).replace(" %", "\u00a0%"),  # keep a number and its unit on one line
        version=escape(__version__),
        data=_data(audit, frame),
        script=_file("page.js"),
    )


def _file(name: str) -> str:
    return (files("trustcal.report.page") / name).read_text(encoding="utf-8").strip()


def _verdict(audit: Audit) -> str:
    kind = "verdict calm" if audit.verdict.fine else "verdict"
    return f'<section class="{kind}" aria-label="verdict"><p>{escape(audit.verdict.headline)}</p></section>'


def _advice(audit: Audit, *topics: str) -> str:
    """The advice on some topics: a paragraph, or a list."""
    said = [f"<b>{escape(one.lead)}</b> {escape(one.text)}" for one in audit.advice if one.topic in topics]
    return f"<p>{said[0]}</p>" if len(said) == 1 else f"<ul>{''.join(f'<li>{one}</li>' for one in said)}</ul>"


def _about(audit: Audit) -> str:
    rows = "A known distribution" if audit.rows is None else f"{audit.rows:,} rows"
    source = "" if audit.provenance is None else f" of {audit.provenance.source}"
    values = f"{audit.values:,} distinct prediction{'s' * (audit.values != 1)}"
    return f"{rows}{source}, {values}. Base rate {100 * audit.base_rate:.1f} %."


def _section(heading: str, lead: str, body: str) -> str:
    below = f'<p class="lead">{escape(lead)}</p>' if lead else ""
    return f"<section><h2>{escape(heading)}</h2>{below}{body}</section>"


def _measures_lead(audit: Audit) -> str:
    binned = " and ".join(MEASURES[key].symbol for key in audit.measures if MEASURES[key].conditional)
    on = "" if audit.cells is None else f" {binned} are taken {where(audit.cells)}, each at its mean prediction."
    if audit.inference is None:
        return f"0 is perfect for all of them.{on}"
    return (
        "0 is perfect for all of them. Grey is what a calibrated model shows by chance in 19 of 20 samples of this "
        f"size. The bar is the {whole(audit.inference.level)} confidence interval for the population.{on}"
        + (f" Note: {audit.inference.note}." if audit.inference.note else "")
    )


def _explorer(audit: Audit, profile: str) -> str:
    series = [("now", "now")]
    if audit.after_noise is not None:
        series += [("after", "after the noise"), ("total", "after, with its cost in sharpness")]
    toggles = "".join(
        f'<label><input type="checkbox" data-series="{name}" checked><i class="swatch {name}"></i>{words}</label>'
        for name, words in series
    )
    results = "".join(
        f'<tr><td><i class="swatch {name}"></i>Loses {words}</td><td><output id="loss-{name}"></output></td></tr>'
        for name, words in series
    )
    noise = (
        ""
        if audit.after_noise is None
        else f'<p class="note">The noise: {escape(rounded(audit.after_noise.noise))}. It moves a prediction by '
        f"{audit.after_noise.moved:.3g} on average.</p>"
    )
    return Template(_file("explorer.html")).substitute(profile=profile, toggles=toggles, results=results, noise=noise)


def _pictures(audit: Audit) -> str:
    reliability, _ = svg(
        plots.reliability, audit, 4.8, "reliability", "Predictions against the frequency of the outcome"
    )
    movement, _ = svg(plots.movement, audit, 4.4, "movement", "How predictions must move to become calibrated")
    band = "" if audit.curve.lower is None else " The band is the 95 % interval of each frequency."
    return Template(_file("pictures.html")).substitute(
        reliability=reliability, movement=movement, band=band, distance=small(audit.measures["dtc"])
    )


def _groups(audit: Audit) -> str:
    lead = "The same measures for each group by itself."
    if audit.inference is not None:
        lead += " Grey is what chance alone would show, which is more in small groups."
    return _section("Group by group", lead, f'<div class="card">{groups_table(audit)}</div>')


def _comparison(audit: Audit, compared: Comparison) -> str:
    lead = f"Each judged on rows it has not seen: {compared.folds} folds of {compared.rows:,} rows."
    body = f'{_advice(audit, "remedy")}<div class="card">{comparison_table(compared)}</div>'
    return _section("What could be done", lead, body)


def _data(audit: Audit, frame: AxesBox) -> str:
    """The data of the script, as JSON with <, > and & escaped, so that it cannot close the script element."""
    fix, problem = audit.after_noise, audit.problem
    rows = (
        EXAMPLE
        if problem is None
        else tuple((name, *pays) for name, pays in zip(problem.actions, problem.payoff, strict=True))
    )
    data = {
        "start": audit.worst_threshold.threshold,
        "curve": {"p": audit.curve.p, "p_hat": audit.curve.p_hat, "mass": audit.curve.mass},
        "fix": None
        if fix is None
        else {
            "thresholds": [round(mu, 9) for mu in fix.thresholds],
            "regret": [round(loss, 9) for loss in fix.regret],
            "total": [round(loss, 9) for loss in fix.total],
        },
        "frame": {name: round(getattr(frame, name), 4) for name in ("left", "right", "top", "bottom", "highest")},
        "payoff": rows,
    }
    text = json.dumps(data, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
