"""Saved states, changed by hand: with a checksum that fits, so that every other check must hold by itself."""

from __future__ import annotations

import json
from typing import Any

from trustcal.states import saved


def resealed(state: dict[str, Any]) -> str:
    """The state as text, with the checksum of its fields as they are now."""
    fields = {name: value for name, value in state.items() if name not in ("trustcal", "version", "checksum")}
    text = saved("", 0, fields)
    return json.dumps({**json.loads(text), "trustcal": state.get("trustcal"), "version": state.get("version")})
