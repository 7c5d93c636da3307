"""The pictures of the README show today's numbers, and are small."""

from __future__ import annotations

import re

import pytest
from PIL import Image

from examples.make_pictures import DIAGRAM, PAGE, audited, fingerprint


@pytest.mark.slow
def test_the_pictures_are_current() -> None:
    mark = fingerprint(audited())
    with Image.open(PAGE) as page:
        assert page.info["Description"] == mark, "run make pictures"
    assert re.findall(r"<dc:description>(\w+)<", DIAGRAM.read_text()) == [mark], "run make pictures"


def test_the_pictures_are_small() -> None:
    assert PAGE.stat().st_size < 150_000
    assert DIAGRAM.stat().st_size < 150_000
