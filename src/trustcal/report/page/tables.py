"""The tables of the page, as HTML."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from trustcal.measures.table import MEASURES, audited
from trustcal.report.words import p_value, percent, rounded, small, value, when, whole

if TYPE_CHECKING:
    from trustcal.auditing import Audit, Methods
    from trustcal.inference import Uncertainty


def figures(audit: Audit) -> str:
    """The few numbers to remember."""
    worst, chance = audit.worst_threshold, audit.inference
    entries = [
        ("The most anyone loses", percent(audit.cdl), "of their payoff range"),
        ("Most with one threshold", percent(worst.loss), f"acts {when(worst.threshold)}"),
        ("Predictions must move by", small(audit.dtc_upper), "on average, to be calibrated"),
    ]
    if chance is None:
        entries.append(
            ("Mean prediction", f"{audit.mean_prediction:.3f}", f"it happens at a rate of {audit.base_rate:.3f}")
        )
    else:
        known = chance.of("cdl")
        entries.append(("Chance alone would show", percent(known.floor), f"p {_equals(known.p_value, chance.draws)}"))
    return (
        '<dl class="figures">'
        + "".join(
            f"<div><dt>{escape(name)}</dt><dd>{escape(number)}<small>{escape(about)}</small></dd></div>"
            for name, number, about in entries
        )
        + "</dl>"
    )


def measures_table(audit: Audit) -> str:
    """Every measure with its question; with rows, interval, chance and p-value."""
    known = audit.inference
    if known is None:
        values = {key: value(audit, key) for key in audited()}
        return _table(
            ["", "measured", ""],
            [
                (_named(name), [("measured", f"<b>{number:.4f}</b>")], _strip(number, None, max(values.values())))
                for name, number in values.items()
            ],
        )
    most = max(max(entry.value, entry.upper, entry.floor_upper) for entry in known.measures)
    headers = ["", "measured", f"{whole(known.level)} interval", "by chance", "p", ""]
    lines = [
        (
            _named(entry.measure),
            [
                ("measured", f"<b>{entry.value:.4f}</b>"),
                (f"{whole(known.level)} interval", f"{entry.lower:.4f} – {entry.upper:.4f}"),
                ("by chance", f"{entry.floor:.4f}"),
                ("p", p_value(entry.p_value, known.draws)),
            ],
            _strip(entry.value, entry, most),
        )
        for entry in known.measures
    ]
    return _table(headers, lines)


def groups_table(audit: Audit) -> str:
    """Groups side by side."""
    chance = audit.inference
    headers = ["", "rows", "happens", "predicted", "distance to calibration", "decision loss"]
    headers += [] if chance is None else ["by chance", "p"]
    known = [group.uncertainty for group in audit.groups if group.uncertainty is not None]
    most = max([g.cdl for g in audit.groups] + [u.upper for u in known] + [u.floor_upper for u in known])
    lines = []
    for group in audit.groups:
        cells = [
            "" if group.rows is None else f"{group.rows:,}",
            f"{group.base_rate:.3f}",
            f"{group.mean_prediction:.3f}",
            f"{group.dtc:.4f}",
            f"<b>{percent(group.cdl)}</b>",
        ]
        if chance is not None:
            of = group.uncertainty
            cells += ["", ""] if of is None else [percent(of.floor), p_value(of.p_value, chance.draws)]
        strip = _strip(group.cdl, group.uncertainty, most)
        lines.append((escape(group.name), list(zip(headers[1:], cells, strict=True)), strip))
    return _table([*headers, ""], lines)


def methods_table(compared: Methods) -> str:
    """Ways to fix the predictions side by side."""
    headers = ["", "fitted to outcomes", "calibration error", "Brier score", "AUC", "promised loss", "decision loss"]
    lines, chosen, most = [], -1, max(method.cdl for method in compared.methods)
    for place, method in enumerate(compared.methods):
        chosen = place if method.name == compared.recommended else chosen
        cells = [
            "yes" if method.needs_outcomes else "no",
            f"{method.ece:.4f}",
            f"{method.brier:.4f}",
            f"{method.auc:.3f}",
            "" if method.guarantee is None else f"≤ {percent(min(1.0, method.guarantee))}",
            f"<b>{percent(method.cdl)}</b>",
        ]
        name = "as they are" if method.name == "none" else escape(method.name)
        strip = _strip(method.cdl, None, most, "now" if place == 0 else "after" if place == chosen else "soft")
        lines.append((name, list(zip(headers[1:], cells, strict=True)), strip))
    return _table([*headers, ""], lines, chosen)


def guarantee(audit: Audit) -> str:
    """The guarantee in words, with its theorem."""
    promise = audit.guarantee
    assert promise is not None
    who = (
        "These predictions are"
        if promise.level is None
        else (f"With {whole(promise.level)} confidence, the law behind these rows is")
    )
    held = "So far from calibrated, noise promises nothing: recalibrate."
    if promise.cdl < 1:
        held = (
            f"Then, after {escape(rounded(promise.noise))}, nobody can lose more than <b>{percent(promise.cdl)}</b> of "
            f"their payoff range by believing the noised predictions: {escape(promise.source)}."
        )
    return (
        f'<div class="card"><p>{who} within {promise.eps:.4g} of calibrated. {held}</p>{_after(audit)}'
        '<p class="note">No noise that answers predictions one by one can promise less than '
        f"{percent(promise.least)} at this distance: {escape(promise.least_source)}.</p></div>"
    )


def _after(audit: Audit) -> str:
    """Whether the noise would help on these rows."""
    if audit.fix is None:
        return ""
    better = audit.fix.cdl < audit.cdl
    advice = "A promise for the worst case asks for much noise. Where outcomes are at hand, recalibrate instead."
    if better:
        advice = "Noise needs no outcomes, and it costs sharpness: see the curve above."
    return (
        f"<p>On these rows {escape(rounded(audit.fix.noise))} would {'' if better else 'not '}lower the most anyone "
        f"loses: it is {percent(audit.cdl)} now and {percent(audit.fix.cdl)} after it. {advice}</p>"
    )


def reading(audit: Audit) -> str:
    """What was read and what was left out."""
    lines: list[tuple[str, str]] = []
    if audit.read is not None:
        lines.append(("Source", escape(audit.read.source)))
        lines += [(escape(role.capitalize()), f"column {escape(column)}") for role, column in audit.read.columns]
        lines.append(("Rows read", f"{audit.read.rows:,}"))
        lines += [(f"Left out: {escape(reason)}", f"{count:,}") for reason, count in audit.read.dropped]
    if audit.rows is None:
        lines.append(("Rows", "none: a known law"))
    else:
        lines.append(("Rows measured", f"{audit.rows:,}"))
    if audit.rows is not None and audit.effective_rows is not None and round(audit.effective_rows) != audit.rows:
        lines.append(("Worth, with their weights", f"{audit.effective_rows:,.0f} equal rows"))
    lines.append(("Distinct predictions", f"{audit.values:,}"))
    if audit.read is not None and audit.read.resolution is not None:
        lines.append(("Predictions rounded to", f"{audit.read.resolution:.3g}"))
    if audit.cells is not None:
        lines.append(("Pooled, for frequencies, into", f"{audit.cells:,} cells of equal mass"))
    lines.append(("Mean prediction", f"{audit.mean_prediction:.4f}"))
    lines.append(("It happens at a rate of", f"{audit.base_rate:.4f}"))
    if audit.inference is not None:
        lines.append(("Draws behind intervals and p-values", f"{audit.inference.draws:,}"))
    body = "".join(f"<tr><td>{name}</td><td>{cell}</td></tr>" for name, cell in lines)
    return f"<table><tbody>{body}</tbody></table>"


def _named(measure: str) -> str:
    return f"{escape(MEASURES[measure].title)}<small>{escape(MEASURES[measure].question)}</small>"


def _equals(p: float, draws: int) -> str:
    shown = p_value(p, draws)
    return shown if shown.startswith("≤") else f"= {shown}"


def _strip(value: float, known: Uncertainty | None, most: float, colour: str = "now") -> str:
    """A value on a line, to the scale of the whole column; with its interval, and with what chance shows in grey."""
    scale = 190 / most if most else 0.0
    drawn = '<line x1="0" x2="200" y1="9" y2="9" style="stroke: var(--line)"/>'
    if known is not None:
        chance, lower, upper = (scale * x for x in (known.floor_upper, known.lower, known.upper))
        drawn += f'<rect x="0" y="3" width="{chance:.1f}" height="12" rx="2" style="fill: var(--fill)"/>'
        drawn += (
            f'<line x1="{lower:.1f}" x2="{upper:.1f}" y1="9" y2="9" style="stroke: var(--now); stroke-width: 2.5"/>'
        )
    drawn += f'<circle cx="{scale * value:.1f}" cy="9" r="4.5" style="fill: var(--{colour})"/>'
    return f'<svg viewBox="0 0 200 18" aria-hidden="true">{drawn}</svg>'


def _table(headers: list[str], lines: list[tuple[str, list[tuple[str, str]], str]], chosen: int = -1) -> str:
    """A table that stacks on a phone.  Names, cells and the drawing at the end of a line are HTML already."""
    head = "".join(f'<th scope="col">{escape(header)}</th>' for header in headers)
    body = ""
    for place, (name, cells, strip) in enumerate(lines):
        body += ('<tr class="chosen">' if place == chosen else "<tr>") + f"<td>{name}</td>"
        for label, cell in cells:
            body += f'<td data-label="{escape(label)}"><span>{cell}</span></td>' if cell else "<td></td>"
        body += f'<td class="strip">{strip}</td></tr>' if strip else "</tr>"
    return f'<table class="stack"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
