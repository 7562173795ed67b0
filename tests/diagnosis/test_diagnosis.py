"""`diagnose` against its definitions, on rules and scores of every kind; what it says, and what it repairs."""

import dataclasses
import math
import pickle
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import binom, false_discovery_control, fisher_exact, mannwhitneyu, t
from sklearn.metrics import roc_auc_score

import thresholds
from tests.cases import small_cases
from tests.naive import diagnosis as witness
from tests.naive import exhaustive as naive
from tests.words import flat
from thresholds import (
    CalibratedRule,
    FixedRule,
    InstanceRule,
    ThresholdRule,
    TopKRule,
    calibrate,
    diagnose,
    fit_empirical,
)
from thresholds._kernels.evidence import p_value_of_best_f1
from thresholds._significance import rejected
from thresholds.diagnosis.result import Diagnosis
from thresholds.diagnosis.without_labels import ExpectedDiagnosis

pytestmark = pytest.mark.each_value

Array = NDArray[np.generic]
Floats = NDArray[np.float64]
inf, nan = math.inf, math.nan

COUNTED = ("n_positives", "predicted_positive")
RATIOS = ("base_rate", "predicted_rate", "overprediction", "precision", "recall", "f", "f_predict_all", "lift")
TESTED = ("best_f", "auroc", "p_informative", "p_uninformative", "p_backwards")
KINDS = [sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix]


def column(positives: object, n: int) -> tuple[NDArray[np.uint8], Floats]:
    """Truth with positives at these ranks from the top, 1 ... n, and scores that fall with the rank."""
    truth = np.isin(np.arange(1, n + 1), positives).astype(np.uint8)
    return truth, np.linspace(1, 0, n)


def draw(seed: int) -> tuple[NDArray[np.uint8], Floats]:
    """Random truth and scores in [0, 1]: rare and frequent labels, useful and useless, top-heavy, tied, emptied."""
    rng = np.random.default_rng([71, seed])
    n, m = int(rng.integers(8, 60)), int(rng.integers(1, 6))
    truth = rng.random((n, m)) < np.exp(rng.uniform(np.log(0.05), np.log(0.6), m))
    top = rng.random((n, m)) < rng.choice([0.0, 0.3, 1.0], m)
    scores = rng.standard_normal((n, m)) + truth * (rng.uniform(0, 1.5, m) + 3 * top * (rng.random(m) < 0.5))
    if rng.random() < 0.3:
        truth[:, 0] = rng.random() < 0.5
    return truth.astype(np.uint8), np.round(1 / (1 + np.exp(-scores)), int(rng.choice([1, 2, 17])))


def rules_of(truth: Array, scores: Array) -> dict[str, object]:
    """A rule of every kind for probabilities."""
    m = truth.shape[1]
    return {
        "macro": fit_empirical(truth, scores),
        "micro": fit_empirical(truth, scores, "micro", label_names=[f"label {j}" for j in range(m)]),
        "fixed": FixedRule(0.3, m),
        "never": FixedRule(inf, m),
        "always": FixedRule(-inf, m),
        "top k": TopKRule(min(2, m)),
        "instance": InstanceRule(),
        "regions": thresholds.fit_regions(truth, scores, n_bins=4),
        "calibrated": CalibratedRule(calibrate(truth, scores, "platt"), InstanceRule()),
        "calibrated, fixed": CalibratedRule(calibrate(truth, scores), FixedRule(0.25, m)),
    }


def assert_as_defined(found: Diagnosis, y_true: Array, y_score: Array, y_pred: Array, **options: float) -> None:
    """The table is that of the twin; what follows from p-values follows from those of the library."""
    table = found.table
    rows = witness.diagnosis(y_true, y_score, y_pred, **options)
    for name in COUNTED:
        np.testing.assert_array_equal(table[name], [row[name] for row in rows], err_msg=name)
    for name in (*RATIOS, *TESTED):
        expected = [row[name] for row in rows]
        np.testing.assert_allclose(table[name], expected, rtol=1e-9, atol=1e-14, err_msg=name)
    given = [{name: table[name][j].item() for name in (*COUNTED, *TESTED)} for j in range(len(table))]
    drawn = witness.concluded(given, options.get("alpha", 0.05), options.get("overprediction", 3.0))
    assert table["informative"].tolist() == [row["informative"] for row in drawn]
    assert table["state"].tolist() == found.state.tolist() == [row["state"] for row in drawn]


# The twin itself


def labels(count: int, sizes: tuple[int, int], seed: int) -> Iterator[tuple[Array, Array]]:
    """Labels with positives and negatives, some of their scores tied."""
    rng = np.random.default_rng(seed)
    while count:
        n = int(rng.integers(*sizes))
        truth = (rng.random(n) < rng.choice([0.15, 0.4])).astype(np.uint8)
        if 0 < truth.sum() < n:
            count -= 1
            lift = truth * (rng.random(n) < 0.5) * 2.0
            yield truth, np.round(rng.standard_normal(n) + lift, int(rng.choice([0, 1, 17])))


def test_placements_are_counted_as_enumerated() -> None:
    for truth, scores in labels(80, (2, 10), seed=1):
        assert witness.p_max_f(truth, scores) == witness.p_max_f_by_enumeration(truth, scores)


def test_the_chance_of_a_max_f_by_hand() -> None:
    """One positive of 5 at rank r reaches its F1, 2 / (1 + r), in r of 5 placements; two of 4 at 1 and 4: F1 = 2/3."""
    for rank in range(1, 6):
        assert witness.p_max_f(*column(rank, 5)) == Fraction(rank, 5)
    assert witness.highest_f(*column([1, 4], 4)) == Fraction(2, 3)
    assert witness.p_max_f(*column([1, 4], 4)) == 1
    assert witness.p_max_f(*column([1, 3], 4)) == Fraction(3, 6)  # 4/5: ranks 1 and 2, 1 and 3, 2 and 3
    assert witness.p_max_f(np.array([1, 0, 0]), np.ones(3)) == 1


def test_ranks_are_those_of_scipy_and_scikit_learn() -> None:
    for truth, scores in labels(60, (5, 60), seed=2):
        sides = scores[truth == 1], scores[truth == 0]
        theirs = mannwhitneyu(*sides, alternative="greater", method="asymptotic").pvalue
        assert witness.p_rank_normal(truth, scores) == pytest.approx(theirs, rel=1e-12)
        assert float(witness.auroc(truth, scores)) == pytest.approx(roc_auc_score(truth, scores), rel=1e-12)


def test_which_chance_of_the_ranks_is_taken() -> None:
    truth, scores = column([2, 3, 7], 30)
    for tied, of_ties in ((3, False), (4, True)):
        scores[-tied:] = 0
        assert witness.p_rank_normal(truth, scores) != witness.p_rank_given_ties(truth, scores)
        expected = witness.p_rank_given_ties if of_ties else witness.p_rank_normal
        assert witness.p_rank(truth, scores) == expected(truth, scores) < witness.p_max_f(truth, scores)
        p = diagnose(truth, scores, FixedRule(0.5, 1)).table["p_informative"]
        np.testing.assert_allclose(p, [2 * expected(truth, scores)], rtol=1e-9)


