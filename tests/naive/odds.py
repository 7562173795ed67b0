"""Logistic curves of truth on score, and their errors, by a general optimiser and sums over rows one by one."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit


def curve(truth: np.ndarray, x: np.ndarray) -> tuple[float, float]:
    """Return slope and intercept of least log-loss against Platt's targets."""
    n_true = int(truth.sum())
    n_false = truth.size - n_true
    target = np.where(truth, (n_true + 1) / (n_true + 2), 1 / (n_false + 2))

    def loss(parameters: np.ndarray) -> float:
        z = parameters[0] * x + parameters[1]
        return float((np.logaddexp(0, z) - target * z).sum())

    found = minimize(loss, np.zeros(2), method="BFGS", options={"gtol": 1e-9})
    return float(found.x[0]), float(found.x[1])


def variance(truth: np.ndarray, x: np.ndarray, at: float, threshold: float) -> float:
    """Return the variance of the log odds at a point: of the two, that which is larger at the threshold."""
    slope, intercept = curve(truth, x)
    information, squares = np.zeros((2, 2)), np.zeros((2, 2))
    for is_true, score in zip(truth, x, strict=True):
        p = expit(slope * score + intercept)
        row = np.array([score, 1.0])
        information += p * (1 - p) * np.outer(row, row)
        squares += (is_true - p) ** 2 * np.outer(row, row)
    if_right = np.linalg.inv(information)
    robust = if_right @ squares @ if_right

    def read(covariance: np.ndarray, point: float) -> float:
        row = np.array([point, 1.0])
        return float(row @ covariance @ row)

    larger = if_right if read(if_right, threshold) >= read(robust, threshold) else robust
    return read(larger, at)
