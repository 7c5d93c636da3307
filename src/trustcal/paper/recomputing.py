"""Every claim of the paper, recomputed."""

from __future__ import annotations

from collections.abc import Callable

from trustcal.checking import Role, checked_seed, generator
from trustcal.paper import claims_discussion, claims_section_2, claims_section_3, claims_section_4
from trustcal.paper.claim import Claim

_CLAIMS = (*claims_section_2.CLAIMS, *claims_section_3.CLAIMS, *claims_section_4.CLAIMS, *claims_discussion.CLAIMS)


def claims(seed: int = 0, progress: Callable[[int, int], None] | None = None) -> tuple[Claim, ...]:
    """Recompute every claim of the paper: as stated, as corrected, and the numbers that decide between the two.

    Parameters
    ----------
    seed : int, default 0
        Seed of the random examples.  The same seed gives the same evidence.
    progress : callable, optional
        Called after each claim with the number done and the total.

    Returns
    -------
    tuple of Claim
        In the paper's order.  Takes some ten seconds.
    """
    checked_seed(seed)
    found: list[Claim] = []
    for claim in _CLAIMS:
        found.append(claim(generator(seed, Role.EXAMPLES)))
        if progress is not None:
            progress(len(found), len(_CLAIMS))
    return tuple(found)
