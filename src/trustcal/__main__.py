"""python -m trustcal"""

import sys

from trustcal.cli import main

sys.exit(main())
