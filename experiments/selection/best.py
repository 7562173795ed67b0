"""Is the rule that `select_rule` chooses the best one on other rows? Real scores, judged on the other half.

    python experiments/selection/best.py FOLDER [--only NAME] [--average NAME] [--seed 0] [--jobs 1]

For every score key of every `.npz` in FOLDER, and both directions of its halves (`calib_idx`, `test_idx`): every rule
of the list is cross-fitted on one half, as `select_rule` does, fitted on all of it, and judged on the other half by
macro, weighted, micro and samples F1. An F of 0/0 is 0. Sparse scores are cut above the entries that they leave out, as
on the command line. Rows of a patient stay in one fold, where the file names patients. With `--average` it is by that
average alone, and of the rules that are fitted for it.

Printed, for each average, in points of F1: how far each way of choosing is behind the rule that is best on the other
half in hindsight, and ahead of the reference; on how many halves it is worse than the reference; and how far the
out-of-fold figure of what it chooses is above F1 on the other half. Ways of choosing are the reference alone; a gain
that is shown, as in `select_rule`; the same where fits without a guard may be chosen, too; a gain of one standard
error; and the highest figure. Means are over data sets (all keys and both directions of the same rows are one), with
standard errors over these, and over halves.

References, and the level of the test, were settled on every other data set by name, marked *; figures of these and of
the rest stand apart. That fits without a guard are not chosen was settled when all had been seen.

At last, where `select_rule` leaves the reference, and what comes of it, with the standard error on the other half.
`best.txt` has what was printed last, `other_folds.txt` what `--seed 1` printed; both began by micro F1 from the fit
without a guard, not from "micro, pool". The exit status is 1 if a claim of `select_rule` is broken: on average over
halves it is at most .3 points behind the best, and never worse than the reference by macro and micro F1 (with other
folds it is, by at most .03 points).
"""

import argparse
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np

from thresholds._checks import group_numbers
from thresholds._engine.problem import Problem
from thresholds.files import read_labelled
from thresholds.fitting.by_name import Calibrators, Shared, fit_named, why_not
from thresholds.metrics.jackknife import standard_error_of
from thresholds.metrics.judging import decide_all, f_measure, judge
from thresholds.metrics.leaving_out import leave_out_of
from thresholds.rule import Rule
from thresholds.validation.contest import Entry, hold_contest
from thresholds.validation.cross_fit import in_folds
from thresholds.validation.held_out import decide_out_of_fold, rules_of_folds
from thresholds.validation.selection import REFERENCES, guarded_form, in_order, options_for

PARTS = ("_data", "_indices", "_indptr", "_shape")
ALLOWED = 0.003  # that the choice may be behind the best in hindsight, on average
NEVER_WORSE = ("macro", "micro")  # than the reference
OPTIONS = {"keep_sparse": True, "n_jobs": 1}


class Half(NamedTuple):
    """One score key of a file in one direction, by one average."""

    data_set: str  # the file, without "_all" and "_weak": files of the same rows are one
    name: str
    entries: list[Entry]  # of the contest, the reference first
    winner: Entry
    figure_of_choice: float
    reached: dict[str, float]  # F on the other half, by rule
    error: float  # the standard error of the winner's gain over the reference there

    @property
    def reference(self) -> Entry:
        """The rule that is chosen unless a gain over it is shown."""
        return self.entries[0]

    @property
    def best(self) -> float:
        """F on the other half of the best rule in hindsight."""
        return max(self.reached.values())


def unguarded_too(half: Half) -> Entry:
    """Choose the largest gain that is shown, of fits without a guard, too."""
    shown = [entry for entry in half.entries if entry.gains[0].is_shown]
    return max(shown, key=lambda entry: entry.gains[0].value, default=half.reference)


def one_standard_error(half: Half) -> Entry:
    """Choose the largest gain of those above one standard error."""
    gaining = [
        entry for entry in half.entries if entry.may_win and entry.gains[0].value > entry.gains[0].standard_error
    ]
    return max(gaining, key=lambda entry: entry.gains[0].value, default=half.reference)


WAYS: dict[str, Callable[[Half], Entry]] = {
    "the reference": lambda half: half.reference,
    "a gain that is shown": lambda half: half.winner,
    "... unguarded fits, too": unguarded_too,
    "a gain of one standard error": one_standard_error,
    "the highest figure": lambda half: max(half.entries, key=lambda entry: entry.figure),
}
CHOICE = "a gain that is shown"


def score_keys(path: Path) -> list[str]:
    """Name the scores of a file."""
    with np.load(path, allow_pickle=False) as archive:
        names = archive.files
    keys = {next((name.removesuffix(part) for part in PARTS if name.endswith(part)), name) for name in names}
    return sorted(key for key in keys if key.startswith("y_score"))


