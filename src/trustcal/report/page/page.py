"""An audit as one self-contained HTML page.  Text from the user's data is always escaped."""

from __future__ import annotations

import json
import re
from dataclasses import fields, replace
from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING

from trustcal.formats import percent, rounded, where, whole
from trustcal.measures.table import MEASURES
from trustcal.report.clinical import what_they_miss
from trustcal.report.page.pictures import movement_section, net_benefit_section, profile_figure, reliability_figure
from trustcal.report.page.policy import PLACE, sealed
from trustcal.report.page.svg import AxesBox
from trustcal.report.page.tables import (
    clinical_table,
    comparison_table,
    figures,
    groups_table,
    measures_table,
    provenance_table,
    scores_table,
    segments_table,
)
from trustcal.report.unmeasured import unmeasured

if TYPE_CHECKING:
    from trustcal.auditing import Advice, Audit
    from trustcal.remedies import Comparison

SPLIT = "Value = miscalibration − discrimination + uncertainty. Recalibration can remove the first of the three."
SHOWN = 12
"""Groups that are shown at once; the others are folded."""
EXAMPLE = (("do not act", 0.0, 0.0), ("act", -1.0, 3.0))
"""The payoffs shown if the user gave none."""


def page(audit: Audit, title: str) -> str:
    """The whole page.  O(size of the audit)."""
    from trustcal import __version__

    explored = audit if _shows_noise(audit) else replace(audit, after_noise=None)
    profile, frame = profile_figure(explored)
    sections = [
        _first(audit),
        figures(audit),
        _section("What does this mean?", "For those who decide by these predictions.", _advice(audit, "meaning")),
        _explorer(explored, profile),
        net_benefit_section(audit),
    ]
    if audit.groups:
        sections.append(_groups(audit))
    if audit.segments is not None:
        lead, *rest = audit.segments.sentences
        notes = "".join(f'<p class="note">{escape(line)}</p>' for line in rest)
        sections.append(_section("Segments", lead, f'<div class="card">{segments_table(audit.segments)}{notes}</div>'))
    if audit.comparison is not None:
        sections.append(_comparison(audit, audit.comparison))
    sections.append(_section("The measures", _measures_lead(audit), f'<div class="card">{measures_table(audit)}</div>'))
    sections.append(_section("Scores", SPLIT, f'<div class="card">{scores_table(audit)}</div>'))
    if audit.clinical is not None:
        note = escape(what_they_miss(audit.clinical))
        body = f'<div class="card">{clinical_table(audit.clinical)}</div><p class="note">{note}</p>'
        sections.append(_folded("For clinical readers", "Slope, intercept, ICI and tests, with 95 % intervals.", body))
    sections.append(movement_section(audit))
    if audit.guarantee is not None:
        body = f'<div class="card">{_advice(audit, "guarantee", "noise")}</div>'
        sections.append(_folded("What noise guarantees", "For a worst case: a theorem, whatever the outcomes.", body))
    sections.append(_folded("What was read", "", f'<div class="card">{provenance_table(audit)}</div>'))
    text = Template(_file("page.html")).substitute(
        policy=PLACE,
        title=escape(title),
        about=escape(_about(audit)),
        style=_file("page.css"),
        sections="\n".join(sections).replace(" %", "\u00a0%"),  # keep a number and its unit on one line
        version=escape(__version__),
        data=_data(explored, frame),
        script=_file("page.js"),
    )
    return sealed(text)


def first_screen(audit: Audit) -> str:
    """The verdict, the picture and who is hurt, for a notebook; the style applies to nothing else there."""
    style = re.sub(r"(:root|\bbody) \{", "& {", _file("page.css")) + " & { padding: 0 16px 16px; }"
    return f'<div class="trustcal"><style>.trustcal {{ {style} }}</style>{_first(audit)}</div>'


def _first(audit: Audit) -> str:
    said = f'<div class="first">{_verdict(audit)}{reliability_figure(audit)}{_who(audit)}</div>'
    return said.replace(" %", "\u00a0%")  # keep a number and its unit on one line


def _file(name: str) -> str:
    return (files("trustcal.report.page") / name).read_text(encoding="utf-8").strip()


def _verdict(audit: Audit) -> str:
    kind = "verdict calm" if audit.verdict.fine else "verdict"
    caveats = "".join(f'<p class="note">{escape(caveat)}</p>' for caveat in audit.verdict.caveats)
    first, rest = (*audit.verdict.headline.split(". ", 1), "")[:2]
    said = f"<p>{escape(first)}{'.' if rest else ''}</p>" + (f'<p class="more">{escape(rest)}</p>' if rest else "")
    return f'<section class="{kind}" aria-label="verdict">{said}{caveats}</section>'


def _who(audit: Audit) -> str:
    """Who is hurt, and what to do."""
    said = [f"<p><b>{escape(harm.who)}:</b> {escape(harm.text)}</p>" for harm in audit.verdict.hurt]
    said += [f"<p>{_said(one)}</p>" for one in audit.advice if one.topic == "remedy"]
    return f'<section class="who" aria-label="who is hurt">{"".join(said)}</section>'


def _said(advice: Advice) -> str:
    command = "" if advice.command is None else f" <code>{escape(advice.command)}</code>"
    return f"<b>{escape(advice.lead)}</b> {escape(advice.text)}{command}"


