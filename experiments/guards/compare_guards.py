"""Which way of choosing thresholds holds on new data: guards against the plain optimum, on files of real scores.

    python experiments/guards/compare_guards.py FOLDER [--repeats 6] [--jobs 2] [--quick] [--only NAME]

For every score key of every `.npz` in FOLDER: thresholds are chosen on random subsamples of one half of the rows
(`calib_idx`, `test_idx`: in both directions) and judged on the other half. Subsamples have 300 or 1000 rows, where the
half is at least a third larger, and 80 % of the half ("all"). They are the same for every method, so differences are
paired. An F of 0/0 is 0. `summary.py` says what is averaged how. The table is printed; a run over all files also writes
`results.md` and `results.json` beside this script. The exit status is 1 if a claim does not hold.
"""

import argparse
import json
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from micromacro import micromacro
from scut_fbr import scut_fbr
from summary import SUPPORTS, Record, Summary, versions

import thresholds
from thresholds.files import read_labelled

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

SIZES = (300, 1000, "all")
SHARE_OF_ALL = 0.8  # of a half, at the size "all"
MOST_OF_HALF = 0.75  # that a subsample of 300 or 1000 rows may be
MOST_DENSE = 2**26  # cells that are kept dense; larger sparse files stay sparse
_PARTS = ("_data", "_indices", "_indptr", "_shape")


@dataclass(frozen=True)
class Rows:
    """Truth and scores of some rows."""

    truth: Any
    scores: Any

    def take(self, rows: Ints) -> "Rows":
        """Give some of the rows."""
        return Rows(self.truth[rows], self.scores[rows])

    @cached_property
    def of_positives(self) -> tuple[Ints, Any]:
        """Give label and score of every positive cell."""
        row, label = self.truth.nonzero()
        return label, np.asarray(self.scores[row, label]).reshape(-1)

    @cached_property
    def positives(self) -> Ints:
        """Give the number of positives of each label."""
        return np.bincount(self.of_positives[0], minlength=self.scores.shape[1])

    def count(self, cuts: Floats) -> tuple[Ints, Ints]:
        """Give true positives and predictions of each label at the rule "score >= cut"; absent scores are 0."""
        n_samples, n_labels = self.scores.shape
        cuts = _rounded_up(cuts, self.scores.dtype)
        label, score = self.of_positives
        tp = np.bincount(label[score >= cuts[label]], minlength=n_labels)
        if isinstance(self.scores, np.ndarray):
            return tp, (self.scores >= cuts).sum(axis=0)
        column, data = self.scores.indices, self.scores.data
        stored = np.bincount(column, minlength=n_labels)
        predicted = np.bincount(column[data >= cuts[column]], minlength=n_labels)
        return tp, predicted + np.where(cuts <= 0, n_samples - stored, 0)


@dataclass(frozen=True)
class Task:
    """One direction of one score key of a file."""

    path: Path
    key: str
    swapped: bool
    repeats: int
    methods: tuple[str, ...] = field(default=())

    @property
    def name(self) -> str:
        """What progress shows."""
        return f"{self.path.stem} {self.key}, fitted on {'test' if self.swapped else 'calib'}_idx"


def _plain(placement: str) -> Callable[[Rows], Floats]:
    """Give the rule of highest F on the rows themselves."""
    return lambda rows: thresholds.fit_empirical(rows.truth, rows.scores, placement=placement, n_jobs=1).thresholds


def _guarded(guard: Callable[[], Any], **options: Any) -> Callable[[Rows], Floats]:
    """Give a guarded fit."""
    return lambda rows: thresholds.fit_empirical(rows.truth, rows.scores, guard=guard(), n_jobs=1, **options).thresholds


def _shrink(**options: Any) -> Callable[[], Any]:
    """Give the guard "shrink" with options."""
    return lambda: thresholds.Shrink(**options)


METHODS: dict[str, Callable[[Rows], Floats]] = {
    "fixed .5": lambda rows: np.full(rows.scores.shape[1], 0.5),
    "plain, score": _plain("score"),
    "plain, mid": _plain("mid"),
    "plain, low": _plain("low"),
    "plain, at most 3x": _guarded(lambda: None, max_overprediction=3.0, placement="score"),
    "fbr": lambda rows: scut_fbr(rows.truth, rows.scores).thresholds,
    "shrink": _guarded(lambda: "shrink"),
    "shrink, never": _guarded(_shrink(unsupported="never")),
    "shrink, at most 3x": _guarded(lambda: "shrink", max_overprediction=3.0),
    "shrink, no probabilities": _guarded(_shrink(probabilities=False)),
    "shrink, label alone": _guarded(_shrink(siblings=False, probabilities=False)),
    "micromacro": lambda rows: micromacro(rows.truth, rows.scores),
}


def score_keys(path: Path) -> list[str]:
    """Name the scores of a file that has both halves; none if it lacks a half."""
    with np.load(path, allow_pickle=False) as archive:
        names = archive.files
    if not {"calib_idx", "test_idx"} <= set(names):
        return []
    keys = {next((name.removesuffix(part) for part in _PARTS if name.endswith(part)), name) for name in names}
    return sorted(key for key in keys if key.startswith("y_score"))


