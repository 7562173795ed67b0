"""What is said of a fit is what its decisions reach. This is the law of every named rule.

Objective, budget, guarantees, guard report and figures out of fold are recomputed from `predict`, in exact arithmetic,
whatever the weights, unknown cells, sparse scores and limits. Draws cross all of these, evenly.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import sparse, stats

import thresholds
from tests.naive.claims import Decided
from thresholds import ThresholdRule
from thresholds.fitting.rules import RULES, NamedRule

CLOSE = 1e-12  # by how much float64 may differ from exact arithmetic
ROUNDED = Fraction(1, 10**12)


@dataclass(frozen=True)
class Fit:
    """Data and options of a fit."""

    name: str
    truth: Any  # (n_samples, n_labels) 0/1
    scores: Any  # (n_samples, n_labels), in [0, 1]
    known: Any  # (n_samples, n_labels) bool
    weights: Any  # (n_samples,) or None
    is_sparse: bool
    groups: Any  # (n_samples,) or None
    options: Mapping[str, Any]

    @property
    def named(self) -> NamedRule:
        """The rule that is fitted."""
        return RULES[self.name]

    @property
    def beta(self) -> float:
        """The beta of its F."""
        return float(self.options["beta"])

    @property
    def zero_division(self) -> float:
        """The F of a label, or row, with neither positives nor predictions."""
        return float(self.options["zero_division"])

    def given(self) -> dict[str, Any]:
        """What `fit` and `cross_fit` take."""
        truth = np.where(self.known, self.truth, np.nan)
        return {
            "y_true": self.truth if self.known.all() else truth,
            "y_score": sparse.csr_array(self.scores) if self.is_sparse else self.scores,
            "sample_weight": self.weights,
            "groups": self.groups,
            "unknown": None if self.known.all() else "nan",
            **self.options,
        }

    def of_rows(self, kept: Any) -> "Fit":
        """The fit of some rows, (n_samples,) bool."""
        of_rows = {name: getattr(self, name)[kept] for name in ("truth", "scores", "known")}
        weights = None if self.weights is None else self.weights[kept]
        groups = None if self.groups is None else self.groups[kept]
        return replace(self, **of_rows, weights=weights, groups=groups)

    def decided(self, decisions: Any) -> Decided:
        """What decisions reach."""
        return Decided(self.truth, decisions, self.known, self.weights)


def draw_weights(rng: np.random.Generator, n: int) -> Any:
    """None, whole numbers, eighths or reals, some of them 0."""
    kinds = [
        None,
        rng.integers(0, 4, n),
        rng.integers(0, 17, n) / 8,
        rng.exponential(size=n) * (rng.random(n) < 0.8),
    ]
    weights = kinds[rng.integers(len(kinds))]
    if weights is not None:
        weights[:3] = 1  # one row of each fold
    return weights


def draw_limits(rng: np.random.Generator, options: tuple[str, ...], weight: float) -> dict[str, Any]:
    """One kind of limit that a rule takes, or none; all cells have a weight."""
    kinds = {
        "max_predicted": "budget",
        "max_predicted_per_row": "cap",
        "max_overprediction": "limits",
        "confidence": "floors",
    }
    kind = rng.choice(["none", *(kinds[name] for name in kinds if name in options)])
    if kind == "none":
        return {}
    if kind == "cap":
        return {"max_predicted_per_row": int(rng.integers(1, 3))}
    if kind == "budget":
        most = weight * rng.choice([0.02, 0.05, 0.1, 0.2, 0.3])
        return {"max_predicted": rng.choice([most, np.ceil(most)])}
    floors = [(0.2, None), (None, 0.5), (0.8, None), (0.5, 0.2)]
    limits: dict[str, Any] = dict(zip(("min_precision", "min_recall"), floors[rng.integers(4)], strict=True))
    if kind == "limits":
        return {**limits, "max_overprediction": [None, 1.0, 2.0][rng.integers(3)]}
    limits["confidence"] = rng.choice([0.5, 0.8])
    if "family" in options:
        limits["family"] = str(rng.choice(["each", "all"]))
    return limits


def drawn(name: str, seed: int) -> Fit:
    """A small fit of a rule: its data, and options that it takes."""
    named = RULES[name]
    rng = np.random.default_rng(seed)
    n, m = rng.choice([5, 9, 20, 40]), rng.integers(1, 5)
    truth = (rng.random((n, m)) < rng.choice([0.1, 0.3, 0.6], m)).astype(np.uint8)
    scores = 0.3 * truth + 0.7 * rng.random((n, m))
    n_levels = rng.choice([0, 4, 10])
    if n_levels:
        scores = np.round(scores * n_levels) / n_levels
    scores = scores.astype(rng.choice([np.float64, np.float32]))

    is_sparse = bool(rng.integers(2))
    if is_sparse:
        scores[rng.random((n, m)) < 0.4] = 0
    known = np.ones((n, m), np.bool_)
    if rng.random() < 0.4 and named.needs_labels:
        known = rng.random((n, m)) < 0.8
        known[:3] = True

    weights = None if named.exact else draw_weights(rng, n)
    options: dict[str, Any] = {
        "beta": rng.choice([1.0, 0.5, 2.0]),
        "zero_division": rng.choice([0.0, 1.0]),
        **draw_limits(rng, named.options, m * float(n if weights is None else weights.sum())),
    }
    if "placement" in named.options:
        options["placement"] = str(rng.choice(["low", "mid", "score"]))
    if "keep_sparse" in named.options and is_sparse:
        options["keep_sparse"] = [None, False][rng.integers(2)]
    if "confidence" in options:
        weights = None
    looks_at_groups = "confidence" in options or named.guard is not None
    groups = rng.integers(0, n, n) if looks_at_groups and rng.random() < 0.3 else None
    return Fit(name, truth * known, scores, known, weights, is_sparse, groups, options)


def decisions(rule: Any, fit: Fit, scores: Any = None) -> Any:
    """What a rule decides about rows of a fit, of a dense array or, where it cuts only these, of stored scores."""
    scores = fit.scores if scores is None else scores
    if fit.is_sparse:
        return np.asarray(rule.predict(sparse.csr_array(scores), dense=True))
    return np.asarray(rule.predict(scores, dense=True))


# What each claim has to be


def hold_objective(rule: Any, fit: Fit, reached: Decided) -> None:
    """The objective is the F-measure of the decisions: of labels, or where none were given to expect."""
    if rule.objective is None:
        assert fit.named.average is None
        return
    if fit.named.needs_labels:
        expected = float(reached.f(rule.average, fit.beta, fit.zero_division))
    else:
        expected = thresholds.expected_f(
            fit.scores,
            reached.decided,
            rule.average,
            fit.beta,
            fit.zero_division,
            exact=fit.named.exact or fit.named.row_by_row,
            sample_weight=fit.weights,
        )
    assert rule.objective == pytest.approx(expected, abs=CLOSE)


def hold_budget(rule: Any, fit: Fit, reached: Decided) -> None:
    """What is said to be predicted is predicted, and not more than may be; no other cuts that are tried do better."""
    most = fit.options.get("max_predicted")
    budget = getattr(rule, "budget", None)
    assert (budget is None) == (most is None)
    if budget is None:
        return
    predicted = reached.predicted()
    assert predicted <= Fraction(most)
    assert budget.predicted == pytest.approx(float(predicted), rel=CLOSE)
    assert budget.max_predicted == most
    assert budget.objective == rule.objective <= budget.bound
    if fit.named.per_label:
        return
    # All cuts that labels share are tried: none within the budget does better.
    assert budget.is_optimal
    for cut in [np.inf, *np.unique(fit.scores[fit.scores > 0 if cuts_stored(fit) else slice(None)])]:
        other = fit.decided((fit.scores >= cut).astype(np.uint8))
        if other.predicted() <= Fraction(most):
            assert other.f(rule.average, fit.beta, fit.zero_division) <= Fraction(budget.bound) + ROUNDED


def cuts_stored(fit: Fit) -> bool:
    """Whether only stored scores may be predicted."""
    return fit.is_sparse and fit.options.get("keep_sparse") is not False


def hold_cap(rule: Any, fit: Fit, reached: Decided) -> None:
    """No row has more labels than may be."""
    most = fit.options.get("max_predicted_per_row")
    if most is not None:
        assert reached.decided.sum(axis=1).max() <= most


def hold_limits(rule: Any, fit: Fit, reached: Decided) -> None:
    """A label that is predicted keeps the limits on the rows of the fit; without a confidence floors are limits."""
    if fit.named.average not in ("macro", "weighted") or not hasattr(rule, "guard_report"):
        return
    for g in reached.labels():
        predicted, positives = g.tp + g.fp, g.tp + g.fn
        most = fit.options.get("max_overprediction")
        if most is not None and predicted and "confidence" not in fit.options:
            assert predicted <= Fraction(most) * positives
        if "confidence" in fit.options or not predicted:
            continue
        for name, part in (("min_precision", predicted), ("min_recall", positives)):
            floor = fit.options.get(name)
            if floor is not None and positives:
                assert g.tp / part >= Fraction(floor) - ROUNDED


def hold_guard_report(rule: Any, fit: Fit, reached: Decided) -> None:
    """Before and after: thresholds, predictions and F of each label are those of these thresholds."""
    report = getattr(rule, "guard_report", None)
    if report is None:
        return
    assert np.array_equal(report.guarded, rule.thresholds)
    before = fit.decided(decisions(rule_of(report.unguarded, rule), fit))
    for which, name in ((before, "before"), (reached, "after")):
        predicted = [float(g.tp + g.fp) for g in which.labels()]
        f = [float(value) for value in which.f_of_labels(fit.beta, fit.zero_division)]
        assert getattr(report, f"predicted_{name}") == pytest.approx(predicted, rel=CLOSE)
        assert getattr(report, f"f_{name}") == pytest.approx(f, abs=CLOSE)


def rule_of(cuts: Any, rule: Any) -> ThresholdRule:
    """A rule with other thresholds."""
    return ThresholdRule(np.asarray(cuts), missing=rule.missing)


def hold_guarantees(rule: Any, fit: Fit, reached: Decided) -> None:
    """A floor that is guaranteed is shown by the rows of the fit; a label of which it is not is decided as said."""
    guarantees = getattr(rule, "guarantees", None)
    assert (guarantees is not None) == ("confidence" in fit.options)
    if guarantees is None:
        return
    if fit.named.average not in ("macro", "weighted"):
        hold_row_guarantees(guarantees, fit, reached)
        return
    error = 1 - fit.options["confidence"]
    for j, g in enumerate(reached.labels()):
        predicted, positives = int(g.tp + g.fp), int(g.tp + g.fn)
        if guarantees.instead[j] == "never":
            assert predicted == 0
        if guarantees.instead[j] == "always":
            assert predicted == fit.known[:, j].sum()
        if fit.groups is not None:
            continue
        if guarantees.precision_shown[j] and predicted:
            # So few mistakes would be as improbable as is allowed if precision were at the floor.
            mistakes = predicted - int(g.tp)
            assert stats.binom.cdf(mistakes, predicted, 1 - fit.options["min_precision"]) <= error + CLOSE
        if guarantees.recall_shown[j] and positives > int(g.tp):
            missed = positives - int(g.tp)
            assert stats.binom.cdf(missed, positives, 1 - fit.options["min_recall"]) <= error + CLOSE


def hold_row_guarantees(guarantees: Any, fit: Fit, reached: Decided) -> None:
    """Where nothing is guaranteed, nothing or all is predicted."""
    expected = {"never": 0, "always": int(fit.known.sum()), "stored": int((fit.known & (fit.scores > 0)).sum())}
    if guarantees.instead:
        assert reached.predicted() == expected[guarantees.instead]


def hold_record(rule: Any, fit: Fit, reached: Decided) -> None:
    """Positives are counted on known cells."""
    if rule.fitted_on is not None and fit.named.needs_labels:
        positives = [float(g.tp + g.fn) for g in reached.labels()]
        assert rule.fitted_on.positives == pytest.approx(positives, rel=CLOSE)


CLAIMS = (
    hold_objective,
    hold_budget,
    hold_cap,
    hold_limits,
    hold_guard_report,
    hold_guarantees,
    hold_record,
)


def hold_out_of_fold(fit: Fit, folds: Any) -> None:
    """Figures out of fold are those of the decisions about each fold by the rule of the other rows."""
    found = thresholds.cross_fit(rule=fit.name, cv=folds, **fit.given())
    out_of_fold = np.zeros_like(fit.truth)
    for k in np.unique(folds):
        inside = folds == k
        if isinstance(found.rule, ThresholdRule):
            rule: Any = rule_of(found.fold_thresholds[k], found.rule)
        else:
            rule = thresholds.fit(rule=fit.name, **fit.of_rows(~inside).given())
        out_of_fold[inside] = decisions(rule, fit, fit.scores[inside])

    # Rows of weight 0 are judged in no fold, and add nothing.
    reached = fit.decided(out_of_fold)
    in_sample = fit.decided(decisions(found.rule, fit))
    measure = (found.average, fit.beta, fit.zero_division)
    assert found.out_of_fold == pytest.approx(float(reached.f(*measure)), abs=CLOSE)
    assert found.in_sample == pytest.approx(float(in_sample.f(*measure)), abs=CLOSE)

    # The same label by label, in the rule, and in the table.
    kept = found.rule.out_of_fold
    assert (kept.f, kept.n_folds) == (found.out_of_fold, len(found.fold_thresholds))
    labels = reached.labels()
    assert kept.by_label.tp == pytest.approx([float(g.tp) for g in labels], rel=CLOSE)
    assert kept.by_label.predicted == pytest.approx([float(g.tp + g.fp) for g in labels], rel=CLOSE)
    assert kept.by_label.positives == pytest.approx([float(g.tp + g.fn) for g in labels], rel=CLOSE)
    for which, name in ((in_sample, "f_in_sample"), (reached, "f_out_of_fold")):
        f = [float(value) for value in which.f_of_labels(fit.beta, fit.zero_division)]
        assert found.spread[name] == pytest.approx(f, abs=CLOSE)
    if found.diagnosis is not None:
        counts = found.diagnosis.verdicts.to_frame()
        assert counts["tp"].tolist() == [int(g.tp) for g in labels]
        assert counts["predicted_positive"].tolist() == [int(g.tp + g.fp) for g in labels]


def hold_on_rows_of_fit(fit: Fit) -> None:
    """Every claim about the rows of the fit holds."""
    rule = thresholds.fit(rule=fit.name, **fit.given())
    reached = fit.decided(decisions(rule, fit))
    for hold in CLAIMS:
        hold(rule, fit, reached)


def n_draws(name: str) -> int:
    """How many draws `make test` has of a rule: a calibration takes a hundred times as long as most fits."""
    return 10 if RULES[name].method == "calibrated" else 60


@pytest.mark.parametrize("name", list(RULES))
def test_what_is_claimed_on_the_rows_of_the_fit_is_what_is_predicted_there(name: str) -> None:
    for seed in range(n_draws(name)):
        hold_on_rows_of_fit(drawn(name, seed))


@pytest.mark.parametrize("name", list(RULES))
def test_what_is_claimed_out_of_fold_is_what_rules_of_the_other_rows_predict(name: str) -> None:
    for seed in range(n_draws(name) // 5):
        fit = drawn(name, seed)
        hold_out_of_fold(fit, np.arange(len(fit.truth)) % 3)


@pytest.mark.soak
@pytest.mark.parametrize("name", list(RULES))
def test_all_claims_hold_in_many_more_draws(name: str) -> None:
    for seed in range(100, 100 + 10 * n_draws(name)):
        fit = drawn(name, seed)
        hold_on_rows_of_fit(fit)
        hold_out_of_fold(fit, np.arange(len(fit.truth)) % 3)
