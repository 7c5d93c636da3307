"""Files with one more column: predictions post-processed on the way from a file to another, or to itself."""

from __future__ import annotations

from pathlib import Path

from trustcal.reading.files import DELIMITERS, JSON_LINES, KINDS, kind
from trustcal.reading.streams import packing
from trustcal.rewriting.batches import rewrite_batches
from trustcal.rewriting.delimited import rewrite_delimited
from trustcal.rewriting.drawing import new_column
from trustcal.rewriting.json_lines import rewrite_json_lines
from trustcal.rewriting.passage import Draw, Passage, Progress
from trustcal.writing import atomically


def rewrite(
    source: str | Path,
    target: str | Path,
    *,
    prediction: str,
    draw: Draw,
    into: str | None = None,
    row_id: str | None = None,
    outcome: str | None = None,
    progress: Progress | None = None,
) -> int:
    """Copy a file of rows with the safe prediction right after the prediction; how many rows it has.

    CSV, TSV and JSON lines (also .gz and .zst) and Parquet, each to each, by their names; the target may be the source.
    Text that keeps its format keeps every other byte, and Parquet its types.  `draw` is given the predictions and the
    row ids of one block after the other, in the order of rows, and gives as many safe predictions.  Row ids are the
    column `row_id`, or positions from 0; in a CSV an id written as an integer is one.  The file must have the column
    `outcome`, if one is named.  `progress` is told how many rows
    are done, and of how many (where only the end of the file tells, an estimate).

    The target is written whole or not at all: on an error, a bad prediction in any row or an interrupt, what was there
    before is still there.

    >>> import tempfile
    >>> from trustcal.noise import UniformNoise
    >>> from trustcal.smoothing import perturb
    >>> noise = UniformNoise(0.1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "p.csv"
    ...     _ = file.write_text("p,y\\n0.25,1\\n0.5,0\\n")
    ...     rows = rewrite(file, file, prediction="p", draw=lambda q, ids: perturb(q, noise, ids=ids, seed=1).round(2))
    ...     file.read_text()
    'p,p_safe,y\\n0.25,0.32,1\\n0.5,0.47,0\\n'

    O(n) time, O(1) memory.
    """
    old, new = Path(source), Path(target)
    kinds = kind(old), _target_kind(new)
    passage = Passage(old, prediction, draw, new_column(prediction, into), row_id, outcome, progress)
    with atomically(new) as fresh:
        try:
            if kinds[0] in DELIMITERS and kinds[0] == kinds[1]:
                rewrite_delimited(old, fresh, DELIMITERS[kinds[0]], passage)
            elif kinds[0] in JSON_LINES and kinds[1] in JSON_LINES:
                rewrite_json_lines(old, fresh, passage)
            else:
                rewrite_batches(old, fresh, kinds, passage)
        except OSError as error:  # what cannot be read has been refused before it gets here
            raise ValueError(f"{new} cannot be written: {error.strerror or error}.") from None
        passage.finish()
    return passage.rows


def _target_kind(file: Path) -> str:
    suffixes = [suffix.lower() for suffix in file.suffixes]
    if packing(file) and suffixes[-2:-1] != [".parquet"]:
        suffixes.pop()
    if not suffixes or suffixes[-1] not in KINDS:
        raise ValueError(
            f"{file} cannot be written: its name must say CSV, TSV, JSON lines or Parquet, by one of "
            f"{', '.join(KINDS)}; the first four also with .gz or .zst behind."
        )
    return suffixes[-1]
