"""The content security policy of a page: only its own style and its own script, each known by its hash, may apply.

So nothing that the user's data might smuggle in runs or loads anything, even if an escape were missing.
"""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html import escape, unescape

NONE = "'none'"
PLACE = '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'">'
"""What a page has in its head, until its policy is known."""
_ELEMENTS = re.compile(r"(<(style|script)\b([^>]*)>)(.*?)(</\2>)", re.DOTALL)
_STYLED = re.compile(r'<[a-zA-Z][^<>]* style="[^"]*"[^<>]*>')


def sealed(page: str) -> str:
    """The page with its policy.  Styles of single elements become classes, because a policy by hashes forbids them.

    >>> print(sealed(f'{PLACE}<style>b {{ }}</style><b style="top: 0">x</b>'))
    <meta http-equiv="Content-Security-Policy" content="default-src &#x27;none&#x27;; style-src &#x27;sha256-...
    .s0 { top: 0 !important }</style><b class="s0">x</b>

    O(size of the page).
    """
    names: dict[str, str] = {}
    parts, end = [], 0
    for element in _ELEMENTS.finditer(page):
        parts += [_classed(page[end : element.start()], names), element[0]]
        end = element.end()
    text = "".join([*parts, _classed(page[end:], names)])
    rules = "".join(f"\n.{name} {{ {_important(style)} }}" for style, name in names.items())
    text = text.replace("</style>", f"{rules}</style>", 1)
    return text.replace(PLACE, PLACE.replace("default-src 'none'", escape(_policy(text))), 1)


def _classed(text: str, names: dict[str, str]) -> str:
    """The text with classes for styles.  Only tags are changed: text from the user's data has no angle brackets."""

    def changed(tag: re.Match[str]) -> str:
        style = re.search(r' style="([^"]*)"', tag[0])
        assert style is not None
        name = names.setdefault(unescape(style[1]), f"s{len(names)}")
        bare = tag[0].replace(style[0], "", 1)
        if ' class="' in bare:
            return bare.replace(' class="', f' class="{name} ', 1)
        opening = re.match(r"<[\w:-]+", bare)
        assert opening is not None
        return f'{opening[0]} class="{name}"{bare[opening.end() :]}'

    return _STYLED.sub(changed, text)


def _important(style: str) -> str:
    """The style of an element goes before all rules of the page."""
    return "; ".join(f"{rule.strip()} !important" for rule in style.split(";") if rule.strip())


def _policy(page: str) -> str:
    hashes: dict[str, list[str]] = {"style": [], "script": []}
    for _, kind, attributes, content, _ in _ELEMENTS.findall(page):
        if "application/json" not in attributes:  # data, which no browser runs
            hashes[kind].append(f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'")
    allowed = [f"{kind}-src {' '.join(found or [NONE])}" for kind, found in hashes.items()]
    return "; ".join([f"default-src {NONE}", *allowed, "img-src data:", f"base-uri {NONE}", f"form-action {NONE}"])
