"""Which labels of a row to keep where only k may be predicted? Seven orders, on held-out rows of real score files.

Thresholds are fitted on the `calib_idx` rows of each file, the decisions about its `test_idx` rows are capped, and the
F1 that was fitted for is measured there, in points. k is 1, the mean number of true labels of a row, and twice that,
where more than 2 % of the rows would get more. The columns:

    uncapped     without a cap
    score        the highest scores
    margin       the highest scores above their thresholds
    p own        the highest probabilities: a logistic curve for each label by itself
    p            the same, curves that lean on those of all labels
    gain own     the highest gains of macro F, by the first curves
    gain         the same by the second: what `max_predicted_per_row` does for macro and weighted
    again        gains at the counts of the capped decisions of the fit's rows, three times over
    refit        thresholds fitted anew, without a guard, to the cells that the cap (by `gain` or `p`, the
                 average's own) leaves on the rows of the fit, then capped alike

The mean over cases of each average, and how often each order is the best of the first four kinds, stand below. Run

    OMP_NUM_THREADS=1 python experiments/budgets/orders.py FOLDER | tee experiments/budgets/orders.txt
"""

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from thresholds import fit_empirical
from thresholds._arrays.sparse import is_sparse
from thresholds._engine.problem import Problem
from thresholds.files import read_labelled
from thresholds.fitting.capping import _Counts, _counts_by_label, _curves, _gains
from thresholds.fitting.odds import odds_by_score
from thresholds.fitting.options import FitOptions
from thresholds.metrics import f1_score
from thresholds.rule import Rule
from thresholds.rule.capped import CappedRule
from thresholds.rule.gains import GainByScore

FILES = ("code_ecg", "emotions", "yeast", "litcovid_bc7", "chestxray14_chexnet", "ptbxl_xresnet1d101", "ohsumed23",
         "bibtex", "corel5k", "pubmed_mesh")  # fmt: skip
FITS = (("macro", None), ("macro", "shrink"), ("weighted", "shrink"), ("micro", None), ("micro", "pool"),
        ("samples", None))  # fmt: skip
ORDERS = ("uncapped", "score", "margin", "p own", "p", "gain own", "gain", "again", "refit")
ROUNDS = 3


def main() -> None:
    """Measure every file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    warnings.filterwarnings("ignore")
    print(f"{'file':20} {'average':9} {'guard':7} {'k':>2} {'over':>5} " + " ".join(f"{name:>8}" for name in ORDERS))
    found: dict[str, list[list[float]]] = {}
    for name in FILES:
        for average, guard, k, over, values in cases(folder / f"{name}.npz"):
            found.setdefault(average, []).append(values)
            figures = " ".join(f"{value:8.2f}" for value in values)
            print(f"{name:20} {average:9} {guard or '-':7} {k:2} {over:5.2f} {figures}", flush=True)
    print()
    for average, rows in found.items():
        means = np.mean(rows, axis=0)
        figures = " ".join(f"{value:8.2f}" for value in means)
        print(f"{f'mean of {len(rows)} cases':20} {average:9} {'':7} {'':2} {'':5} {figures}")
    for average, rows in found.items():
        own = ORDERS.index("gain" if average in ("macro", "weighted") else "p")
        table = np.array(rows)
        for rival in ("score", "margin", "refit"):
            other = table[:, ORDERS.index(rival)]
            print(
                f"{average}: {ORDERS[own]} is above {rival} in {np.count_nonzero(table[:, own] > other)} of {len(rows)}"
                f" cases, below in {np.count_nonzero(table[:, own] < other)}"
            )


def cases(path: Path) -> Any:
    """Fit, cap and judge: average, guard, k, the share of rows that would get more, and F1 by each order."""
    data = read_labelled(path, "y_score")
    with np.load(path) as archive:
        fit_rows, test_rows = archive["calib_idx"], archive["test_idx"]
    truth, scores = dense(data.y_true).astype(np.uint8), dense(data.y_score)
    problem = Problem.of(truth[fit_rows], scores[fit_rows])
    labels_a_row = truth.sum(axis=1).mean()
    for average, guard in FITS:
        options = FitOptions(average=average, guard=guard, per_label=average != "samples")
        rule = fit_empirical(problem.truth, problem.scores, average, guard=guard, per_label=options.per_label)
        makers = orders_of(rule, problem, options)
        decided = rule.predict(scores[test_rows])
        for k in sorted({1, max(1, round(labels_a_row)), max(1, round(2 * labels_a_row))}):
            over = float((decided.sum(axis=1) > k).mean())
            if over < 0.02:
                continue
            values = [100 * f1_score(truth[test_rows], decided, average=average, zero_division=0.0)]
            for make in makers:
                capped = make(k).predict(scores[test_rows])
                values.append(100 * f1_score(truth[test_rows], capped, average=average, zero_division=0.0))
            yield average, guard, k, over, values


def orders_of(rule: Rule, problem: Problem, options: FitOptions) -> list[Any]:
    """Return what caps a rule at k, for each order after the first."""
    counts = _counts_by_label(rule, problem)
    leaning = _curves(problem, options)
    odds = odds_by_score(problem, rule.thresholds)
    own = leaning._replace(at=np.array(odds.at), level=np.array(odds.level), slope=np.array(odds.slope))
    micro, macro = fit_like("micro"), fit_like("weighted" if options.average == "weighted" else "macro")

    def gains(curves: Any, like: Any, of_counts: _Counts = counts) -> GainByScore:
        return _gains(problem, of_counts, curves, like)

    def by(order: GainByScore) -> Any:
        return lambda k: CappedRule(rule, k, "gain", order)

    def again(k: int) -> CappedRule:
        capped = by(gains(leaning, macro))(k)
        for _ in range(ROUNDS):
            capped = by(gains(leaning, macro, _counts_by_label(capped, problem)))(k)
        return capped

    def refit(k: int) -> CappedRule:
        like = macro if options.average in ("macro", "weighted") else micro
        order = gains(leaning, like)
        everything = fit_empirical(problem.truth, problem.scores, "micro").replace(
            dict.fromkeys(range(problem.n_labels), -np.inf)
        )
        kept = CappedRule(everything, k, "gain", order).predict(problem.scores)
        left = np.where(kept > 0, problem.scores, -np.inf)
        anew = fit_empirical(problem.truth, left, options.average, per_label=options.per_label)
        return CappedRule(anew, k, "gain", order)

    return [
        lambda k: CappedRule.around(rule, k),
        lambda k: CappedRule.around(rule, k, "margin"),
        by(gains(own, micro)),
        by(gains(leaning, micro)),
        by(gains(own, macro)),
        by(gains(leaning, macro)),
        again,
        refit,
    ]


def fit_like(average: str) -> Any:
    """Return something of that average whose F is F1."""
    return fit_empirical([[1], [0]], [[1.0], [0.0]], average)


def dense(cells: Any) -> Any:
    """Return a dense array."""
    return cells.toarray() if is_sparse(cells) else np.asarray(cells)


if __name__ == "__main__":
    main()
