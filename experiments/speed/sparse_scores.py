"""Fits to sparse scores, on one thread: against a loop over columns in NumPy, nanoseconds an entry, memory (Linux)."""

import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from measuring import Clock, Floats, Measured, Row, name_shape
from memory import status
from scipy import sparse

import thresholds

# Rows, labels, scores of a row.
COMMON, QUICK_COMMON = (100_000, 1_000, 20), (2_000, 50, 8)
MANY, QUICK_MANY = (50_000, 500_000, 40), (2_000, 5_000, 8)
OUTSIDE = 0.1  # of the true cells have no score
ROUNDS, QUICK_ROUNDS = 5, 1
COMPILED_ON = 500  # rows, which are fitted first
SAME = 1e-12
LOOP = "loop over columns, `np.sort` and `searchsorted`"
MACRO = "sparse macro"
FITS: dict[str, Callable[[Any, Any], Any]] = {
    MACRO: partial(thresholds.fit_empirical, n_jobs=1),
    'sparse macro with `guard="shrink"`': partial(thresholds.fit_empirical, guard="shrink", n_jobs=1),
    "sparse macro with `max_overprediction`": partial(thresholds.fit_empirical, max_overprediction=2.0, n_jobs=1),
    "`cross_fit` of sparse macro": partial(thresholds.cross_fit, guard=None, n_jobs=1),
}


def measure(quick: bool, clock: Clock) -> Measured:
    """Time fits of many entries of each label, and of few; weigh the latter."""
    rows, compared = _measure_common(quick, clock)
    return rows + _measure_many(quick, clock), compared


def _measure_common(quick: bool, clock: Clock) -> Measured:
    """Time macro against the loop, and compare the F1 of every label."""
    truth, scores = drawn(*(QUICK_COMMON if quick else COMMON))
    fit = FITS[MACRO]
    rule = fit(truth, scores)  # compiles
    for _ in range(QUICK_ROUNDS if quick else ROUNDS):
        best = clock.time(LOOP, lambda: best_f1(truth, scores))
        clock.time(MACRO, lambda: fit(truth, scores))
    ours = thresholds.metrics.f1_score(truth, rule.predict(scores), average=None)
    on = _name(scores)
    ratio = clock.median(MACRO) / clock.median(LOOP)
    row = Row(f"{MACRO} / {LOOP}, 1 thread each", ratio, at_most=1, on=on)
    return [row], [Row("F1 of sparse macro and of the loop", float(np.abs(ours - best).max()), at_most=SAME, on=on)]


def _measure_many(quick: bool, clock: Clock) -> list[Row]:
    """Time fits to very many labels, and weigh each in a fresh process."""
    truth, scores = drawn(*(QUICK_MANY if quick else MANY))
    on, rows = _name(scores), []
    for name, fit in FITS.items():
        title = f"{name}, {on}"
        fit(truth[:COMPILED_ON], scores[:COMPILED_ON])
        for _ in range(ROUNDS if name == MACRO and not quick else QUICK_ROUNDS):
            clock.time(title, lambda fit=fit: fit(truth, scores))  # type: ignore[misc]
        rows.append(Row(f"nanoseconds an entry, {name}", clock.median(title) / scores.nnz * 1e9, on=on))
    if quick or not Path("/proc/self/clear_refs").exists():
        return rows
    with tempfile.TemporaryDirectory() as folder:
        sparse.save_npz(Path(folder, "truth.npz"), truth, compressed=False)
        sparse.save_npz(Path(folder, "scores.npz"), scores, compressed=False)
        for name in FITS:
            command = [sys.executable, __file__, name, folder]
            run = partial(subprocess.run, command, check=True, capture_output=True, text=True)
            extra = int(clock.time(f"whole process, {name}", run).stdout)
            n_bytes = scores.data.nbytes + scores.indices.nbytes
            rows.append(Row(f"extra memory of {name} / memory of the entries", extra / n_bytes, on=on))
    return rows


def drawn(n_rows: int, n_labels: int, n_scores: int) -> tuple[Any, Any]:
    """Draw truth and scores in (0, 1] of labels that are equally frequent; some true cells have no score."""
    rng = np.random.default_rng(0)
    shape = n_rows, n_labels
    places = np.repeat(np.arange(n_rows), n_scores), rng.integers(0, n_labels, n_rows * n_scores)
    scores = sparse.coo_array((np.ones(places[0].size, np.float32), places), shape=shape).tocsr()
    scores.data = 1 - rng.random(scores.nnz, np.float32)  # (n_entries,)
    row = np.repeat(np.arange(n_rows), np.diff(scores.indptr))
    is_true = rng.random(scores.nnz) < 0.4 * scores.data**3
    n_outside = int(OUTSIDE * np.count_nonzero(is_true))
    rows = np.append(row[is_true], rng.integers(0, n_rows, n_outside))
    labels = np.append(scores.indices[is_true], rng.integers(0, n_labels, n_outside))
    truth = sparse.coo_array((np.ones(rows.size, np.uint8), (rows, labels)), shape=shape).tocsr()
    return (truth != 0).astype(np.uint8), scores


def best_f1(truth: Any, scores: Any) -> Floats:
    """Give the highest F1 of each label at a stored score, the plain way: sort its scores, and those of its hits."""
    by_label, hits_by_label = scores.tocsc(), scores.multiply(truth != 0).tocsc()
    positives = np.diff(truth.tocsc().indptr)  # (n_labels,)
    best = np.zeros(scores.shape[1])
    for j in range(best.size):
        up = np.sort(by_label.data[by_label.indptr[j] : by_label.indptr[j + 1]])
        hits = np.sort(hits_by_label.data[hits_by_label.indptr[j] : hits_by_label.indptr[j + 1]])
        if hits.size:
            tp = hits.size - np.searchsorted(hits, hits)
            predicted = up.size - np.searchsorted(up, hits)
            best[j] = (2 * tp / (positives[j] + predicted)).max()
    return best


def extra_memory(name: str, folder: str) -> int:
    """Give the bytes by which a fit to the saved data raises the peak of this process, its result included."""
    truth, scores = (sparse.load_npz(Path(folder, f"{part}.npz")) for part in ("truth", "scores"))
    FITS[name](truth[:COMPILED_ON], scores[:COMPILED_ON])
    Path("/proc/self/clear_refs").write_text("5")  # The peak starts afresh from the memory held now.
    before = status("VmRSS")
    result = FITS[name](truth, scores)
    most = status("VmHWM")
    del result
    return most - before


def _name(scores: Any) -> str:
    """Name the size of sparse scores."""
    return f"CSR {name_shape(scores.shape)}, {scores.nnz:,} entries"


if __name__ == "__main__":
    print(extra_memory(*sys.argv[1:]))
