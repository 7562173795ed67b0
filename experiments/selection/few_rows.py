"""Which rule should a choice by micro F1 begin with? "micro, in-sample" against "micro, pool" where rows are few.

    python experiments/selection/few_rows.py FOLDER [--repeats 6]

Of each file of dense scores in FOLDER, random rows of one half (`calib_idx`) are fitted, and the other half
(`test_idx`) judges by micro F1. The first table is what both rules reach there; in the second a rule is chosen among
"micro, pool", "micro, in-sample", "micro, shared" and "micro, platt" as `select_rule` does, with either of the two
first as the reference. Means over samples, in points. `few_rows.txt` has what was printed last, when "micro, in-sample"
was called "micro". The exit status is 1 unless "micro, pool" is ahead in most cells, and the choice that begins with it
on average.
"""

import argparse
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np

import thresholds
from thresholds._engine.problem import Problem
from thresholds._results.text import aligned
from thresholds.files import read_labelled
from thresholds.fitting.by_name import Calibrators, fit_named
from thresholds.fitting.options import FitOptions
from thresholds.fitting.rules import RULES
from thresholds.metrics import f1_score
from thresholds.validation.contest import hold_contest
from thresholds.validation.cross_fit import in_folds
from thresholds.validation.held_out import decide_out_of_fold, rules_of_folds
from thresholds.validation.selection import guarded_form

SIZES = (60, 100, 300)
NAMES = ("micro, pool", "micro, in-sample", "micro, shared", "micro, platt")
REFERENCES = ("micro, in-sample", "micro, pool")


def judged(truth: Any, scores: Any, rest: tuple[Any, Any]) -> dict[str, float]:
    """Return micro F1 on the other rows, in points: of each rule, and of the choice from each reference."""
    rows = in_folds(
        truth,
        scores,
        cv=5,
        groups=None,
        random_state=0,
        sample_weight=None,
        missing=0.0,
        unknown=None,
        label_names=None,
        keep_sparse=None,
    )
    calibrators = [Calibrators() for _ in rows.pairs]  # of each fold
    decided, reached = {}, {}
    for name in NAMES:
        options = FitOptions(rule=name, n_jobs=1)
        of_folds = rules_of_folds(rows.problem, options, rows.pairs, None, calibrators)
        decided[name] = decide_out_of_fold(of_folds, rows.problem, rows.pairs)
        rule = fit_named(Problem.of(truth, scores), options)
        reached[name] = 100 * f1_score(rest[0], rule.predict(rest[1]), average="micro", zero_division=0)
    found = {name: reached[name] for name in REFERENCES}
    named = [RULES[name] for name in NAMES]
    for reference in REFERENCES:
        order = sorted(NAMES, key=lambda name: name != reference)
        barred = [rule.name for rule in named if guarded_form(rule, named) is not None]
        in_order = {name: decided[name] for name in order}
        contest = hold_contest(in_order, rows.problem, rows.folds, None, "micro", 1.0, 0.0, barred)
        found[f"from {reference}"] = reached[contest.winner.name]
    return found


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Hold two references against each other where rows are few.")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="holds the files")
    parser.add_argument("--repeats", type=int, default=6, help="samples of each size")
    options = parser.parse_args()
    warnings.simplefilter("ignore", thresholds.ScoreChangeWarning)

    body, gains = [], []
    for path in sorted(options.folder.glob("*.npz")):
        with np.load(path, allow_pickle=False) as archive:
            if "y_score" not in archive.files or archive["y_score"].shape[1] > 100:
                continue
        data = read_labelled(path)
        half, test = np.asarray(data.calib_idx), np.asarray(data.test_idx)
        rest = data.y_true[test], data.y_score[test]
        for size in SIZES:
            found = []
            for repeat in range(options.repeats if half.size >= size else 0):
                rng = np.random.default_rng([zlib.crc32(path.stem.encode()), repeat])
                rows = half[np.sort(rng.choice(half.size, size, replace=False))]
                found.append([*judged(data.y_true[rows], data.y_score[rows], rest).values()])
            if found:
                bare, pool, from_bare, from_pool = np.mean(found, axis=0)
                gains.append((pool - bare, from_pool - from_bare))
                means = (bare, pool, from_bare, from_pool)
                shown = (f"{pool - bare:+.1f}", f"{from_pool - from_bare:+.1f}")
                cells = [f"{mean:.1f}" for mean in means]
                body.append((path.stem, f"{size}", *cells[:2], shown[0], *cells[2:], shown[1]))
    head = [
        ("micro F1 on the other half", "rows", *REFERENCES, "", "chosen from", "chosen from", ""),
        ("", "", "", "", "gain", *REFERENCES, "gain"),
    ]
    print(aligned(head, body), "\n")
    of_what = ('"micro, pool" over "micro, in-sample"', "choice from it")
    for what, gain in zip(of_what, np.transpose(gains), strict=True):
        print(
            f"{what}: ahead in {(gain > 0).sum()} of {gain.size} cells, behind in {(gain < 0).sum()};"
            f" {gain.mean():+.1f} points on average, {gain.min():+.1f} to {gain.max():+.1f}"
        )
    of_rules, of_choices = np.transpose(gains)
    is_right = (of_rules > 0).mean() > 0.5 and of_choices.mean() > 0
    print("\nall claims hold" if is_right else "\nBROKEN: a choice should begin elsewhere")
    return 0 if is_right else 1


if __name__ == "__main__":
    raise SystemExit(main())
