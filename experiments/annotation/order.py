"""Does macro F1 gain more if labels are annotated in the order of `plan_annotation` than in another? On real scores.

At first all labels are known on the same 200 rows, drawn from the calibration rows of a file. In each of 10 rounds a
fifth of the labels get 50 more known cells each, on rows drawn for each label by itself: those of the highest gain in
the plan of that moment, those with fewest positives so far (ties at random), or any. After each round every label is
fitted anew on the rows in which it is known (`fit_empirical(..., unknown="nan")`), and macro F1 is taken on the test
rows, over labels that are true there. On average a label ends with 300 known rows.

Start, half and end are macro F1 before the first round, after 5 and after 10; in points of 100, averaged over runs. The
differences at the end are those of the plan to the others within a run, with their standard errors over runs (over
files, in the last line). Foreseen is the sum of the gains that plans foresaw for the labels that were chosen at random,
and brought is what these runs gained. Exits with 1 if the plan gains less than another order on average over the
files. Run

    OMP_NUM_THREADS=1 python experiments/annotation/order.py FOLDER_OF_NPZ | tee experiments/annotation/order.txt
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from thresholds import fit_empirical, plan_annotation
from thresholds._arrays.sparse import to_dense
from thresholds.files import read_labelled
from thresholds.metrics import f1_score

FIRST, BATCH, ROUNDS, SHARE = 200, 50, 10, 0.2
MOST_ROWS, MOST_LABELS = 2_000, 300
FILES = {
    "bibtex": ("y_score", "y_score_weak"),
    "chestxray14_chexnet": ("y_score",),
    "corel5k": ("y_score",),
    "delicious": ("y_score",),
    "litcovid_bc7": ("y_score",),
    "ohsumed23": ("y_score", "y_score_weak"),
    "ptbxl_xresnet1d101": ("y_score",),
    "pubmed_mesh": ("y_score", "y_score_weak"),
    "yeast": ("y_score", "y_score_weak"),
}
ORDERS = ("plan", "fewest", "random")

Floats = NDArray[np.float64]


class Set:
    """Truth and scores of a file, the rows to annotate and those to judge on."""

    def __init__(self, path: Path, key: str, seed: int) -> None:
        """Draw the rows, and at most so many labels, among those that are true on the test rows."""
        data = read_labelled(str(path), key)
        rng = np.random.default_rng(seed)
        calibration = np.arange(data.y_score.shape[0]) if data.calib_idx is None else data.calib_idx
        rows = rng.permutation(np.asarray(calibration))[:MOST_ROWS]
        test = np.asarray(data.test_idx)
        is_true = np.asarray(data.y_true[test].sum(axis=0)).reshape(-1) > 0
        labels = rng.permutation(np.flatnonzero(is_true))[:MOST_LABELS]
        self.truth = np.asarray(to_dense(data.y_true[rows]))[:, labels].astype(np.float64)
        self.scores = np.asarray(to_dense(data.y_score[rows]))[:, labels].astype(np.float32)
        self.new_truth = np.asarray(to_dense(data.y_true[test]))[:, labels].astype(np.uint8)
        self.new_scores = np.asarray(to_dense(data.y_score[test]))[:, labels].astype(np.float32)
        # The place of each cell in the order in which the cells of its label become known.
        later = rng.permuted(np.tile(np.arange(FIRST, len(rows)), (len(labels), 1)), axis=1).T
        self.place = np.vstack([np.tile(np.arange(FIRST), (len(labels), 1)).T, later])

    def known(self, n_known: Floats) -> tuple[Floats, Floats]:
        """Return truth, NaN where it is not known, and scores of the rows in which something is."""
        truth = np.where(self.place < n_known, self.truth, np.nan)
        some = ~np.isnan(truth).all(axis=1)
        return truth[some], self.scores[some]

    def macro_f(self, truth: Floats, scores: Floats) -> float:
        """Return macro F1 on the test rows of thresholds fitted on what is known, in points."""
        rule = fit_empirical(truth, scores, unknown="nan", n_jobs=1)
        predicted = rule.predict(self.new_scores)
        return 100 * f1_score(self.new_truth, predicted, average="macro")


def run(data: Set, order: str, seed: int) -> tuple[list[float], float]:
    """Return macro F1 before and after each round, and the gains that were foreseen."""
    rng = np.random.default_rng(seed)
    n_rows, n_labels = data.truth.shape
    n_known = np.full(n_labels, float(FIRST))
    truth, scores = data.known(n_known)
    reached = [data.macro_f(truth, scores)]
    foreseen = 0.0
    for _ in range(ROUNDS):
        plan = plan_annotation(truth, scores, unknown="nan", more_rows=BATCH, n_jobs=1)
        gain = np.empty(n_labels)
        gain[plan.table["label"]] = plan.table["gain"]
        value = {
            "plan": gain,
            "fewest": -np.nansum(truth, axis=0) + 0.5 * rng.random(n_labels),
            "random": rng.random(n_labels),
        }[order]
        value[n_known + BATCH > n_rows] = -np.inf
        chosen = np.argsort(-value, kind="stable")[: max(1, round(SHARE * n_labels))]
        foreseen += 100 * float(gain[chosen].sum())
        n_known[chosen] += BATCH
        truth, scores = data.known(n_known)
        reached.append(data.macro_f(truth, scores))
    return reached, foreseen


def mean_and_error(values: Floats) -> str:
    """Show a mean and its standard error."""
    return f"{values.mean():+6.2f} ({values.std(ddof=1) / np.sqrt(values.size):.2f})"


def main() -> None:
    """Print a line for each set of scores."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--runs", type=int, default=10)
    given = options.parse_args()
    print(f"{given.runs} runs, from {FIRST} known rows by {ROUNDS} x {BATCH} cells of {SHARE:.0%} of the labels")
    print(f"{'':32}{'labels':>7} {'start':>6} {'plan':>12} {'fewest':>12} {'random':>12}", end="")
    print(f" {'plan - fewest':>15} {'plan - random':>15} {'foreseen':>9} {'brought':>15}", flush=True)
    over_files = []  # (2,) each: what the plan gains more than the others
    for name, keys in FILES.items():
        for key in keys:
            ends = np.empty((given.runs, len(ORDERS), 3))  # start, half, end
            foreseen = np.empty(given.runs)
            for seed in range(given.runs):
                data = Set(given.folder / f"{name}.npz", key, seed)
                for k, order in enumerate(ORDERS):
                    reached, expected = run(data, order, seed)
                    ends[seed, k] = reached[0], reached[ROUNDS // 2], reached[-1]
                    if order == "random":
                        foreseen[seed] = expected
            mean = ends.mean(axis=0)
            differences = ends[:, :1, 2] - ends[:, :, 2]  # (n_runs, n_orders)
            orders = " ".join(f"{half:5.2f} {end:6.2f}" for _, half, end in mean)
            held = " ".join(mean_and_error(differences[:, k]).rjust(15) for k in (1, 2))
            brought = mean_and_error(ends[:, 2, 2] - ends[:, 2, 0]).rjust(15)
            print(f"{name + ', ' + key:32}{data.truth.shape[1]:7} {mean[0, 0]:6.2f} {orders}", end="")
            print(f" {held} {foreseen.mean():9.2f} {brought}", flush=True)
            over_files.append(differences.mean(axis=0)[1:])
    held = " ".join(mean_and_error(column).rjust(15) for column in np.transpose(over_files))
    print(f"{'mean over files':79} {held}")
    sys.exit(int((np.mean(over_files, axis=0) < 0).any()))


if __name__ == "__main__":
    main()
