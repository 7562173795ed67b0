"""`thresholds fit` as it comes, with guard, folds and tests, on parquet, against reading the same files with PyArrow.

Scores are float32, truth is boolean, a column for each label. Seconds are those of the processor, of fresh processes
with compiled kernels; of three rounds the shortest counts, as pages of files are in memory then. The table that PyArrow
makes has the bytes of both matrices.
"""

import tempfile
from pathlib import Path

import numpy as np
from measuring import Clock, Measured, Ratio, Row, make_data, name_shape
from starting import copied, run

import thresholds
from thresholds.rule import ThresholdRule

SHAPE, QUICK_SHAPE = (1_000_000, 200), (2_000, 20)
ROUNDS = 3
AT_MOST = 3.0
BLOCK = 100_000  # rows that are drawn at once
READ = """
import sys
from pyarrow import parquet
for path in sys.argv[1:]:
    parquet.read_table(path)
"""


def measure(quick: bool, clock: Clock) -> Measured:
    """Write both files, read them and fit to them by turns."""
    shape = QUICK_SHAPE if quick else SHAPE
    with tempfile.TemporaryDirectory() as place:
        scores, truth, rule = (str(Path(place, name)) for name in ("scores.parquet", "truth.parquet", "rule.json"))
        write(shape, scores, truth)
        where = str(Path(place, "kernels")), copied(place)
        fit = ["-m", "thresholds", "fit", scores, "--truth", truth, "-o", rule]
        run(["-m", "thresholds", "warmup"] if not quick else ["-c", ""], *where)
        for _ in range(ROUNDS):
            clock.note("PyArrow reads both files", run(["-c", READ, scores, truth], *where)[0])
            clock.note("`thresholds fit`", run(fit, *where)[0])
        checks = [agreement(scores, truth, rule)] if quick else []
    ratio = clock.lowest("`thresholds fit`") / clock.lowest("PyArrow reads both files")
    title = "`thresholds fit` of parquet / reading it with PyArrow, processor seconds"
    return [Row(title, ratio, at_most=AT_MOST, on=name_shape(shape))], checks


def write(shape: tuple[int, int], scores_path: str, truth_path: str) -> None:
    """Write scores and truth, some rows at a time."""
    import pyarrow as pa
    from pyarrow import parquet

    n_rows, n_labels = shape
    names = [f"label {j}" for j in range(n_labels)]
    kinds = {scores_path: pa.float32(), truth_path: pa.bool_()}
    writers = {
        path: parquet.ParquetWriter(path, pa.schema([(name, kind) for name in names])) for path, kind in kinds.items()
    }
    for first in range(0, n_rows, BLOCK):
        truth, scores = make_data(min(BLOCK, n_rows - first), n_labels, seed=first)
        for path, matrix in ((scores_path, scores), (truth_path, truth.astype(np.bool_))):
            writers[path].write_table(pa.table(dict(zip(names, matrix.T, strict=True))))
    for writer in writers.values():
        writer.close()


def agreement(scores_path: str, truth_path: str, rule_path: str) -> Ratio:
    """Hold the rule of the command to that of the function."""
    from pyarrow import parquet

    scores, truth = (parquet.read_table(path).to_pandas().to_numpy() for path in (scores_path, truth_path))
    expected = thresholds.fit_empirical(truth, scores, guard="shrink")
    found = thresholds.load_rule(rule_path)
    assert isinstance(found, ThresholdRule)
    off = float(np.abs(found.thresholds - expected.thresholds).max())
    return Ratio("thresholds of the command, largest difference from those of the function", off, at_most=0.0)
