"""The saved state of forecasters, smoothers and monitors, as JSON that only the same class loads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any


def saved(kind: str, version: int, fields: Mapping[str, object]) -> str:
    """The fields as JSON, with the kind and version that `loaded` checks.

    >>> loaded(saved("Counter", 1, {"rounds": 3}), "Counter", 1, ("rounds",))
    {'rounds': 3}
    """
    return json.dumps({"trustcal": kind, "version": version, **fields})


def loaded(text: str, kind: str, version: int, names: tuple[str, ...]) -> dict[str, Any]:
    """The named fields of a state that `saved` wrote."""
    article = "an" if kind[0] in "AEIOU" else "a"
    try:
        state = json.loads(text)
    except TypeError:
        raise ValueError(
            f"the state is damaged: it must be the text that {kind}.to_json returned, not {text!r}."
        ) from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the state is not JSON ({error}). It must be what {kind}.to_json returned.") from None
    if not isinstance(state, dict) or state.get("trustcal") != kind:
        raise ValueError(f"the state is not that of {article} {kind}. It must be what {kind}.to_json returned.")
    if state.get("version") != version:
        raise ValueError(f"the state is of version {state.get('version')!r}, but this trustcal reads {version}.")
    missing = [name for name in names if name not in state]
    if missing:
        raise ValueError(f"the state lacks {', '.join(sorted(missing))}. It must be what {kind}.to_json returned.")
    return {name: state[name] for name in names}


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