def test_two_scores_are_a_table_of_four() -> None:
    """Fisher's exact test, as only the number of positives with the higher score counts."""
    rng = np.random.default_rng(9)
    for _ in range(30):
        truth, scores = (rng.random((2, 25)) < rng.choice([0.2, 0.5, 0.8], (2, 1))).astype(int)
        cells = [[np.sum((truth == y) & (scores == s)) for s in (1, 0)] for y in (1, 0)]
        exact = fisher_exact(cells, alternative="greater").pvalue
        if 0 < truth.sum() < 25:
            assert witness.p_rank(truth, scores) == pytest.approx(exact, rel=1e-9)


def test_without_ties_both_chances_of_the_ranks_are_alike() -> None:
    for truth, scores in labels(30, (40, 60), seed=10):
        scores = scores + np.linspace(0, 1e-9, len(scores))
        given = witness.p_rank_given_ties(truth, scores)
        assert given == pytest.approx(witness.p_rank_normal(truth, scores), rel=0.2)


def test_one_listed_positive_is_no_proof() -> None:
    """1 of 200 rows is listed, and it is the only positive: a chance of 1 in 200, not of 1 in 10^40."""
    truth, scores = column(1, 200)
    scores[1:] = 0
    assert witness.p_rank_normal(truth, scores) < 1e-40
    assert witness.p_rank(truth, scores) == pytest.approx(1 / 200, rel=1e-12)
    p = diagnose(truth, scores, FixedRule(0.5, 1)).table["p_informative"]
    np.testing.assert_allclose(p, [2 / 200], rtol=1e-12)


def test_variances_by_hand() -> None:
    """Positives at ranks 1 and 3 of 4: placements 1 and 1/2, and 1 and 1/2; AUROC 3/4, variance 1/8 / 2 twice."""
    truth, scores = column([1, 3], 4)
    assert witness.auroc(truth, scores) == Fraction(3, 4)
    z = (0.75 - 0.7) / math.sqrt(1 / 8)
    assert witness.p_delong(truth, scores, 0.7) == pytest.approx((1 + math.erf(z / math.sqrt(2))) / 2, rel=1e-12)
    q1, q2 = 0.7 / 1.3, 0.98 / 1.7
    z = (0.75 - 0.7) / math.sqrt((0.21 + (q1 - 0.49) + (q2 - 0.49)) / 4)
    assert witness.p_hanley_mcneil(truth, scores, 0.7) == pytest.approx((1 + math.erf(z / math.sqrt(2))) / 2, rel=1e-12)


def test_students_t_by_hand() -> None:
    """Placements 0 and 0, and two more in each class: 0, 0, 0, 1 twice; mean 1/4, variance 1/4 / 4 twice, so t_6."""
    truth, scores = column([3, 4], 4)
    expected = t.cdf((1 / 4 - 1 / 2) / math.sqrt(1 / 16 + 1 / 16), 6)
    assert witness.p_student(truth, scores) == pytest.approx(expected, rel=1e-12)


def test_rejections_are_those_of_scipy() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        p = rng.random(int(rng.integers(1, 12))) ** rng.choice([1, 4])
        p = np.where(rng.random(p.size) < 0.2, nan, np.round(p, 2) if rng.random() < 0.3 else p)
        adjusted = np.full(p.size, nan)
        defined = ~np.isnan(p)
        if defined.any():
            adjusted[defined] = false_discovery_control(p[defined])
        if not np.isclose(adjusted, 0.05).any():
            assert witness.rejected(p.tolist(), 0.05) == (adjusted <= 0.05).tolist()


@pytest.mark.parametrize(
    ("positives", "over", "informative", "uninformative", "state"),
    [
        (20, True, False, True, "platypus"),
        (20, True, True, True, "overpredicted"),
        (20, True, True, False, "overpredicted"),
        (20, True, False, False, "suspect"),
        (4, True, False, False, "suspect"),
        (4, True, True, False, "suspect"),
        (0, True, False, False, "suspect"),
        (0, False, False, False, "unsupported"),
        (4, False, False, False, "restrained"),
        (20, False, False, True, "restrained"),
        (20, False, True, False, "restrained"),
    ],
)
def test_states_by_the_table(positives: int, over: bool, informative: bool, uninformative: bool, state: str) -> None:
    assert witness.state_of(positives, over, informative, uninformative) == state


# The table


@pytest.mark.parametrize("seed", [*range(10), *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(10, 20))])
def test_the_table_is_as_defined(seed: int) -> None:
    truth, scores = draw(seed)
    rules = rules_of(truth, scores)
    for name in ("macro", [*rules][seed % len(rules)]):
        rule = rules[name]
        assert_as_defined(diagnose(truth, scores, rule), truth, scores, rule.predict(scores))


@pytest.mark.parametrize("seed", range(8))
def test_options_are_as_defined(seed: int) -> None:
    truth, scores = draw(100 + seed)
    rule = fit_empirical(truth, scores)
    for alpha, least, bound in ((0.4, 0.6, 1.0), (0.01, 0.9, 2.5), (0.2, 0.75, 0.3)):
        options = {"alpha": alpha, "min_auroc": least, "overprediction": bound}
        found = diagnose(truth, scores, rule, **options)
        assert (found.alpha, found.min_auroc, found.overprediction) == (alpha, least, bound)
        assert_as_defined(found, truth, scores, rule.predict(scores), **options)


AWKWARD = list(small_cases(120, seed=20130717))


@pytest.mark.each_value
@pytest.mark.parametrize("half", range(2))
@pytest.mark.parametrize("flavour", range(12))
def test_tiny_awkward_scores(flavour: int, half: int) -> None:
    """Ties, neighbouring floats, subnormals, signed zeros, huge scores, masks, all dtypes."""
    for case in AWKWARD[flavour::12][half::2]:
        rule = fit_empirical(case.y_true, case.y_score, beta=case.beta)
        found = diagnose(case.y_true, case.y_score, rule)
        assert_as_defined(found, case.y_true, case.y_score, rule.predict(case.y_score), beta=case.beta)


def test_one_chance_or_the_other_decides() -> None:
    """Labels whose few high positives speak, and labels whose many slightly higher ones do."""
    by_f, by_rank = column([1, 2, 3, 4, 40, 50, 60, 70, 80, 90], 100), column(range(1, 100, 2), 100)
    truth, scores = (np.column_stack(parts) for parts in zip(by_f, by_rank, strict=True))
    truth[:30, 1] |= 1
    ranks = [witness.p_rank(truth[:, j], scores[:, j]) for j in range(2)]
    chances = [float(witness.p_max_f(truth[:, j], scores[:, j])) for j in range(2)]
    assert chances[0] < ranks[0] / 2
    assert ranks[1] < chances[1] / 2
    table = diagnose(truth, scores, fit_empirical(truth, scores)).table
    np.testing.assert_allclose(table["p_informative"], [2 * chances[0], 2 * ranks[1]], rtol=1e-12)