def patients(path: Path) -> np.ndarray | None:
    """Return the patient of each row, if the file names them."""
    with np.load(path, allow_pickle=False) as archive:
        return archive["patient_id"] if "patient_id" in archive.files else None


def directions(path: Path, key: str, seed: int, averages: list[str]) -> list[dict[str, Half]]:
    """Hold rules against each other on one half, and judge them on the other, by each average; both ways."""
    found = []
    data = read_labelled(path, key)
    groups = patients(path)
    first, second, _ = data.halves()
    for direction, (fit, rest) in enumerate(((first, second), (second, first))):
        name = f"{path.stem} {key}{' reversed' if direction else ''}"
        print(name, file=sys.stderr)
        data_set = path.stem.removesuffix("_weak").removesuffix("_all")
        truth, scores = data.y_true[fit], data.y_score[fit]
        there = Problem.of(data.y_true[rest], data.y_score[rest])
        groups_here, groups_there = (None if groups is None else groups[rows] for rows in (fit, rest))
        both_groups = groups_here, groups_there
        found.append(halves(data_set, name, (truth, scores), there, both_groups, seed, averages))
    return found


def halves(
    data_set: str,
    name: str,
    here: tuple[object, object],
    there: Problem,
    both_groups: tuple[np.ndarray | None, np.ndarray | None],
    seed: int,
    averages: list[str],
) -> dict[str, Half]:
    """Hold rules against each other by each average, with the same decisions; all rules where there are several."""
    rows = in_folds(
        *here,
        cv=5,
        groups=both_groups[0],
        random_state=seed,
        sample_weight=None,
        missing=0.0,
        unknown=None,
        label_names=None,
        keep_sparse=True,
    )
    rules = [
        rule
        for rule in in_order(None, "macro")
        if why_not(rule, rows.problem) is None and (len(averages) > 1 or rule.average in averages)
    ]
    calibrators = [Calibrators() for _ in rows.pairs]  # of each fold
    of_half = Shared()
    decided = {}
    fitted: dict[str, Rule] = {}
    judged = {}
    for rule in rules:
        options = options_for(rule, OPTIONS)
        of_folds = rules_of_folds(rows.problem, options, rows.pairs, None, calibrators)
        decided[rule.name] = decide_out_of_fold(of_folds, rows.problem, rows.pairs)
        fitted[rule.name] = fit_named(rows.problem, options, of_half)
        judged[rule.name] = judge(fitted[rule.name], there, by_row=True)

    pairs, pairs_there = (None if given is None else group_numbers(given, len(given)) for given in both_groups)
    found = {}
    for average in averages:
        ordered = in_order([rule.name for rule in rules], average)
        barred = [rule.name for rule in ordered if guarded_form(rule, ordered) is not None]
        of_rules = {rule.name: decided[rule.name] for rule in ordered}
        contest = hold_contest(of_rules, rows.problem, rows.folds, pairs, average, 1.0, 0.0, barred)
        reached = {name: f_measure(counts, None, average, 1.0, 0.0) for name, counts in judged.items()}
        left_out = (
            leave_out_of(decide_all(fitted[entry.name], there), there, 1.0, pairs_there)
            for entry in (contest.winner, contest.entries[0])
        )
        error = standard_error_of(*left_out, average).value
        found[average] = Half(data_set, name, contest.entries, contest.winner, contest.figure_of_choice, reached, error)
    return found


def points(values: list[float], halves: list[Half]) -> str:
    """Show a mean over data sets, with its standard error, in points."""
    names = [half.data_set for half in halves]
    means = [np.mean([value for value, name in zip(values, names, strict=True) if name == one]) for one in set(names)]
    error = np.std(means, ddof=1) / np.sqrt(len(means)) if len(means) > 1 else np.nan
    return f"{100 * np.mean(means):+.2f} ({100 * error:.2f})"


def in_lines(halves: list[Half], which: str) -> list[tuple[str, ...]]:
    """Show what each way of choosing reaches."""
    lines = []
    for way, choose in WAYS.items():
        chosen = [choose(half) for half in halves]
        there = [half.reached[entry.name] for half, entry in zip(halves, chosen, strict=True)]
        behind = [half.best - f for half, f in zip(halves, there, strict=True)]
        ahead = [f - half.reached[half.reference.name] for half, f in zip(halves, there, strict=True)]
        luck = [entry.figure - f for entry, f in zip(chosen, there, strict=True)]
        lines.append(
            (
                way,
                which,
                f"{len(halves)}",
                points(behind, halves),
                f"{100 * np.mean(behind):.2f}",
                f"{100 * max(behind):.2f}",
                points(ahead, halves),
                f"{sum(gain < 0 for gain in ahead)}",
                f"{100 * min(ahead):+.2f}",
                f"{sum(gain > 0 for gain in ahead)}",
                points(luck, halves),
            )
        )
    return lines


