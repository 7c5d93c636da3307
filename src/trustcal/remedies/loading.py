"""Remedies that were saved, for two outcomes or for K classes."""

from __future__ import annotations

import json
from pathlib import Path

from trustcal.checking.files import text_of
from trustcal.remedies.class_remedy import ClassRemedy
from trustcal.remedies.remedy import Remedy, remedy_of_json


def from_json(text: str) -> Remedy | ClassRemedy:
    """The remedy that `Remedy.to_json` or `ClassRemedy.to_json` saved.

    Parameters
    ----------
    text : str
        What `to_json` returned.  Text that was changed, or is of a newer version, raises an error.

    Returns
    -------
    Remedy or ClassRemedy

    Examples
    --------
    >>> from trustcal.remedies import fit
    >>> saved = fit("Platt", [0, 1, 0, 1], [0.2, 0.4, 0.6, 0.8]).to_json()
    >>> from_json(saved.replace("Platt", "Plato"))
    Traceback (most recent call last):
    ValueError: the state was changed after it was saved: its checksum does not fit. Use one that was not.

    O(k) for a map of k points.
    """
    return ClassRemedy.from_json(text) if _kind(text) == "ClassRemedy" else remedy_of_json(text)


def load(path: str | Path) -> Remedy | ClassRemedy:
    """The remedy in a file that `Remedy.save` or `ClassRemedy.save` wrote.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    Remedy or ClassRemedy

    O(k) for a map of k points.
    """
    text = text_of(path)
    try:
        return from_json(text)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _kind(text: str) -> object:
    """What the text says it is; None if it is no JSON object, and whoever reads it says so."""
    try:
        state = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return None
    return state.get("trustcal") if isinstance(state, dict) else None