@pytest.mark.parametrize("n", [6, 9, 12])
def test_the_chance_of_a_max_f_is_that_of_all_placements(n: int) -> None:
    rng = np.random.default_rng(n)
    for _ in range(20):
        truth = np.zeros((n, 1), np.uint8)
        truth[: int(rng.integers(1, 4))] = 1  # the highest, mostly, so that this chance decides
        scores = np.round(np.sort(rng.random((n, 1)), axis=0)[::-1], int(rng.choice([1, 17])))
        p = diagnose(truth, scores, FixedRule(0.5, 1)).table["p_informative"][0]
        exact = witness.p_max_f_by_enumeration(truth[:, 0], scores[:, 0])
        of_ranks = witness.p_rank(truth[:, 0], scores[:, 0])
        assert p == pytest.approx(min(1, 2 * min(of_ranks, float(exact))), abs=1e-12)


def test_the_chance_of_a_max_f_is_that_of_many_permutations() -> None:
    """Medium sizes: 20,000 permutations of the truth, within five standard errors."""
    rng = np.random.default_rng(4)
    for decimals in (1, 17):
        truth = np.zeros(150, np.uint8)
        truth[:12] = 1
        scores = np.round(rng.standard_normal(150) + truth * (np.arange(150) < 4) * 1.5, decimals)
        order = np.argsort(-scores)
        ends = np.append(np.flatnonzero(np.diff(scores[order])), 149)
        permuted = rng.permuted(np.tile(truth, (20_000, 1)), axis=1)
        best = (2 * permuted.cumsum(axis=1)[:, ends] / (12 + ends + 1)).max(axis=1)
        observed = (2 * truth[order].cumsum()[ends] / (12 + ends + 1)).max()
        exact = float(witness.p_max_f(truth, scores))
        share = np.mean(best >= observed - 1e-12)
        assert abs(share - exact) < 5 * math.sqrt(exact * (1 - exact) / 20_000) + 1e-12
        p = diagnose(truth, scores, FixedRule(0.5, 1)).table["p_informative"][0]
        assert p == pytest.approx(min(1, 2 * min(exact, witness.p_rank(truth, scores))), rel=1e-9)


@pytest.mark.parametrize("n", [7, 40, 90])
def test_labels_of_two_scores_and_of_few(n: int) -> None:
    """Where many are tied, sums of ranks hit their means exactly, which rounding must not miss."""
    rng = np.random.default_rng([11, n])
    truth = (rng.random((n, 60)) < rng.choice([0.1, 0.3, 0.6], 60)).astype(np.uint8)
    scores = (rng.random((n, 60)) < rng.choice([0.1, 0.4, 0.8], 60)) * rng.integers(1, 3, (n, 60))
    scores[:, :40] = np.minimum(scores[:, :40], 1)
    rule = FixedRule(0.5, 60)
    assert_as_defined(diagnose(truth, scores, rule), truth, scores, rule.predict(scores))


def test_many_rows() -> None:
    """1,500 rows of useless, useful and top-heavy labels; ranks beyond doubt need no other chance."""
    rng = np.random.default_rng(6)
    truth = (np.arange(1500)[:, np.newaxis] < [150, 20, 60, 300]).astype(np.uint8)
    scores = np.round(rng.standard_normal((1500, 4)) + truth * [0.0, 0.0, 0.0, 1.0], 3)
    scores[:12, 2] += 2
    rule = fit_empirical(truth, scores)
    found = diagnose(truth, scores, rule)
    assert_as_defined(found, truth, scores, rule.predict(scores))
    assert 0 < found.table["p_informative"][3] < 2e-12
    assert found.table["informative"].tolist() == [False, False, True, True]


# Scores of every kind


@pytest.mark.each_value
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("missing", [0.0, -1.0, 0.6])
def test_sparse_scores_are_diagnosed_as_dense_ones(kind: type, missing: float) -> None:
    for seed in range(2):
        truth, scores = draw(200 + seed)
        stored = scores >= 0.4
        lists = kind(sparse.coo_array((scores[stored], np.nonzero(stored)), shape=scores.shape))
        filled = np.where(stored, scores, missing)
        rule = fit_empirical(truth, lists, missing=missing)
        for y_true in (truth, sparse.csr_array(truth)):
            found = diagnose(y_true, lists, rule)
            assert_as_defined(found, truth, filled, rule.predict(filled))
            assert found.table.tobytes() == diagnose(truth, filled, rule).table.tobytes()


def test_sparse_scores_and_every_rule() -> None:
    truth, scores = draw(210)
    scores = np.where(scores >= 0.4, scores, 0.0)
    lists = sparse.csr_array(scores)
    for rule in (FixedRule(0.5, truth.shape[1]), TopKRule(1), InstanceRule(), thresholds.fit_regions(truth, lists)):
        decided = rule.predict(lists, **({} if isinstance(rule, TopKRule) else {"dense": True}))
        decided = decided.toarray() if sparse.issparse(decided) else decided
        assert_as_defined(diagnose(truth, lists, rule), truth, scores, decided)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4"])
def test_every_dtype_and_masks(dtype: str) -> None:
    for seed in range(6):
        truth, scores = draw(300 + seed)
        scores = (20 * scores).astype(dtype)
        if scores.dtype.kind == "f":
            scores[np.random.default_rng(seed).random(scores.shape) < 0.2] = -inf
        rule = fit_empirical(truth, scores)
        assert_as_defined(diagnose(truth, scores, rule), truth, scores, rule.predict(scores))


def test_labels_of_one_class_and_single_rows() -> None:
    truth, scores = np.array([[1, 0], [1, 0], [1, 0], [1, 0]]), np.array([[0.1, 0.2], [0.3, 0.2], [0.5, 0.9], [0.7, 1]])
    for cut in (0.0, 0.4, inf):
        for rows in (slice(0, 4), slice(0, 1)):
            rule = FixedRule(cut, 2)
            found = diagnose(truth[rows], scores[rows], rule)
            assert_as_defined(found, truth[rows], scores[rows], rule.predict(scores[rows]))
            assert np.isnan(found.table["auroc"]).all()
    assert diagnose(truth, scores, FixedRule(inf, 2)).state.tolist() == ["restrained", "unsupported"]
    assert diagnose(truth, scores, FixedRule(0.95, 2)).state.tolist() == ["restrained", "suspect"]
    assert diagnose(truth[:, 0], scores[:, 0], FixedRule(0.5, 1)).n_labels == 1


def test_nothing_depends_on_threads_or_order() -> None:
    rng = np.random.default_rng(5)
    truth = (rng.random((3000, 30)) < np.geomspace(0.3, 0.002, 30)).astype(np.uint8)
    scores = np.round(rng.standard_normal((3000, 30)) + truth * np.linspace(0, 2, 30), 2)
    rule = fit_empirical(truth, scores)
    found = diagnose(truth, scores, rule)
    for n_jobs in (1, 2, 5):
        assert diagnose(truth, scores, rule, n_jobs=n_jobs).table.tobytes() == found.table.tobytes()
    rows, columns = rng.permutation(3000), rng.permutation(30)
    again = diagnose(truth[rows], scores[rows], rule)
    moved = diagnose(truth[:, columns], scores[:, columns], fit_empirical(truth[:, columns], scores[:, columns]))
    for name in (*RATIOS, *TESTED):
        np.testing.assert_allclose(again.table[name], found.table[name], rtol=1e-11)
        np.testing.assert_allclose(moved.table[name], found.table[name][columns], rtol=1e-11)
    assert again.state.tolist() == found.state.tolist()
    assert moved.state.tolist() == found.state[columns].tolist()


