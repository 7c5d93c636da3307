"""Frozen dataclasses of numbers and names, rebuilt from what JSON keeps of them."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints


def rebuilt(kind: Any, value: Any, path: str) -> Any:
    """The value as the annotated kind: a dataclass, a tuple, a number, a name or None; or a refusal with the path.

    >>> rebuilt(tuple[float, ...] | None, [0.5, 1], "mass")
    (0.5, 1.0)
    """
    if isinstance(kind, UnionType):
        if value is None and NoneType in get_args(kind):
            return None
        (kind,) = (option for option in get_args(kind) if option is not NoneType)
    if get_origin(kind) is tuple and isinstance(value, list):
        item, *others = get_args(kind)
        items = [item, *others] if Ellipsis not in others else [item] * len(value)
        if len(items) == len(value):
            return tuple(
                rebuilt(each, part, f"{path}[{i}]") for i, (each, part) in enumerate(zip(items, value, strict=True))
            )
    if is_dataclass(kind) and isinstance(kind, type) and isinstance(value, dict):
        hints = get_type_hints(kind)
        names = [field.name for field in fields(kind)]
        missing = [name for name in names if name not in value]
        if missing:
            raise ValueError(f"{path} lacks {', '.join(missing)}. The text must be what Audit.to_json gave.")
        return kind(**{name: rebuilt(hints[name], value[name], f"{path}.{name}") for name in names})
    if kind is float and type(value) in (int, float):
        return float(value)
    if kind in (int, str, bool) and type(value) is kind:
        return value
    wanted = getattr(kind, "__name__", str(kind))
    raise ValueError(
        f"{path} must be of type {wanted}, but is {value!r:.60}. The text must be what Audit.to_json gave."
    )
