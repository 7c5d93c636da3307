"""Document: what audits of two outcomes and of K classes share, JSON that is read back exactly, and a page."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Self

from trustcal.auditing.rebuilding import plain, rebuilt
from trustcal.states import parsed
from trustcal.writing import atomically

if TYPE_CHECKING:
    from trustcal.auditing.verdict import Verdict

TITLE = "How far can these probabilities be trusted?"
"""The title of the page, unless another is given."""


@dataclass(frozen=True)
class Document(ABC):
    """Numbers, with a verdict that follows from them."""

    @property
    @abstractmethod
    def verdict(self) -> Verdict:
        """Whether the numbers can be believed, and what they mean."""

    @abstractmethod
    def _said(self) -> Mapping[str, object]:
        """What is said about the numbers: JSON has it too, for other readers, and `from_json` leaves it out."""

    @abstractmethod
    def _page(self, title: str) -> str:
        """The page."""

    @classmethod
    @abstractmethod
    def _version(cls) -> int:
        """The version of the JSON: raised when a field changes its meaning."""

    @classmethod
    def _lazily_imported(cls) -> Mapping[str, type]:
        """The classes that annotations name, but that are imported only when they are needed."""
        return {}

    def to_json(self) -> str:
        """All numbers by the names of the fields, with what is said about them: see audit-schema.md.

        Returns
        -------
        str : one JSON object, which `from_json` reads back exactly.

        O(size of the audit).
        """
        head = {"trustcal": type(self).__name__, "version": self._version()}
        said = {name: plain(value) for name, value in self._said().items()}
        numbers = {name: plain(getattr(self, name)) for name in _names(type(self))}
        return json.dumps({**head, **said, **numbers}, indent=2, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read an audit back.

        Parameters
        ----------
        text : what `to_json` returned.

        Returns
        -------
        Audit or ClassAudit : equal to the one written.

        >>> from trustcal import Predictor, audit
        >>> found = audit(Predictor([0.5], [1.0], [0.75]))
        >>> type(found).from_json(found.to_json()) == found
        True

        O(size of the audit).
        """
        state = parsed(text, cls.__name__, cls._version(), _names(cls))
        found: Self = rebuilt(cls, state, "the audit", cls._lazily_imported())
        return found

    def to_html(self, path: str | Path, title: str = TITLE) -> None:
        """Write one self-contained page: no network, no other file.  The same audit gives the same bytes.

        Parameters
        ----------
        path : the file to write, whole or not at all.
        title : the title of the page.

        O(size of the audit).
        """
        with atomically(path) as fresh:
            fresh.write_text(self._page(title), encoding="utf-8")


def _names(kind: type[Document]) -> tuple[str, ...]:
    """The fields of an audit."""
    return tuple(field.name for field in fields(kind))
