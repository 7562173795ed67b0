"""A witness for each entry of docs/errata.md, under its title: enumerated expectations and exact fractions."""

import re
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from math import comb, erfc, exp, isnan, prod, sqrt
from pathlib import Path

import numpy as np
import pytest
from sklearn import metrics as theirs

from tests.metrics.oracles import ALWAYS, CYCLIC, FOOTNOTE, IOTESPRESSO, TABLE_1, column, decisions, indicators
from tests.naive.exhaustive import f_beta
from thresholds import fit_empirical
from thresholds.metrics import (
    accuracy_score,
    confusion_counts,
    f1_score,
    jaccard_score,
    precision_score,
    recall_score,
    skill_score,
)

ERRATA = Path(__file__).parents[2] / "docs" / "errata.md"
CLOSE = {"rel": 2e-15}
HALF, THIRD, TENTH = Fraction(1, 2), Fraction(1, 3), Fraction(1, 10)
nan = float("nan")

Truth = tuple[int, ...]
Set = tuple[int, ...]


def test_every_entry_has_a_witness() -> None:
    titles = re.findall(r"^### (.+)$", ERRATA.read_text(), re.M)
    witnesses = {(f.__doc__ or "").rstrip(".") for name, f in globals().items() if name.startswith("test_")}
    assert titles
    assert set(titles) <= witnesses


# Expectations over independent labels of one batch


def outcomes(probabilities: tuple[Fraction, ...]) -> Iterator[tuple[Truth, Fraction]]:
    """Every truth of the batch with its probability."""
    for truth in product((0, 1), repeat=len(probabilities)):
        yield truth, prod((p if y else 1 - p for p, y in zip(probabilities, truth, strict=True)), start=Fraction(1))


def f1(tp: int | Fraction, predicted: int | Fraction, positives: int | Fraction, zero_division: int = 0) -> Fraction:
    """F1 of counts."""
    return f_beta(Fraction(tp), Fraction(predicted), Fraction(positives), 1.0, zero_division)


def expected_f1(probabilities: tuple[Fraction, ...], chosen: Set, zero_division: int = 0) -> Fraction:
    """The mean F1 of predicting the chosen instances."""
    return sum(
        (w * f1(sum(y[i] for i in chosen), len(chosen), sum(y), zero_division) for y, w in outcomes(probabilities)),
        Fraction(0),
    )


def best_set(probabilities: tuple[Fraction, ...], zero_division: int = 0) -> tuple[Set, Fraction]:
    """The predictions of highest mean F1, and that mean; of equal ones the largest set."""
    sets = [chosen for k in range(len(probabilities) + 1) for chosen in combinations(range(len(probabilities)), k)]
    means = {chosen: expected_f1(probabilities, chosen, zero_division) for chosen in reversed(sets)}
    return max(means.items(), key=lambda item: item[1])


def gain(probabilities: tuple[Fraction, ...], chosen: Set, p: Fraction) -> Fraction:
    """What predicting one more instance, of probability p, adds to the mean F1: docs/errata.md, theorem 5.3."""
    total = Fraction(0)
    for truth, weight in outcomes(probabilities):
        hits, size = sum(truth[i] for i in chosen), sum(truth) + len(chosen)
        lost = Fraction(hits, size) if size else Fraction(0)
        total += weight * Fraction(2, size + 1) * (p * Fraction(size + 1 - hits, size + 2) - (1 - p) * lost)
    return total


