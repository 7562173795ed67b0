"""Is a label decided when so many positives, or rows, were added as `plan_annotation` said? On real scores.

The rows of a file are put in random order. The plan is made on the first few, without a rule, and then again and again
on more of them, an eighth more each time. So for each label it is seen whether the question that was open at first is
still open when there are as many positives, or rows, as were said to be enough with a probability of 10 %, 80 % or
90 %. Numbers that the file does not reach are counted apart; what is said of the others is not changed by that, as a
number is fixed before any row is added. Labels of one file share their rows, so the shares of a line scatter more than
their counts suggest.

"f" is whether F1 is above its bar, "scores" whether the scores know a label, "positives" whether it is ever true. Run

    OMP_NUM_THREADS=1 python experiments/annotation/decided.py FOLDER_OF_NPZ | tee experiments/annotation/decided.txt
"""

import argparse
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from thresholds import plan_annotation
from thresholds._arrays.sparse import to_dense
from thresholds.files import read_labelled

GROWTH = 1.125
MOST_LABELS = 200
FILES = {  # with the number of rows at first
    "bibtex": 300,
    "chestxray14_chexnet": 500,
    "corel5k": 400,
    "delicious": 500,
    "litcovid_bc7": 60,
    "ohsumed23": 150,
    "ptbxl_xresnet1d101": 250,
    "pubmed_mesh": 300,
    "yeast": 60,
}
QUESTIONS = ("f", "scores", "positives")
ENDS = ("low", "needed", "high")
# What is open after a question that is decided.
LATER = {"f": ("",), "scores": ("f", ""), "positives": ("scores", "f", "")}


def plans(truth: Any, scores: Any, n_first: int) -> tuple[list[int], list[Any]]:
    """Return numbers of rows, and the tables of the plans on them, labels in order."""
    sizes = [n_first]
    while sizes[-1] * GROWTH < len(truth):
        sizes.append(int(sizes[-1] * GROWTH) + 1)
    tables = []
    for n in sizes:
        plan = plan_annotation(truth[:n], scores[:n], n_bootstraps=2, n_jobs=1)
        tables.append(np.sort(plan.table, order="label"))
    return sizes, tables


def count(truth: Any, scores: Any, n_first: int, found: Counter[Any]) -> None:
    """Count the labels that are decided when they were to be."""
    sizes, tables = plans(truth, scores, n_first)
    first = tables[0]
    asked = np.array([table["question"] for table in tables])  # (n_sizes, n_labels)
    positives = np.array([table["n_positives"] for table in tables])
    for question in QUESTIONS:
        is_decided = np.isin(asked, LATER[question])
        for j in np.flatnonzero(first["question"] == question):
            for end in ENDS:
                for unit, so_far, wanted in (
                    ("positives", positives[:, j], first[f"positives_{end}"][j]),
                    ("rows", np.array(sizes), n_first + first[f"rows_{end}"][j]),
                ):
                    at = np.flatnonzero(so_far >= wanted)
                    outcome = str(is_decided[at[0], j]) if at.size else "not reached"
                    found[question, unit, end, outcome] += 1


def lines(found: Counter[Any]) -> None:
    """Print what was counted."""
    for question in QUESTIONS:
        for unit in ("positives", "rows"):
            if (question, unit) == ("positives", "positives"):
                continue  # One is enough by definition.
            cells = []
            for end in ENDS:
                yes, no = (found[question, unit, end, outcome] for outcome in ("True", "False"))
                n_reached = yes + no
                share = f"{yes / n_reached:.2f}" if n_reached else "-"
                missed = found[question, unit, end, "not reached"]
                cells.append(f"{share:>8} of {n_reached:5} ({missed:5})")
            print(f"  {question:10} {unit:10} {' '.join(cells)}", flush=True)


def main() -> None:
    """Print how often labels are decided, for each file and for all."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--runs", type=int, default=4)
    given = options.parse_args()
    print(f"decided, of so many that were reached (not reached); {given.runs} runs")
    print(f"  {'open':10} {'unit':10} {'10 %':>24} {'80 %':>24} {'90 %':>24}")
    total: Counter[Any] = Counter()
    for name, n_first in FILES.items():
        data = read_labelled(str(given.folder / f"{name}.npz"), "y_score")
        found: Counter[Any] = Counter()
        for seed in range(given.runs):
            rng = np.random.default_rng(seed)
            rows = rng.permutation(data.y_score.shape[0])
            labels = rng.permutation(data.y_score.shape[1])[:MOST_LABELS]
            truth = np.asarray(to_dense(data.y_true[rows]))[:, labels]
            scores = np.asarray(to_dense(data.y_score[rows]))[:, labels]
            count(truth, scores, n_first, found)
        print(f"{name}, {n_first} of {len(rows):,} rows, {len(labels)} labels")
        lines(found)
        total += found
    print("all")
    lines(total)


if __name__ == "__main__":
    main()
