"""The state of something that runs for long, as JSON: saved, and loaded only by what saved it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any


def saved(kind: str, version: int, fields: Mapping[str, object]) -> str:
    """The fields as JSON, with the kind and version that `loaded` asks for.

    >>> loaded(saved("Counter", 1, {"rounds": 3}), "Counter", 1, ("rounds",))
    {'rounds': 3}
    """
    return json.dumps({"trustcal": kind, "version": version, **fields})


def loaded(text: str, kind: str, version: int, names: tuple[str, ...]) -> dict[str, Any]:
    """The named fields of a state that `saved` wrote, or a refusal."""
    article = "an" if kind[0] in "AEIOU" else "a"
    try:
        state = json.loads(text)
    except TypeError:
        raise ValueError(
            f"the state was changed: it must be the text that {kind}.to_json gave, not {text!r}."
        ) from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the state is not JSON ({error}). It must be what {kind}.to_json gave.") from None
    if not isinstance(state, dict) or state.get("trustcal") != kind:
        raise ValueError(f"the state is not that of {article} {kind}. It must be what {kind}.to_json gave.")
    if state.get("version") != version:
        raise ValueError(f"the state is of version {state.get('version')!r}, but this trustcal reads {version}.")
    missing = [name for name in names if name not in state]
    if missing:
        raise ValueError(f"the state lacks {', '.join(sorted(missing))}. It must be what {kind}.to_json gave.")
    return {name: state[name] for name in names}


@contextmanager
def damage_refused() -> Iterator[None]:
    """What goes wrong where a state is not what it should be is a refusal.

    >>> with damage_refused():
    ...     len(None)
    Traceback (most recent call last):
    ValueError: the state was changed: object of type 'NoneType' has no len(). It must be what to_json gave.
    """
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError) as error:
        raise ValueError(f"the state was changed: {error}. It must be what to_json gave.") from None
