"""The fields of an audit's JSON as a document, from the dataclasses themselves: python -m tests.schema"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from itertools import islice
from pathlib import Path
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from trustcal.auditing import Advice, Audit, ClassAudit, Verdict
from trustcal.auditing.class_record import VERSION as CLASS_VERSION
from trustcal.auditing.record import VERSION
from trustcal.remedies import Comparison, HeldOutGain

DOCUMENT = Path(__file__).parents[1] / "docs" / "reference" / "audit-schema.md"

HEAD = f"""# The JSON of an audit

`Audit.to_json()` and `trustcal audit --json` write one object, and `Audit.from_json` reads it back. Besides the fields
below it holds `"trustcal": "Audit"` and `"version": {VERSION}`. The version is raised when a field changes its meaning
or is removed; readers should reject versions they do not know. A tuple is a JSON array, None is null. No number is
NaN; an infinite one (a log loss) is null. Losses and errors are shares between 0 and 1 unless stated otherwise.
`verdict` and `advice` follow from the other fields, and `from_json` ignores them.

An audit of K classes (`--classes`, `classes=`) is a [ClassAudit](#classaudit), with `"trustcal": "ClassAudit"` and
`"version": {CLASS_VERSION}`. `ClassAudit.from_json` reads it back.

This page is generated from the code by `python -m tests.schema`; a test compares the two.
"""


def document() -> str:
    """The page: Audit first, then what it is made of, in order of first use; then the same for ClassAudit."""
    kinds: list[type] = [Audit]
    _add_parts(kinds, 0)
    kinds.append(ClassAudit)
    _add_parts(kinds, len(kinds) - 1)
    return HEAD + "".join(_section(kind) for kind in kinds)


def _add_parts(kinds: list[type], first: int) -> None:
    """Append what the kinds from the first on are made of, each once."""
    for kind in islice(kinds, first, None):  # the list grows on the way
        for hint in hints_of(kind).values():
            kinds += [part for part in dict.fromkeys(_parts(hint)) if part not in kinds]


def hints_of(kind: type) -> dict[str, Any]:
    """The annotations of a class; Audit imports Comparison lazily, and audits derive their verdict and advice."""
    hints = get_type_hints(kind, localns={"Comparison": Comparison, "HeldOutGain": HeldOutGain})
    if kind is ClassAudit:
        return {"verdict": Verdict, **hints}
    return {"verdict": Verdict, "advice": tuple[Advice, ...], **hints} if kind is Audit else hints


def _parts(hint: Any) -> list[type]:
    if is_dataclass(hint) and isinstance(hint, type):
        return [hint]
    return [part for argument in get_args(hint) for part in _parts(argument)]


def _quoted(text: str) -> str:
    """The text with what is indexed, such as payoff[a][y], as code: Markdown would take it for a link."""
    return re.sub(r"\w+(?:\[\w+\]){2,}", r"`\g<0>`", text)


def _section(kind: type) -> str:
    hints, about = hints_of(kind), _field_docstrings(kind)
    first = (inspect.getdoc(kind) or "").splitlines()[0]
    derived = [name for name in hints if isinstance(getattr(kind, name, None), property)]
    about |= {name: inspect.getdoc(getattr(kind, name)) or "" for name in derived}
    names = [*derived, *(field.name for field in fields(kind))]
    rows = "".join(f"| `{name}` | {_named(hints[name])} | {_quoted(about.get(name, ''))} |\n" for name in names)
    return f"\n## {kind.__name__}\n\n{first}\n\n| field | type | meaning |\n| --- | --- | --- |\n{rows}"


def _named(hint: Any) -> str:
    if isinstance(hint, UnionType):
        return " or ".join(_named(option) for option in get_args(hint))
    arguments = get_args(hint)
    if get_origin(hint) is Literal:
        return " or ".join(f'"{option}"' for option in arguments)
    if get_origin(hint) is Mapping:
        return f"object of {_named(arguments[1])}"
    if Ellipsis in arguments:
        return f"list of {_named(arguments[0])}"
    if arguments:
        return f"[{', '.join(_named(argument) for argument in arguments)}]"
    if is_dataclass(hint) and isinstance(hint, type):
        return f"[{hint.__name__}](#{hint.__name__.lower()})"
    return {
        "float": "number", "int": "integer", "str": "text", "bool": "true or false", "NoneType": "null",
        "Noise": "object: the class as `kind`, and its parameters",
    }[hint.__name__]  # fmt: skip


def _field_docstrings(kind: type) -> dict[str, str]:
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(body, ast.ClassDef)
    found = {}
    for field, text in zip(body.body, body.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
            assert isinstance(field.target, ast.Name)
            found[field.target.id] = " ".join(ast.literal_eval(text.value).split()).replace("|", "\\|")
    return found


if __name__ == "__main__":
    DOCUMENT.write_text(document())
