"""trustcal: how far probabilities can be trusted, and what it costs to act on them.

The public names are those of `__init__.pyi`.  Each is imported on first use, so that `trustcal --help` loads no numpy.
"""

import lazy_loader

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
