"""The tables of the page, as HTML."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from trustcal.formats import acts, p_equals, p_value, percent, small, whole
from trustcal.measures.table import MEASURES

if TYPE_CHECKING:
    from trustcal.auditing import Audit
    from trustcal.inference import Uncertainty
    from trustcal.remedies import Comparison


def figures(audit: Audit) -> str:
    """The key figures."""
    worst, chance = audit.worst_threshold, audit.inference
    entries = [
        ("The most anyone loses", percent(audit.measures["cdl"]), "of their payoff range"),
        ("Most with one threshold", percent(worst.loss), f"acts {acts(worst.threshold)}"),
        ("Predictions must move by", small(audit.measures["dtc"]), "on average, to be calibrated"),
    ]
    if chance is None:
        entries.append(("Mean prediction", f"{audit.mean_prediction:.3f}", f"base rate {audit.base_rate:.3f}"))
    else:
        known = chance.of("cdl")
        entries.append(("Chance alone would show", percent(known.floor), p_equals(known.p_value, chance.draws)))
    return (
        '<dl class="figures">'
        + "".join(
            f"<div><dt>{escape(name)}</dt><dd>{escape(number)}<small>{escape(about)}</small></dd></div>"
            for name, number, about in entries
        )
        + "</dl>"
    )


def measures_table(audit: Audit) -> str:
    """Every measure with its question; with inference, interval, mean by chance and p-value."""
    known = audit.inference
    if known is None:
        values = audit.measures
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
    headers = ["", "rows", "base rate", "mean prediction", "distance to calibration", "decision loss"]
    headers += [] if chance is None else ["by chance", "p"]
    known = [group.uncertainty for group in audit.groups if group.uncertainty is not None]
    most = max([g.measures["cdl"] for g in audit.groups] + [u.upper for u in known] + [u.floor_upper for u in known])
    lines = []
    for group in audit.groups:
        cells = [
            "" if group.rows is None else f"{group.rows:,}",
            f"{group.base_rate:.3f}",
            f"{group.mean_prediction:.3f}",
            f"{group.measures['dtc']:.4f}",
            f"<b>{percent(group.measures['cdl'])}</b>",
        ]
        if chance is not None:
            of = group.uncertainty
            cells += ["", ""] if of is None else [percent(of.floor), p_value(of.p_value, chance.draws)]
        strip = _strip(group.measures["cdl"], group.uncertainty, most)
        lines.append((escape(group.name), list(zip(headers[1:], cells, strict=True)), strip))
    return _table([*headers, ""], lines)


def comparison_table(compared: Comparison) -> str:
    """Remedies side by side."""
    headers = ["", "fitted to outcomes", "calibration error", "Brier score", "AUC", "guaranteed loss", "decision loss"]
    lines, chosen, most = [], -1, max(row.cdl for row in compared.methods)
    for place, method in enumerate(compared.methods):
        chosen = place if method.name == compared.recommended else chosen
        cells = [
            "yes" if method.needs_outcomes else "no",
            f"{method.ece:.4f}",
            f"{method.brier:.4f}",
            f"{method.auc:.3f}",
            "" if method.guarantee is None else f"≤ {percent(min(1.0, method.guarantee.value))}",
            f"<b>{percent(method.cdl)}</b>",
        ]
        name = "as they are" if method.name == "none" else escape(method.name)
        strip = _strip(method.cdl, None, most, "now" if place == 0 else "after" if place == chosen else "soft")
        lines.append((name, list(zip(headers[1:], cells, strict=True)), strip))
    return _table([*headers, ""], lines, chosen)


def provenance_table(audit: Audit) -> str:
    """What was read and what was left out."""
    lines: list[tuple[str, str]] = []
    facts = audit.provenance
    if facts is not None:
        lines.append(("Source", escape(facts.source)))
        lines += [(escape(role.capitalize()), f"column {escape(column)}") for role, column in facts.columns.roles]
        lines.append(("Rows read", f"{facts.rows:,}"))
        lines += [(f"Left out: {escape(reason)}", f"{count:,}") for reason, count in facts.dropped.reasons]
    if audit.rows is None:
        lines.append(("Rows", "none: a known distribution"))
    else:
        lines.append(("Rows measured", f"{audit.rows:,}"))
    if audit.weighted:
        lines.append(("Effective sample size", f"{audit.effective_rows:,.0f}"))
    lines.append(("Distinct predictions", f"{audit.values:,}"))
    if facts is not None and facts.resolution:
        lines.append(("Predictions rounded to", f"{facts.resolution:.3g}"))
    if audit.cells is not None:
        lines.append(("Predictions pooled into", f"{audit.cells:,} bins of equal mass"))
    lines.append(("Mean prediction", f"{audit.mean_prediction:.4f}"))
    lines.append(("Base rate", f"{audit.base_rate:.4f}"))
    if audit.inference is not None:
        lines.append(("Simulations for p-values and intervals", f"{audit.inference.draws:,}"))
    body = "".join(f"<tr><td>{name}</td><td>{cell}</td></tr>" for name, cell in lines)
    return f"<table><tbody>{body}</tbody></table>"


def _named(measure: str) -> str:
    return f"{escape(MEASURES[measure].title)}<small>{escape(MEASURES[measure].question)}</small>"


def _strip(value: float, known: Uncertainty | None, most: float, colour: str = "now") -> str:
    """A value on a line, on the scale of the column; with its interval, and what chance shows in grey."""
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
    """A table that stacks on a phone.  Names, cells and strips are HTML already."""
    head = "".join(f'<th scope="col">{escape(header)}</th>' for header in headers)
    body = ""
    for place, (name, cells, strip) in enumerate(lines):
        body += ('<tr class="chosen">' if place == chosen else "<tr>") + f"<td>{name}</td>"
        for label, cell in cells:
            body += f'<td data-label="{escape(label)}"><span>{cell}</span></td>' if cell else "<td></td>"
        body += f'<td class="strip">{strip}</td></tr>' if strip else "</tr>"
    return f'<table class="stack"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
