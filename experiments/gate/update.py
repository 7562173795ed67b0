"""What does `update_rule` reach on other rows, beside keeping the old rule and fitting afresh?

Simulated: 100 labels that are true on .5 to 40 % of the rows; their positives score higher by .5 to 3 standard
deviations. In the new rows the scores of a third of the labels lie higher by `drift` standard deviations. Macro-F1 is
that of 20,000 other rows like the new ones. Real: the calibration rows of each file in two halves, an old rule from the
first and an update from the second; macro-F1 is that of the test rows. Run

    python experiments/gate/update.py FOLDER_OF_NPZ | tee experiments/gate/update.txt
"""

import argparse
import warnings
from pathlib import Path

import numpy as np

from thresholds import cross_fit, diff_rules, metrics, update_rule
from thresholds.files import read_labelled

REPEATS = 8
N_LABELS = 100
N_OTHERS = 20_000
CASES = ((1000, 1000), (1000, 300), (300, 3000), (4000, 4000))
DRIFTS = (0.0, 0.25, 0.5, 1.0)
REAL = (
    "bibtex",
    "chestxray14_chexnet",
    "code_ecg",
    "corel5k",
    "delicious",
    "emotions",
    "litcovid_bc7",
    "ohsumed23",
    "ptbxl_xresnet1d101",
    "pubmed_mesh_all",
    "yeast",
)


def on_real_rows(folder: Path) -> None:
    """Print what moves from one half of the calibration rows to the other, and macro-F1 on the test rows."""
    print("\nhalves of the calibration rows of real files, macro-F1 on the test rows, in points")
    columns = ("labels", "moved fresh", "news", "moved by update", "old rule", "fresh", "update")
    print(f"{'':<22}" + "".join(f"{column:>17}" for column in columns))
    for name in REAL:
        data = read_labelled(str(folder / f"{name}.npz"))
        order = np.random.default_rng(0).permutation(data.calib_idx)
        halves = [np.sort(rows) for rows in (order[: order.size // 2], order[order.size // 2 :])]
        old, fresh = (cross_fit(data.y_true[rows], data.y_score[rows], keep_sparse=True, n_jobs=1) for rows in halves)
        second = data.y_true[halves[1]], data.y_score[halves[1]]
        found = update_rule(old.rule, *second, keep_sparse=True, n_jobs=1)
        difference = diff_rules(old.rule, fresh.rule)
        truth, scores = data.y_true[data.test_idx], data.y_score[data.test_idx]
        reached = [
            f"{100 * metrics.f1_score(truth, rule.predict(scores), average='macro', zero_division=0.0):.2f}"
            for rule in (old.rule, fresh.rule, found.rule)
        ]
        counts = (old.rule.n_labels, int(difference.table["moved"].sum()), difference.n_news, found.n_moved)
        print(f"{name:<22}" + "".join(f"{figure:>17}" for figure in (*counts, *reached)))


def main(folder: str | None) -> None:
    """Print macro-F1 and the shares of labels that move."""
    warnings.simplefilter("ignore")
    print(f"macro-F1 on other rows, in points, and labels whose threshold moves: means of {REPEATS} pairs of samples\n")
    print(f"{'old, new rows':<16}{'drift':>6}{'old rule':>10}{'fresh':>8}{'update':>8}", end="")
    print(f"{'(standard error, update - fresh)':>34}{'moved: drifted':>16}{'others':>8}")
    for n_old, n_new in CASES:
        for drift in DRIFTS:
            reached, moves = [], []
            for seed in range(REPEATS):
                rng = np.random.default_rng(seed)
                rates = np.geomspace(0.005, 0.4, N_LABELS)
                apart = rng.uniform(0.5, 3, N_LABELS)
                has_moved = rng.random(N_LABELS) < 1 / 3

                def sample(
                    n: int,
                    higher: np.ndarray,
                    rng: np.random.Generator = rng,
                    rates: np.ndarray = rates,
                    apart: np.ndarray = apart,
                ) -> tuple[np.ndarray, np.ndarray]:
                    truth = rng.random((n, N_LABELS)) < rates
                    return truth, rng.normal(size=truth.shape) + apart * truth + higher

                old = cross_fit(*sample(n_old, 0 * rates), n_jobs=1).rule
                new = sample(n_new, drift * has_moved)
                found = update_rule(old, *new, n_jobs=1)
                truth, scores = sample(N_OTHERS, drift * has_moved)
                cuts = (old.thresholds, found.table["fresh_threshold"], found.rule.thresholds)
                reached.append([100 * metrics.f1_score(truth, scores >= cut, average="macro") for cut in cuts])
                moved = found.table["moved"]
                moves.append([moved[has_moved].mean(), moved[~has_moved].mean()])
            means = np.mean(reached, axis=0)
            off = np.array(reached)[:, 2] - np.array(reached)[:, 1]
            error = off.std(ddof=1) / np.sqrt(REPEATS)
            print(f"{f'{n_old}, {n_new}':<16}{drift:>6.2f}{means[0]:>10.2f}{means[1]:>8.2f}{means[2]:>8.2f}", end="")
            print(f"{f'{off.mean():+.2f} ({error:.2f})':>34}{np.mean(moves, 0)[0]:>16.1%}{np.mean(moves, 0)[1]:>8.1%}")
    if folder is not None:
        on_real_rows(Path(folder))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="F of updated rules on other rows, simulated and on real score files.")
    parser.add_argument(
        "folder", nargs="?", metavar="FOLDER", help="holds real score files; without it, simulations alone"
    )
    main(parser.parse_args().folder)
