"""Hypothesis: the same examples every time in CI, new ones at every run elsewhere, 10,000 of them at night.

pytest --hypothesis-profile=nightly tests/test_theorems.py …         # make nightly
"""

import os

from hypothesis import settings

settings.register_profile("new examples", deadline=None)
settings.register_profile("same examples", deadline=None, derandomize=True)
settings.register_profile("nightly", deadline=None, max_examples=10_000)
settings.load_profile("same examples" if os.environ.get("CI") else "new examples")
