"""An audit of K classes in the terminal: the verdict, then tables."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from trustcal.formats import amount, four_decimals, p_equals, percent, small
from trustcal.report.terminal.console import display, number_table, plain_text, sentences
from trustcal.report.terminal.groups import few_rows, shortened

if TYPE_CHECKING:
    from trustcal.auditing.class_record import ClassAudit
    from trustcal.remedies import ClassChoice
    from trustcal.rewriting import ClassFileFix

WIDTH = 80
MOST = 30
"""At most so many classes are listed."""


def show_classes(audit: ClassAudit) -> None:
    """Print the audit: with colours in a terminal, as plain text elsewhere."""
    display(partial(_page, audit), WIDTH)


def plain_class_audit(audit: ClassAudit) -> str:
    """The audit as plain text."""
    return plain_text(partial(_page, audit), WIDTH)


def plain_class_choice(choice: ClassChoice) -> str:
    """The comparison of remedies as plain text."""
    return plain_text(lambda frame: Group(_choice(choice, frame), Text(str(choice.fitted))), WIDTH)


def class_choice_page(choice: ClassChoice, file: str | None, frame: box.Box) -> RenderableType:
    """The comparison, the remedy that was fitted, and where it was saved."""
    if choice.fitted.method == "none":
        return Group(_choice(choice, frame), Text("Nothing was written: the vectors are best left as they are."))
    saved = "Nothing was written: --save FILE keeps it."
    if file is not None:
        saved = f"Saved in {file}: apply it by trustcal fix NEW --classes COLUMNS --remedy {file} -o OUT."
    return Group(_choice(choice, frame), Text(str(choice.fitted)), Text(saved))


def class_fix_page(fix: ClassFileFix, frame: box.Box) -> RenderableType:
    """What was done to a file."""
    if not fix.written:
        return Text("Do nothing: that is the remedy, and no file is written.", style="bold")
    new = ", ".join(fix.columns[:5]) + (f", … ({len(fix.columns):,} in all)" if len(fix.columns) > 5 else "")
    parts: list[RenderableType] = [Text(str(fix.remedy), style="bold"), Text(f"{fix.rows:,} rows, new columns {new}")]
    if fix.before is not None and fix.after is not None:
        table = number_table(frame, "", "before", "after")
        table.add_row("Brier score", f"{fix.before.brier:.4f}", f"{fix.after.brier:.4f}")
        table.add_row("Log loss", four_decimals(fix.before.log_loss), four_decimals(fix.after.log_loss))
        parts.append(table)
    return Group(*parts)


def _choice(choice: ClassChoice, frame: box.Box) -> RenderableType:
    payoffs = choice.criterion == "payoff"
    table = number_table(frame, "", "excess", "± error", "Brier", "log loss", *(["payoff"] if payoffs else []))
    for one in choice.methods:
        cells = [f"{one.excess:.4f}", f"{one.standard_error:.4f}", f"{one.brier:.4f}", four_decimals(one.log_loss)]
        cells += [f"{one.value:.4f}"] if one.value is not None else []
        style = "bold" if one.name == choice.recommended else ""
        table.add_row(Text(one.name, style=style), *cells)
    rule = (
        f"Recommended: {choice.recommended}, the simplest within one standard error of the best in {choice.criterion}."
    )
    return Group(table, Text(rule))


def _page(audit: ClassAudit, frame: box.Box) -> RenderableType:
    verdict = audit.verdict
    parts: list[RenderableType] = [Text(verdict.headline, style="bold")]
    parts += [Text.assemble((f"{harm.who}: ", "bold"), harm.text) for harm in verdict.hurt]
    parts += [Text(verdict.where)] if verdict.where is not None else []
    parts += ["", _facts(audit, frame)]
    title = "With your payoffs" if audit.problem.yours else "Whoever picks the likeliest class (payoff 1 if right)"
    parts += ["", Text(title, style="bold"), _actions(audit, frame)]
    parts += ["", Text("Class by class", style="bold"), _classes(audit, frame)]
    hidden = len(audit.classes) - MOST
    if hidden > 0:
        parts.append(Text(f"{hidden:,} more classes lose less; the JSON has all of them."))
    if verdict.p_value is not None and verdict.draws is not None:
        p = p_equals(verdict.p_value, verdict.draws // 3 or 1)
        parts.append(Text(f"All in all: {p}, by the regret, the top label and the classes together; this one decides."))
    if audit.groups:
        parts += ["", Text("Group by group", style="bold"), *_groups(audit, frame)]
    if audit.pairs:
        parts += ["", Text("Pairs of classes", style="bold"), _pairs(audit, frame)]
    return Group(*parts)


def _facts(audit: ClassAudit, frame: box.Box) -> Table:
    table = Table(box=frame, show_header=False)
    table.add_column()
    table.add_column(justify="right", style="bold")
    table.add_column(style="dim")
    if audit.rows is not None:
        weighted = audit.effective_rows is not None and round(audit.effective_rows) != audit.rows
        table.add_row("Rows", f"{audit.rows:,}", f"effective {audit.effective_rows:,.0f}" if weighted else "")
    table.add_row("Classes", f"{len(audit.classes):,}", f"{audit.values:,} distinct vectors")
    table.add_row(
        "Accuracy of the top label", percent(audit.top.base_rate), f"said {percent(audit.top.mean_prediction)}"
    )
    for name, found in (("Brier score", audit.brier), ("Log loss", audit.log_loss)):
        parts = f"miscalibration {four_decimals(found.mcb)}, discrimination {four_decimals(found.dsc)}"
        table.add_row(name, four_decimals(found.loss), parts)
    table.add_row("Truthful class-wise error", small(audit.atb), "mean of ATB over the classes")
    held_out = "" if audit.worst.held_out is None else f"; {percent(audit.worst.held_out)} on held-out rows"
    table.add_row(
        "The worst payoffs lose", f"{percent(audit.worst.lower)}", f"at most {percent(audit.worst.upper)}{held_out}"
    )
    return table


def _actions(audit: ClassAudit, frame: box.Box) -> Table:
    table = number_table(frame, "recommended", "on rows", "promised\nper such row", "earned\nper such row")
    table.add_column("better")
    table.add_column("gain\nper row", justify="right")
    found = sorted((one for one in audit.problem.recommendations if one.mass > 0), key=lambda one: -one.gain)
    for one in found[:MOST]:
        promised, earned = (amount(part / one.mass) for part in (one.promised, one.earned))
        better, gain = (Text(one.better), amount(one.gain / one.mass)) if one.gain > 0 else (Text(""), "")
        table.add_row(Text(one.action), percent(one.mass), promised, earned, better, gain)
    return table


def _classes(audit: ClassAudit, frame: box.Box) -> Table:
    chance = bool(audit.top.known)
    headers = ["frequency", "mean\nsaid", "decision\nloss", *(["95 %\ninterval", "p"] if chance else [])]
    table = number_table(frame, "", *headers)
    shown = sorted(audit.views[1:], key=lambda one: -one.values["monotone_cdl"])[:MOST]
    for one in (audit.top, *shown):
        cells = [f"{one.base_rate:.3f}", f"{one.mean_prediction:.3f}", percent(one.values["monotone_cdl"])]
        if chance and one.known and one.p_value is not None:
            found = one.known[0]
            cells += [
                f"{100 * found.lower:.1f} to {percent(found.upper)}",
                small(one.p_value),
            ]
        table.add_row(Text(one.name), *cells)
    return table


def _groups(audit: ClassAudit, frame: box.Box) -> list[RenderableType]:
    """The groups that are hurt most first, and a sentence on those that are not in the table."""
    large, few = [group for group in audit.groups if not group.small], [group for group in audit.groups if group.small]
    chance = audit.problem.test is not None
    headers = [
        "rows",
        "loss",
        *(["95 % in-\nterval, %", "p"] if chance else []),
        "top\nright",
        "top\nsaid",
        "top\nloss",
    ]
    table = number_table(frame, "group", *headers)
    for group in large[:MOST]:
        ends = group.problem.ends
        cells = ["" if group.rows is None else f"{group.rows:,}", percent(group.problem.share)]
        if chance:
            cells.append("" if ends is None else f"{100 * ends[0]:.1f}–{100 * ends[1]:.1f}")
            cells.append("" if group.p_value is None else small(group.p_value))
        cells += [f"{group.top.base_rate:.3f}", f"{group.top.mean_prediction:.3f}", percent(group.top_loss)]
        table.add_row(Text(shortened(group.name)), *cells)
    parts: list[RenderableType] = [table] if large else []
    if len(large) > MOST:
        parts.append(sentences(f"{len(large) - MOST} more groups with less harm are on the page and in the JSON."))
    if few:
        known = [(group.name, group.rows or 0, group.upper or 0.0) for group in few]
        parts.append(sentences(few_rows(known, "probabilities")))
    return parts


def _pairs(audit: ClassAudit, frame: box.Box) -> Table:
    table = number_table(frame, "", "on rows", "said", "seen", "decision\nloss")
    for pair in audit.pairs[:5]:
        cells = percent(pair.share), f"{pair.said:.3f}", f"{pair.seen:.3f}", percent(pair.loss)
        table.add_row(Text(f"{pair.a} or {pair.b}"), *cells)
    return table