def _advice(audit: Audit, *topics: str) -> str:
    """The advice on some topics: a paragraph, or a list."""
    heard = {harm.text for harm in audit.verdict.hurt}
    said = [_said(one) for one in audit.advice if one.topic in topics and one.text not in heard]
    return f"<p>{said[0]}</p>" if len(said) == 1 else f"<ul>{''.join(f'<li>{one}</li>' for one in said)}</ul>"


def _about(audit: Audit) -> str:
    rows = "A known distribution" if audit.rows is None else f"{audit.rows:,} rows"
    source = "" if audit.provenance is None else f" of {audit.provenance.source}"
    values = f"{audit.values:,} distinct prediction{'s' * (audit.values != 1)}"
    return f"{rows}{source}, {values}. Base rate {100 * audit.base_rate:.1f} %."


def _section(heading: str, lead: str, body: str) -> str:
    below = f'<p class="lead">{escape(lead)}</p>' if lead else ""
    return f"<section><h2>{escape(heading)}</h2>{below}{body}</section>"


def _folded(heading: str, lead: str, body: str) -> str:
    """A section that most readers do not need: it opens with a click, without a script too, and for print."""
    below = f'<p class="lead">{escape(lead)}</p>' if lead else ""
    return f"<section><details><summary><h2>{escape(heading)}</h2></summary>{below}{body}</details></section>"


def _shows_noise(audit: Audit) -> bool:
    """Whether noise is in the explorer: if it was asked for, or reduces what anyone loses."""
    after, promise = audit.after_noise, audit.guarantee
    if after is None:
        return False
    return promise is None or after.noise != promise.choice.noise or after.cdl < audit.loss.shown


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
    now, *after = (
        f'<tr><td><i class="swatch {name}"></i>Loses {words}</td><td><output id="loss-{name}"></output></td></tr>'
        for name, words in series
    )
    noise = (
        ""
        if audit.after_noise is None
        else f'<p class="note">The noise: {escape(rounded(audit.after_noise.noise))}. It moves a prediction by '
        f"{audit.after_noise.moved:.3g} on average.</p>"
    )
    chance = "" if audit.rows is None else " They are those of these rows, and include what chance would show."
    return Template(_file("explorer.html")).substitute(
        chance=chance, profile=profile, toggles=toggles, now=now, after="".join(after),
        noise=_recalibrated(audit) + noise,
        payoffs="".join(
            f"<tr><td>{escape(name)}</td><td>{zero:g}</td><td>{one:g}</td></tr>" for name, zero, one in _payoffs(audit)
        ),
    )  # fmt: skip


def _recalibrated(audit: Audit) -> str:
    """What recalibration leaves to be gained."""
    gain = audit.remedy
    if gain is None or gain.method == "none":
        return ""
    return (
        f'<p class="note">Recalibrated by {escape(gain.method)}, on held-out rows: what anyone could gain by moving '
        f"thresholds goes from {percent(gain.loss_before)} to {percent(gain.loss_after)}.</p>"
    )


def _groups(audit: Audit) -> str:
    lead = "The loss of each group by itself, the worst first, less what would show by chance."
    if audit.inference is not None:
        lead += " Grey is what chance alone would show, which is more in small groups."
    large, few = ([group for group in audit.groups if group.small == small] for small in (False, True))
    shown, more = large[:SHOWN], large[SHOWN:]
    body = f'<div class="card">{groups_table(audit, shown)}</div>' if shown else ""
    if more:
        table = f'<div class="card">{groups_table(audit, more)}</div>'
        body += f'<details class="few"><summary>{len(more)} more groups with less harm.</summary>{table}</details>'
    if audit.more_groups:
        body += f'<p class="note">{unmeasured(audit)}</p>'
    if few:
        name = f"{len(few)} groups have" if len(few) > 1 else "One group has"
        said = f"{name} too few rows to say anything: no evidence, but large losses cannot be ruled out."
        table = f'<div class="card">{groups_table(audit, few)}</div>'
        body += f'<details class="few"><summary>{said}</summary>{table}</details>'
    return _section("Group by group", lead, body)


def _comparison(audit: Audit, compared: Comparison) -> str:
    lead = f"Each judged on rows it has not seen: {compared.folds} folds of {compared.rows:,} rows."
    body = f'{_advice(audit, "remedy")}<div class="card">{comparison_table(compared)}</div>'
    return _section("What could be done", lead, body)


def _payoffs(audit: Audit) -> tuple[tuple[str, float, float], ...]:
    """The user's payoffs, or an example: action, payoff if it does not happen, payoff if it does."""
    problem = audit.problem
    if problem is None:
        return EXAMPLE
    return tuple((name, zero, one) for name, (zero, one) in zip(problem.actions, problem.payoff, strict=True))


def _data(audit: Audit, frame: AxesBox) -> str:
    """The data of the script, as JSON with <, > and & escaped, so that it cannot close the script element."""
    fix = audit.after_noise
    data = {
        "start": audit.worst_threshold.threshold,
        "profile": {
            "thresholds": audit.profile.thresholds,
            "regret": [round(loss, 12) for loss in audit.profile.regret],
            "instead": [float(f"{mu:.9g}") for mu in audit.profile.instead],
            "reversed": [round(share, 6) for share in audit.profile.reversed],
        },
        "fix": None
        if fix is None
        else {
            "thresholds": [round(mu, 9) for mu in fix.thresholds],
            "regret": [round(loss, 9) for loss in fix.regret],
            "total": [round(loss, 9) for loss in fix.total],
        },
        "frame": {field.name: round(getattr(frame, field.name), 4) for field in fields(frame)},
        "payoff": _payoffs(audit),
    }
    text = json.dumps(data, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
