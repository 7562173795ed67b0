"""Are the intervals of `bootstrap_thresholds` right, and is its corrected F? Simulated, and on halves of real files.

Simulated: scores are normal, those of positives higher by a shift (.5 weak, 1.5, 2.5 strong), also rounded to halves,
so that nearly all are tied. F of a fitted threshold in the population is known by formula. Each cell of the grid has
4,000 samples of rows; an interval holds if F of the threshold that was fitted to a sample lies in the interval of that
sample. Positives are those to be expected; the number in a sample varies. Exits with 1 if an interval of nominal .95
holds in less than .92 of the samples of a cell with at least 30 positives.

The columns: how often intervals hold, and how often F lies below and above them; their mean width; mean F, and by how
much too high it is as claimed, and after the correction. (What share the correction leaves means little in cells where
hardly anything is claimed too much.) Wilson is the interval for a threshold that was not chosen on the rows. Below, the
correction is held against another one: Efron's of 1983 (the mean, over replicates, of F in the replicate minus F of its
threshold in the sample).

Real: thresholds and intervals from one half of a file, F on the other half. That F has noise of its own. So the two
agree where their difference is no more than both intervals allow (Newcombe 1998, "Interval estimation for the
difference between independent proportions", method 10): the root of the sum of the squared distances from each figure
to that end of its interval which faces the other. Run

    OMP_NUM_THREADS=1 python experiments/bootstrap/intervals.py FOLDER_OF_NPZ | tee experiments/bootstrap/intervals.txt
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from thresholds import bootstrap_thresholds
from thresholds._arrays.sparse import is_sparse
from thresholds._engine.histograms import histograms
from thresholds._engine.problem import Problem
from thresholds.files import read_labelled
from thresholds.metrics import confusion_counts, f_interval
from thresholds.rule import ThresholdRule

RUNS = 4_000
CELLS_AT_ONCE = 8_000_000
POSITIVES, BASE_RATES, SHIFTS, LEVELS = (10, 30, 100, 300), (0.01, 0.1, 0.3), (0.5, 1.5, 2.5), (0.0, 0.5)
LEAST, FROM_POSITIVES = 0.92, 30
COMPARED, COMPARED_RUNS = (10, 30, 100), 400
FILES = {
    "bibtex": ("y_score", "y_score_weak"),
    "chestxray14_chexnet": ("y_score",),
    "code_ecg": ("y_score",),
    "corel5k": ("y_score", "y_score_weak"),
    "delicious": ("y_score",),
    "delicious_weak": ("y_score_weak",),
    "emotions": ("y_score", "y_score_weak"),
    "litcovid_bc7": ("y_score",),
    "ohsumed23": ("y_score", "y_score_weak"),
    "ptbxl_xresnet1d101": ("y_score",),
    "pubmed_mesh": ("y_score", "y_score_weak"),
    "pubmed_mesh_all": ("y_score",),
    "pubmed_mesh_all_weak": ("y_score_weak",),
    "yeast": ("y_score", "y_score_weak"),
}
BANDS = {"1-9": (1, 9), "10-29": (10, 29), "30-99": (30, 99), "100-": (100, 10**9)}


class Cell(NamedTuple):
    """What is found in a cell of the grid."""

    holds: float
    claimed: float  # how far the claimed F is too high, on average
    corrected: float


class Design(NamedTuple):
    """A population, and how many rows are drawn from it."""

    positives: int
    base_rate: float
    shift: float
    level: float = 0.0  # to multiples of which scores are rounded
    beta: float = 1.0
    spread: float = 1.0  # standard deviation of the scores of positives

    @property
    def n_rows(self) -> int:
        """Rows of a sample."""
        return round(self.positives / self.base_rate)

    def samples(self, runs: int, seed: int = 0) -> Iterator[tuple[Any, Any]]:
        """Draw truth and scores, a column for each run."""
        rng = np.random.default_rng(seed)
        at_once = max(1, CELLS_AT_ONCE // self.n_rows)
        for start in range(0, runs, at_once):
            shape = self.n_rows, min(at_once, runs - start)
            truth = rng.random(shape, np.float32) < self.base_rate
            scores = rng.standard_normal(shape, np.float32)
            scores[truth] *= self.spread
            scores += np.float32(self.shift) * truth
            if self.level:
                scores = np.round(scores / self.level) * np.float32(self.level)
            yield truth.astype(np.uint8), scores

    def f(self, threshold: Any) -> Any:
        """Give F in the population."""
        # A rounded score reaches a threshold where the score itself reaches the middle below the next level.
        at = (np.ceil(threshold / self.level) - 0.5) * self.level if self.level else threshold
        hits = self.base_rate * ndtr((self.shift - at) / self.spread)
        alarms = (1 - self.base_rate) * ndtr(-at)
        b2 = self.beta**2
        bottom = b2 * self.base_rate + hits + alarms
        return np.where(np.isfinite(threshold), (1 + b2) * hits / np.where(bottom > 0, bottom, 1), 0.0)

    def __str__(self) -> str:
        """Name it."""
        more = "".join(
            [f", beta {self.beta:g}" * (self.beta != 1), f", positives' spread {self.spread:g}" * (self.spread != 1)]
        )
        ties = "tied" if self.level else "    "
        return f"{self.positives:>4} of {self.n_rows:>6,} rows, shift {self.shift:<3} {ties}{more}"


def designs() -> Iterator[Design]:
    """Give the grid: and beside it scores that say nothing, other betas, and other spreads."""
    for positives in POSITIVES:
        for base_rate in BASE_RATES:
            for shift in SHIFTS:
                for level in LEVELS:
                    yield Design(positives, base_rate, shift, level)
        for level in LEVELS:
            yield Design(positives, 0.01, 0.0, level)
        yield from (Design(positives, 0.05, 1.5, beta=beta) for beta in (0.5, 2.0))
        yield Design(positives, 0.05, 1.5, spread=2.0)
        yield Design(positives, 0.05, 2.5, spread=0.5)


def simulate(design: Design) -> Cell:
    """Print how often intervals hold, and what is claimed."""
    tables = [bootstrap_thresholds(*data, beta=design.beta, n_jobs=1).table for data in design.samples(RUNS)]
    table = np.concatenate(tables)
    table = table[table["n_positives"] > 0]
    f = design.f(table["threshold"])
    predicted = table["predicted"] * design.n_rows
    bottom = design.beta**2 * table["n_positives"] + predicted
    hits = np.minimum(table["f"] * bottom / (1 + design.beta**2), np.minimum(predicted, table["n_positives"]))
    low, high = f_interval(hits, predicted, table["n_positives"], beta=design.beta)
    below, above = (f < table["f_low"]).mean(), (f > table["f_high"]).mean()
    width = (table["f_high"] - table["f_low"]).mean()
    plain = ((low <= f) & (f <= high)).mean()
    claimed, corrected = (table["f"] - f).mean(), (table["f_corrected"] - f).mean()
    print(
        f"{design!s:<66}{1 - below - above:7.3f}{below:7.3f}{above:7.3f}{width:7.3f}{plain:9.3f}"
        f"{f.mean():8.3f}{claimed:+9.4f}{corrected:+9.4f}",
        flush=True,
    )
    return Cell(float(1 - below - above), float(claimed), float(corrected))


def by_efron(truth: Any, scores: Any, rng: np.random.Generator, replicates: int = 200) -> float:
    """Return the optimism of Efron 1983 for one label, drawn by NumPy."""
    steps = histograms(Problem.of(truth, scores), None).steps
    if steps.tp.size == 0:
        return 0.0
    counts = steps.tp, steps.predicted - steps.tp
    weights = [rng.poisson(np.diff(part, prepend=0), (replicates, part.size)) for part in counts]
    hits, alarms = (each.cumsum(axis=1) for each in weights)
    total = hits[:, -1:]
    f = 2 * hits / np.maximum(total + hits + alarms, 1)
    best = f.argmax(axis=1)
    here = 2 * steps.tp / (steps.tp[-1] + steps.predicted)
    chosen = f[np.arange(replicates), best]
    return float(np.mean(chosen - np.where(chosen > 0, here[best], 0)))


def compare_corrections(design: Design) -> None:
    """Print what either correction leaves."""
    rng = np.random.default_rng(1)
    left: dict[str, list[Any]] = {"claimed": [], "Efron 1983": [], "here": []}
    for truth, scores in design.samples(COMPARED_RUNS):
        table = bootstrap_thresholds(truth, scores, n_jobs=1).table
        f = design.f(table["threshold"])
        optimism = [by_efron(truth[:, j], scores[:, j], rng) for j in range(table.size)]
        left["claimed"].append(table["f"] - f)
        left["Efron 1983"].append(table["f"] - optimism - f)
        left["here"].append(table["f_corrected"] - f)
    found = {name: np.concatenate(parts) for name, parts in left.items()}
    shown = "".join(f"{each.mean():+9.4f} ({np.sqrt(np.mean(each**2)):.4f})" for each in found.values())
    print(f"{design!s:<46}{shown}", flush=True)


def on_halves(data: Any) -> tuple[Any, Any, Any]:
    """Return tables of both halves, F1 on the other half, and whether they agree."""
    tables, others, agree = [], [], []
    keep_sparse = is_sparse(data.y_score)
    for here, there in ((data.calib_idx, data.test_idx), (data.test_idx, data.calib_idx)):
        found = bootstrap_thresholds(data.y_true[here], data.y_score[here], keep_sparse=keep_sparse, n_jobs=1).table
        rule = ThresholdRule(found["threshold"])
        counts = confusion_counts(data.y_true[there], rule.predict(data.y_score[there]))
        low, high = f_interval(counts.tp, counts.predicted, counts.positives)
        f = counts.f_score()
        lower = np.hypot(found["f_corrected"] - found["f_low"], high - f)
        higher = np.hypot(found["f_high"] - found["f_corrected"], f - low)
        difference = f - found["f_corrected"]
        is_known = (found["n_positives"] > 0) & (counts.positives > 0)
        tables.append(found[is_known])
        others.append(f[is_known])
        agree.append(((-lower <= difference) & (difference <= higher))[is_known])
    return np.concatenate(tables), np.concatenate(others), np.concatenate(agree)


def real(folder: Path) -> None:
    """Print how often halves agree, by positives, and the macro figures."""
    print("\nreal files, thresholds of either half: how often F1 on the other half agrees, by positives (labels)")
    print(f"\n{'':<38}{''.join(f'{band:>14}' for band in BANDS)}    macro-F1: claimed corrected  reached")
    everything = []
    left = []
    for name, columns in FILES.items():
        for column in columns:
            table, f, agree = on_halves(read_labelled(str(folder / f"{name}.npz"), column))
            everything.append((table["n_positives"], agree))
            left.append((table["f_corrected"] - f).mean() / (table["f"] - f).mean())
            macro = f"{table['f'].mean():21.4f}{table['f_corrected'].mean():10.4f}{f.mean():9.4f}"
            print(f"{name + ', ' + column:<38}{shares(table['n_positives'], agree)}{macro}", flush=True)
    positives, agree = (np.concatenate(parts) for parts in zip(*everything, strict=True))
    print(f"{'all':<38}{shares(positives, agree)}")
    print(
        f"\nmacro-F1: the correction leaves {min(left):.0%} to {max(left):.0%} of what is claimed too much,"
        f" median {np.median(left):.0%}"
    )


def shares(positives: Any, agree: Any) -> str:
    """Show the share that agrees in each band."""
    shown = ""
    for low, high in BANDS.values():
        inside = (low <= positives) & (positives <= high)
        shown += f"{agree[inside].mean():8.3f} ({inside.sum():>4,})" if inside.any() else " " * 14
    return shown


def main() -> int:
    """Simulate, then read files."""
    parser = argparse.ArgumentParser(description="Count how often intervals of F after a fit hold.")
    parser.add_argument("folder", type=Path, nargs="?", help="of real score files")
    folder = parser.parse_args().folder
    print(f"95 % intervals of 200 replicates for F of a fitted threshold, {RUNS:,} samples a cell\n")
    print(f"{'positives':<66}  holds  below  above  width   Wilson    mean F  claimed corrected")
    cells = [(design, simulate(design)) for design in designs()]
    enough = [cell for design, cell in cells if design.positives >= FROM_POSITIVES]
    few = [cell for design, cell in cells if design.positives < FROM_POSITIVES]
    print()
    for which, some in ((f"at least {FROM_POSITIVES} positives", enough), ("fewer", few)):
        holds = [cell.holds for cell in some]
        left = [cell.corrected / cell.claimed for cell in some]
        print(
            f"{which}: {len(some)} cells, intervals hold in {min(holds):.3f} to {max(holds):.3f}; the correction leaves"
            f" {min(left):.0%} to {max(left):.0%} of what is claimed too much, median {np.median(left):.0%}"
        )
    print(f"\nhow far F is too high on average (root mean square), {COMPARED_RUNS} samples a cell\n")
    print(f"{'':<46}  claimed         Efron 1983              here")
    for positives in COMPARED:
        for base_rate, shift in ((0.01, 0.5), (0.01, 2.5), (0.1, 0.5), (0.1, 1.5), (0.3, 2.5)):
            compare_corrections(Design(positives, base_rate, shift))
    if folder is not None:
        real(folder)
    return 0 if min(cell.holds for cell in enough) >= LEAST else 1


if __name__ == "__main__":
    raise SystemExit(main())
