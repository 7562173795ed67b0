"""F1 on other groups, where rows come in groups that are alike: guards that know the groups, and guards that do not.

    python experiments/guards/groups.py [FOLDER] [--repeats 2]

1. Simulated: calibrated scores of 40 labels, 1 to 20 % of the rows, shifted label by label by a normal number of some
   standard deviation. In each group, as of a patient or an artist, truth is the same in that share of its cells, and a
   part of the noise of the scores is. Rules are fitted to 40 groups of 30 rows, or 150 of 8, and judged on 4 rows of
   each of 600 other groups. "chosen" is what `select_rule(..., groups=)` chooses by micro F1 of "micro, pool", "micro,
   in-sample" and "micro, shared".
2. Real: every file in FOLDER that names patients or artists (`patient_id`, `artist_id`). Rules are fitted to random
   groups of five rows or more of one half (`calib_idx`), and judged on the other (`test_idx`), whose groups are others.
3. Copies: each row nine times, with its number as its group, has the thresholds of the rows themselves.

Figures are points of F1, means over repeats; "better of two" is the better of "micro, in-sample" and "micro, shared",
by design. "macro" and "micro" are "macro, in-sample" and "micro, in-sample". `groups.txt` has what was printed last.
The exit status is 1 if a claim is broken: that, on average over designs, the guards with groups are not below those
without, nor "micro, pool" below the better of the two by more than .1 points.
"""

import argparse
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

import thresholds
from thresholds._results.text import aligned
from thresholds.files import read_labelled
from thresholds.metrics import f1_score

Array = NDArray[Any]
Fit = Callable[[Array, Array, Array], Any]

N_LABELS = 40
DESIGNS = ((0.0, 0.0), (0.7, 0.9), (0.9, 1.0), (0.0, 0.9), (0.9, 0.0))  # noise, truth of a group
SHIFTS = (0.0, 0.3, 1.0)
SIZES = ((40, 30), (150, 8))  # groups, rows of each
N_PATIENTS = (30, 100, 300)
LEAST_ROWS = 5
N_COPIES = 9
CHOSEN_AMONG = ("micro, pool", "micro, in-sample", "micro, shared")


class Design(NamedTuple):
    """How rows are drawn."""

    n_groups: int
    n_rows: int
    noise: float  # the part of its variance that a group shares
    truth: float  # the share of cells in which a group has one truth
    shift: float

    @property
    def name(self) -> tuple[str, ...]:
        """The cells of its line."""
        return (f"{self.n_groups} of {self.n_rows}", f"{self.truth:g}", f"{self.noise:g}", f"{self.shift:g}")

    def drawn(self, seed: int) -> tuple[tuple[Array, Array, Array], tuple[Array, Array]]:
        """Draw rows to fit to, with their groups, and rows to judge on."""
        rng = np.random.default_rng(seed)
        base = logit(np.exp(rng.uniform(np.log(0.01), np.log(0.2), N_LABELS)))
        apart = rng.uniform(1, 2.5, N_LABELS)  # means of positives and negatives, in standard deviations
        shift = self.shift * rng.normal(size=N_LABELS)

        def rows(n_groups: int, n_rows: int) -> tuple[Array, Array, Array]:
            group = np.repeat(np.arange(n_groups), n_rows)
            shape = group.size, N_LABELS
            of_group = rng.random((n_groups, N_LABELS)) < expit(base)
            own = rng.random(shape) < expit(base)
            true = np.where(rng.random(shape) < self.truth, of_group[group], own)
            common = rng.normal(size=(n_groups, N_LABELS))[group]
            noise = np.sqrt(self.noise) * common + np.sqrt(1 - self.noise) * rng.normal(size=shape)
            log_odds = base + apart * (noise + apart * true - apart / 2)
            return true.astype(np.uint8), log_odds + shift, group

        fitted, judged = rows(self.n_groups, self.n_rows), rows(600, 4)
        return fitted, judged[:2]


def by_name(name: str, *, with_groups: bool = False) -> Fit:
    """Return the fit of a rule."""

    def fitted(truth: Array, scores: Array, group: Array) -> Any:
        return thresholds.fit(truth, scores, name, groups=group if with_groups else None)

    return fitted


def chosen(truth: Array, scores: Array, group: Array) -> Any:
    """Return the rule that is chosen."""
    return thresholds.select_rule(truth, scores, "micro", rules=CHOSEN_AMONG, groups=group, verdicts=False).rule


FITS: dict[str, tuple[str, Fit]] = {
    "micro": ("micro", by_name("micro, in-sample")),
    "shared": ("micro", by_name("micro, shared")),
    "pool": ("micro", by_name("micro, pool")),
    "pool, groups": ("micro", by_name("micro, pool", with_groups=True)),
    "chosen": ("micro", chosen),
    "macro": ("macro", by_name("macro, in-sample")),
    "shrink": ("macro", by_name("macro, shrink")),
    "shrink, groups": ("macro", by_name("macro, shrink", with_groups=True)),
}


