"""Rules of every kind, fitted and made by hand, with values that a file could spoil."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from functools import cache

import numpy as np

import thresholds
from thresholds import (
    CalibratedRule,
    CappedRule,
    FixedRule,
    InstanceRule,
    RegionRule,
    ThresholdRule,
    TopKRule,
    calibrate,
    fit_empirical,
    fit_expected,
)
from thresholds.rule import FittedOn, LabelCounts, OutOfFold, Rule

inf = float("inf")
TINY = float(np.finfo(np.float64).smallest_subnormal)

AWKWARD = ThresholdRule(
    np.array([0.1, 1 / 3, -0.0, TINY, -TINY, 1e308, -1.7976931348623157e308, inf, -inf, np.nextafter(0.5, 1)]),
    label_names=("cat", "Ελλάδα", "", " ", "a\nb", '"quoted"', "\\", "🦆", "naïve", "\x01"),
    average="macro",
    beta=1 / 3,
    objective=0.1 + 0.2,
    unsupported=np.arange(10) == 7,
    missing=-inf,
    placement="mid",
    fitted_on=FittedOn(
        3,
        (1.0, 2**-62) + (0.0,) * 8,
        "float32",
        "0.1.0",
        known_quantiles=np.array([-1e-310, 0.1, 0.1, 0.2, 0.2, 0.2, 0.2]),
    ),
    out_of_fold=OutOfFold(
        1 / 3,
        5,
        "naïve",
        7,
        LabelCounts(10.5, (0.1 + 0.2, TINY) + (0,) * 8, (1 / 3, TINY) + (10,) * 8, (0.5, 2**-62) + (0.0,) * 8),
    ),
)


def bits(value: object) -> object:
    """A value that is equal only to values of the same bits, arrays by their bytes; the sign of a NaN means nothing."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "f":
            value = np.where(np.isnan(value), value.dtype.type(np.nan), value)
        return value.dtype, value.shape, value.tobytes()
    if isinstance(value, tuple):
        return tuple(map(bits, value))
    if isinstance(value, float):
        return value.hex()
    if dataclasses.is_dataclass(value):
        return type(value), *(bits(getattr(value, name)) for name in kept(value))
    return value


def kept(value: object) -> list[str]:
    """What a rule, or a part of one, has that is saved: its fields, and what is made of them when it is read."""
    read_as = {"kept": "profile", "known_quantiles": "quantiles"}
    names = [item.name for item in dataclasses.fields(value)]
    return [read_as.get(name, name) for name in names if name not in ("scores", "guard_report")]


def same(got: object, expected: object) -> bool:
    """Whether two rules have the same fields, arrays bit for bit, but for what is not saved."""
    return all(bits(getattr(got, name)) == bits(getattr(expected, name)) for name in kept(expected))


def draw() -> tuple[np.ndarray, np.ndarray]:
    """Random truth and scores, one label of which has no positives."""
    rng = np.random.default_rng(9)
    y_score = rng.random((80, 4)).astype(np.float32)
    return (rng.random((80, 4)) < y_score) & (np.arange(4) != 2), y_score


def fitted(average: str = "macro", **options: object) -> ThresholdRule:
    """A rule fitted on random scores."""
    return fit_empirical(*draw(), average, **options)


def crossed(average: str = "macro", **options: object) -> ThresholdRule:
    """A rule of `cross_fit` on the same scores."""
    return thresholds.cross_fit(*draw(), average, cv=3, random_state=0, **options).rule


def regions(average: str = "macro", **options: object) -> RegionRule:
    """Regions of the same scores."""
    return thresholds.fit_regions(*draw(), average, **options)


def expected(average: str = "macro", **options: object) -> ThresholdRule | InstanceRule:
    """A rule from the same scores, taken for probabilities; one label is impossible."""
    return fit_expected(np.where(np.arange(4) == 2, 0, draw()[1]), average, **options)


def calibrated(
    method: str, rule: ThresholdRule | InstanceRule, factor: float = 1.0, **options: object
) -> CalibratedRule:
    """A rule for the same scores, calibrated; one label has no positives, and one is masked."""
    truth, scores = draw()
    masked = np.where(np.arange(4) == 1, -inf, factor * scores.astype(float))
    return CalibratedRule(calibrate(truth, masked, method, **options), rule)


def moved(method: str, rule: ThresholdRule | InstanceRule, factor: float = 1.0, **options: object) -> CalibratedRule:
    """The same for other base rates; that of one label stays."""
    of_fit = calibrated(method, rule, factor, **options)
    rates = np.where(np.arange(4) == 3, of_fit.calibrator.base_rates, [0.7, 0.1, 0.002, 0.5])
    return CalibratedRule(of_fit.calibrator.for_base_rates(rates), rule)