def table(head: list[tuple[str, ...]], body: list[tuple[str, ...]], left: tuple[int, ...]) -> str:
    """Align cells in columns, however wide: those whose numbers are in `left` to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*head, *body, strict=True)]
    lines = [
        "  ".join(
            cell.ljust(width) if k in left else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ).rstrip()
        for cells in (*head, ["-" * width for width in widths], *body)
    ]
    return "\n".join(lines)


HEAD = [
    ("", "", "", "behind the", "mean", "", "ahead of", "halves", "", "halves", "out of fold"),
    ("", "data", "", "best in", "over", "", "the", "where", "", "where", "above the"),
    ("choice", "sets", "halves", "hindsight", "halves", "most", "reference", "worse", "least", "better", "other half"),
]


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Hold the choice of a rule against all rules on other rows.")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="holds the files")
    parser.add_argument("--only", metavar="NAME", default="", help="files whose names begin so")
    parser.add_argument("--average", choices=REFERENCES, help="the one to choose by, among the rules for it")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--seed", type=int, default=0, help="of the folds")
    options = parser.parse_args()
    averages = [*REFERENCES] if options.average is None else [options.average]
    found: dict[str, list[Half]] = {average: [] for average in averages}
    paths = sorted(options.folder.glob(f"{options.only}*.npz"))
    tasks = [(path, key, options.seed, averages) for path in paths for key in score_keys(path)]
    with ProcessPoolExecutor(options.jobs) as pool:
        for both in pool.map(directions, *zip(*tasks, strict=True)):
            for by_average in both:
                for average, half in by_average.items():
                    found[average].append(half)
    names = sorted({half.data_set for half in found[averages[0]]})
    settled_on = set(names[::2])
    print(f"* {', '.join(sorted(settled_on))}\n")
    broken = []
    for average, halves in found.items():
        parts = {
            "all": halves,
            "*": [half for half in halves if half.data_set in settled_on],
            "rest": [half for half in halves if half.data_set not in settled_on],
        }
        body = [line for which, of_part in parts.items() if of_part for line in in_lines(of_part, which)]
        print(table(HEAD, body, left=(0, 1)).replace("choice", average.ljust(6), 1))
        nested = [half.figure_of_choice - half.reached[WAYS[CHOICE](half).name] for half in halves]
        print(f"\nthe figure of the choice itself is above F1 on the other half by {points(nested, halves)}\n")
        broken += claims(average, halves)
        print(table(*chosen_in_each(average, halves), left=(0, 1, 7)) + "\n")
    print("\n".join(broken) or "all claims hold")
    return 1 if broken else 0


def chosen_in_each(average: str, halves: list[Half]) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """Lay out where another rule than the reference was chosen, and what came of it."""
    reference = halves[0].reference.name
    head = [
        ("", f"chosen over {reference}", "gain out", "standard", "gain on the", "standard", "behind the", ""),
        ("set", f"by {average} F1", "of fold", "error", "other half", "error", "best", "which is"),
    ]
    body = []
    for half in halves:
        entry = WAYS[CHOICE](half)
        if entry is half.reference:
            continue
        gain = half.reached[entry.name] - half.reached[reference]
        best = max(half.reached, key=lambda name: half.reached[name])
        body.append(
            (
                half.name,
                entry.name,
                f"{entry.gains[0].value:+.4f}",
                f"{entry.gains[0].standard_error:.4f}",
                f"{gain:+.4f}",
                f"{half.error:.4f}",
                f"{half.best - half.reached[entry.name]:.4f}",
                best,
            )
        )
    return head, body or [("none",) + ("",) * 7]


def claims(average: str, halves: list[Half]) -> list[str]:
    """Name the claims of `select_rule` that are broken."""
    broken = []
    there = [half.reached[WAYS[CHOICE](half).name] for half in halves]
    behind = float(np.mean([half.best - f for half, f in zip(halves, there, strict=True)]))
    if behind > ALLOWED:
        broken.append(f"BROKEN: by {average} F1 the choice is {100 * behind:.2f} points behind the best on average")
    for half, f in zip(halves, there, strict=True):
        if average in NEVER_WORSE and f < half.reached[half.reference.name]:
            broken.append(f"BROKEN: by {average} F1 the choice is worse than the reference on {half.name}")
    return broken


if __name__ == "__main__":
    raise SystemExit(main())
