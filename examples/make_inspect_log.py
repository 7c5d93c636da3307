"""Make tests/inspect_log.json by Inspect itself: four questions, each answered twice with a stated confidence.

pip install inspect-ai, then python examples/make_inspect_log.py.  What was logged about the machine and the course of
events is left out; the rest is as Inspect writes it.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import Score, accuracy, scorer
from inspect_ai.solver import solver

FILE = Path(__file__).parents[1] / "tests" / "inspect_log.json"
QUESTIONS = [("2 + 2", "4"), ("3 * 3", "9"), ("Capital of France", "Paris"), ("Capital of Switzerland", "Bern")]
ANSWERS = ["4|0.9", "9|0.8", "Paris|0.99", "Zurich|0.7", "5|0.6", "9|0.85", "Paris|0.95", "Bern|0.75"]
LEFT_OUT = ("events", "events_data", "attachments", "store", "messages", "timelines")


@solver  # type: ignore[untyped-decorator]
def recorded() -> Any:
    async def solve(state: Any, _: Any) -> Any:
        place = len(QUESTIONS) * (state.epoch - 1) + int(state.sample_id[1:])
        state.output = ModelOutput.from_content("recorded", ANSWERS[place])
        return state

    return solve


@scorer(metrics=[accuracy()])  # type: ignore[untyped-decorator]
def stated_confidence() -> Any:
    async def score(state: Any, target: Any) -> Any:
        answer, confidence = state.output.completion.split("|")
        value = "C" if answer == target.text else "I"
        return Score(value=value, answer=answer, metadata={"confidence": float(confidence)})

    return score


def main() -> None:
    samples = [Sample(id=f"q{i}", input=text, target=answer) for i, (text, answer) in enumerate(QUESTIONS)]
    task = Task(dataset=samples, solver=recorded(), scorer=stated_confidence(), epochs=2, name="confidence")
    with tempfile.TemporaryDirectory() as folder:
        (found,) = evaluate(task, model="mockllm/model", log_dir=folder, log_format="json", display="none")
        log = json.loads(Path(found.location.removeprefix("file://")).read_text())
    log["eval"]["revision"] = None
    for sample in log["samples"]:
        for name in LEFT_OUT:
            sample.pop(name, None)
    FILE.write_text(json.dumps(log, indent=1) + "\n")
    sys.stdout.write(f"{found.status}, {len(log['samples'])} samples\n")


if __name__ == "__main__":
    main()