MAKERS: dict[str, Callable[[], Rule]] = {
    "awkward": lambda: AWKWARD,
    "plain": lambda: ThresholdRule([0.5]),
    "fixed": lambda: FixedRule(0.3, 3, label_names=["a", "b", "c"], missing=-1.0),
    "macro": lambda: fitted(label_names=["a", "b", "c", "d"]),
    "micro": lambda: fitted("micro", beta=0.7, zero_division=1.0, placement="score"),
    "samples": lambda: fitted("samples", per_label=False, sample_weight=np.linspace(0, 1, 80)),
    "guarded": lambda: fitted(guard=thresholds.Shrink(siblings=False, unsupported="never"), max_overprediction=2),
    "guarded, weighted": lambda: fitted("weighted", guard="shrink"),
    "cross-fitted": lambda: crossed(label_names=["a", "b", "c", "d"]),
    "cross-fitted, weighted": lambda: crossed("micro", sample_weight=np.linspace(0, 1, 80)),
    "replaced": lambda: AWKWARD.replace({"cat": 1e-320, 1: -inf}),
    "within a budget": lambda: fitted(max_predicted=30),
    "capped": lambda: fitted(max_predicted_per_row=2, label_names=["a", "b", "c", "d"]),
    "capped, by score": lambda: CappedRule.around(AWKWARD, 3),
    "capped, by margin": lambda: CappedRule.around(fitted(label_names=["a", "b", "c", "d"]), 1, "margin"),
    "capped, micro": lambda: fitted("micro", max_predicted_per_row=1),
    "capped regions": lambda: thresholds.fit(*draw(), "macro, regions", max_predicted_per_row=2),
    "capped, calibrated": lambda: thresholds.fit(*draw(), "macro, platt", max_predicted_per_row=2),
    "capped, instance": lambda: thresholds.fit(*draw(), "instance, isotonic", max_predicted_per_row=1),
    "capped, label-free": lambda: thresholds.fit(None, draw()[1], "macro, label-free", max_predicted_per_row=1),
    "capped top k": lambda: thresholds.fit(*draw(), "top-k", max_predicted_per_row=1),
    "top k": lambda: TopKRule(3),
    "fitted top k": lambda: thresholds.fit_top_k(
        [[1, 0]], [[0.5, 0.1]], label_names=["á", "b"], missing=-inf, beta=1 / 3
    ),
    "expected counts": lambda: expected(label_names=["a", "b", "c", "d"]),
    "expected counts, micro": lambda: expected(
        "micro", beta=0.7, zero_division=1.0, sample_weight=np.linspace(0, 1, 80)
    ),
    "expected counts, shared": lambda: expected("weighted", per_label=False),
    "expectation": lambda: expected(exact=True, zero_division=1.0, beta=1 / 3),
    "instance": lambda: InstanceRule(),
    "fitted instance": lambda: expected("samples", label_names=["á", "b", "c", "\x01"], beta=1 / 3, zero_division=1.0),
    "region": lambda: RegionRule([[], [-inf], [-inf, -TINY, -0.0, TINY, 1 / 3, 1e308], [0.1, inf]], missing=-inf),
    "fitted regions": lambda: regions(label_names=["á", "b", "c", "d"], n_bins=9),
    "fitted regions, micro": lambda: regions("micro", beta=1 / 3, zero_division=1.0, posterior="isotonic"),
    "isotonic": lambda: calibrated(
        "isotonic", fitted(label_names=["a", "b", "c", "d"]), by="label", label_names=["d", "c", "b", "a"]
    ),
    "isotonic, drawn": lambda: calibrated("isotonic", InstanceRule(), label_names=["a", "b", "c", "d"]),
    "isotonic, pooled": lambda: calibrated("isotonic", InstanceRule(beta=1 / 3), -3.0, by="pooled", missing=-0.5),
    "isotonic, moved": lambda: moved("isotonic", InstanceRule(), by="label", label_names=["a", "b", "c", "d"]),
    "isotonic, drawn, moved": lambda: moved("isotonic", ThresholdRule([0.1, 0.2, 0.3, 0.4])),
    "platt, pooled, moved": lambda: moved("platt", InstanceRule(beta=1 / 3), -3.0, by="pooled", missing=-0.5),
    "platt": lambda: calibrated("platt", InstanceRule(), label_names=["á", "b", "c", "\x01"]),
    "platt, of scores": lambda: calibrated("platt", ThresholdRule([1 / 3, 0.0, inf, -inf]), 1e300, missing=-inf),
    "platt, pooled": lambda: calibrated("platt", ThresholdRule([0.1, 0.2, 0.3, 0.4]), by="pooled"),
}


class MadeWhenAsked(Mapping[str, Rule]):
    """Rules by name, each made once for all tests of a process: a test that is only collected fits none."""

    def __init__(self, makers: Mapping[str, Callable[[], Rule]]) -> None:
        self._makers = {name: cache(maker) for name, maker in makers.items()}

    def __getitem__(self, name: str) -> Rule:
        return self._makers[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


RULES = MadeWhenAsked(MAKERS)
