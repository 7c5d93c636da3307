"""What is said about groups that were too many to be measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trustcal.auditing import Audit


def unmeasured(audit: Audit) -> str:
    """What was done with the groups that are not in the audit."""
    counted = ", but count in the p-values" if audit.inference is not None else ""
    return f"{audit.more_groups:,} more groups, which show less beyond chance, were not measured{counted}."