def test_only_the_order_of_scores_matters() -> None:
    truth, scores = draw(400)
    found = diagnose(truth, scores, fit_empirical(truth, scores, placement="score"))
    other = diagnose(truth, np.exp(3 * scores), fit_empirical(truth, np.exp(3 * scores), placement="score"))
    for name in (*COUNTED, *RATIOS, *TESTED, "state"):
        np.testing.assert_array_equal(other.table[name], found.table[name])


# States


def five_labels() -> tuple[Array, Array, thresholds.ThresholdRule]:
    """Labels in each state, under cuts made by hand."""
    made = [
        (column(range(20, 1000, 20), 1000), -inf, "platypus"),  # spread evenly, predicted always
        (column([500, 700], 1000), 0.2, "suspect"),
        (column([], 1000), inf, "unsupported"),
        (column(range(1, 300, 3), 1000), 0.4, "overpredicted"),  # among the highest, predicted too often
        (column(range(1, 100), 1000), 0.85, "restrained"),
        (column([], 1000), 0.99, "suspect"),
        (column(range(1, 4), 1000), 0.9, "suspect"),  # informative, but of three positives
    ]
    truth, scores = (np.column_stack(parts) for parts in zip(*(cells for cells, _, _ in made), strict=True))
    names = [f"{state} {j}" for j, (_, _, state) in enumerate(made)]
    return truth, scores, thresholds.ThresholdRule([cut for _, cut, _ in made], label_names=names)


def test_each_state() -> None:
    truth, scores, rule = five_labels()
    found = diagnose(truth, scores, rule)
    assert found.state.tolist() == [name.split()[0] for name in rule.label_names]
    assert_as_defined(found, truth, scores, rule.predict(scores))
    assert found.platypus.tolist() == [state == "platypus" for state in found.state]
    assert found.suspect.tolist() == [state == "suspect" for state in found.state]
    assert found.overpredicted.tolist() == [True, True, False, True, False, True, True]
    assert found.table["name"].tolist() == list(rule.label_names) == list(found.label_names)
    np.testing.assert_array_equal(found.table["threshold"], rule.thresholds)
    assert (found.n_samples, found.n_labels) == truth.shape
    assert all(isinstance(reason, str) and reason for reason in found.table["reason"])


def test_a_pickled_diagnosis_is_the_same_and_read_only() -> None:
    truth, scores, rule = five_labels()
    found = diagnose(truth, scores, rule)
    again = pickle.loads(pickle.dumps(found))
    with pytest.raises(ValueError, match="read-only"):
        again.verdict[0] = "usable"
    assert again.table.tobytes() == found.table.tobytes()
    assert again.verdicts.table.tobytes() == found.verdicts.table.tobytes()


def test_the_bound_of_overprediction_is_strict() -> None:
    truth, scores = column(range(1, 11), 100)
    for cut, over in ((scores[29], False), (scores[30], True)):
        found = diagnose(truth, scores, thresholds.ThresholdRule([cut]))
        assert found.table["overprediction"][0] == (3.1 if over else 3)
        assert found.overpredicted.tolist() == [over]
        assert found.state.tolist() == ["overpredicted" if over else "restrained"]


def test_rules_without_thresholds_have_none_in_the_table() -> None:
    truth, scores = draw(500)
    for name, rule in rules_of(truth, scores).items():
        cuts = diagnose(truth, scores, rule).table["threshold"]
        known = isinstance(rule, thresholds.ThresholdRule)
        np.testing.assert_array_equal(cuts, rule.thresholds if known else np.full(truth.shape[1], nan), err_msg=name)


def test_masks_and_arrays_are_frozen() -> None:
    truth, scores, rule = five_labels()
    found = diagnose(truth, scores, rule)
    for array in (found.table, found.table["f"], found.state, found.platypus, found.suspect, found.overpredicted):
        assert not array.flags.writeable
    assert found.table.shape == (truth.shape[1],)
    with pytest.raises(AttributeError):
        found.alpha = 0.1


def test_nothing_is_flagged_where_nothing_is_predicted() -> None:
    for seed, cut in product(range(3), (inf,)):
        truth, scores = draw(seed)
        found = diagnose(truth, scores, FixedRule(cut, truth.shape[1]))
        assert set(found.state.tolist()) <= {"restrained", "unsupported", "backwards"}


def test_the_table_has_its_columns_in_order() -> None:
    truth, scores, rule = five_labels()
    found = diagnose(truth, scores, rule)
    columns = "name n_rows n_positives base_rate threshold predicted_positive predicted_rate overprediction precision"
    more = "recall f f_predict_all lift best_f auroc p_informative p_uninformative p_backwards informative state reason"
    of_verdict = "verdict f_low f_high bar positives_needed sentence"
    assert found.table.dtype.names == tuple(f"{columns} {more} {of_verdict}".split())
    frame = found.to_frame()
    assert list(frame.columns) == list(found.table.dtype.names)
    assert frame["name"].tolist() == list(rule.label_names)
    np.testing.assert_array_equal(frame["auroc"], found.table["auroc"])
    assert diagnose(truth, scores, TopKRule(1)).table["name"].tolist() == [str(j) for j in range(7)]


def test_a_seed_changes_nothing() -> None:
    truth, scores = draw(600)
    rule = fit_empirical(truth, scores)
    tables = [diagnose(truth, scores, rule, random_state=seed).table.tobytes() for seed in (None, 0, 7)]
    assert len(set(tables)) == 1


# What is said


def test_the_text_says_verdicts_first_and_then_states() -> None:
    truth, scores, rule = five_labels()
    found = diagnose(truth, scores, rule)
    verdicts = found.verdicts.to_text(5)
    assert str(found).startswith(f"{verdicts}\n\nWhatever the verdicts, over-predicted is more than 3 times as often")
    lines = str(found).removeprefix(f"{verdicts}\n\n").splitlines()
    assert lines[1].split() == ["state", "labels", "predictions", "share"]
    predicted = rule.predict(scores).sum(axis=0)
    counts = {"platypus": 1, "suspect": 3, "unsupported": 1, "overpredicted": 1, "restrained": 1}
    for line, (state, n) in zip(lines[3:], counts.items(), strict=False):
        ours = predicted[[name.startswith(state) for name in rule.label_names]].sum()
        share = f"{ours / predicted.sum():.1%}"
        assert line.split()[:5] == [state, str(n), f"{n / 7:.1%}", f"{ours:,}", share]
    assert lines[8] == ""
    assert [line.split("  ")[0] for line in lines[12:]] == ["platypus 0", "suspect 1", "suspect 6", "suspect 5"]


def test_the_share_of_flagged_predictions() -> None:
    truth, scores, rule = five_labels()
    predicted = rule.predict(scores).sum(axis=0)
    found = diagnose(truth, scores, rule)
    assert found.flagged_share == predicted[[0, 1, 5, 6]].sum() / predicted.sum()
    assert diagnose(truth, scores, FixedRule(inf, 7)).flagged_share == 0