def run(task: Task) -> list[Record]:
    """Fit and judge every method on every subsample of one direction."""
    data = read_labelled(task.path, task.key)
    halves = [np.asarray(data.calib_idx), np.asarray(data.test_idx)]
    fit_on, judge_on = halves[::-1] if task.swapped else halves
    everything = _dense_if_small(Rows(data.y_true, data.y_score))
    test = everything.take(judge_on)
    records = []
    for size, repeat, rows in _subsamples(task, fit_on):
        fitted = everything.take(rows)
        for method in task.methods or tuple(METHODS):
            measured = measure(METHODS[method](fitted), fitted, test)
            records.append(Record(task.path.stem, task.key, size, repeat, task.swapped, method, **measured))
    return records


def measure(cuts: Floats, fitted: Rows, test: Rows) -> dict[str, Any]:
    """Judge thresholds on the test rows."""
    tp, predicted = test.count(cuts)
    f = _ratio(2 * tp, predicted + test.positives)
    tested = test.positives > 0
    both = tested & (fitted.positives > 0)
    tp_fitted, predicted_fitted = fitted.count(cuts)
    in_sample = _ratio(2 * tp_fitted, predicted_fitted + fitted.positives)
    rate = test.positives / test.scores.shape[0]
    platypus = (predicted > 3 * test.positives) & (f < 1.5 * 2 * rate / (1 + rate))
    place = np.digitize(fitted.positives, SUPPORTS)  # 0 for labels without positives.
    return {
        "macro": f[both].mean(),
        "macro_tested": f[tested].mean(),
        "micro": 2 * tp.sum() / max(predicted.sum() + test.positives.sum(), 1),
        "optimism": in_sample[both].mean() - f[both].mean(),
        "platypus": platypus[tested].mean(),
        "f_by_support": np.bincount(place[tested], f[tested], len(SUPPORTS) + 1)[1:].tolist(),
        "n_by_support": np.bincount(place[tested], minlength=len(SUPPORTS) + 1)[1:].tolist(),
    }


def _subsamples(task: Task, half: Ints) -> Iterator[tuple[str, int, Ints]]:
    """Give size, repeat and rows of each subsample; they depend on file, size, direction and repeat alone."""
    for size in SIZES:
        n = round(SHARE_OF_ALL * half.size) if size == "all" else int(size)
        if size != "all" and n > MOST_OF_HALF * half.size:
            continue
        for repeat in range(task.repeats):
            seed = [zlib.crc32(task.path.stem.encode()), n, task.swapped, repeat]
            yield str(size), repeat, np.random.default_rng(seed).choice(half, n, replace=False)


def _dense_if_small(rows: Rows) -> Rows:
    """Store truth and scores densely where that takes little memory."""
    if rows.scores.shape[0] * rows.scores.shape[1] > MOST_DENSE:
        return rows
    return Rows(*(cells.toarray() if hasattr(cells, "toarray") else cells for cells in (rows.truth, rows.scores)))


def _ratio(numerator: Any, denominator: Any) -> Floats:
    """Divide; 0/0 is 0."""
    return np.asarray(numerator / np.maximum(denominator, 1))


def _rounded_up(cuts: Floats, dtype: np.dtype[Any]) -> Any:
    """Bring cuts into the dtype of the scores, upwards: they decide as before."""
    cast = cuts.astype(dtype)
    return np.where(cast < cuts, np.nextafter(cast, dtype.type(np.inf)), cast)


def run_all(tasks: list[Task], jobs: int) -> list[Record]:
    """Run tasks, in processes if there are several jobs, and show progress on stderr."""
    start, records = time.monotonic(), []
    with ProcessPoolExecutor(jobs) as pool:
        results = pool.map(run, tasks) if jobs > 1 else map(run, tasks)
        for done, (task, found) in enumerate(zip(tasks, results, strict=True), 1):
            records += found
            print(f"{done}/{len(tasks)} {time.monotonic() - start:6.0f} s  {task.name}", file=sys.stderr, flush=True)
    return records


def find_tasks(folder: Path, only: str | None, repeats: int, quick: bool) -> list[Task]:
    """List what is to be run; `quick` leaves out large files."""
    tasks = []
    for path in sorted(folder.glob("*.npz")):
        if only is not None and only not in path.stem:
            continue
        if quick and path.stat().st_size > 3e6:
            continue
        keys = score_keys(path)
        if not keys:
            print(f"{path.name}: left out: no calib_idx and test_idx", file=sys.stderr)
        tasks += [Task(path, key, swapped, repeats) for key in keys for swapped in (False, True)]
    return tasks


def parse_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Compare guards on files of real scores.")
    parser.add_argument(
        "folder", type=Path, metavar="FOLDER", help="holds .npz files, as thresholds compare takes them"
    )
    parser.add_argument("--repeats", type=int, default=6, help="subsamples of each size and direction (default: 6)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    parser.add_argument("--quick", action="store_true", help="one repeat, small files; prints only, claims not judged")
    parser.add_argument("--only", metavar="NAME", help="files whose name holds NAME; prints only, claims not judged")
    return parser.parse_args()


def main() -> int:
    """Run, print, write, judge."""
    options = parse_options()
    repeats = 1 if options.quick else options.repeats
    tasks = find_tasks(options.folder, options.only, repeats, options.quick)
    if not tasks:
        print(f"{options.folder} has no files with two halves", file=sys.stderr)
        return 1
    complete = not options.quick and options.only is None
    summary = Summary(run_all(tasks, options.jobs), versions(), repeats, complete)
    print(summary.markdown())
    if not complete:
        return 0
    here = Path(__file__).parent
    (here / "results.md").write_text(summary.markdown() + "\n")
    (here / "results.json").write_text(json.dumps(summary.as_json(), indent=1) + "\n")
    return 0 if all(claim.holds for claim in summary.claims()) else 1


if __name__ == "__main__":
    raise SystemExit(main())
