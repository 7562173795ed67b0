"""Rules of every kind, fitted and made by hand, with values that a file could spoil."""

import dataclasses

import numpy as np

import thresholds
from thresholds import FixedRule, ThresholdRule, TopKRule, fit_empirical
from thresholds.rule import FittedOn

inf = float("inf")
TINY = float(np.finfo(np.float64).smallest_subnormal)

AWKWARD = ThresholdRule(
    np.array([0.1, 1 / 3, -0.0, TINY, -TINY, 1e308, -1.7976931348623157e308, inf, -inf, np.nextafter(0.5, 1)]),
    label_names=("cat", "Ελλάδα", "", " ", "a\nb", '"quoted"', "\\", "🦆", "naïve", "\x00"),
    average="macro",
    beta=1 / 3,
    objective=0.1 + 0.2,
    unsupported=np.arange(10) == 7,
    missing=-inf,
    placement="mid",
    fitted_on=FittedOn(3, (1.0, 2**-62) + (0.0,) * 8, "float32", (-1e-310, 0.1, 0.1, 0.2), "0.1.0"),
)


def same(got: object, expected: object) -> bool:
    """Whether two rules have the same fields, arrays bit for bit."""
    names = [item.name for item in dataclasses.fields(expected) if item.name != "_warned"]
    pairs = [(getattr(got, name), getattr(expected, name)) for name in names]
    return all(a.tobytes() == b.tobytes() if isinstance(b, np.ndarray) else a == b for a, b in pairs)


def fitted(average: str = "macro", **options: object) -> ThresholdRule:
    """A rule fitted on random scores, one label of which has no positives."""
    rng = np.random.default_rng(9)
    y_score = rng.random((80, 4)).astype(np.float32)
    y_true = (rng.random((80, 4)) < y_score) & (np.arange(4) != 2)
    return fit_empirical(y_true, y_score, average, **options)


RULES: dict[str, ThresholdRule | TopKRule] = {
    "awkward": AWKWARD,
    "plain": ThresholdRule([0.5]),
    "fixed": FixedRule(0.3, 3, label_names=["a", "b", "c"], missing=-1.0),
    "macro": fitted(label_names=["a", "b", "c", "d"]),
    "micro": fitted("micro", beta=0.7, zero_division=1.0, placement="score"),
    "samples": fitted("samples", per_label=False, sample_weight=np.linspace(0, 1, 80)),
    "replaced": AWKWARD.replace({"cat": 1e-320, 1: -inf}),
    "top k": TopKRule(3),
    "fitted top k": thresholds.fit_top_k([[1, 0]], [[0.5, 0.1]], label_names=["á", "b"], missing=-inf, beta=1 / 3),
}