def test_names_are_escaped_in_html_and_kept_in_one_line() -> None:
    truth, scores, rule = five_labels()
    names = ["<b>&", "two\nlines", *"cdefg"]
    found = diagnose(truth, scores, thresholds.ThresholdRule(rule.thresholds, label_names=names))
    for page in (found._repr_html_(), found.most_predicted()._repr_html_()):
        assert "&lt;b&gt;&amp;" in page
        assert "<b>" not in page
        assert ">platypus</td>" in page
    assert found.table["name"].tolist() == names
    for text in (str(found), str(found.most_predicted())):
        assert any(line.startswith("two lines ") for line in text.splitlines())


def test_what_reasons_say() -> None:
    truth, scores, rule = five_labels()
    reasons = diagnose(truth, scores, rule).table["reason"].tolist()
    starts = [
        "20.4 times as often as true; AUROC below 0.7 (p = ",
        "400 times as often as true, 2 positives: too few to test AUROC",
        "no positives",
        "6 times as often as true",
        "1.52 times as often as true",
        "predicted, but never true here",
        "33.3 times as often as true, 3 positives: too few to test AUROC",
    ]
    for reason, start in zip(reasons, starts, strict=True):
        assert reason.startswith(start)
    far = column(range(5, 100, 16), 100)
    undecided = diagnose(*far, FixedRule(0.0, 1))
    assert undecided.state.tolist() == ["suspect"]
    assert "not shown better than chance (p = 0.64), nor AUROC below 0.7 (p = 0.13)" in undecided.table["reason"][0]


@pytest.mark.parametrize("k", [1, 3, 8, 99])
def test_the_most_predicted_labels(k: int) -> None:
    for seed in range(6):
        truth, scores = draw(700 + seed)
        rule = fit_empirical(truth, scores, "micro")
        found = diagnose(truth, scores, rule)
        most = found.most_predicted(k)
        order = witness.most_predicted(rule.predict(scores), k)
        assert most.table.tobytes() == found.table[order].tobytes()
        lines = str(most).splitlines()
        assert lines[0].split()[:6] == ["most", "predicted", "count", "max", "F1", "threshold"]
        assert [int(line.split()[1]) for line in lines[2:]] == [row["predicted_positive"] for row in most.table]


def test_of_labels_predicted_equally_often_the_first_come_first() -> None:
    scores = np.tile(np.linspace(0, 1, 20)[:, np.newaxis], 60)
    truth = (scores > 0.5).astype(np.uint8)
    rule = thresholds.ThresholdRule(np.where(np.arange(60) % 7 == 3, 0.2, 0.6))
    order = witness.most_predicted(rule.predict(scores), 60)
    assert order[:3] == [3, 10, 17]
    names = diagnose(truth, scores, rule).most_predicted(60).table["name"]
    assert names.tolist() == [str(j) for j in order]


# Repairs


def placed(scores: Array, cut: float, placement: str) -> float:
    """The threshold of a cut in its gap."""
    return naive.place_in(scores, naive.exact_weights(None, len(scores)), cut, placement)


def changes_of(repair: object) -> list[tuple[object, ...]]:
    """The changes as plain tuples."""
    return [tuple(row) for row in repair.changes.tolist()]


def test_platypuses_are_never_predicted_again() -> None:
    truth, scores, rule = five_labels()
    found = diagnose(truth, scores, rule)
    mended = found.repair(rule)
    assert changes_of(mended) == [("platypus 0", "platypus", -inf, inf, 1000, 0)]
    assert mended.rule.thresholds.tolist() == [inf, *rule.thresholds[1:]]
    assert mended.rule.objective is None
    assert mended.rule.label_names == rule.label_names
    assert diagnose(truth, scores, mended.rule).state.tolist() == ["restrained", *found.state[1:]]
    again, changes = found.repair(rule, "never", states=("suspect", "platypus"))
    assert np.isinf(again.thresholds).tolist() == [True, True, True, False, False, True, True]
    assert changes["name"].tolist() == ["platypus 0", "suspect 1", "suspect 5", "suspect 6"]
    columns = ("name", "state", "old_threshold", "new_threshold", "predicted_before", "predicted_after")
    assert mended.changes.dtype.names == columns
    assert not mended.changes.flags.writeable


def test_capped_labels_are_predicted_up_to_the_bound() -> None:
    truth, scores, rule = five_labels()
    found = diagnose(truth, scores, rule)
    mended = found.repair(rule, "cap")
    after = mended.rule.predict(scores).sum(axis=0)
    assert after[[0, 1, 5, 6]].tolist() == [147, 6, 0, 9]
    assert mended.changes["predicted_after"].tolist() == [147, 6, 0, 9]
    np.testing.assert_array_equal(mended.rule.thresholds[2:5], rule.thresholds[2:5])
    assert not (diagnose(truth, scores, mended.rule).overpredicted[[0, 1, 5, 6]]).any()
    only = found.repair(rule, "cap", states=["platypus"])
    assert only.rule.thresholds.tolist() == [mended.rule.thresholds[0], *rule.thresholds[1:]]


@pytest.mark.parametrize(("dtype", "sparse_scores"), [("f2", False), ("f4", False), ("f4", True), ("f8", True)])
def test_caps_are_the_lowest_cuts_within_the_bound(dtype: str, sparse_scores: bool) -> None:
    tried = 0
    for seed in range(12):
        truth, scores = draw(800 + seed)
        scores = np.where(scores > 0.4, scores, 0).astype(dtype)
        given = sparse.csr_array(scores) if sparse_scores else scores
        for bound in (1.0, 1.7):
            rule = FixedRule(-inf if seed % 2 else 0.3, truth.shape[1])
            found = diagnose(truth, given, rule, overprediction=bound)
            mended = found.repair(rule, "cap", states=("platypus", "suspect"))
            before, after = rule.predict(scores).sum(axis=0), mended.rule.predict(scores).sum(axis=0)
            flagged = found.platypus | found.suspect
            assert mended.changes["name"].tolist() == found.table["name"][flagged].tolist()
            assert mended.changes["predicted_before"].tolist() == before[flagged].tolist()
            assert mended.changes["predicted_after"].tolist() == after[flagged].tolist()
            np.testing.assert_array_equal(mended.changes["new_threshold"], mended.rule.thresholds[flagged])
            np.testing.assert_array_equal(mended.rule.thresholds[~flagged], rule.thresholds[~flagged])
            for j in np.flatnonzero(flagged):
                cut = witness.lowest_cut(truth[:, j], scores[:, j], bound)
                assert after[j] == np.sum(scores[:, j] >= cut)
                assert mended.rule.thresholds[j] == pytest.approx(placed(scores[:, j], cut, "low"), rel=1e-15)
                tried += 1
    assert tried > 20


def test_a_repair_keeps_what_was_fitted() -> None:
    truth, scores, rule = five_labels()
    fitted = fit_empirical(truth, scores.astype(np.float32), "micro", beta=2.0, zero_division=1.0, placement="mid")
    low = fitted.replace({0: -inf})
    mended = diagnose(truth, scores.astype(np.float32), low).repair(low, "cap").rule
    kept = ("average", "beta", "zero_division", "placement", "missing", "fitted_on", "label_names")
    assert [getattr(mended, name) for name in kept] == [getattr(fitted, name) for name in kept]
    cut = witness.lowest_cut(truth[:, 0], scores[:, 0].astype(np.float32), 3.0)
    assert mended.thresholds[0] == placed(scores[:, 0].astype(np.float32), cut, "mid")
    assert mended.unsupported.tolist() == fitted.unsupported.tolist()
    assert rule.thresholds[0] == -inf, "the rule itself stays as it was"