def binomial(n: int, p: Fraction) -> list[Fraction]:
    """The probabilities of 0 ... n positives."""
    return [comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


def of_all(n: int, b: Fraction) -> Fraction:
    """The mean F1 of predicting all of n instances, each positive with probability b."""
    return sum((w * f1(a, n, a) for a, w in enumerate(binomial(n, b))), Fraction(0))


# Lipton, Elkan & Naryanaswamy 2013


def test_finite_batches_have_no_threshold_of_half_the_best_f1() -> None:
    """Theorem 5.3: half of the best expected F1 is the threshold in the limit only."""
    p = (Fraction(1), Fraction(9, 20))
    assert best_set(p) == ((0,), Fraction(17, 20))
    assert expected_f1(p, (0, 1)) == Fraction(49, 60)
    assert p[1] > Fraction(17, 20) / 2

    p = (Fraction(1), Fraction(2, 5), Fraction(1, 4))
    chosen, f = best_set(p)
    assert (chosen, f / 2) == ((0,), p[1])
    assert f - expected_f1(p, (0, 1)) == Fraction(9, 200)

    for probabilities in combinations_with_replacement([Fraction(k, 7) for k in range(8)], 3):
        others, p_next = probabilities[:2], probabilities[2]
        for chosen in ((), (0,), (0, 1)):
            more = expected_f1(probabilities, (*chosen, 2)) - expected_f1(probabilities, chosen)
            assert gain(others, chosen, p_next) == more
            assert p_next < HALF or more >= 0


@pytest.mark.soak
def test_the_largest_loss_on_a_grid() -> None:
    """Multiples of .05, up to three instances: the rule of theorem 5.3 loses .045 at most, and .45 may be left out."""
    grid = [Fraction(k, 20) for k in range(21)]
    worst, left_out = Fraction(0), Fraction(0)
    for p in [q for m in (2, 3) for q in combinations_with_replacement(grid[::-1], m) if any(q)]:
        values = [expected_f1(p, tuple(range(k))) for k in range(len(p) + 1)]
        rule = sum(q >= max(values) / 2 for q in p)
        worst = max(worst, max(values) - values[rule])
        largest = max(k for k, value in enumerate(values) if value == max(values))
        left_out = max([left_out, *p[largest:]])
    assert worst == Fraction(9, 200)
    assert left_out == Fraction(9, 20)


def test_dependent_labels() -> None:
    """Theorem 5.3: dependent labels have no such threshold."""
    # Instance 0 alone with probability .4; else instance 1 with one of six sets of seven others, .1 each.
    sets = [((0,), Fraction(4, 10))] + [((1, *range(2 + 7 * k, 9 + 7 * k)), TENTH) for k in range(6)]
    best = []
    for c in range(1, 45):  # the paper's own algorithm: the c largest entries of 2 sum_a z^a / (a + c)
        value = [sum((2 * w / (len(y) + c) for y, w in sets if i in y), Fraction(0)) for i in range(44)]
        order = sorted(range(44), key=lambda i, value=value: -value[i])[:c]
        best.append((sum(value[i] for i in order), set(order)))
    assert max(best, key=lambda item: item[0]) == (Fraction(4, 10), {0})
    assert sum(w for y, w in sets if 1 in y) == Fraction(6, 10)


@pytest.mark.soak
def test_zero_division_1_turns_theorem_5_4_round() -> None:
    """Theorem 5.4: predicting everything is best only if 0/0 counts as 0."""
    assert best_set((TENTH,), 0) == ((0,), TENTH)
    assert best_set((TENTH,), 1) == ((), Fraction(9, 10))
    assert best_set((TENTH,) * 3, 0) == ((0, 1, 2), Fraction(1441, 10000))
    assert best_set((TENTH,) * 3, 1) == ((), Fraction(729, 1000))
    b = Fraction(1, 100)
    assert [(1 - b) ** n > of_all(n, b) for n in (1, 390, 391)] == [True, True, False]
    for b in (TENTH, Fraction(1, 5), HALF):
        for n in range(1, 7):
            chosen, _ = best_set((b,) * n, 1)
            assert of_all(n, b) <= 2 * b / (1 + b)
            assert chosen == () or (1 - b) ** n <= 2 * b / (1 + b)
            assert best_set((b,) * n)[0] == tuple(range(n))


def best_cut(ranks: tuple[int, ...]) -> int:
    """The smallest number of predictions that maximises F1, from the ranks (1, 2, ...) of the positives."""
    f = {k: f1(hits, k, len(ranks)) for hits, k in enumerate(ranks, 1)}
    return max(f, key=lambda k: f[k])


def median_share(b: float, n: int, runs: int = 400) -> float:
    """The median share of n randomly ordered items that the best empirical F1 predicts, a = b n being positive."""
    a = round(b * n)
    orders = np.random.default_rng(n).random((runs, n)).argsort(axis=1)
    ranks = np.sort(orders[:, :a], axis=1) + 1
    f = 2 * np.arange(1, a + 1) / (a + ranks)
    return float(np.median(ranks[np.arange(runs), f.argmax(axis=1)] / n))


def test_the_scale_of_the_winners_curse() -> None:
    """Section 8: sampling misplaces thresholds up to n of about 1/b³, not (1-b)/b²."""
    for n, a in ((10, 1), (10, 2), (10, 5), (20, 1), (20, 2)):
        orders = list(combinations(range(1, n + 1), a))
        cuts = [best_cut(ranks) for ranks in orders]
        for extreme in (1, n):
            assert Fraction(sum(extreme in ranks for ranks in orders), len(orders)) == Fraction(a, n)
            assert Fraction(cuts.count(extreme), len(cuts)) <= Fraction(a, n)
    for b, u in product((TENTH, Fraction(1, 100)), (TENTH, HALF, Fraction(9, 10))):
        assert f1(b * u, u, b) / f1(b, 1, b) == 1 - b * (1 - u) / (b + u)
    at_square, at_cube = ([median_share(b, round(b**-power)) for b in (0.1, 0.05)] for power in (2, 3))
    assert at_square == pytest.approx([0.46, 0.33], abs=0.08)
    assert at_cube == pytest.approx([0.86, 0.86], abs=0.03)


def test_scores_of_section_8() -> None:
    """Section 8: scores b + noise are not calibrated, so that F1/2 is not their threshold."""
    b = sigma = 0.1
    half = b / (1 + b)
    above = 0.5 * erfc((half - b) / (sigma * sqrt(2)))
    assert 1 - above == pytest.approx(0.46, abs=0.005)
    assert 2 * b * above / (b + above) == pytest.approx(0.169, abs=0.0005)
    assert 2 * half == pytest.approx(0.182, abs=0.0005)
    assert half < b


def test_one_lucky_item() -> None:
    """Section 8: one lucky item has F1 2/(1+bn), and beats predicting all for n < 1/b²."""
    for positives, n in ((1, 10), (3, 20), (10, 100), (11, 100)):
        b = Fraction(positives, n)
        assert f1_score(column(n, positives), column(n, 1)) == pytest.approx(float(2 / (1 + b * n)), **CLOSE)
        assert (2 / (1 + b * n) > 2 * b / (1 + b)) == (n < 1 / b**2)
        assert (2 / (2 + b * n) > 2 * b / (1 + b)) == (n < (1 - b) / b**2)
    for n in (100, 10**6):
        b = (sqrt(1 + 4 * n) - 1) / (2 * n)  # where 2/(2+bn) = 2b/(1+b)
        assert n == pytest.approx((1 - b) / b**2, rel=1e-9)
        printed = (sqrt(1 + 8 / n) - 1) / 2
        assert printed * (printed + 1) == pytest.approx(2 / n, rel=1e-9)
    assert printed == pytest.approx(2.0e-6, rel=1e-5)
    assert b == pytest.approx(9.995e-4, rel=1e-6)


def test_micro_predicts_poor_labels_among_poor_labels() -> None:
    """Section 6.3: micro-F1 predicts an uninformative label nowhere iff 2b is at most the micro-F1 reached."""
    y_true = np.column_stack([column(10, 1), column(10, 1)])
    rule = fit_empirical(y_true, np.zeros((10, 2)), "micro")
    assert rule.predict(np.zeros((10, 2))).all()
    assert rule.objective == pytest.approx(2 / 11, **CLOSE)
    assert f1_score(y_true, np.column_stack([ALWAYS, 0 * ALWAYS]), average="micro") == pytest.approx(1 / 6, **CLOSE)
    for tp, predicted, positives, b in product((1, 3), (3, 6), (5, 8), (Fraction(k, 20) for k in range(1, 20))):
        n = 20
        without, everywhere = (
            f1(tp + hits, predicted + more, positives + b * n) for hits, more in ((0, 0), (b * n, n))
        )
        assert (everywhere > without) == (2 * b > without)


def skill(truth: Truth, chosen: Set) -> Fraction:
    """max(0, (acc - maj) / (1 - maj)) of predicting the chosen instances, 0 where a batch has one class."""
    n = len(truth)
    correct = sum(truth[i] == (i in chosen) for i in range(n))
    majority = max(sum(truth), n - sum(truth))
    return max(Fraction(0), Fraction(correct - majority, n - majority)) if majority < n else Fraction(0)


def test_expected_skill_is_no_matter_of_one_half() -> None:
    """Section 9: skill keeps the threshold 1/2 on given labels, not in expectation over a batch."""
    p = (Fraction(2, 5), Fraction(1, 5), Fraction(1, 5))
    expected = {c: sum(w * skill(y, c) for y, w in outcomes(p)) for k in range(4) for c in combinations(range(3), k)}
    assert expected[()] == 0
    assert expected[(0,)] == max(expected.values()) == Fraction(32, 125)


def test_labels_without_skill_have_no_threshold() -> None:
    """Section 9: where no cut has precision above 1/2, skill is 0 at every threshold."""
    for n, positives in ((6, 1), (6, 2), (7, 3)):
        for chosen in combinations(range(n), positives):
            truth = np.isin(np.arange(n), chosen).astype(int)  # rows in the order of their scores
            leads = np.cumsum(2 * truth - 1)  # rows predicted rightly, less those predicted wrongly, at each cut
            skills = [skill_score(truth[:, None], (np.arange(n) <= k)[:, None].astype(int))[0] for k in range(n)]
            assert skills == pytest.approx(np.maximum(leads, 0) / positives, **CLOSE)
            assert skills[-1] == 0
            assert (max(skills) == 0) == (leads.max() <= 0)
            never, always = accuracy_score(truth, 0 * truth), accuracy_score(truth, 0 * truth + 1)
            assert (never - always) * n == pytest.approx(n - 2 * positives)


def test_the_ratio_of_section_6_1() -> None:
    """Section 6.1: the ratio is close to 1 rather than small, and only if bn is small against tp."""
    for tp, fp, fn, rare in ((50, 30, 20, 5), (1, 0, 999, 10), (1000, 1000, 1000, 1)):
        perfect, none = f1(tp + rare, tp + fp + rare, tp + fn + rare), f1(tp, tp + fp, tp + fn + rare)
        a_plus_c = 2 * tp + fp + fn
        assert perfect / none == (1 + Fraction(rare, tp)) / (1 + Fraction(rare, a_plus_c + rare)) >= 1
    assert f1(11, 11, 1010) / f1(1, 1, 1010) > 10  # a label with 10 positives beside one with 1000
    assert f1(1001, 2001, 2001) / f1(1000, 2000, 2001) == pytest.approx(1, abs=1e-3)
    y_true = np.column_stack([column(10, 5), column(10, 1)])
    assert confusion_counts(y_true, y_true).positives.sum() > Fraction(5, 10) + Fraction(1, 10)


def test_skill_is_not_linear() -> None:
    """Section 2.2: skill is not linear in accuracy, and 0/0 where a label has one class."""
    wrong, right, between = ([skill_score([1, 0], y), accuracy_score([1, 0], y)] for y in ([0, 1], [1, 0], [1, 1]))
    assert (wrong, right, between) == ([0, 0], [1, 1], [0, 0.5])
    assert isnan(skill_score([0, 0], [0, 1]))


def test_f1_by_counts_is_undefined_without_positives_and_predictions() -> None:
    """Section 2: F1 by counts is undefined too, where tp = fp = fn = 0."""
    got = [f1_score([[0, 1]], [[0, 1]], average="macro", zero_division=value) for value in (0, 1, nan)]
    assert got == [0.5, 1, 1]


def test_true_positives_count_once() -> None:
    """Section 2.1: true positives of micro-F1 carry a factor 2 too many."""
    for tp, fp, fn, printed in ((1, 1, 0, Fraction(4, 5)), (10, 10, 10, Fraction(2, 3))):
        assert Fraction(2 * (2 * tp), 2 * (2 * tp) + fp + fn) == printed
        assert f1_score(*indicators((tp, fp, fn)), average="micro") == pytest.approx(float(f1(tp, tp + fp, tp + fn)))
        assert f1(tp, tp + fp, tp + fn) == f1(2 * tp, 2 * (tp + fp), 2 * (tp + fn)) != printed


Levels = list[tuple[Fraction, Fraction]]  # the mass of positives and of negatives at each score, from the lowest


def best_region(levels: Levels, beta: float = 1.0, threshold: bool = False) -> tuple[Set, Fraction]:
    """The set of scores to be predicted of highest F-beta, among those above a threshold or among all."""
    scores = range(len(levels))
    regions = [c for k in range(len(levels) + 1) for c in combinations(scores, k)]
    if threshold:
        regions = [c for c in regions if c == tuple(scores[len(scores) - len(c) :])]
    positives = sum(x for x, _ in levels)
    f = {c: f_beta(sum(levels[i][0] for i in c), sum(sum(levels[i]) for i in c), positives, beta, 0) for c in regions}
    return max(f.items(), key=lambda item: item[1])


def test_a_region_of_scores() -> None:
    """Theorem 5.1: it gives a region of scores, not always a threshold, and Jaccard's index for beta = 1 only."""
    levels = [(Fraction(k), Fraction(m)) for k, m in ((5, 1), (0, 8), (5, 1))]
    assert best_region(levels) == ((0, 2), Fraction(10, 11))
    assert best_region(levels, threshold=True) == ((0, 1, 2), Fraction(2, 3))
    cells = [(y, s) for s, masses in enumerate(levels) for y in (1, 0) for _ in range(int(masses[1 - y]))]
    assert fit_empirical(*map(list, zip(*cells, strict=True))).objective == pytest.approx(2 / 3, **CLOSE)

    levels = [(Fraction(k), Fraction(m)) for k, m in ((1, 5), (2, 4), (3, 2), (4, 1))]
    for beta in (1, 2, Fraction(1, 2)):
        b, (region, f) = beta**2, best_region(levels, float(beta))
        tp, fp = (sum(levels[i][side] for i in region) for side in (0, 1))
        bound = tp / (b * 10 + fp)
        assert bound == f / (1 + b - f)
        assert region == tuple(i for i, (x, y) in enumerate(levels) if x >= bound * y)
        assert (bound == tp / (10 + fp)) == (b == 1)
        assert (region == tuple(i for i, (x, y) in enumerate(levels) if x >= tp / (10 + fp) * y)) == (b != 4)


def test_p_2_is_p_0() -> None:
    """Theorem 5.1: the proof's P_2 is P_0, and its fn leaves out the region in question."""
    for tp, fp, fn, x, y in product((0, 1, 4), (0, 2), (0, 3), (1, 2), (1, 5)):
        added, left = f1(tp + x, tp + x + fp + y, tp + x + fn), f1(tp, tp + fp, tp + x + fn)
        assert (added >= left) == (Fraction(x, y) >= Fraction(tp, tp + fn + fp + x))


def test_what_calibrated_means() -> None:
    """Corollary 5.2: "calibrated" must mean P(t=1|s) = s, and a score of exactly F1/2 may be left out."""
    b, j = TENTH, Fraction(1, 4)
    f = 2 * j / (1 + j)

    def odds(s: Fraction, prior: Fraction) -> Fraction:
        return prior * s / ((1 - prior) * (1 - s))

    assert odds(Fraction(9, 13), b) == j  # the densities as printed
    assert odds(f / 2, HALF) == j  # s/(1-s), the odds of P(t=1|s) = s
    assert f / 2 == Fraction(1, 5)
    assert f1(1, 1, 2) == f1(2, 4, 2) == 2 * THIRD  # with and without three scores of 1/3


def test_the_base_rate_is_that_of_positives() -> None:
    """Section 5: the base rate b is P(t=1)."""
    truth = [0, 0, 0, 1]
    tp = confusion_counts(truth, [1] * 4, labels=[1]).tp.item() / 4
    for b, right in ((Fraction(1, 4), True), (Fraction(3, 4), False)):
        assert (tp == b) == right
        assert (f1_score(truth, [1] * 4) == pytest.approx(float(2 * b / (1 + b)))) == right


def test_equations_5_and_6() -> None:
    """Equations (5) and (6): a factor 2, a constraint and a condition are missing."""
    assert expected_f1((Fraction(1),), (0,)) == 1 == 2 * Fraction(1, 1 + 1)

    # Two instances, both positive or neither: z^2 = (1/2, 1/2), and z^0 = 0
    right = HALF * f1(2, 2, 2) + HALF * f1(0, 2, 0)
    hits = {0: 0, 2: 2}
    with_condition = sum(2 * HALF * Fraction(hits[a], a + 2) for a in (0, 2))
    without_condition = sum(2 * HALF * Fraction(1, a + 2) for a in (0, 2))  # E(tp|c) = 1
    assert right == with_condition == HALF
    assert without_condition == Fraction(3, 4)

    # (6) as printed, maximised over all h for each c: c = 1 with two instances predicted
    assert 2 * sum(HALF / (2 + 1) for _ in range(2)) == 2 * THIRD > right


def test_equation_7() -> None:
    """Equation (7): the derivative lacks the factor a."""
    a, c, f = Fraction(3), Fraction(2), Fraction(3, 10)
    step = Fraction(1, 10**9)
    slope = (2 * f / (a / (c + step) + 1) - 2 * f / (a / (c - step) + 1)) / (2 * step)
    assert float(slope) == pytest.approx(float(2 * f * a / (a + c) ** 2), rel=1e-12) == pytest.approx(0.072)
    assert 2 * f * (a / c + 1) ** -2 * c**-2 == Fraction(24, 1000)


def test_figures_4_and_5() -> None:
    """Figures 4 and 5: fp is held, not tp, and returns increase only where something is hit."""
    positives, negatives = 4, 6
    for tp in range(positives + 1):
        by_tn = [f1(tp, tp + negatives - tn, positives) for tn in range(negatives + 1)]
        returns = {low - 2 * middle + high for low, middle, high in zip(by_tn, by_tn[1:], by_tn[2:], strict=False)}
        assert (min(returns) > 0) == (tp > 0)
        assert tp > 0 or returns == {0}
    for fp in range(negatives + 1):  # held: the right counts rise one for one
        assert {Fraction(tp + 1 + negatives - fp, 10) - Fraction(tp + negatives - fp, 10) for tp in range(4)} == {TENTH}


def test_equation_8() -> None:
    """Equation (8): a score at the threshold counts as predicted and as not predicted."""
    truth, scores, threshold = [1, 0], [0.5, 0.5], 0.5
    printed = sum(s >= threshold if y else s <= threshold for y, s in zip(truth, scores, strict=True)) / 2
    assert printed == 1
    assert accuracy_score(truth, [s >= threshold for s in scores]) == 0.5


def break_even(n: int) -> Fraction:
    """The probability at which an instance is worth predicting beside n - 1 that have 1/2 and are predicted."""
    weights = binomial(n - 1, HALF)
    hit = sum(w * (f1(s + 1, n, s + 1) - f1(s, n - 1, s + 1)) for s, w in enumerate(weights))
    miss = sum(w * (f1(s, n - 1, s) - f1(s, n, s)) for s, w in enumerate(weights))
    return miss / (hit + miss)


def test_rounded_figures() -> None:
    """Sections 1, 5.2 and 6.2: figures rounded too early, or taken from the limit."""
    assert [of_all(n, HALF) for n in (1, 2, 10)] == [HALF, Fraction(7, 12), Fraction(61616127, 94595072)]
    assert float(of_all(100, HALF)) == pytest.approx(0.6651802527393342, rel=1e-15)
    assert [break_even(n) for n in (2, 3)] == [Fraction(1, 4), Fraction(16, 55)]
    exact = [0.3130183916336098, 0.32471218601757523, 0.3325817592439752, 0.3332591521306568]
    assert [float(break_even(n)) for n in (5, 10, 100, 1000)] == pytest.approx(exact, rel=1e-14)
    rule = fit_empirical(np.column_stack([column(10, 5), column(10, 1)]), np.column_stack([0 * ALWAYS, column(10, 1)]))
    assert rule.objective == pytest.approx(5 / 6, **CLOSE)


def test_figure_8() -> None:
    """Figure 8: one threshold is cut off, not rounded, and three of the highest F1 are no F1 of whole counts."""
    assert [f"{f / 2:.2e}" for f in (1.5437e-4, 1.54365e-4, 1.54375e-4)] == ["7.72e-05"] * 3
    n = 3 * 980  # Platypus is predicted for more than a third of all documents, so there are fewer
    for count, max_f1 in ((980, 4.6762e-4), (1401, 1.5437e-4), (1064, 8.5342e-4)):
        for tp in range(1, 10):  # F1 = 2 tp / (a + c), and a + c <= n + tp
            fitting = [2 * tp / (a + count) for a in range(tp, n - count + tp)]
            assert not any(abs(f - max_f1) <= 0.5e-8 for f in fitting)
            assert tp == 1 or min(fitting) > max_f1
        elsewhere = (n - count) * max_f1 / 2  # expected hits where the probability is below the threshold, at most
        hits = (count + elsewhere) * max_f1 / 2 / (1 - max_f1 / 2)  # tp = (a + c) F1 / 2 and a <= tp + elsewhere
        assert hits < 1
        assert exp(-hits - elsewhere) > 300 * max_f1  # about the probability that no document is positive


# Opitz & Burst 2019


def test_claim_2() -> None:
    """Claim 2: AF = FA iff all classes have one ratio of precision to recall."""
    one_all_wrong, two_labels = decisions([[1, 2], [1, 0]]), indicators((1, 1, 0), (1, 1, 0))
    for pair, value in ((one_all_wrong, 1 / 5), (two_labels, 2 / 3)):
        for average in ("macro", "f_of_averages"):
            assert f1_score(*pair, average=average) == pytest.approx(value, **CLOSE)
        p, r = (score(*pair, average=None) for score in (precision_score, recall_score))
        assert p[0] != r[0]
        assert p[0] * r[1] == p[1] * r[0]
    for a, b, c, d in product(range(1, 5), repeat=4):  # two classes, each with true positives
        p, r = (Fraction(a, a + b), Fraction(d, c + d)), (Fraction(a, a + c), Fraction(d, b + d))
        assert (p[0] * r[1] == p[1] * r[0]) == (p == r) == (b == c)


def test_claim_3() -> None:
    """Claim 3: a difference of 0.5 is a bound, reached only where 0/0 counts as 1."""
    assert Fraction(51, 101) - Fraction(1, 51) == Fraction(2500, 5151) < HALF
    for n in (10, 10**3, 10**9):  # n predicted A that are B, and one hit each
        p, r = (Fraction(1, n + 1), Fraction(1)), (Fraction(1), Fraction(1, n + 1))
        af = sum(2 * x * y / (x + y) for x, y in zip(p, r, strict=True)) / 2
        fa = sum(p) / 2  # the mean recall is the same
        assert fa - af == HALF + Fraction(1, 2 * (n + 1)) - Fraction(2, n + 2) < HALF
    for p, r in product([Fraction(k, 12) for k in range(1, 13)], repeat=2):
        assert p + r - 1 <= 2 * p * r / (p + r) <= (p + r) / 2
    assert f1_score(*FOOTNOTE, average="f_of_averages", zero_division=1) == 0.5
    assert f1_score(*FOOTNOTE, average="macro", zero_division=1) == 0


def test_footnote_1() -> None:
    """Footnote 1: FA is not what the post recommends."""
    pair = decisions(TABLE_1)
    for score in (f1_score, theirs.f1_score):
        assert score(*pair, average="macro") == pytest.approx(1 / 51, **CLOSE)  # AF


# Boyle 2023


def f1_of_version_1_3_0(y_true: list[int], y_pred: list[int], zero_division: float) -> list[float]:
    """F1 of each class where precision and recall that are both 0 give `zero_division`, as the page explains."""
    p, r = (
        score(y_true, y_pred, average=None, zero_division=zero_division) for score in (precision_score, recall_score)
    )
    return [2 * x * y / (x + y) if x + y else zero_division for x, y in zip(p, r, strict=True)]


def test_two_wrong_of_three() -> None:
    """Three classes, two of them wrong: macro F1 is 1/3, not about 0.67."""
    y_true, y_pred = [0, 1, 2], [1, 0, 2]
    assert f1_score(y_true, y_pred, average=None, zero_division=nan).tolist() == [0, 0, 1]
    assert f1_score(y_true, y_pred, average="macro", zero_division=nan) == pytest.approx(1 / 3, **CLOSE)
    assert np.nanmean(f1_of_version_1_3_0(y_true, y_pred, nan)) == 1  # what that version gave


def test_the_values_of_version_1_3_0_are_not_returned() -> None:
    """The wrong values that the page prints, from the mistake that it describes."""
    many = (list(range(104)), [*range(100), 101, 102, 103, 104])
    assert np.mean(f1_of_version_1_3_0(*many, 1.0)) == pytest.approx(0.9809523809523809, **CLOSE)
    assert f1_score(*many, average="macro", zero_division=1.0) == pytest.approx(0.9523809523809523, **CLOSE)
    assert np.isnan(f1_of_version_1_3_0([0, 1], [1, 0], nan)).all()
    assert f1_score([0, 1], [1, 0], average="macro", zero_division=nan) == 0
    assert f1_of_version_1_3_0(*CYCLIC, 1.0) == [1] * 5
    assert f1_score(*CYCLIC, average=None, zero_division=1.0).tolist() == [0] * 5


def test_the_rule_that_detects_the_mistake() -> None:
    """The rule that detects the mistake misses F1 that is nan beside a precision or recall of nan."""
    pair = [0, 0], [1, 1]
    p, r = (score(*pair, average=None, zero_division=nan) for score in (precision_score, recall_score))
    np.testing.assert_array_equal([p, r], [[nan, 0], [0, nan]])  # no class has both 0: the rule is silent
    assert np.isnan(f1_of_version_1_3_0(*pair, nan)).all()
    assert f1_score(*pair, average="macro", zero_division=nan) == 0
    assert f1_of_version_1_3_0([0, 1, 2], [1, 0, 2], 1.0) == [1, 1, 1]  # flagged, and macro F1 is wrong
    assert f1_score([0, 1, 2], [1, 0, 2], average="micro") == pytest.approx(1 / 3, **CLOSE)  # micro F1 never was


@pytest.mark.parametrize("pair", [CYCLIC, FOOTNOTE], ids=["cyclic", "footnote 2"])
def test_the_accuracy_of_nothing_right(pair: tuple[list[int], list[int]]) -> None:
    """Both reports: accuracy is 0, not 1.00."""
    assert accuracy_score(*pair) == theirs.accuracy_score(*pair) == 0
    for zero_division in (0.0, 1.0, nan):
        assert f1_score(*pair, average="micro", zero_division=zero_division) == 0
    assert precision_score(*pair, average="micro") == recall_score(*pair, average="micro") == 0


def test_recall_0() -> None:
    """Recall 0 does not say that all negative predictions are false."""
    y_true, y_pred = [1, 0, 0], [0, 1, 0]
    assert precision_score(y_true, y_pred) == recall_score(y_true, y_pred) == 0
    assert confusion_counts(y_true, y_pred, labels=[1]).tn.tolist() == [1]


@pytest.mark.parametrize(("zero_division", "macro"), [(0.0, 2 / 3), (1.0, 1), (nan, 1)])
def test_f1_can_be_0_over_0(zero_division: float, macro: float) -> None:
    """F1 too can be 0/0: where a class has neither samples nor predictions."""
    for score in (f1_score, theirs.f1_score):
        got = score([0, 1], [0, 1], labels=[0, 1, 2], average="macro", zero_division=zero_division)
        assert got == pytest.approx(macro, **CLOSE)


# Iotespresso; Kolena


def test_global_precision_and_recall_differ() -> None:
    """Global precision and recall are not always the same."""
    several = ([[1, 1], [0, 1]], [[1, 0], [0, 0]])
    for pair, options, expected in (
        (several, {}, (1, 1 / 3, 1 / 2)),
        (IOTESPRESSO, {"labels": [0, 1]}, (4 / 7, 2 / 3, 8 / 13)),
    ):
        got = [score(*pair, average="micro", **options) for score in (precision_score, recall_score, f1_score)]
        assert got == pytest.approx(expected, **CLOSE)


def test_micro_is_no_average_over_samples() -> None:
    """Micro adds counts; it averages nothing over samples."""
    y_true, y_pred = [[1, 1, 1], [1, 0, 0]], [[1, 1, 1], [0, 1, 0]]
    assert f1_score(y_true, y_pred, average="micro") == pytest.approx(3 / 4, **CLOSE)
    assert f1_score(y_true, y_pred, average="samples") == pytest.approx(1 / 2, **CLOSE)


# What looks wrong and is right


def test_sums_of_rounded_terms() -> None:
    """Sums of rounded terms and last digits."""
    assert round((0.6667 * 3 + 0.5714 * 3 + 0.857 * 4) / 10, 5) == 0.71423
    assert round((0.67 + 0.4 + 0.67) / 3, 2) == round(26 / 45, 2) == 0.58
    assert round(0.67 * 3 / 10 + 0.4 / 10 + 0.67 * 6 / 10, 3) == 0.643
    for printed, exact in ((0.6984126984126985, 44 / 63), (0.7142857142857142, 5 / 7)):
        assert printed != exact
        assert abs(printed - exact) == np.spacing(exact)


def test_jaccard_and_f1_agree_on_one_label_only() -> None:
    """Section 2.2: Jaccard's index rises with F1 on one label, not on averages over labels."""
    one, other = indicators((1, 0, 0), (1, 5, 0)), indicators((1, 1, 0), (1, 1, 0))
    assert f1_score(*one, average="macro") < f1_score(*other, average="macro")
    assert jaccard_score(*one, average="macro") > jaccard_score(*other, average="macro")
