"""python -m trustcal"""

from trustcal.cli import run

run()
