"""The matrix of recommended and better actions: which recommendation is wrong, and how expensively."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import ArrayLike

from trustcal.checking import as_numbers
from trustcal.formats import amount
from trustcal.plots.axes import new_axes, palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST: Final = 12
"""At most so many actions are drawn: those whose recommendations, or whose use instead, matter most."""
_FEW: Final = 5
"""With more actions than this, only what would have been clearly better is written into the cells."""
_FAINT: Final = 0.02
"""Smaller gains, as shares of the largest, are then left out."""
_ACROSS: Final = 40
"""More letters than this do not fit side by side."""
_LONGEST: Final = 14
"""Longer names are cut."""


def regret_matrix(actions: Sequence[str], instead: ArrayLike, *, ax: Axes | None = None) -> Axes:
    """Draw what each action would have earned more where another one was recommended.

    A row is a recommended action and a column another one.  The stronger the colour, the more it would have earned on
    the rows where the first was recommended; the best action of each row has a frame.  Where nothing is coloured in a
    row, the recommendation was right as a whole.

    Parameters
    ----------
    actions : sequence of str
        The names of the actions.
    instead : array-like of shape (actions, actions)
        instead[a, b] is what b would have earned more than a per row of the data, where a was recommended; as in
        `ClassAudit.problem.instead`.
    ax : matplotlib axes, optional
        New ones by default.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = regret_matrix(["keep", "sell"], [[0.0, 0.25], [-0.1, 0.0]], ax=Figure().subplots())
    >>> ax.get_ylabel(), [text.get_text() for text in ax.texts]
    ('recommended', ['+0.25', '−0.1'])

    O(actions²).
    """
    from matplotlib.patches import Rectangle

    table = as_numbers(instead, "instead")
    names = [str(name) for name in actions]
    if table.shape != (len(names), len(names)):
        raise ValueError(f"instead must have {len(names)} rows and columns, one per action, not {table.shape}.")
    ax = new_axes(ax)
    colours = palette(ax)
    weight = np.maximum(table, 0.0).max(axis=1) + np.maximum(table, 0.0).max(axis=0)
    kept = np.sort(np.argsort(-weight, kind="stable")[:MOST])
    shown = table[np.ix_(kept, kept)]
    most = float(shown.max()) or 1.0
    for i, row in enumerate(shown):
        best = int(np.argmax(row))
        for j, gain in enumerate(row):
            strength = max(0.0, gain / most)
            ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor=colours.now, alpha=0.75 * strength, linewidth=0))
            if i == j:
                ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor=colours.fill, alpha=0.35, linewidth=0))
            elif abs(gain) > 1e-12 * most and (len(kept) <= _FEW or strength > _FAINT):
                sign = "" if len(kept) > _FEW else "+" if gain > 0 else "−"
                told = sign + amount(float(f"{abs(gain):.2g}"))
                ink = colours.ink if gain > 0 else colours.soft
                ax.text(j, i, told, ha="center", va="center", color=ink, fontsize="small")
        if row[best] > 1e-12 * most:
            frame = Rectangle((best - 0.46, i - 0.46), 0.92, 0.92, fill=False, edgecolor=colours.ink, linewidth=1.6)
            ax.add_patch(frame)
    labels = [_short(names[k]) for k in kept]
    ax.set_xlim(-0.5, len(kept) - 0.5)
    ax.set_ylim(len(kept) - 0.5, -0.5)
    ax.xaxis.tick_top()
    ax.set_xticks(range(len(kept)), labels)
    if max(map(len, labels)) * len(labels) > _ACROSS:
        for label in ax.get_xticklabels():
            label.set(rotation=45, ha="left", rotation_mode="anchor")
    ax.set_yticks(range(len(kept)), labels)
    ax.xaxis.set_label_position("top")
    ax.set_xlabel("instead", color=colours.soft)
    ax.set_ylabel("recommended", color=colours.soft)
    ax.tick_params(colors=colours.ink, length=0)
    for side in ax.spines.values():
        side.set_visible(False)
    for k in range(1, len(kept)):
        ax.axhline(k - 0.5, color=colours.line, linewidth=0.6, zorder=0)
        ax.axvline(k - 0.5, color=colours.line, linewidth=0.6, zorder=0)
    return ax


def _short(name: str) -> str:
    plain = name.replace("$", r"\$")  # not the start of mathematics
    return plain if len(plain) <= _LONGEST else f"{plain[: _LONGEST - 1]}…"
