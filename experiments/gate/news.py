"""Does `diff` tell noise from news? Labels called news in two samples of one distribution, and where scores have moved.

Simulated: 200 labels that are true on .3 to 40 % of the rows; their positives score higher by .5 to 3 standard
deviations. In the second sample the scores of a third of the labels lie higher by half a standard deviation. Real: the
calibration rows of each file in two halves; in one of them the scores of a third of the labels are moved by half a
standard deviation of those of the label (of the log odds of probabilities). Run

    python experiments/gate/news.py FOLDER_OF_NPZ | tee experiments/gate/news.txt
"""

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.special import expit, logit

from thresholds import cross_fit, diff_rules
from thresholds._arrays.sparse import is_sparse
from thresholds.files import read_labelled

REPEATS = 5
POSITIVES = (0, 10, 30, 100, np.inf)
MOST_LABELS = 400  # of a real file: those with the most positives
NAMES = ("bibtex", "chestxray14_chexnet", "corel5k", "emotions", "ohsumed23", "ptbxl_xresnet1d101", "yeast")

Sample = tuple[np.ndarray, np.ndarray]
Draw = Callable[[np.random.Generator, float], tuple[Sample, Sample, np.ndarray]]


def simulated(n_old: int, n_new: int, of_shares: bool) -> Draw:
    """Return what draws two samples, in the second of which the scores of some labels lie higher."""

    def draw(rng: np.random.Generator, shift: float) -> tuple[Sample, Sample, np.ndarray]:
        rates = np.geomspace(0.003, 0.4, 200)
        apart = rng.uniform(0.5, 3, 200)
        moved = rng.random(200) < 1 / 3

        def sample(n: int, higher: np.ndarray) -> Sample:
            truth = rng.random((n, 200)) < rates
            scores = rng.normal(size=truth.shape) + apart * truth + higher
            return truth, expit(2 * scores - 3) if of_shares else scores

        return sample(n_old, np.zeros(200)), sample(n_new, shift * moved), moved

    return draw


def real(path: Path) -> Draw:
    """Return what halves the calibration rows of a file, and moves the scores of some labels in the second half."""
    data = read_labelled(str(path))
    rows = np.arange(data.y_score.shape[0]) if data.calib_idx is None else data.calib_idx
    truth, scores = data.y_true[rows], data.y_score[rows]
    truth, scores = (part.toarray() if is_sparse(part) else np.asarray(part) for part in (truth, scores))
    most = np.argsort(-truth.sum(axis=0), kind="stable")[:MOST_LABELS]
    truth, scores = truth[:, most] > 0, scores[:, most].astype(np.float64)
    of_shares = bool(scores.min() >= 0 and scores.max() <= 1)

    def draw(rng: np.random.Generator, shift: float) -> tuple[Sample, Sample, np.ndarray]:
        order = rng.permutation(len(truth))
        old, new = order[: order.size // 2], order[order.size // 2 :]
        moved = rng.random(truth.shape[1]) < 1 / 3
        x = logit(np.clip(scores[new], 1e-12, 1 - 1e-12)) if of_shares else scores[new]
        x = x + shift * moved * x.std(axis=0)
        return (truth[old], scores[old]), (truth[new], expit(x) if of_shares else x), moved

    return draw


def report(title: str, draw: Draw, average: str, guard: str | None) -> None:
    """Print shares of labels called news, by positives of the sample with fewer."""
    counts = np.zeros((3, 2, len(POSITIVES) - 1), int)  # same, unmoved, moved: news, labels; by positives
    runs = 0
    rng = np.random.default_rng(0)
    for _ in range(REPEATS):
        for shift in (0.0, 0.5):
            old, new, moved = draw(rng, shift)
            rules = [cross_fit(*sample, average, guard=guard, n_jobs=1).rule for sample in (old, new)]
            is_news = diff_rules(*rules).table["verdict"] == "news"
            positives = np.minimum(old[0].sum(axis=0), new[0].sum(axis=0))
            group = np.digitize(positives, POSITIVES[1:-1])
            kinds = [(0, np.ones(moved.size, bool))] if shift == 0 else [(1, ~moved), (2, moved)]
            runs += shift == 0 and is_news.any()
            for kind, labels in kinds:
                counts[kind, 0] += np.bincount(group[labels & is_news], minlength=len(POSITIVES) - 1)
                counts[kind, 1] += np.bincount(group[labels], minlength=len(POSITIVES) - 1)
    same, unmoved, moved_labels = counts
    print(
        f"{title:<48}{same[0].sum():>5} of {same[1].sum():<5}{runs:>3} of {REPEATS:<3}"
        f"{unmoved[0].sum():>6} of {unmoved[1].sum():<6}"
        + "".join(f"{n / of:>7.0%}" if of else "      -" for n, of in moved_labels.T)
    )


def main(folder: str | None) -> None:
    """Print both tables."""
    warnings.simplefilter("ignore")
    print(f"labels called news (false discovery rate 5 %), over {REPEATS} pairs of samples\n")
    print(f"{'':<48}{'same distribution':<26}{'a third of the labels moved by .5 sd'}")
    print(f"{'':<48}{'labels':<14}{'pairs':<10}{'unmoved':<14}{'moved, by positives':<20}")
    print(f"{'':<86}" + "".join(f"{name:>7}" for name in ("< 10", "< 30", "< 100", "more")))
    for n_old, n_new in ((300, 300), (1000, 1000), (1000, 4000)):
        for of_shares in (False, True):
            for average, guard in (("macro", "shrink"), ("macro", None), ("micro", None)):
                kind = "probabilities" if of_shares else "scores"
                title = f"{n_old}, {n_new} rows, {kind}, {average}, {guard or 'no guard'}"
                report(title, simulated(n_old, n_new, of_shares), average, guard)
    for name in NAMES if folder is not None else ():
        report(name, real(Path(folder or "") / f"{name}.npz"), "macro", "shrink")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Thresholds called news, simulated and on halves of real score files.")
    parser.add_argument(
        "folder", nargs="?", metavar="FOLDER", help="holds real score files; without it, simulations alone"
    )
    main(parser.parse_args().folder)
