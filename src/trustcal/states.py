"""The saved state of forecasters, smoothers, remedies and monitors, as JSON that only the same class loads.

A state has a kind, a version and a checksum, so that one that was cut off, edited or damaged is refused before it is
used.  The checksum is no protection against an attacker, who can compute it too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from math import isfinite
from typing import Any


def saved(kind: str, version: int, fields: Mapping[str, object]) -> str:
    """The fields as JSON, with the kind, the version and the checksum that `loaded` checks.

    >>> loaded(saved("Counter", 1, {"rounds": 3}), "Counter", 1, ("rounds",))
    {'rounds': 3}
    """
    plain = json.loads(json.dumps(fields, allow_nan=False))  # tuples are lists, and keys are text, as when loaded
    return json.dumps({"trustcal": kind, "version": version, **plain, "checksum": _checksum(plain)})


def loaded(text: str, kind: str, version: int, names: tuple[str, ...]) -> dict[str, Any]:
    """The named fields of a state that `saved` wrote.

    >>> loaded(saved("Counter", 1, {"rounds": 3}).replace("3", "4"), "Counter", 1, ("rounds",))
    Traceback (most recent call last):
    ValueError: the state was changed after it was saved: its checksum does not fit. Use one that was not.
    """
    state = parsed(text, kind, version, names)
    if state.pop("checksum", None) != _checksum(state):
        raise ValueError("the state was changed after it was saved: its checksum does not fit. Use one that was not.")
    return {name: state[name] for name in names}


def parsed(text: str, kind: str, version: int, names: tuple[str, ...]) -> dict[str, Any]:
    """All fields of a text of this kind and version, which must have the named ones and no number that is not finite.

    >>> parsed('{"trustcal": "Sum", "version": 1, "rounds": NaN}', "Sum", 1, ("rounds",))
    Traceback (most recent call last):
    ValueError: this is not a saved Sum: not JSON (NaN is not a finite number). It must be what Sum.to_json returned.
    """
    try:
        state = json.loads(text, parse_float=_finite, parse_constant=_finite)
    except TypeError:
        raise ValueError(
            f"the state is damaged: it must be the text that {kind}.to_json returned, not {text!r:.80}."
        ) from None
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"this is not a saved {kind}: not JSON ({error}). It must be what {kind}.to_json returned."
        ) from None
    if not isinstance(state, dict) or state.pop("trustcal", None) != kind:
        raise ValueError(f"this is not a saved {kind}. It must be what {kind}.to_json returned.")
    found = state.pop("version", None)
    if type(found) is not int or found != version:
        raise ValueError(f"the state is of version {found!r:.40}, but this trustcal reads {version}.")
    missing = [name for name in names if name not in state]
    if missing:
        raise ValueError(f"the state lacks {', '.join(sorted(missing))}. It must be what {kind}.to_json returned.")
    return state


@contextmanager
def damage_refused() -> Iterator[None]:
    """Turn any error while a state is restored into a ValueError.

    >>> with damage_refused():
    ...     len(None)
    Traceback (most recent call last):
    ValueError: the state is damaged: object of type 'NoneType' has no len(). It must be what to_json returned.
    """
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError) as error:
        raise ValueError(f"the state is damaged: {error}. It must be what to_json returned.") from None


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError(f"{text:.40} is not a finite number")
    return number


def _checksum(fields: Mapping[str, object]) -> str:
    return blake2b(json.dumps(fields, sort_keys=True).encode(), digest_size=16).hexdigest()
