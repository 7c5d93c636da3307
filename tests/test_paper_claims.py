"""The live table of the paper's claims: ours hold for every seed, and exactly the known statements do not."""

from __future__ import annotations

import json

import pytest

from trustcal.cli import main
from trustcal.paper import claims

FLAWED = {
    "Table 1": "false",
    "Claim 2.4": "false",
    "Lemma 2.13": "false",
    "Definition 2.14": "incomplete",
    "Lemma 2.17": "false",
    "Lemma 3.4, Gaussian": "false",
    "Theorem 3.5, proof": "false",
    "Corollary 3.6": "a typo",
    "Lemma A.3": "false",
    "Lemma A.4": "a typo",
    "Theorem 4.1": "incomplete",
    "Corollary 4.2": "false",
    "Corollary 4.2, additive noise": "false",
    "Lemma 4.3": "false",
    "Theorem 4.4, CDL": "false",
    "Corollary 4.5": "false",
    "Introduction, Ω(T^(−1/3))": "incomplete",
}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_the_verdicts(seed: int) -> None:
    done: list[tuple[int, int]] = []
    found = claims(seed, lambda *progress: done.append(progress))
    assert done == [(count, len(found)) for count in range(1, len(found) + 1)]
    assert [claim.item for claim in found if not claim.ours_hold] == []
    assert {claim.status for claim in found} == {"as stated", "corrected", "sharpened", "open"}
    assert all("≤ c ≤" in claim.known for claim in found if claim.status == "open")
    assert {claim.item: claim.flaw for claim in found if not claim.stated_holds} == FLAWED
    assert all((claim.flaw is None) == (claim.status != "corrected") for claim in found)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_evidence() -> None:
    assert claims(5) == claims(5)


@pytest.mark.slow
def test_the_command_prints_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims"]) == 0
    printed = capsys.readouterr().out
    assert "CDL ≤ ECE" in printed
    assert printed.endswith("33 claims: 4 as stated, 17 corrected, 1 open, 11 sharpened. Ours hold.\n")


@pytest.mark.slow
def test_the_command_prints_json_and_latex(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["item"]: row["flaw"] for row in rows if row["flaw"] is not None} == FLAWED
    assert {row["status"] for row in rows if row["flaw"] is not None} == {"corrected"}
    assert main(["claims", "--latex"]) == 0
    printed = capsys.readouterr().out
    assert printed.count(r" \\") == len(rows) + 1
    assert "≤ E|X|" in printed


@pytest.mark.slow
def test_bound_and_hard(capsys: pytest.CaptureFixture[str]) -> None:
    def printed(*command: str) -> str:
        """What a command prints, wherever its lines end."""
        assert main([*command]) == 0
        return " ".join(capsys.readouterr().out.split())

    bound = printed("bound", "0.0002")
    assert "UniformNoise, width 0.02" in bound
    assert (
        "No method that sees no outcomes can guarantee less than 0.0099005 (Theorem 20, sharpening Theorem 3.5)."
        in bound
    )
    in_turn = "No method that answers each prediction from it and the earlier ones can guarantee less than 0.00356062"
    assert in_turn in printed("bound", "0.0001", "--target", "cdl")
    assert "0.032475 | Theorem 19" in printed("bound", "0.0002", "--target", "ece", "--horizon", "1000000")
    hard = printed("hard", "0.01")
    assert "No post-processing that sees no outcomes loses less than 0.065887" in hard
    assert "0.066501 | 0.091071 | 0.041740 | 0.070711" in hard
    hard = printed("hard", "1e-9")
    assert "loses less than 2.23602e-05 to the reference" in hard
    assert "2.236e-05 | 2.795e-05 | 1.258e-05 | 2.236e-05" in hard


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["bound", "0"], "eps must be a distance to calibration in (0, 1], not 0.0"),
        (["bound", "nan"], "eps must be a distance to calibration in (0, 1], not nan"),
        (["bound", "0.1", "--horizon", "0"], "horizon must be a whole number, 1 or more"),
        (["bound", "0.1", "--horizon", "9", "--target", "decision_loss"], "with a horizon the target must be"),
        (["hard", "0.3"], "must lie in (0, 0.25], not 0.3"),
        (["hard"], "the following arguments are required: EPS"),
        (["claims", "--seed", "-1"], "a seed must be an integer from 0"),
    ],
)
def test_bad_input(capsys: pytest.CaptureFixture[str], command: list[str], message: str) -> None:
    assert main(command) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""
    assert captured.err.count("\n") == 1
