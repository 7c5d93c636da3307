"""Random degenerate predictors without end: certificates must be tight on every one of them.

    make fuzz                              # 200,000; the tests run 20,000
    python -m tests.fuzz --count 1000 --seed 7

Per predictor: smCal's two certificates agree to 1e-14, DTC's interval is at most 1e-9 wide, both witnesses verify, and
DTC/2 ≤ smCal ≤ 2·DTC.  Of those with at most 300 values every tenth is verified in rational arithmetic as well.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from typing import final

import numpy as np

import trustcal.kernels
from tests.degenerate import degenerate_predictor
from trustcal import dtc_witness, smcal_witness


@final
@dataclass(frozen=True)
class Fuzzed:
    """What a run has seen."""

    predictors: int
    verified_exactly: int
    widest_smcal: float
    widest_dtc: float
    most_shots: int


def fuzz(count: int, seed: int, largest: int = 20_000) -> Fuzzed:
    """Check so many predictors; an AssertionError names the first that fails."""
    rng = np.random.default_rng(seed)
    exactly, widest_smcal, widest_dtc, most_shots = 0, 0.0, 0.0, 0
    for index in range(count):
        state = rng.bit_generator.state
        values = int(rng.integers(1, largest)) if rng.random() < 0.002 else int(10 ** rng.uniform(0, 2.5))
        q = degenerate_predictor(rng, values)
        smcal, dtc = smcal_witness(q), dtc_witness(q)
        widest_smcal = max(widest_smcal, abs(smcal.upper - smcal.lower))
        widest_dtc = max(widest_dtc, dtc.upper - dtc.lower)
        most_shots = max(most_shots, dtc.shots)
        try:
            assert abs(smcal.upper - smcal.lower) <= 1e-14
            assert 0 <= dtc.lower <= dtc.upper <= dtc.lower + 1e-9
            assert dtc.lower / 2 - 1e-14 <= smcal.upper <= 2 * dtc.upper + 1e-14
            dtc.verify()
            if len(q) <= 300 and index % 10 == 0:
                dtc.verify(exact=True)
                exactly += 1
        except (AssertionError, ArithmeticError) as error:
            raise AssertionError(f"predictor {index} of seed {seed} ({q!r}, generator {state}): {error}") from error
    return Fuzzed(count, exactly, widest_smcal, widest_dtc, most_shots)


def main() -> None:
    """Fuzz from the command line, in rounds of 10,000, each with its own seed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    trustcal.kernels.WORTH_COMPILING = 0  # many small inputs are one large one
    start = time.perf_counter()
    for done in range(0, options.count, 10_000):
        seen = fuzz(min(10_000, options.count - done), options.seed + done)
        sys.stdout.write(f"{seen}, {time.perf_counter() - start:.0f} s\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
