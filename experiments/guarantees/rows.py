"""Are floors of micro and of means over rows kept, and what do they cost? Ours against MAPIE, on the same samples.

Rows have eight labels and at least one of them, as MAPIE demands. Scores are probabilities. Three laws of the cells of
a row: each for itself, moving together, and copies of one another (a row is as good as one cell). The population is a
sample of 300,000 rows. In each cell 2,000 samples of rows are drawn, of which MAPIE gets the first 400, or 60 where it
takes long. Columns:

    broken      share of the samples in which a promised floor is broken on the population, and its standard error
    none        share of the samples in which nothing is shown and nothing predicted
    mean of it  precision or recall of the population, whichever has the floor, where something is predicted
    the other   recall at a floor of precision, precision at a floor of recall
    F1          of the population (micro, or the mean over rows), and its standard error

Of recall, MAPIE takes the highest cut that it shows, of precision the lowest. Ours takes the cut of best F among those
that are shown: F1 is what both are compared by.

MAPIE counts a row in which nothing is predicted as precision 0, ours leaves it out: each is judged by its own promise.
MAPIE's risks are computed here, all at once (they equal those of its loop, which is checked), its cuts by MAPIE.

    OMP_NUM_THREADS=1 python experiments/guarantees/rows.py | tee experiments/guarantees/rows.txt

It takes half an hour on one core, and gives the same figures each time.
"""

import argparse
import warnings
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from mapie.risk_control import MultiLabelClassificationController
from scipy.special import expit, logit, ndtr

from thresholds._engine.problem import Problem
from thresholds._engine.search_options import SearchOptions
from thresholds.guarantees.floors_of_rows import RowFloors, fit_with_row_floors

RUNS = 2000
MAPIE_RUNS = 400
MAPIE_SLOW_RUNS = 60
POPULATION = 300_000
N_LABELS = 8
RATES = np.geomspace(0.05, 0.4, N_LABELS)
SHIFT = 1.8  # of the scores of positives, in standard deviations
DELTA = 0.1
FLOORS = {"precision": 0.7, "recall": 0.8}

Floats = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]


class Rows(NamedTuple):
    """Truth and probabilities, (n, N_LABELS) each."""

    truth: Booleans
    scores: Floats


def draw(rng: np.random.Generator, n: int, together: float) -> Rows:
    """Draw rows with at least one label; a share of the variance of a row is common to its cells."""
    parts = []
    while sum(len(part.truth) for part in parts) < n:
        common = rng.normal(size=(2, 2 * n, 1))
        own = rng.normal(size=(2, 2 * n, N_LABELS))
        latent, noise = np.sqrt(together) * common + np.sqrt(1 - together) * own
        truth = ndtr(latent) > 1 - RATES
        scores = expit(SHIFT * (noise + SHIFT * truth) - SHIFT**2 / 2 + logit(RATES))
        kept = truth.any(axis=1)
        parts.append(Rows(truth[kept], scores[kept]))
    return Rows(*(np.concatenate(arrays)[:n] for arrays in zip(*parts, strict=True)))


class Reached(NamedTuple):
    """Precision, recall and F1, micro or mean over rows; precision also with empty rows as 0, as MAPIE has it."""

    precision: float
    recall: float
    f1: float
    precision_of_all: float
    is_empty: bool


class Population:
    """What thresholds reach."""

    def __init__(self, rows: Rows) -> None:
        """Keep the rows, and by label their sorted scores."""
        self.n_true = rows.truth.sum()
        self.all = np.sort(rows.scores, axis=0)
        self.true = [np.sort(rows.scores[rows.truth[:, j], j]) for j in range(N_LABELS)]
        # Means over rows at a cut that all labels share, at 1,000 cuts.
        self.cuts = np.quantile(rows.scores, np.linspace(0, 1, 1001) ** 0.5)
        self.at_cuts = np.array([_means(rows, cut) for cut in self.cuts])

    def micro(self, thresholds: Floats) -> Reached:
        """Return micro figures."""
        above = sum(cells.size - np.searchsorted(cells, t) for cells, t in zip(self.all.T, thresholds, strict=True))
        tp = sum(cells.size - np.searchsorted(cells, t) for cells, t in zip(self.true, thresholds, strict=True))
        precision = tp / above if above else 1.0
        return Reached(precision, tp / self.n_true, 2 * tp / (above + self.n_true), precision, not above)

    def samples(self, thresholds: Floats) -> Reached:
        """Return means over rows, between two of the cuts by interpolation."""
        cut = thresholds[0]
        values = [float(np.interp(cut, self.cuts, column)) for column in self.at_cuts.T]
        return Reached(*values[:4], cut > self.cuts[-1])


def _means(rows: Rows, cut: float) -> tuple[float, float, float, float]:
    """Return mean precision, recall, F1, and precision of all rows, at a cut."""
    predicted = rows.scores >= cut
    tp = (predicted & rows.truth).sum(axis=1)
    n_predicted, n_true = predicted.sum(axis=1), rows.truth.sum(axis=1)
    precision = tp / np.maximum(n_predicted, 1)
    has_any = n_predicted > 0
    of_any = precision[has_any].mean() if has_any.any() else 1.0
    return of_any, (tp / n_true).mean(), (2 * tp / (n_predicted + n_true)).mean(), precision.mean()


