"""Micro-F1 on other rows: joint thresholds, one that all labels share, and the guard between them.

    python experiments/guards/micro.py FOLDER

All three maximise micro-F1 on random rows of one half (`calib_idx`) of each file of real scores and are judged on the
other (`test_idx`); means over six samples, one of all rows. What the guard is, its constants included, was chosen on
the first group of files; the second was kept to confirm it. `micro.txt` has what was printed last; docs/guards.md has a
part of it.

1. What each claims on its own rows, and what it reaches on the others, by file.
2. Means by number of rows, and the file on which each loses most against the better of the first two.
3. The same means with scores that cannot be compared over labels: each column's log odds stretched and shifted.
4. One threshold for all labels, by what it maximises: whether it needs a guard.
5. Seconds of a fit.
"""

import argparse
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

import thresholds
from thresholds._results.text import aligned
from thresholds.files import read_labelled
from thresholds.metrics import f1_score

Floats = NDArray[np.float64]

CHOSEN_ON = (
    ("bibtex", "y_score"),
    ("bibtex", "y_score_weak"),
    ("chestxray14_chexnet", "y_score"),
    ("code_ecg", "y_score"),
    ("code_ecg", "y_score_ens10"),
    ("delicious", "y_score"),
    ("delicious_weak", "y_score_weak"),
    ("yeast", "y_score"),
    ("yeast", "y_score_weak"),
)
CONFIRMED_ON = (
    ("corel5k", "y_score"),
    ("corel5k", "y_score_weak"),
    ("emotions", "y_score"),
    ("emotions", "y_score_weak"),
    ("litcovid_bc7", "y_score"),
    ("ohsumed23", "y_score"),
    ("ohsumed23", "y_score_weak"),
    ("ptbxl_xresnet1d101", "y_score"),
    ("pubmed_mesh_all", "y_score"),
    ("pubmed_mesh_all_weak", "y_score_weak"),
)
GROUPS = {"chosen on": CHOSEN_ON, "confirmed on": CONFIRMED_ON}
SIZES = (100, 300, 1000, "all")
REPEATS = 6
RULES: dict[str, dict[str, Any]] = {"joint": {}, "shared": {"per_label": False}, "pool": {"guard": "pool"}}
AVERAGES = ("micro", "macro", "weighted", "samples")


@dataclass(frozen=True)
class Half:
    """Truth and scores of the rows to fit on, and of the rows to judge on."""

    name: str
    truth: Any
    scores: Any
    other_truth: Any
    other_scores: Any

    def samples(self, size: int | str) -> Iterator[tuple[Any, Any]]:
        """Random rows to fit on."""
        n_rows = self.truth.shape[0]
        if size == "all":
            yield self.truth, self.scores
            return
        for repeat in range(REPEATS if n_rows >= int(size) else 0):
            rng = np.random.default_rng([zlib.crc32(self.name.encode()), repeat])
            rows = np.sort(rng.choice(n_rows, int(size), replace=False))
            yield self.truth[rows], self.scores[rows]

    def found(self, size: int | str, options: dict[str, Any], average: str = "micro") -> list[float] | None:
        """F1 claimed, and reached on the other rows: means over samples; None where there are too few rows."""
        results = []
        for truth, scores in self.samples(size):
            rule = thresholds.fit_empirical(truth, scores, average, **options)
            assert rule.objective is not None
            decided = rule.predict(self.other_scores, dense=rule.predicts_missing)
            results.append([rule.objective, f1_score(self.other_truth, decided, average=average, zero_division=0)])
        return np.mean(results, axis=0).tolist() if results else None


def read(folder: Path, name: str, key: str) -> Half:
    """Read both halves of a file."""
    data = read_labelled(folder / f"{name}.npz", key)
    half, rest = np.asarray(data.calib_idx), np.asarray(data.test_idx)
    title = name if key == "y_score" else f"{name} {key.removeprefix('y_score_')}"
    return Half(title, data.y_true[half], data.y_score[half], data.y_true[rest], data.y_score[rest])


def stretched(half: Half) -> Half:
    """Stretch and shift the log odds of each column, at random; absent scores stay absent."""
    rng = np.random.default_rng(zlib.crc32(half.name.encode()))
    n_labels = half.truth.shape[1]
    factor, shift = np.exp(rng.normal(size=n_labels)), 2 * rng.normal(size=n_labels)

    def change(scores: Any) -> Any:
        if isinstance(scores, np.ndarray):
            return moved(scores, factor, shift)
        changed = scores.copy()
        changed.data = moved(scores.data, factor[scores.indices], shift[scores.indices])
        return changed

    return Half(half.name, half.truth, change(half.scores), half.other_truth, change(half.other_scores))


