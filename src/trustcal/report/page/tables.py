"""The tables of the page, as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from trustcal.formats import acts, amount, four_decimals, p_equals, p_value, percent, small, whole
from trustcal.measures.table import MEASURES
from trustcal.report.clinical import clinical_lines

if TYPE_CHECKING:
    from trustcal.auditing import Audit, GroupAudit
    from trustcal.inference import ClinicalCalibration
    from trustcal.remedies import Comparison
    from trustcal.segmenting import Segments


def figures(audit: Audit) -> str:
    """The key figures."""
    worst, loss = audit.worst_threshold, audit.loss
    interval = "of their payoff range"
    if loss.lower is not None and loss.upper is not None:
        interval = f"95 % interval: {percent(loss.lower)} to {percent(loss.upper)}"
    rule = acts(worst.instead, worst.instead_on)
    entries = [
        ("The most anyone loses", percent(loss.estimate), interval),
        (
            "Most with one threshold",
            percent(worst.loss),
            f"acts {acts(worst.threshold, worst.acts_on)}; better: {rule}",
        ),
        ("Predictions must move by", small(audit.measures["dtc"]), "on average, to be calibrated"),
    ]
    if audit.inference is None or loss.by_chance is None:
        entries.append(("Mean prediction", f"{audit.mean_prediction:.3f}", f"base rate {audit.base_rate:.3f}"))
    else:
        p = p_equals(audit.inference.test.p_value, audit.inference.test.draws)
        entries.append(
            ("Chance alone would show", percent(loss.by_chance), f"{percent(loss.shown)} on these rows, {p}")
        )
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
            _strip(entry.value, (entry.floor_upper, entry.lower, entry.upper), most),
        )
        for entry in known.measures
    ]
    return _table(headers, lines)


def groups_table(audit: Audit, groups: Sequence[GroupAudit]) -> str:
    """Groups side by side."""
    chance, yours = audit.inference is not None, audit.problem is not None
    headers = ["", "rows", "base rate", "mean prediction", "decision loss"]
    headers += (["95 % interval", "p"] if chance else []) + (["your loss per row"] if yours else [])
    most = max(max(group.loss.estimate, group.loss.upper or 0.0) for group in groups)
    lines = []
    for group in groups:
        loss = group.loss
        cells = [
            "" if group.rows is None else f"{group.rows:,}",
            f"{group.base_rate:.3f}",
            f"{group.mean_prediction:.3f}",
            f"<b>{percent(loss.estimate)}</b>",
        ]
        if chance:
            ends = None if loss.lower is None or loss.upper is None else (100 * loss.lower, percent(loss.upper))
            cells.append("" if ends is None else f"{ends[0]:.1f} – {ends[1]}")
            cells.append("" if group.p_value is None else small(group.p_value))
        if yours:
            cells.append("" if group.problem is None else amount(group.problem.estimate))
        strip = _strip(
            loss.estimate, (loss.by_chance or 0.0, loss.lower or 0.0, loss.upper or 0.0) if chance else None, most
        )
        lines.append((escape(group.name), list(zip(headers[1:], cells, strict=True)), strip))
    return _table([*headers, ""], lines)


def segments_table(found: Segments) -> str:
    """The segments that are hurt; nothing if there is none."""
    if not found.found:
        return ""
    headers = ["rows", "off by", "harm per row", "95 % interval", "harm in all", "p"]
    most = max(0.0, *(segment.upper for segment in found.found))
    lines = []
    for segment in found.found:
        cells = [
            f"{segment.rows:,}",
            f"{segment.gap:+.3f}",
            f"<b>{amount(segment.harm)}</b>",
            f"{amount(segment.lower)} – {amount(segment.upper)}",
            amount(segment.total),
            p_value(segment.p_value, found.draws),
        ]
        ends = (0.0, max(0.0, segment.lower), max(0.0, segment.upper))
        strip = _strip(max(0.0, segment.harm), ends, most)
        lines.append((escape(segment.described), list(zip(headers, cells, strict=True)), strip))
    return _table(["", *headers, ""], lines)


def scores_table(audit: Audit) -> str:
    """Proper scores and their parts, and the AUC."""
    headers, lines = ["", "value", "miscalibration", "discrimination", "uncertainty"], []
    for name, split in (("Brier score", audit.scores.brier), ("Log loss", audit.scores.log_loss)):
        parts = (split.loss, split.mcb, split.dsc, split.unc)
        cells = [four_decimals(part) for part in parts]
        lines.append((name, list(zip(headers[1:], [f"<b>{cells[0]}</b>", *cells[1:]], strict=True)), ""))
    if audit.scores.auc is not None:
        cells = [f"<b>{audit.scores.auc:.4f}</b>", "", "", ""]
        lines.append(("AUC", list(zip(headers[1:], cells, strict=True)), ""))
    return _table(headers, lines)


def clinical_table(found: ClinicalCalibration) -> str:
    """What clinical readers report."""
    lines = [
        (f"{escape(name)}<small>{escape(meaning)}</small>", [("value", f"<b>{escape(number)}</b>")], "")
        for name, number, meaning in clinical_lines(found)
    ]
    return _table(["", "value"], lines)


def comparison_table(compared: Comparison) -> str:
    """Remedies side by side."""
    headers = [
        "",
        "fitted to outcomes",
        "loss above the best",
        "Brier score",
        "AUC",
        "guaranteed loss",
        "decision loss",
    ]
    lines, chosen, most = [], -1, max(row.decision_loss for row in compared.methods)
    for place, method in enumerate(compared.methods):
        chosen = place if method.name == compared.recommended else chosen
        error = "" if method.standard_error is None else f" ± {method.standard_error:.5f}"
        cells = [
            "yes" if method.needs_outcomes else "no",
            f"{method.excess:.5f}{error}",
            f"{method.brier:.4f}",
            "" if method.auc is None else f"{method.auc:.3f}",
            "" if method.guarantee is None else f"≤ {percent(min(1.0, method.guarantee.value))}",
            f"<b>{percent(method.decision_loss)}</b>",
        ]
        name = "as they are" if method.name == "none" else escape(method.name)
        strip = _strip(
            method.decision_loss, None, most, "now" if place == 0 else "after" if place == chosen else "soft"
        )
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
    return f'<table class="facts"><tbody>{body}</tbody></table>'


def _named(measure: str) -> str:
    return f"{escape(MEASURES[measure].title)}<small>{escape(MEASURES[measure].question)}</small>"


def _strip(value: float, known: tuple[float, float, float] | None, most: float, colour: str = "now") -> str:
    """A value on a line, on the scale of the column; with what chance shows in grey, and the ends of its interval."""
    scale = 190 / most if most else 0.0
    drawn = '<line x1="0" x2="200" y1="9" y2="9" style="stroke: var(--line)"/>'
    if known is not None:
        chance, lower, upper = (scale * x for x in known)
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
