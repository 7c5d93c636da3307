"""Every claim of the paper, recomputed: as stated, as we state it, and the numbers that decide between the two.

>>> import numpy as np
>>> claim = preliminaries.lemma_2_13(np.random.default_rng(0))
>>> claim.stated, claim.stated_holds, claim.ours_hold
('CDL ≤ ECE', False, True)
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trustcal.paper.claims import batch, online, preliminaries
from trustcal.paper.claims.claim import Claim
from trustcal.smoothing.draws import checked_seed

COUNT = len(preliminaries.CLAIMS) + len(batch.CLAIMS) + len(online.CLAIMS)


def recompute(seed: int = 0) -> Iterator[Claim]:
    """All claims in the paper's order, each computed as it is asked for; the same seed gives the same evidence."""
    checked_seed(seed)
    for room in (preliminaries, batch, online):
        for claim in room.CLAIMS:
            yield claim(np.random.default_rng(seed))


__all__ = ["COUNT", "Claim", "recompute"]