def test_a_repair_lowers_no_threshold() -> None:
    """Another rule than the diagnosed one may be stricter than the cap already."""
    truth, scores, rule = five_labels()
    found = diagnose(truth, scores, rule)
    strict = rule.replace({0: 0.95, 1: 0.99999})
    mended = found.repair(strict, "cap")
    assert mended.rule.thresholds[:2].tolist() == [0.95, 0.99999]
    assert mended.changes["name"].tolist() == ["suspect 5", "suspect 6"]


def test_nothing_to_repair() -> None:
    truth, scores, _ = five_labels()
    rule = FixedRule(inf, 7)
    mended = diagnose(truth, scores, rule).repair(rule)
    assert mended.changes.size == 0
    assert str(mended) == "nothing to repair: none of 7 thresholds was changed"


def test_what_a_repair_says() -> None:
    truth, scores, rule = five_labels()
    found = diagnose(truth, scores, rule)
    lines = str(found.repair(rule, "cap")).splitlines()
    assert lines[0] == "repaired 4 of 7 thresholds: 162 predictions of these labels instead of 1,910"
    assert [line.split("  ")[0] for line in lines[5:]] == ["platypus 0", "suspect 1", "suspect 6", "suspect 5"]
    assert lines[5].split()[:4] == ["platypus", "0", "platypus", "-inf"]
    assert lines[5].split()[-2:] == ["1,000", "147"]


# Without labels

BELIEVED = (
    *("expected_positives", "base_rate", "predicted_positive", "predicted_rate", "overprediction"),
    *("expected_f", "f_predict_all", "lift", "resolution"),
)


def believed(probabilities: Array, rule: object, bound: float = 3.0) -> ExpectedDiagnosis:
    """The diagnosis, checked against the definitions."""
    found = thresholds.diagnose(None, probabilities, rule, overprediction=bound)
    dense = probabilities.toarray() if sparse.issparse(probabilities) else probabilities
    decided = rule.predict(dense)
    rows = [witness.expected_row(p, h, bound) for p, h in zip(dense.T, decided.T, strict=True)]
    for name in BELIEVED:
        np.testing.assert_allclose(found.table[name], [row[name] for row in rows], rtol=1e-9, atol=1e-12, err_msg=name)
    assert found.state.tolist() == found.table["state"].tolist() == [row["state"] for row in rows]
    return found


@pytest.mark.each_value(seed=4)
@pytest.mark.parametrize("seed", range(12))
def test_beliefs_are_as_defined(seed: int) -> None:
    rng = np.random.default_rng([81, seed])
    n, m = int(rng.integers(5, 80)), int(rng.integers(1, 6))
    p = rng.beta(0.3, rng.choice([0.5, 3.0, 30.0], m), (n, m)) * (rng.random(m) < 0.9)
    p = p.astype(rng.choice(["f4", "f8"]))
    rules = [FixedRule(0.0, m), FixedRule(0.1, m), TopKRule(1), InstanceRule(), thresholds.fit_expected(p)]
    for rule in [*rules, thresholds.RegionRule([[0.1, 0.4, 0.6]] * m)]:
        for bound in (3.0, 1.3):
            believed(p, rule, bound)
    lists = sparse.csr_array(np.where(p > 0.2, p, 0))
    for rule in (FixedRule(0.3, m), FixedRule(0.0, m), InstanceRule(), TopKRule(1)):
        believed(lists, rule)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("min_f", {"min_f": 0.3}),
        ("min_skill", {"min_skill": 0.1}),
        ("min_auroc", {"min_auroc": 0.6}),
        ("unknown", {"unknown": -1}),
    ],
)
def test_without_labels_what_is_about_labels_is_refused(name: str, given: dict[str, float]) -> None:
    with pytest.raises(thresholds.InputError, match=f"{name} is given with y_true=None, expected labels"):
        diagnose(None, np.full((9, 2), 0.1), FixedRule(0.5, 2), **given)


def test_each_state_that_a_model_may_believe() -> None:
    p = np.zeros((1000, 5))
    p[:, 0] = 0.001  # the same everywhere, predicted everywhere
    p[:100, 1] = 0.9
    p[:400, 2] = 0.01  # three quarters of them for little
    p[:100, 2] = 0.5
    rule = thresholds.ThresholdRule([0.0005, 0.5, 0.005, 0.5, 0.0], label_names=["a", "b", "<c>", "d", "e"])
    found = believed(p, rule)
    assert found.state.tolist() == ["platypus", "restrained", "overpredicted", "unsupported", "unsupported"]
    assert found.table["overprediction"].tolist()[4] == inf
    assert np.isnan(found.table["resolution"][3])
    assert found.table["resolution"][0] == pytest.approx(0, abs=1e-12)
    np.testing.assert_array_equal(found.table["threshold"], rule.thresholds)
    assert found.table["name"].tolist() == list(rule.label_names)
    assert not found.table.flags.writeable
    assert (found.n_samples, found.overprediction) == (1000, 3.0)
    lines = str(found).splitlines()
    assert lines[0].startswith("5 labels on 1,000 rows without labels: this reflects the model's own belief only")
    assert [line.split()[:2] for line in lines[-4:]] == [
        ["platypus", "1"], ["unsupported", "2"], ["overpredicted", "1"], ["restrained", "1"]
    ]  # fmt: skip
    assert ">platypus</td><td>1</td>" in found._repr_html_()
    assert list(found.to_frame().columns) == list(found.table.dtype.names)


def test_resolution_is_one_where_the_model_is_certain() -> None:
    p = (np.arange(20)[:, np.newaxis] < [4, 0, 20]).astype(float)
    found = believed(p, FixedRule(0.5, 3))
    assert found.table["resolution"][0] == pytest.approx(1)
    assert np.isnan(found.table["resolution"][1:]).all()


def test_the_chance_of_the_best_f_is_right_far_out() -> None:
    for n, positives in ((60, 10), (2000, 6)):
        chance = p_value_of_best_f1(np.ones(n, np.int64), positives, positives, positives, 0.5)
        np.testing.assert_allclose(chance, 1 / math.comb(n, positives), rtol=1e-9)


def test_constant_scores_are_at_an_auroc_of_one_half() -> None:
    truth = np.tile([1, 0, 0], 20)[:, np.newaxis]
    found = thresholds.diagnose(truth, np.ones((60, 1)), thresholds.ThresholdRule([1.0]), min_auroc=0.5)
    assert found.table["p_uninformative"].tolist() == [0.5]


def test_a_p_value_at_the_bound_is_rejected() -> None:
    assert rejected(np.array([0.05]), 0.05).all()
    assert rejected(np.array([0.25, 0.5]), 0.5).all()
    assert not rejected(np.array([0.5, np.nan]), 0.25).any()