def moved(scores: Floats, factor: Floats, shift: Floats) -> Floats:
    """Change log odds; 0 and 1 stay."""
    inside = np.clip(scores.astype(np.float64), 1e-12, 1 - 1e-12)
    return np.where((scores > 0) & (scores < 1), expit(factor * logit(inside) + shift), scores)


def by_file(group: tuple[tuple[str, str], ...], read_one: Callable[[str, str], Half]) -> dict[tuple[str, str], Floats]:
    """Claimed and reached F1, (n_rules, 2), of each file and size."""
    found = {}
    for name, key in group:
        half = read_one(name, key)
        for size in SIZES:
            results = [half.found(size, options) for options in RULES.values()]
            if results[0] is not None:
                found[half.name, str(size)] = np.array(results)
    return found


def print_files(title: str, found: dict[tuple[str, str], Floats]) -> None:
    """Print what each rule claims and reaches on each file."""
    head = [("", "", *(text for name in RULES for text in (name, ""))), (title, "rows", *("claims", "reaches") * 3)]
    body = [(*place, *(f"{f:.3f}" for f in values.ravel())) for place, values in found.items()]
    print(aligned(head, body), "\n")


def print_means(title: str, found: dict[tuple[str, str], Floats]) -> None:
    """Print means by size, and the largest loss."""
    names = list(RULES)
    head = [
        ("", "", *(text for name in names for text in (name, "")), "pool, against the better", ""),
        ("", "rows", *("claims", "reaches") * 3, "mean", "worst"),
    ]
    body = []
    for size in map(str, SIZES):
        here = {name: values for (name, rows), values in found.items() if rows == size}
        values = np.array(list(here.values()))  # (n_files, n_rules, 2)
        loss = values[:, 2, 1] - values[:, :2, 1].max(axis=1)  # (n_files,)
        worst = list(here)[int(loss.argmin())]
        means = values.mean(axis=0).ravel()
        body.append(
            (
                f"{len(here)} sets",
                size,
                *(f"{f:.4f}" for f in means),
                f"{loss.mean():+.4f}",
                f"{loss.min():+.4f} {worst}",
            )
        )
    print(f"{title}\n{aligned(head, body)}", "\n")


def print_shared(folder: Path, group: tuple[tuple[str, str], ...], title: str) -> None:
    """Print how far one threshold for all labels claims too much."""
    body = []
    for average in AVERAGES:
        for size in (100, 300):
            results = [read(folder, name, key).found(size, RULES["shared"], average) for name, key in group]
            claimed, reached = np.array([result for result in results if result is not None]).T
            body.append((average, str(size), *(f"{f.mean():.4f}" for f in (claimed, reached, claimed - reached))))
    print(aligned([(f"one threshold, {title}", "rows", "claims", "reaches", "too much")], body), "\n")


def print_seconds() -> None:
    """Print seconds of a fit, the best of three, of 20,000 rows and 200 labels on all cores."""
    rng = np.random.default_rng(0)
    truth = rng.random((20_000, 200)) < np.geomspace(0.001, 0.2, 200)
    scores = expit(rng.normal(size=truth.shape) + 2 * truth - 2).astype(np.float32)
    body = []
    for name, options in RULES.items():
        seconds = []
        for _ in range(4):  # the first compiles
            start = time.perf_counter()
            thresholds.fit_empirical(truth, scores, "micro", **options)
            seconds.append(time.perf_counter() - start)
        body.append((name, f"{min(seconds[1:]):.2f}"))
    print(aligned([("20,000 x 200", "seconds")], body))


def main() -> int:
    """Fit, judge, print."""
    parser = argparse.ArgumentParser(description="Micro-F1 on other rows: joint, shared, and the guard between them.")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="holds the files")
    folder = parser.parse_args().folder
    for title, group in GROUPS.items():
        found = by_file(group, lambda name, key: read(folder, name, key))
        print_files(title, found)
        print_means(title, found)
        found = by_file(group, lambda name, key: stretched(read(folder, name, key)))
        print_means(f"{title}, columns stretched", found)
        print_shared(folder, group, title)
    print_seconds()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
