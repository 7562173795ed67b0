"""Which rule wins out of fold, from the definitions: gains and their standard errors from averages in fractions."""

import math
from collections.abc import Mapping, Sequence

from scipy.stats import t

from tests.naive.jackknife import Cells, averages, without


class Rows:
    """Truth, weights and units of the rows that are judged."""

    def __init__(self, truth: Cells, weights: Sequence[int], units: Sequence[int]) -> None:
        self.truth, self.weights, self.units = truth, weights, units

    def kept(self, rows: Sequence[int]) -> "Rows":
        """Return some of the rows."""
        return Rows([self.truth[i] for i in rows], [self.weights[i] for i in rows], [self.units[i] for i in rows])


def figure(rows: Rows, predicted: Cells, average: str, beta: int, zero_division: int) -> float:
    """Return an average of F-beta."""
    return float(averages(rows.truth, predicted, rows.weights, beta, zero_division)[average])


def gain(rows: Rows, ours: Cells, theirs: Cells, average: str, beta: int, zero_division: int) -> tuple[float, ...]:
    """Return how much more one rule reaches than another, its standard error, and its one-sided 95 % bound."""
    value = figure(rows, ours, average, beta, zero_division) - figure(rows, theirs, average, beta, zero_division)
    left_out = []
    for predicted in (ours, theirs):
        values = []
        for unit in sorted(set(rows.units)):
            gone = {i for i, of_row in enumerate(rows.units) if of_row == unit}
            if any(rows.weights[i] for i in gone):
                others = without(gone, rows.truth, predicted, rows.weights, beta, zero_division)
                values.append(float(others[average]))
        left_out.append(values)
    n = len(left_out[0])
    squares = _squares([one - other for one, other in zip(*left_out, strict=True)])
    each = 0.0
    for predicted, values in zip((ours, theirs), left_out, strict=True):
        mean = sum(_squares(values)) / n
        if mean < 1e-24:  # all right, or all wrong: what one row of the other kind would change
            f = figure(rows, predicted, average, beta, zero_division)
            n_rows = n if average == "samples" else _n_active(rows, predicted)
            mean = (f**2 + (1 - f) ** 2) / 2 / n_rows**2
        each += mean / 2
    squares += [each, each]
    total, fourth = sum(squares), sum(square**2 for square in squares)
    spread = fourth - total**2 / len(squares)
    freedom = min(2 * total**2 / spread, len(squares) - 1) if spread > 0 else len(squares) - 1
    error = math.sqrt((n - 1) / n * total)
    return value, error, value - float(t.ppf(0.95, freedom)) * error


def winner(gains: Mapping[str, tuple[float, ...]], may_win: Mapping[str, bool]) -> str:
    """Return the first of the largest gains that are shown; the first of all, the reference, if there is none."""
    best = next(iter(gains))
    most = 0.0
    for name, (value, _, lowest) in gains.items():
        if may_win[name] and lowest > 0 and value > most:
            best, most = name, value
    return best


def _n_active(rows: Rows, predicted: Cells) -> int:
    """Return the number of units with something true or predicted, at least 1."""
    cells = zip(rows.truth, predicted, rows.weights, rows.units, strict=True)
    return max(len({unit for truth, ours, weight, unit in cells if weight and (any(truth) or any(ours))}), 1)


def _squares(values: Sequence[float]) -> list[float]:
    """Return squared distances from the mean."""
    mean = sum(values) / len(values)
    return [(value - mean) ** 2 for value in values]