def test_five_positives_are_enough() -> None:
    truth = (np.arange(200) < 5)[:, np.newaxis]
    scores = -np.arange(200.0)[:, np.newaxis]
    found = thresholds.diagnose(truth, scores, thresholds.ThresholdRule([-100.0]))
    assert found.state.tolist() == ["overpredicted"]
    found = thresholds.diagnose(truth[1:], scores[1:], thresholds.ThresholdRule([-100.0]))
    assert found.state.tolist() == ["suspect"]


def test_a_capped_rule_is_not_capped_again() -> None:
    rng = np.random.default_rng(0)
    truth, scores = rng.random((500, 6)) < 0.05, rng.random((500, 6))
    rule = thresholds.ThresholdRule(np.zeros(6))
    found = thresholds.diagnose(truth, scores, rule)
    mended, changes = found.repair(rule, "cap")
    assert changes.size
    assert not found.repair(mended, "cap").changes.size


def test_a_bound_of_a_limit_is_one_of_the_diagnosis() -> None:
    truth = (np.arange(500) < 100)[:, np.newaxis]
    scores = -np.arange(500.0)[:, np.newaxis]
    for bound in (1.15, 2.3, 4.35):
        rule = thresholds.ThresholdRule([1.0 - round(100 * bound)])
        assert not thresholds.diagnose(truth, scores, rule, overprediction=bound).overpredicted.any()


def test_expected_predictions_at_the_bound_are_not_over_it() -> None:
    p = np.array([[0.5], [0.25], [0.25], [0.0]])
    found = thresholds.diagnose(None, p, thresholds.ThresholdRule([0.25]))
    assert found.table["overprediction"].tolist() == [3.0]
    assert found.state.tolist() == ["restrained"]


