"""An audit of K classes as one self-contained HTML page.  Text from the user's data is always escaped."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING

from trustcal.formats import amount, four_decimals, p_value, percent, small
from trustcal.plots import regret_matrix
from trustcal.report.page.policy import PLACE, sealed
from trustcal.report.page.svg import svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from trustcal.auditing.class_record import ClassAudit
    from trustcal.classes import ViewMeasures

MOST = 50
"""At most so many classes are listed."""
_NO_BREAK = "\u00a0"


def class_page(audit: ClassAudit, title: str) -> str:
    """The whole page.  O(size of the audit)."""
    from trustcal import __version__

    sections = [
        _first(audit),
        _figures(audit),
        _section("Recommendation by recommendation", _actions_lead(audit), _card(_actions(audit))),
        _section("Class by class", _classes_lead(audit), _card(_classes(audit))),
        _section("Group by group", _GROUPS, _card(_groups(audit))) if audit.groups else "",
        _section("Pairs of classes", _PAIRS, _card(_pairs(audit))) if audit.pairs else "",
        _section("Scores", _SCORES, _card(_scores(audit))),
        _section("The worst decision maker", "Of everybody, with any payoffs.", _card(f"<p>{_worst(audit)}</p>")),
        _section("What was read", "", _card(_read(audit))),
    ]
    body = "\n".join(part for part in sections if part).replace(" %", f"{_NO_BREAK}%")
    text = Template(_file("page.html")).substitute(
        policy=PLACE,
        title=escape(title),
        about=escape(_about(audit)),
        style=_file("page.css") + "\n" + _file("classes.css"),
        sections=body,
        version=escape(__version__),
        data="null",
        script="",
    )
    return sealed(text)


def _file(name: str) -> str:
    return (files("trustcal.report.page") / name).read_text(encoding="utf-8").strip()


def _first(audit: ClassAudit) -> str:
    verdict = audit.verdict
    kind = "verdict calm" if verdict.fine else "verdict"
    said = [f"<p><b>{escape(harm.who)}:</b> {escape(harm.text)}</p>" for harm in verdict.hurt]
    said += [f"<p>{escape(verdict.where)}</p>"] if verdict.where is not None else []
    return (
        f'<div class="first"><section class="{kind}" aria-label="verdict"><p>{escape(verdict.headline)}</p></section>'
        f'{_picture(audit)}<section class="who" aria-label="who is hurt">{"".join(said)}</section></div>'
    )


def _picture(audit: ClassAudit) -> str:
    """The matrix of recommended and better actions."""
    problem = audit.problem

    def draw(shown: ClassAudit, /, *, ax: Axes) -> Axes:
        return regret_matrix(shown.problem.actions, shown.problem.instead, ax=ax)

    label = "What each action would have earned more where another one was recommended"
    picture, _ = svg(draw, audit, 4.6, "matrix", label)
    told = (
        "A row is a recommended action, a column another one. The number is what the other one would have earned more, "
        "per row of the data, on the rows where the first was recommended. The frame marks the best replacement; a row "
        "without one was right as a whole."
    )
    if problem.test is not None and problem.action_regret > 0:
        told += f" All frames together are {amount(problem.action_regret)}; {amount(problem.test.by_chance)} is chance."
    return f'<figure class="card matrix">{picture}<figcaption>{escape(told)}</figcaption></figure>'


def _figures(audit: ClassAudit) -> str:
    problem, top, test = audit.problem, audit.top, audit.problem.test
    who = "Your decision maker loses" if problem.yours else "Who picks the likeliest loses"
    about = "per row, on these rows"
    if test is not None:
        about = f"per row; 95 % interval: {amount(test.lower)} to {amount(test.upper)}"
    entries = [
        (who, amount(problem.estimate), about),
        ("Earned per row", amount(problem.value), f"promised {amount(problem.promised)}"),
        ("Top label right", percent(top.base_rate), f"it said {percent(top.mean_prediction)}"),
    ]
    if test is None:
        entries.append(("Truthful class-wise error", small(audit.atb), "0 is perfect"))
    else:
        p = p_value(test.p_value, test.draws)
        entries.append(("Chance alone would show", amount(test.by_chance), f"p {p if p[0] == '≤' else f'= {p}'}"))
    cells = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(number)}<small>{escape(more)}</small></dd></div>"
        for name, number, more in entries
    )
    return f'<dl class="figures">{cells}</dl>'


def _actions_lead(audit: ClassAudit) -> str:
    if audit.problem.yours:
        return "With your payoffs: what each recommendation promised and earned, and what would have been better."
    return (
        "Without payoffs: whoever picks the likeliest class earns 1 if it is right. Give payoffs to see your own case."
    )


def _actions(audit: ClassAudit) -> str:
    problem = audit.problem
    found = sorted(zip(problem.recommendations, problem.gaps, strict=True), key=lambda one: -one[0].gain)
    lines = []
    for one, gap in [pair for pair in found if pair[0].mass > 0][:MOST]:
        promised, earned = (amount(part / one.mass) for part in (one.promised, one.earned))
        better, gain = (one.better, amount(one.gain)) if one.gain > 0 else ("", "")
        lines.append([one.action, percent(one.mass), promised, earned, small(gap / one.mass), better, gain])
    headers = [
        "recommended",
        "on rows",
        "promised per such row",
        "earned per such row",
        "gap",
        "better",
        "gain per row of all",
    ]
    return _table(headers, lines) + (
        '<p class="note">Gap: how far the frequencies of the classes are from the probabilities where the action is '
        "recommended, from 0 to 1.</p>"
    )


def _classes_lead(audit: ClassAudit) -> str:
    told = "Each class against the rest, and the top label: what those lose who act on its probability."
    hidden = len(audit.classes) - MOST
    return told + (f" The {MOST} that lose most; {hidden:,} more are in the JSON." if hidden > 0 else "")


def _classes(audit: ClassAudit) -> str:
    chance = bool(audit.top.known)
    headers = ["", "frequency", "mean probability", "decision loss", *(["95 % interval", "by chance", "p"] * chance)]
    shown = sorted(audit.views[1:], key=lambda one: -one.values["monotone_cdl"])[:MOST]
    return _table(headers, [_class_line(one, chance) for one in (audit.top, *shown)])


def _class_line(one: ViewMeasures, chance: bool) -> list[str]:
    cells = [one.name, f"{one.base_rate:.3f}", f"{one.mean_prediction:.3f}", percent(one.values["monotone_cdl"])]
    if chance and one.known and one.p_value is not None:
        found = one.known[0]
        cells.append(f"{percent(found.lower)} – {percent(found.upper)}")
        cells += [percent(found.floor), small(one.p_value)]
    return cells + [""] * (4 + 3 * chance - len(cells))


_GROUPS = (
    "What the decision maker loses in each group, the most hurt first; how often the top label is right there, and "
    "what those lose who act on its probability. P-values are adjusted for the number of groups."
)


def _groups(audit: ClassAudit) -> str:
    chance = audit.problem.test is not None
    headers = ["", "rows", "loss", *(["95 % interval", "p"] * chance), "top label right", "it said", "its loss"]
    lines = []
    for group in audit.groups:
        ends = group.problem.ends
        line = [group.name, "" if group.rows is None else f"{group.rows:,}", percent(group.problem.share)]
        if chance:
            line.append("" if ends is None else f"{percent(ends[0])} – {percent(ends[1])}")
            line.append("" if group.p_value is None else small(group.p_value))
        line += [percent(group.top.base_rate), percent(group.top.mean_prediction), percent(group.top_loss)]
        lines.append(line)
    return _table(headers, lines)


_PAIRS = (
    "Among the rows in which one of the two occurred: the probability of the first among the two, said and seen, and "
    "what those lose who decide between them."
)


def _pairs(audit: ClassAudit) -> str:
    lines = [
        [f"{pair.a} or {pair.b}", percent(pair.share), f"{pair.said:.3f}", f"{pair.seen:.3f}", percent(pair.loss)]
        for pair in audit.pairs
    ]
    return _table(["", "on rows", "said", "seen", "decision loss"], lines)


_SCORES = (
    "Lower is better. The score is miscalibration, which recalibration could save, minus discrimination, plus "
    "uncertainty."
)


def _scores(audit: ClassAudit) -> str:
    lines = [
        [name, *map(four_decimals, (found.loss, found.mcb, found.dsc, found.unc))]
        for name, found in (("Brier score", audit.brier), ("Log loss", audit.log_loss))
    ]
    lines.append(["Truthful class-wise error", f"{audit.atb:.5f}", "", "", ""])
    return _table(["", "score", "miscalibration", "discrimination", "uncertainty"], lines)


def _worst(audit: ClassAudit) -> str:
    worst = audit.worst
    told = (
        f"On these rows somebody with payoffs in [0, 1] loses {percent(worst.lower)} by believing the probabilities, "
        f"and nobody more than {percent(worst.upper)}: both are certified."
    )
    if worst.held_out is not None:
        told += f" A decision maker found on half of the rows loses {percent(worst.held_out)} on the other half."
    return escape(told)


def _read(audit: ClassAudit) -> str:
    lines = []
    if audit.provenance is not None:
        read = audit.provenance
        columns = ", ".join(read.columns[:20]) + (", …" if len(read.columns) > 20 else "")
        lines += [["Source", read.source], ["Probabilities", columns], ["Labels", read.outcome]]
        lines += [["Groups by", ", ".join(read.by)]] if read.by else []
        if read.dropped:
            lines.append(["Rows left out", f"{read.dropped:,} of {read.rows:,}"])
    rows = "a known distribution" if audit.rows is None else f"{audit.rows:,}"
    lines += [["Rows", rows], ["Classes", f"{len(audit.classes):,}"], ["Distinct vectors", f"{audit.values:,}"]]
    if audit.problem.test is not None:
        lines.append(["Simulations of the decision maker's regret", f"{audit.problem.test.draws:,}"])
    body = "".join(f"<tr><td>{escape(name)}</td><td>{escape(cell)}</td></tr>" for name, cell in lines)
    return f'<table class="facts"><tbody>{body}</tbody></table>'


def _about(audit: ClassAudit) -> str:
    rows = "A known distribution" if audit.rows is None else f"{audit.rows:,} rows"
    source = "" if audit.provenance is None else f" of {audit.provenance.source}"
    return f"{rows}{source}, {len(audit.classes):,} classes."


def _section(heading: str, lead: str, body: str) -> str:
    below = f'<p class="lead">{escape(lead)}</p>' if lead else ""
    return f"<section><h2>{escape(heading)}</h2>{below}{body}</section>"


def _card(body: str) -> str:
    return f'<div class="card">{body}</div>'


def _table(headers: list[str], lines: list[list[str]]) -> str:
    """A table that stacks on a phone."""
    head = "".join(f'<th scope="col">{escape(header)}</th>' for header in headers)
    body = ""
    for first, *cells in lines:
        body += f"<tr><td>{escape(first)}</td>"
        for header, cell in zip(headers[1:], cells, strict=True):
            body += f'<td data-label="{escape(header)}"><span>{escape(cell)}</span></td>' if cell else "<td></td>"
        body += "</tr>"
    return f'<table class="stack"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
