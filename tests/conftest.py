"""Hypothesis: the same examples every time in CI, new ones at every run elsewhere."""

import os

from hypothesis import settings

settings.register_profile("new examples", deadline=None)
settings.register_profile("same examples", deadline=None, derandomize=True)
settings.load_profile("same examples" if os.environ.get("CI") else "new examples")