def ours(rows: Rows, average: str, per_label: bool, of: str, confidence: float | str) -> Floats:
    """Return our thresholds."""
    asked = {"min_precision": None, "min_recall": None, f"min_{of}": FLOORS[of]}
    floors = RowFloors(average, **asked, confidence=confidence)
    problem, options = Problem.of(rows.truth, rows.scores), SearchOptions(average, n_jobs=1)
    return fit_with_row_floors(problem, floors, options, per_label=per_label).thresholds


def mapies(rows: Rows, of: str, method: str, bound: str | None) -> Floats:
    """Return MAPIE's threshold, which predicts what lies above it."""
    controller = MultiLabelClassificationController(
        lambda X: X, risk=of, method=method, rcps_bound=bound, target_level=FLOORS[of],
        confidence_level=None if method == "crc" else 1 - DELTA,
    )  # fmt: skip
    controller._risks = risks(rows, of, controller.predict_params)
    controller.compute_best_predict_param()
    cut = float(controller.best_predict_param[0])
    # It predicts scores above the cut; NaN is a floor that cannot be shown.
    return np.full(N_LABELS, np.inf if np.isnan(cut) else np.nextafter(cut, np.inf))


def risks(rows: Rows, of: str, cuts: Floats) -> Floats:
    """Return 1 - precision or recall of each row at each cut, as MAPIE counts them."""
    predicted = rows.scores[:, :, np.newaxis] > cuts  # (n, N_LABELS, n_cuts)
    tp = (predicted & rows.truth[:, :, np.newaxis]).sum(axis=1)
    among = predicted.sum(axis=1) if of == "precision" else rows.truth.sum(axis=1)[:, np.newaxis]
    return 1 - tp / np.maximum(among, 1)


def check_risks(rng: np.random.Generator) -> None:
    """Hold these risks against MAPIE's own."""
    rows = draw(rng, 30, 0.5)
    for of in FLOORS:
        controller = MultiLabelClassificationController(
            lambda X: X, risk=of, confidence_level=0.9 if of == "precision" else None
        )
        controller.compute_risks(rows.scores, rows.truth.astype(int))
        assert np.allclose(controller._risks, risks(rows, of, controller.predict_params))


class Method(NamedTuple):
    """A way to thresholds."""

    name: str
    average: str
    of: str
    n_runs: int
    thresholds: Callable[[Rows], Floats]
    of_all: bool = False  # precision with empty rows as 0


def methods(n: int) -> Iterator[Method]:
    """Return all ways."""
    for of in FLOORS:
        for average, per_label in (("micro", False), ("micro", True), ("samples", False)):
            name = "ours, a cut for each label" if per_label else "ours, one cut"
            yield Method(
                name, average, of, RUNS, lambda rows, a=average, p=per_label, o=of: ours(rows, a, p, o, 1 - DELTA)
            )
    few = MAPIE_SLOW_RUNS if n > 500 else MAPIE_RUNS
    yield Method(
        "MAPIE, LTT", "samples", "precision", MAPIE_RUNS, lambda rows: mapies(rows, "precision", "ltt", None), True
    )
    for bound, n_runs in (("hoeffding", MAPIE_RUNS), ("bernstein", MAPIE_RUNS), ("wsr", few)):
        yield Method(
            f"MAPIE, RCPS {bound}", "samples", "recall", n_runs, lambda rows, b=bound: mapies(rows, "recall", "rcps", b)
        )
    yield Method(
        "ours, expected", "samples", "recall", RUNS, lambda rows: ours(rows, "samples", False, "recall", "expected")
    )
    yield Method("MAPIE, CRC", "samples", "recall", MAPIE_RUNS, lambda rows: mapies(rows, "recall", "crc", None))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=RUNS, help="samples in each cell")
    n_runs = parser.parse_args().runs
    warnings.filterwarnings("ignore")
    rng = np.random.default_rng(0)
    check_risks(rng)
    print(f"confidence {1 - DELTA}; floors {FLOORS}")
    for law, together in (("each for itself", 0.0), ("moving together", 0.6), ("copies", 1.0)):
        population = Population(draw(rng, POPULATION, together))
        for n in (200, 1000):
            print(f"\n{law}, {n:,} rows")
            print(
                f"{'':28}{'floor of':>18}{'broken':>9}{'error':>8}{'none':>8}{'mean of it':>12}{'the other':>11}"
                f"{'F1':>8}{'error':>8}"
            )
            samples = [draw(rng, n, together) for _ in range(n_runs)]
            for method in sorted(methods(n), key=lambda method: (method.average, method.of)):
                show(method, population, samples[: min(method.n_runs, n_runs)])


def show(method: Method, population: Population, samples: list[Rows]) -> None:
    """Print a line about a method."""
    judge = population.micro if method.average == "micro" else population.samples
    reached = [judge(method.thresholds(rows)) for rows in samples]
    kept = np.array([r.precision_of_all if method.of_all else getattr(r, method.of) for r in reached])
    none = np.array([r.is_empty for r in reached])
    broken = (kept < FLOORS[method.of]) & ~none
    other = np.mean([r.recall if method.of == "precision" else r.precision for r in reached])
    f1 = np.array([r.f1 for r in reached])
    n = len(samples)
    error = np.sqrt(broken.mean() * (1 - broken.mean()) / n)
    mean = kept[~none].mean() if not none.all() else np.nan
    print(
        f"{method.name:28}{method.average + ' ' + method.of:>18}{broken.mean():9.3f}{error:8.3f}{none.mean():8.3f}"
        f"{mean:12.3f}{other:11.3f}{f1.mean():8.3f}{f1.std() / np.sqrt(n):8.4f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