def reached(fit: tuple[Array, Array, Array], rest: tuple[Array, Array]) -> list[float]:
    """Return what each fit reaches on other rows, in points."""
    found = []
    for average, fitted in FITS.values():
        decided = fitted(*fit).predict(rest[1])
        found.append(100 * f1_score(rest[0], decided, average=average, zero_division=0))
    return found


def designs() -> Iterator[Design]:
    """All designs."""
    for n_groups, n_rows in SIZES:
        for noise, truth in DESIGNS:
            for shift in SHIFTS:
                yield Design(n_groups, n_rows, noise, truth, shift)


def named_groups(folder: Path) -> Iterator[tuple[str, Array, Array, Array, Array, Array]]:
    """Read the files that name groups: truth, scores, groups, and the rows of both halves."""
    for path in sorted(folder.glob("*.npz")):
        with np.load(path, allow_pickle=False) as archive:
            name = next((name for name in ("patient_id", "artist_id") if name in archive.files), None)
            if name is None:
                continue
            groups = archive[name]
        data = read_labelled(path)
        yield path.stem, data.y_true, data.y_score, groups, np.asarray(data.calib_idx), np.asarray(data.test_idx)


def of_files(folder: Path, repeats: int) -> Iterator[tuple[str, int, list[list[float]]]]:
    """What is reached on the other half of each file, by number of groups."""
    for name, truth, scores, groups, half, rest in named_groups(folder):
        numbers, n_rows = np.unique(groups[half], return_counts=True)
        numbers = numbers[n_rows >= LEAST_ROWS]
        other = truth[rest], scores[rest]
        for size in N_PATIENTS:
            found = []
            for repeat in range(repeats if numbers.size >= size else 0):
                own = np.random.default_rng(repeat).choice(numbers, size, replace=False)
                rows = half[np.isin(groups[half], own)]
                found.append(reached((truth[rows], scores[rows], groups[rows]), other))
            if found:
                yield name, size, found


def moved_by_copies() -> list[tuple[str, str, str]]:
    """How far thresholds move where each row is there nine times, with groups and without."""
    (truth, scores, group), _ = Design(300, 1, 0.0, 0.0, 0.3).drawn(0)
    copies = [np.repeat(values, N_COPIES, axis=0) for values in (truth, scores, group)]
    body = []
    for name in ("macro, shrink", "micro, pool"):
        once = thresholds.fit(truth, scores, name).thresholds
        moved = [np.abs(by_name(name, with_groups=known)(*copies).thresholds - once).max() for known in (True, False)]
        body.append((name, f"{moved[0]:.0e}", f"{moved[1]:.2f}"))
    return body


def means(found: list[list[float]]) -> list[str]:
    """Show means over repeats."""
    return [f"{mean:.1f}" for mean in np.mean(found, axis=0)]


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Judge guards on other groups.")
    parser.add_argument("folder", type=Path, nargs="?", metavar="FOLDER", help="holds the files")
    parser.add_argument("--repeats", type=int, default=2, help="samples of each design")
    options = parser.parse_args()
    warnings.simplefilter("ignore", thresholds.ScoreChangeWarning)

    body, all_means = [], []
    for design in designs():
        found = [reached(*design.drawn(seed)) for seed in range(options.repeats)]
        body.append((*design.name, *means(found)))
        all_means.append(np.mean(found, axis=0))
    of_design = dict(zip(FITS, np.transpose(all_means), strict=True))
    head = [("groups", "truth", "noise", "", *FITS), ("of rows", "alike", "alike", "shift", *("",) * len(FITS))]
    print("Simulated: F1 on other groups\n" + aligned(head, body), "\n")

    better = np.maximum(of_design["micro"], of_design["shared"])
    gains = {
        "pool, groups over pool": of_design["pool, groups"] - of_design["pool"],
        "pool, groups over the better of two": of_design["pool, groups"] - better,
        "chosen over the better of two": of_design["chosen"] - better,
        "shrink, groups over shrink": of_design["shrink, groups"] - of_design["shrink"],
    }
    lines = [(name, f"{gain.mean():+.2f}", f"{gain.min():+.2f}", f"{gain.max():+.2f}") for name, gain in gains.items()]
    print(aligned([("points of F1, over designs", "mean", "least", "most")], lines), "\n")

    if options.folder is not None:
        real = [
            (f"{size}", *means(found), name.partition("_")[0])
            for name, size, found in of_files(options.folder, options.repeats)
        ]
        print("Real: F1 on other groups\n" + aligned([("groups", *FITS, "file")], real), "\n")
    head = [("each row nine times: largest move", "with groups", "without")]
    print(aligned(head, moved_by_copies()), "\n")

    broken = [
        f"BROKEN: {name} by {gains[name].mean():+.2f}"
        for name, least in zip(gains, (0.0, -0.1, -0.1, 0.0), strict=True)
        if gains[name].mean() < least
    ]
    print("\n".join(broken) or "all claims hold")
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main())
