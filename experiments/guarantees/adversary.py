"""Experiment: how often can a law break a floor of precision that is shown, at worst?

Precision is shown by exact tests from a start downwards (docs/guarantees.md). The proof says that no law, with whatever
ties and however its precision rises and falls, breaks the floor with a probability above delta. Here every sample that
a law of a few scores can give is enumerated, so that the probability of a broken promise is a sum and no estimate,
and the law is searched for that makes it highest: from random laws, by random steps that are kept where they help.
Half of the steps put the precision of some cut just below the floor.

Rows of one score stand in random order before the gate: the number of true ones among those above it is hypergeometric.
A promise counts as broken if precision is below the floor at any cut that is shown, chosen or not, and at any score of
the law inside the gaps of these cuts.

Exits with 1 if a probability is above delta.

    python experiments/guarantees/adversary.py > experiments/guarantees/adversary.txt
"""

from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln
from scipy.stats import binom, hypergeom

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

SIZES = ((30, 2), (20, 3), (12, 4))  # rows and scores
FLOORS = (0.5, 0.7, 0.9)
DELTAS = (0.1, 0.25)
RANKS = (3, 5, 8, 12, 16, 20, 30)
RESTARTS, STEPS = 3, 100


class Samples:
    """Every sample of rows with a few scores: how often each score, the highest first, and truth occur."""

    def __init__(self, n_rows: int, n_scores: int) -> None:
        self.n_rows, self.n_scores = n_rows, n_scores
        n_cells = 2 * n_scores
        bars = np.array(list(combinations(range(n_rows + n_cells - 1), n_cells - 1)))  # (n_samples, n_cells - 1)
        edges = np.pad(bars, ((0, 0), (1, 1)), constant_values=((0, 0), (-1, n_rows + n_cells - 1)))
        self.numbers = np.diff(edges, axis=1) - 1  # (n_samples, n_cells): false and true rows of each score
        self.log_orders = gammaln(n_rows + 1) - gammaln(self.numbers + 1).sum(axis=1)  # (n_samples,)
        by_score = self.numbers.reshape(-1, n_scores, 2)
        self.predicted = by_score.sum(axis=2).cumsum(axis=1)  # (n_samples, n_scores)
        self.tp = by_score[:, :, 1].cumsum(axis=1)  # (n_samples, n_scores)

    def shown(self, rank: int, floor: float, delta: float) -> tuple[npt.NDArray[np.bool_], Floats]:
        """Which scores are shown in each sample if its gate is passed, and the probability that it is."""
        first = (self.predicted >= rank).argmax(axis=1)[:, None]  # (n_samples, 1): the score of that rank
        passed = (self.predicted > 0) & (binom.sf(self.tp - 1, self.predicted, floor) <= delta)
        is_below = np.arange(self.n_scores) >= first
        shown = np.logical_and.accumulate(passed | ~is_below, axis=1) & is_below  # (n_samples, n_scores)

        # The gate: all rows of higher scores, and as many of its own as are missing.
        (n_above, n_at), (tp_above, tp_at) = (
            (np.take_along_axis(np.pad(of, ((0, 0), (1, 0))), first + step, 1)[:, 0] for step in (0, 1))
            for of in (self.predicted, self.tp)
        )
        enough = next((tp for tp in range(rank) if binom.sf(tp - 1, rank - 1, floor) <= delta), rank)
        gate = hypergeom.sf(enough - tp_above - 1, n_at - n_above, tp_at - tp_above, rank - 1 - n_above)
        return shown, gate

    def worst(self, rank: int, floor: float, delta: float, rng: np.random.Generator) -> float:
        """The highest probability of a broken promise that is found."""
        shown, gate = self.shown(rank, floor, delta)
        if not (shown.any(axis=1) * gate).any():
            return 0.0

        def broken(law: Floats) -> float:
            above = law.reshape(-1, 2).cumsum(axis=0)  # (n_scores, 2)
            is_bad = above[:, 1] < floor * above.sum(axis=1) * (1 - 1e-12)
            probability = np.exp(self.log_orders + self.numbers @ np.log(np.maximum(law, 1e-300)))
            return float((probability * gate)[(shown & is_bad).any(axis=1)].sum())

        found = 0.0
        for _ in range(RESTARTS):
            laws = [at_floor(rng.dirichlet(np.full(2 * self.n_scores, 0.3)), floor, rng) for _ in range(15)]
            law = max(laws, key=broken)
            here, size = broken(law), 1.0
            for _ in range(STEPS):
                moved = law * np.exp(size * rng.standard_normal(law.size) * rng.integers(2, size=law.size))
                moved = at_floor(moved / moved.sum(), floor, rng)
                there = broken(moved)
                law, here, size = (moved, there, size * 1.2) if there > here else (law, here, max(size * 0.97, 0.02))
            found = max(found, here)
        return found


def at_floor(law: Floats, floor: float, rng: np.random.Generator) -> Floats:
    """Half of the time, put the precision of a cut just below the floor, by more or fewer false rows of one score."""
    if rng.random() < 0.5:
        return law
    cells = law.reshape(-1, 2).copy()
    cut = int(rng.integers(len(cells)))
    score = int(rng.integers(cut + 1))
    false, true = cells[: cut + 1].sum(axis=0)
    cells[score, 0] = max(cells[score, 0] + true * (1 - floor) / floor * (1 + 1e-9) - false, 0)
    return (cells / cells.sum()).ravel()


def main() -> int:
    """Search the worst law for each size, floor, delta and rank."""
    rng = np.random.default_rng(0)
    print(
        "Probability of a broken promise under the worst law that is found, as a share of delta, by rank of the start"
    )
    print("(an empty cell: the gate cannot be passed)\n")
    print(f"{'rows':>4}{'scores':>8}{'floor':>7}{'delta':>7}" + "".join(f"{rank:>8}" for rank in RANKS))
    highest = 0.0
    for n_rows, n_scores in SIZES:
        samples = Samples(n_rows, n_scores)
        for floor in FLOORS:
            for delta in DELTAS:
                found = [samples.worst(rank, floor, delta, rng) / delta if rank <= n_rows else 0.0 for rank in RANKS]
                highest = max(highest, *found)
                shares = "".join(f"{share:>8.3f}" if share else f"{'':>8}" for share in found)
                print(f"{n_rows:>4}{n_scores:>8}{floor:>7g}{delta:>7g}{shares}".rstrip(), flush=True)
    print(f"\nhighest: {highest:.3f} of delta")
    return 0 if highest <= 1 + 1e-9 else 1


if __name__ == "__main__":
    raise SystemExit(main())
