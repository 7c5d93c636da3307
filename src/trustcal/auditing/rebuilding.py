"""Frozen dataclasses as JSON and back, by their annotations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from inspect import isabstract
from math import inf, isinf
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

KIND = "kind"
"""The key that names the class, where the annotation is an abstract class."""


def plain(value: Any) -> Any:
    """A dataclass as dicts, lists, numbers and text; infinity becomes None.

    >>> from trustcal.noise import UniformNoise
    >>> plain((UniformNoise(0.5), float("inf")))
    [{'kind': 'UniformNoise', 'width': 0.5}, None]
    """
    if is_dataclass(value) and not isinstance(value, type):
        kind = {KIND: type(value).__name__} if any(map(isabstract, type(value).__mro__)) else {}
        return kind | {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, tuple):
        return [plain(part) for part in value]
    return None if isinstance(value, float) and isinf(value) else value


def rebuilt(kind: Any, value: Any, path: str, names: Mapping[str, type]) -> Any:
    """The value that `plain` made of an object of this annotation; `names` resolves annotations imported lazily.

    >>> rebuilt(tuple[float, ...] | None, [0.5, 1], "mass", {})
    (0.5, 1.0)
    """
    if isinstance(kind, UnionType):
        if value is None and NoneType in get_args(kind):
            return None
        (kind,) = (option for option in get_args(kind) if option is not NoneType)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is tuple and isinstance(value, list):
        items = [arguments[0]] * len(value) if Ellipsis in arguments else list(arguments)
        if len(items) == len(value):
            parts = enumerate(zip(items, value, strict=True))
            return tuple(rebuilt(each, part, f"{path}[{i}]", names) for i, (each, part) in parts)
    if origin is Mapping and isinstance(value, dict):
        return {key: rebuilt(arguments[1], part, f"{path}.{key}", names) for key, part in value.items()}
    if origin is Literal and value in arguments:
        return value
    if isinstance(kind, type) and isinstance(value, dict):
        if isabstract(kind):
            kind = next((one for one in _subclasses(kind) if one.__name__ == value.get(KIND)), kind)
        if is_dataclass(kind) and not isabstract(kind):
            return _dataclass(kind, value, path, names)
    if kind is float and (value is None or type(value) in (int, float)):
        return inf if value is None else float(value)
    if kind in (int, str, bool) and type(value) is kind:
        return value
    wanted = getattr(kind, "__name__", str(kind))
    raise ValueError(f"{path} must be of type {wanted}, not {value!r:.60}. The text must come from Audit.to_json.")


def _dataclass(kind: Any, value: dict[str, Any], path: str, names: Mapping[str, type]) -> Any:
    hints = get_type_hints(kind, localns=dict(names))
    wanted = [field.name for field in fields(kind)]
    missing = [name for name in wanted if name not in value]
    if missing:
        raise ValueError(f"{path} lacks {', '.join(missing)}. The text must come from Audit.to_json.")
    return kind(**{name: rebuilt(hints[name], value[name], f"{path}.{name}", names) for name in wanted})


def _subclasses(kind: type[Any]) -> list[type[Any]]:
    return [found for one in type.__subclasses__(kind) for found in (one, *_subclasses(one))]
