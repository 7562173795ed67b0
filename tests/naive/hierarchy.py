"""Curves that lean on each other, from the definition: the witness of `by="shrink"`. Nothing comes from the library.

The lines of labels are found by a general minimiser of SciPy, and so are the mean and the spread of lines, on the
marginal likelihood itself: no step of expectation and maximisation is taken.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import betaln, expit

from tests.naive.calibration import Cell, Loss, log_loss_of_line

Floats = NDArray[np.float64]
LEAST_VARIANCE = 0.1
ROUNDS = 40


@dataclass(frozen=True)
class Label:
    """The cells of a label: standardised x, targets of truth, weights."""

    x: Floats
    targets: Floats
    weights: Floats

    @property
    def loss(self) -> Loss:
        """The log-loss of a line."""
        return log_loss_of_line(self.x, self.targets, self.weights)

    def quadratic(self, line: Floats) -> tuple[Floats, Floats, Floats]:
        """A line, and the first and the second derivatives of the loss there."""
        p = expit(line[0] * self.x + line[1])
        ones = np.column_stack([self.x, np.ones_like(self.x)])
        slopes = ones.T @ (self.weights * (p - self.targets))
        return line, slopes, (ones * (self.weights * p * (1 - p))[:, np.newaxis]).T @ ones


def leaning_lines(labels: Sequence[Sequence[Cell]]) -> tuple[Floats, Floats, Floats]:
    """Slope and intercept of each label (n_labels, 2), then the mean and the spread of lines of standardised x."""
    cells = [cell for label in labels for cell in label]
    x, y, w = (np.array([float(part) for part in parts]) for parts in zip(*cells, strict=True))
    centre = float(np.average(x, weights=w))
    deviation = float(np.sqrt(np.average((x - centre) ** 2, weights=w))) or 1.0
    positive, negative = float(w[y == 1].sum()), float(w[y == 0].sum())
    targets = np.where(y == 1, (positive + 1) / (positive + 2), 1 / (negative + 2))
    whole = Label((x - centre) / deviation, targets, w)
    ends = np.cumsum([0, *map(len, labels)])
    parts = [
        Label(whole.x[a:b], targets[a:b], w[a:b]) for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
    ]

    common = lowest(whole.loss, np.array([0.0, np.log((positive + 1) / (negative + 1))]))
    mean, spread = common, LEAST_VARIANCE * np.eye(2)
    for _ in range(ROUNDS):
        lines = [lowest(penalised(part.loss, mean, spread), mean) for part in parts]
        before = np.append(mean, spread)
        mean, spread = likeliest(
            [part.quadratic(line) for part, line in zip(parts, lines, strict=True)], common, spread
        )
        if np.abs(np.append(mean, spread) - before).max() < 1e-6:
            break
    slopes = np.array(lines)[:, 0] / deviation
    return np.column_stack([slopes, np.array(lines)[:, 1] - slopes * centre]), mean, spread


def penalised(loss: Loss, mean: Floats, spread: Floats) -> Loss:
    """The loss, and half the square of the distance from the mean in the measure of spread^-1."""
    precision = np.linalg.inv(spread)
    return lambda line: loss(line) + (line - mean) @ precision @ (line - mean) / 2


def likeliest(
    quadratics: Sequence[tuple[Floats, Floats, Floats]], common: Floats, spread: Floats
) -> tuple[Floats, Floats]:
    """The mean and the spread of highest marginal likelihood, with one label more: the common line."""

    def unpacked(values: Floats) -> tuple[Floats, Floats]:
        root = np.array([[np.exp(values[2]), 0], [values[3], np.exp(values[4])]])
        return values[:2], root @ root.T

    known = np.array([curvatures @ line - slopes for line, slopes, curvatures in quadratics])  # (n_labels, 2)
    curvatures = np.array([curvatures for _, _, curvatures in quadratics])  # (n_labels, 2, 2)

    def loss(values: Floats) -> float:
        mean, spread = unpacked(values)
        precision = np.linalg.inv(spread)
        log_size = np.linalg.slogdet(spread)[1]
        off = common - mean
        total = (log_size + off @ precision @ off + LEAST_VARIANCE * np.trace(precision)) / 2
        total += len(quadratics) * (log_size + mean @ precision @ mean) / 2
        both = known + precision @ mean
        total += np.sum(np.linalg.slogdet(curvatures + precision)[1]) / 2
        total -= np.sum(both * np.linalg.solve(curvatures + precision, both[..., np.newaxis])[..., 0]) / 2
        return float(total)

    root = np.linalg.cholesky(spread)
    return unpacked(lowest(loss, np.array([*common, np.log(root[0, 0]), root[1, 0], np.log(root[1, 1])])))


def strength_of_shares(positive: Floats, total: Floats, mean: float) -> float:
    """The strength in [1, 1e8] of the beta distribution, of that mean, under which counts are likeliest."""

    def loss(log_strength: float) -> float:
        a, b = mean * np.exp(log_strength), (1 - mean) * np.exp(log_strength)
        return -float(np.sum(betaln(positive + a, total - positive + b) - betaln(a, b)))

    grid = np.linspace(0, np.log(1e8), 20_001)
    return float(np.exp(grid[np.argmin([loss(value) for value in grid])]))


def lowest(loss: Loss, start: Floats) -> Floats:
    """Where a smooth loss is least."""
    found = minimize(loss, start, method="BFGS", options={"gtol": 1e-7})
    precise = {"xatol": 1e-9, "fatol": 1e-13, "maxiter": 4000, "maxfev": 4000}
    return np.asarray(minimize(loss, found.x, method="Nelder-Mead", options=precise).x)