def test_where_the_exact_test_takes_too_long_a_bound_stands_in(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(8)
    truth = rng.random((3000, 40)) < np.geomspace(0.002, 0.2, 40)
    scores = rng.normal(size=truth.shape)
    scores[:20][truth[:20]] += 4
    for j in range(0, 40, 2):  # a few at the very top, which ranks do not see
        scores[np.flatnonzero(truth[:, j])[:6], j] += 8
    rule = FixedRule(-1.0, 40)
    exact = diagnose(truth, scores, rule).table["p_informative"]
    monkeypatch.setattr("thresholds.diagnosis.evidence._MAX_STEPS", 0.0)
    bounded = diagnose(truth, scores, rule).table["p_informative"]
    assert (bounded >= exact * (1 - 1e-9)).all()
    small = exact < 1e-6
    assert small.sum() > 5
    assert (bounded[small] < exact[small] ** 0.75).all(), "not much is lost where it counts"


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_compare_counts_what_diagnose_flags(weighted: bool, kind: type) -> None:
    rng = np.random.default_rng(12)
    truth = rng.random((1500, 30)) < np.geomspace(0.002, 0.1, 30)
    scores = np.where(rng.random(truth.shape) < 0.5, 0, rng.random(truth.shape) + truth * (np.arange(30) % 3))
    rules = {
        "macro": fit_empirical(truth, kind(scores), keep_sparse=True),
        "often": FixedRule(0.2, 30),
        "top": TopKRule(3),
    }
    weights = rng.integers(0, 4, 1500) if weighted else None
    table = thresholds.compare(rules, truth, kind(scores), sample_weight=weights)
    flags = [(row.platypus, row.suspect) for row in table.measures]
    found = [diagnose(truth, kind(scores), rule) for rule in rules.values()]
    assert flags == [(one.platypus.sum(), one.suspect.sum()) for one in found]
    assert sum(map(sum, flags)) > 5


def test_a_comparison_averages_over_labels_with_positives_and_over_all() -> None:
    truth = np.array([[1, 0, 0], [1, 0, 1], [0, 0, 1]])
    scores = np.array([[0.9, 0.1, 0.2], [0.8, 0.2, 0.1], [0.1, 0.3, 0.7]])
    (half,) = thresholds.compare({"half": FixedRule(0.5, 3)}, truth, scores).measures
    assert (half.macro_supported, half.macro) == ((1 + 2 / 3) / 2, (1 + 2 / 3) / 3)


# Scores that rank backwards


def backwards(n_backwards: int, n_labels: int, seed: int = 0) -> tuple[Array, Floats]:
    """2,000 rows of labels whose scores know them well, but negated for the first."""
    rng = np.random.default_rng([31, seed])
    truth = (rng.random((2000, n_labels)) < 0.05).astype(np.uint8)
    scores = rng.standard_normal(truth.shape) + 3 * truth
    scores[:, :n_backwards] *= -1
    return truth, scores


def test_negated_scores_are_said_to_be_so_before_all_else() -> None:
    truth, scores = backwards(12, 12)
    for guard in (None, "shrink"):
        found = diagnose(truth, scores, fit_empirical(truth, scores, guard=guard))
        assert found.state.tolist() == ["backwards"] * 12
        assert found.backwards.all()
        said = (
            "12 of 12 labels with at least 5 positives rank backwards: y_score looks negated (higher should mean more"
            " likely)"
        )
        assert flat(found).startswith(f"{said} 12 labels judged on")
        assert said in found._repr_html_()
    assert not diagnose(truth, -scores, fit_empirical(truth, -scores)).backwards.any()


def test_labels_that_rank_backwards_are_told_from_others() -> None:
    truth, scores = backwards(2, 12)
    found = diagnose(truth, scores, fit_empirical(truth, scores))
    assert found.state.tolist() == ["backwards"] * 2 + ["restrained"] * 10
    assert str(found).startswith("12 labels judged")
    lines = str(found).split("\n\nWhatever the verdicts")[1].splitlines()
    assert lines[3].split()[:3] == ["backwards", "2", "16.7%"]
    assert found.table["reason"][0].startswith("18.5 times as often as true; AUROC 0.0168")
    assert "below 1/2 (p < 1e-15): negated scores would rank better" in found.table["reason"][0]
    assert found.flagged_share == found.table["predicted_positive"][:2].sum() / found.table["predicted_positive"].sum()
    of_others = diagnose(truth[:, 2:], scores[:, 2:], fit_empirical(truth[:, 2:], scores[:, 2:]))
    assert "backwards" not in str(of_others)


def test_scores_rank_backwards_whatever_is_predicted() -> None:
    truth, scores = backwards(1, 1)
    for cut in (-inf, 0.0, inf):
        assert diagnose(truth, scores, FixedRule(cut, 1)).state.tolist() == ["backwards"]


@pytest.mark.parametrize("seed", range(10))
def test_negated_scores_are_as_defined(seed: int) -> None:
    """With ties, in lists that leave many scores out (below the rest, or above them all), and masked."""
    truth, scores = draw(900 + seed)
    shape, rng = truth.shape, np.random.default_rng(seed)
    listed = np.where(rng.random(shape) < 0.4, -scores, (0, -9, -inf)[seed % 3])
    for given in (-scores, listed):
        rule = fit_empirical(truth, given)
        found = diagnose(truth, given, rule)
        assert_as_defined(found, truth, given, rule.predict(given))


def test_many_negated_rows() -> None:
    """The probability of ranks as low is that of ranks as high, of the scores as they were."""
    rng = np.random.default_rng(6)
    truth = (np.arange(500)[:, np.newaxis] < [50, 20, 60, 100, 8]).astype(np.uint8)
    scores = np.round(rng.standard_normal((500, 5)) + truth * [0.0, 0.6, 0.6, 1.0, 2.0], 3)
    scores[:, 1:3] = np.where(scores[:, 1:3] > 1, scores[:, 1:3], -5)
    found = diagnose(truth, -scores, FixedRule(inf, 5))
    ranks = [witness.p_rank(y, s) for y, s in zip(truth.T, scores.T, strict=True)]
    student = [witness.p_student(y, -s) for y, s in zip(truth.T, scores.T, strict=True)]
    np.testing.assert_allclose(found.table["p_backwards"], np.minimum(1, 2 * np.maximum(ranks, student)), rtol=1e-9)
    assert (np.sort(found.table["p_backwards"])[:3] < 0.05).all()


def test_neither_a_few_positives_nor_a_few_negatives_show_it() -> None:
    """Four rows at the very bottom may be errors of the truth; the fifth settles it."""
    for positives, state in (([997, 998, 999, 1000], "restrained"), ([996, 997, 998, 999, 1000], "backwards")):
        truth, scores = column(positives, 1000)
        found = diagnose(truth, scores, FixedRule(inf, 1))
        assert found.state.tolist() == [state]
        assert np.isnan(found.table["p_backwards"][0]) == (state == "restrained")
        assert diagnose(1 - truth, -scores, FixedRule(-inf, 1)).state.tolist() == [state], "as many negatives, on top"
        assert diagnose(1 - truth, scores, FixedRule(-inf, 1)).state.tolist() == ["restrained"], (
            "the same, ranked right"
        )


@pytest.mark.parametrize(("n_positives", "p"), [(5, 0.0465), (7, 0.0081), (10, 0.0004)])
def test_the_least_that_few_positives_can_show(n_positives: int, p: float) -> None:
    """Below all others, m positives have t = -m / 2 with m + 1 degrees of freedom: 7 suffice in a family of 6."""
    truth, scores = column(range(401 - n_positives, 401), 400)
    family = [np.tile(one[:, np.newaxis], 6) for one in (truth, scores)]
    found = diagnose(*family, FixedRule(inf, 6))
    np.testing.assert_allclose(found.table["p_backwards"], 2 * t.cdf(-n_positives / 2, n_positives + 1), rtol=0.02)
    np.testing.assert_allclose(found.table["p_backwards"], p, rtol=0.05)
    assert found.backwards.all()
    family[1][:, 1:] *= -1
    assert diagnose(*family, FixedRule(inf, 6)).backwards.tolist() == [n_positives > 5] + [False] * 5


def test_scores_that_know_some_positives_are_not_backwards() -> None:
    """30 of 100 positives at the very top, the others somewhat lower than the rest: AUROC below 1/2."""
    truth, scores = column([*range(1, 31), *range(1000, 2000, 15)], 2000)
    table = diagnose(truth, scores, FixedRule(inf, 1)).table
    assert table["auroc"][0] < 0.5
    assert table["informative"][0]
    assert table["state"][0] == "restrained"


def test_labels_that_rank_backwards_are_never_predicted_again() -> None:
    """Not by a cap either, which would keep what is least likely; and no threshold suits them, which is said."""
    truth, scores = backwards(2, 5)
    rule = fit_empirical(truth, scores)
    found = diagnose(truth, scores, rule)
    for action in ("never", "cap"):
        mended = found.repair(rule, action)
        assert np.isposinf(mended.rule.thresholds).tolist() == [True, True, False, False, False]
        assert mended.changes["predicted_after"].tolist() == [0, 0]
        assert "2 rank backwards: no threshold suits these, negate their scores and fit again" in flat(mended)
    one = dataclasses.replace(found, table=found.table[1:], caps=found.caps[1:], cap_predicted=found.cap_predicted[1:])
    mended = one.repair(ThresholdRule(rule.thresholds[1:]))
    assert "1 ranks backwards: no threshold suits it, negate its scores and fit again" in flat(mended)
    assert not found.repair(rule, states=("platypus",)).changes.size
    guarded = rule.replace({0: 1.0})  # too high: predicted about as often as true, on the wrong rows
    found = diagnose(truth, scores, guarded)
    assert not found.overpredicted[0]
    assert np.isposinf(found.repair(guarded).rule.thresholds[0])


def test_a_common_label_that_ranks_backwards_may_be_predicted_always() -> None:
    truth, scores = column(range(301, 901), 900)
    rule = fit_empirical(truth, scores)
    found = diagnose(truth, scores, rule)
    assert found.state.tolist() == ["backwards"]
    assert found.table["lift"][0] == 1
    assert not found.repair(rule).changes.size
    assert not found.repair(rule, "cap").changes.size


@pytest.mark.each_value(n_positives=1, spread=2, decimals=2, listed=2)
@pytest.mark.parametrize("n_positives", [5, 8, 20, 60])
@pytest.mark.parametrize(
    ("spread", "decimals", "listed"),
    [(0.3, 17, 1.0), (1.0, 17, 1.0), (1.0, 1, 0.1), (2.0, 17, 1.0), (3.0, 1, 1.0), (10.0, 17, 1.0)],
)
def test_scores_that_say_nothing_seldom_rank_backwards(
    n_positives: int, spread: float, decimals: int, listed: float
) -> None:
    """P(p <= x) <= x where AUROC is 1/2: in lists, and where positives are spread more than the rest, or less."""
    rng = np.random.default_rng([9, n_positives, int(10 * spread), int(10 * listed)])
    n, m = 400, 1500
    truth = np.zeros((n, m), np.uint8)
    truth[:n_positives] = 1
    scores = np.round(rng.standard_normal((n, m)) * np.where(truth, spread, 1), decimals)
    p = diagnose(truth, np.where(rng.random((n, m)) < listed, scores, -5.0), FixedRule(inf, m)).table["p_backwards"]
    for level in (0.002, 0.01, 0.05, 0.2):
        assert np.mean(p <= level) <= level + 4 * np.sqrt(level * (1 - level) / m)


@pytest.mark.parametrize("n_positives", [5, 10, 20, 100])
def test_skewed_scores_of_auroc_one_half_hardly_rank_backwards_more_often(n_positives: int) -> None:
    """Each positive is above all, or else only above a share of the negatives: every outcome, with its probability."""
    n, high = 400, np.arange(n_positives + 1)
    negatives = np.arange(n - n_positives)
    truth = np.repeat(np.arange(n)[:, np.newaxis] < n_positives, high.size, axis=1).astype(np.uint8)
    for share in np.linspace(0, 0.45, 16):
        below = round(share * negatives.size)
        placement = below / negatives.size
        scores = np.where(np.arange(n_positives)[:, np.newaxis] < high, n, below - 0.5)
        scores = np.vstack([scores, np.repeat(negatives[:, np.newaxis], high.size, axis=1)])
        p = diagnose(truth, scores, FixedRule(inf, high.size)).table["p_backwards"]
        chance = binom.pmf(high, n_positives, (0.5 - placement) / (1 - placement))  # mean placement 1/2
        for level, bound in ((0.001, 0.003), (0.01, 0.0155), (0.05, 0.05)):
            assert chance[p <= level].sum() <= bound
