"""How far thresholds would move, and what is left of their F: by a bootstrap that sorts nothing anew."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse, stats

from tests.naive import bootstrap as naive
from thresholds import bootstrap_thresholds, fit_empirical
from thresholds._engine.histograms import histograms
from thresholds._engine.problem import Problem
from thresholds._engine.staircase import Steps
from thresholds._kernels.bootstrap import resample, tables, weigh
from thresholds._results.text import WIDTH
from thresholds.metrics import f_interval, fbeta_score

N, M = 40, 4
SEED = 5

Cells = NDArray[Any]


def drawn(seed: int = 0, n: int = N, decimals: int = 1) -> tuple[Cells, Cells]:
    """Labels that are rarer and rarer, with tied scores."""
    rng = np.random.default_rng(seed)
    truth = (rng.random((n, M)) < [0.5, 0.3, 0.1, 0.02]).astype(np.uint8)
    return truth, np.round(rng.normal(size=truth.shape) + truth, decimals)


def of_labels(problem: Problem, first: int, last: int) -> Steps:
    """The steps of some labels."""
    return histograms(problem, None, labels=np.arange(first, last)).steps


def steps_of(steps: Steps, n_bootstraps: int, seed: int = SEED, first: int = 0) -> tuple[Cells, Cells]:
    """What the kernel chooses in each replicate."""
    counts = steps.offsets, steps.tp, steps.predicted - steps.tp, steps.positives
    return resample(*counts, 1.0, seed, first, n_bootstraps)


def drawn_from(mean: int, size: int, seed: int = SEED) -> Cells:
    """Poisson numbers."""
    weights = np.empty(size, np.int64)
    lookup = tables()
    weigh(np.full(size, mean), np.uint64(seed), lookup.cumulative, lookup.guide, weights)
    return weights


# Random numbers


def test_words_are_those_that_are_published() -> None:
    """For the seed 1234567, as in https://rosettacode.org/wiki/Pseudo-random_numbers/Splitmix64."""
    words = [naive.keyed(1234567, number) for number in range(5)]
    assert words == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


@pytest.mark.each_value
@pytest.mark.parametrize("mean", [0, 1, 2, 9, 64, 65, 300, 10**6])
def test_numbers_are_those_of_the_twin(mean: int) -> None:
    assert drawn_from(mean, 40).tolist() == [naive.poisson(mean, naive.keyed(SEED, k)) for k in range(40)]


@pytest.mark.each_value
@pytest.mark.parametrize("mean", [1, 3, 20, 64, 65, 100, 1000, 10**6])
def test_numbers_are_poisson(mean: int) -> None:
    """Chi-square over some 40 classes of equal chance."""
    found = drawn_from(mean, 100_000)
    edges = np.unique(stats.poisson.ppf(np.linspace(0, 1, 41)[1:-1], mean))
    chance = np.diff(np.concatenate([[0], stats.poisson.cdf(edges, mean), [1]]))
    counted = np.bincount(np.searchsorted(edges, found), minlength=chance.size)
    wanted = chance > 0
    assert stats.chisquare(counted[wanted], found.size * chance[wanted]).pvalue > 0.001
    assert not counted[~wanted].any()


def test_a_table_leaves_nothing_out() -> None:
    """Each mean's last value takes all words that are left, and what was rounded away is less than 2^-50."""
    cumulative = tables().cumulative
    for mean, row in enumerate(cumulative):
        expected = stats.poisson.cdf(np.arange(row.size), mean)
        np.testing.assert_allclose(row / 2.0**62, expected, atol=2e-15)
        assert row[-1] == 2**62


# Replicates


@pytest.mark.each_value
@pytest.mark.parametrize("beta", [1.0, 0.5, 2.0])
@pytest.mark.parametrize("form", ["dense", "sparse", "above missing"])
def test_the_table_is_that_of_the_twin(form: str, beta: float) -> None:
    truth, scores = drawn()
    given: dict[str, Any] = {"beta": beta, "n_bootstraps": 19, "confidence": 0.8, "random_state": SEED}
    shown: Any = scores
    if form != "dense":
        scores = np.maximum(scores, 0)
        shown = sparse.csr_array(scores)
    keeps = form == "above missing"
    found = bootstrap_thresholds(truth, shown, placement="score", keep_sparse=keeps, **given).table
    rule = fit_empirical(truth, shown, beta=beta, placement="score", keep_sparse=keeps)
    above = 0.0 if keeps else -math.inf
    for j in range(M):
        y, s = truth[:, j].tolist(), scores[:, j].tolist()
        samples = [naive.replicate(y, s, SEED, j, r, beta=beta, above=above) for r in range(19)]

        # Of 19 the second smallest and the second largest: 20 times a tenth.
        cuts = sorted(sample.score for sample in samples)
        shares = sorted(np.mean(scores[:, j] >= sample.score) for sample in samples)
        assert (found["threshold_low"][j], found["threshold_high"][j]) == (cuts[1], cuts[-2])
        assert (found["predicted_low"][j], found["predicted_high"][j]) == (shares[1], shares[-2])
        assert found["never"][j] == np.mean([sample.score == math.inf for sample in samples])

        # What is claimed, what the rows of weight 0 say, and the interval.
        decided = scores[:, j] >= rule.thresholds[j]
        tp, predicted, positives = (int(cells.sum()) for cells in (truth[:, j] & decided, decided, truth[:, j]))
        claimed = fbeta_score(y, decided, beta=beta, average="binary", zero_division=0.0)
        hits, alarms, support = (float(sum(sample.left_out[k] for sample in samples)) for k in range(3))
        left = (1 + beta**2) * hits / (beta**2 * support + alarms) if support else claimed
        chance = (1 + beta**2) * predicted * positives / N / (beta**2 * positives + predicted) if positives else 0.0
        corrected = naive.corrected_f(claimed, left, chance)
        low, high = f_interval(tp, predicted, positives, beta=beta, confidence=0.8)
        fewer = corrected * (beta**2 * positives + predicted) / (1 + beta**2)
        lower, higher = f_interval(fewer, predicted, positives, beta=beta, confidence=0.8)
        optimism = claimed - corrected
        np.testing.assert_allclose(
            [found[name][j] for name in ("f", "optimism", "f_corrected", "f_low", "f_high")],
            [claimed, optimism, corrected, max(0, min(low - optimism, lower)), max(high - optimism, higher)],
            atol=1e-12,
        )


def test_a_replicate_is_a_bootstrap_of_rows() -> None:
    """The cuts of replicates have the chances that they have where every row draws a weight of its own."""
    truth, scores = drawn(3, n=30)
    n = 20_000
    problem = Problem.of(truth[:, :1], scores[:, :1])
    steps = of_labels(problem, 0, 1)
    best, unseen = steps_of(steps, n)

    # (n, N) weights; what each step counts in each replicate.
    weights = np.random.default_rng(1).poisson(1, (n, 30))
    is_predicted = scores[:, 0] >= steps.cut[:, np.newaxis]  # (n_steps, N)
    is_true = truth[:, 0] > 0
    tp = weights @ (is_predicted & is_true).T  # (n, n_steps)
    f = tp / np.maximum(weights @ is_predicted.T + (weights @ is_true)[:, np.newaxis], 1)
    by_rows = np.where(f.max(axis=1) > 0, f.argmax(axis=1), -1)
    counts = np.stack([np.bincount(chosen + 1, minlength=steps.tp.size + 1) for chosen in (best[0], by_rows)])
    assert stats.chi2_contingency(counts[:, counts.sum(axis=0) > 10]).pvalue > 0.01

    # So have the rows of weight 0: their counts on average.
    is_left_out = weights == 0
    chosen = is_predicted[by_rows] & (by_rows >= 0)[:, np.newaxis]
    by_row = np.stack([is_left_out & chosen & is_true, is_left_out & chosen, is_left_out & is_true]).sum(axis=2)
    error = by_row.std(axis=1) / math.sqrt(n)
    assert (np.abs(unseen[:, 0] / n - by_row.mean(axis=1)) < 4 * error).all()


def test_what_is_drawn_depends_on_seed_label_and_replicate_alone() -> None:
    problem = Problem.of(*drawn(n=200))
    together, _ = steps_of(of_labels(problem, 0, M), 50)
    for j in range(M):
        steps = of_labels(problem, j, j + 1)
        start = of_labels(problem, 0, M).offsets[j]
        alone = steps_of(steps, 20, first=j)[0][0]
        np.testing.assert_array_equal(np.where(alone < 0, -1, alone + start), together[j, :20])
    assert (steps_of(of_labels(problem, 0, 1), 50, seed=SEED + 1)[0][0] != together[0]).any()
    assert (steps_of(of_labels(problem, 0, 1), 50, first=1)[0][0] != together[0]).any()


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_results_do_not_depend_on_threads_or_labels_that_follow(n_jobs: int) -> None:
    truth, scores = drawn(n=300)
    many = np.tile(truth, 20), np.tile(scores, 20)
    found = bootstrap_thresholds(*many, n_bootstraps=20, n_jobs=n_jobs).table
    first = bootstrap_thresholds(truth, scores, n_bootstraps=20).table
    for name in first.dtype.names:
        np.testing.assert_array_equal(found[name][:M], first[name])


def test_seeds_give_other_samples_and_none_tells_which_it_took() -> None:
    data = drawn(n=200, decimals=3)
    fixed = bootstrap_thresholds(*data)
    other = bootstrap_thresholds(*data, random_state=1)
    assert (fixed.table["f_corrected"] != other.table["f_corrected"]).any()
    unknown = bootstrap_thresholds(*data, random_state=None)
    again = bootstrap_thresholds(*data, random_state=unknown.random_state)
    np.testing.assert_array_equal(unknown.table, again.table)


# What is reported


@pytest.mark.parametrize("placement", ["low", "mid", "score"])
@pytest.mark.parametrize("zero_division", [0.0, 1.0])
def test_the_fit_is_that_of_macro_f(placement: Any, zero_division: float) -> None:
    truth, scores = drawn()
    truth[:, 3] = 0
    given: dict[str, Any] = {"placement": placement, "zero_division": zero_division, "beta": 2.0}
    rule = fit_empirical(truth, scores, **given)
    found = bootstrap_thresholds(truth, scores, **given)
    np.testing.assert_array_equal(found.table["threshold"], rule.thresholds)
    assert found.macro_f == pytest.approx(rule.objective, abs=1e-15)
    np.testing.assert_allclose(found.table["predicted"], rule.predict(scores).mean(axis=0))


def test_a_label_without_positives_has_nothing_to_correct() -> None:
    found = bootstrap_thresholds([[0], [0], [0]], [[0.1], [0.2], [0.3]], zero_division=1.0)
    row = found.table[0]
    assert (row["threshold"], row["predicted"], row["never"]) == (math.inf, 0, 1)
    assert (row["f"], row["optimism"], row["f_low"], row["f_high"]) == (1, 0, 0, 1)
    assert found.macro_f == found.macro_f_corrected == 1


def test_a_label_with_one_positive_claims_all_and_keeps_little() -> None:
    truth = np.zeros((50, 1), int)
    truth[7] = 1
    scores = np.random.default_rng(0).random((50, 1))
    scores[7] = 0.99
    row = bootstrap_thresholds(truth, scores).table[0]
    assert row["f"] > 0.6
    assert row["f_corrected"] < 0.1
    assert row["f_low"] == 0
    assert row["never"] == pytest.approx(math.exp(-1), abs=0.1)


def test_intervals_hold_the_corrected_figure_and_grow_with_confidence() -> None:
    data = drawn(n=200)
    narrow, wide = (bootstrap_thresholds(*data, confidence=c).table for c in (0.5, 0.99))
    for table in (narrow, wide):
        assert (table["f_low"] <= table["f_corrected"]).all()
        assert (table["f_corrected"] <= table["f_high"]).all()
        assert (table["f_corrected"] <= table["f"]).all()
    assert (wide["f_low"] < narrow["f_low"]).all()
    assert (wide["threshold_low"] <= narrow["threshold_low"]).all()
    assert (wide["predicted_high"] >= narrow["predicted_high"]).all()


def test_intervals_hold_the_f_of_the_fitted_threshold_in_the_population() -> None:
    """400 samples of 40 positives, as labels; all figures are in experiments/bootstrap/intervals.txt."""
    rng = np.random.default_rng(0)
    n, base_rate, shift, samples = 400, 0.1, 1.5, 400
    truth = rng.random((n, samples)) < base_rate
    found = bootstrap_thresholds(truth, rng.normal(size=truth.shape) + shift * truth).table
    hits = base_rate * stats.norm.sf(found["threshold"] - shift)
    alarms = (1 - base_rate) * stats.norm.sf(found["threshold"])
    f = 2 * hits / (base_rate + hits + alarms)
    holds = (found["f_low"] <= f) & (f <= found["f_high"])
    assert 0.92 <= holds.mean() <= 0.98
    assert abs((found["f_corrected"] - f).mean()) < (found["f"] - f).mean() / 3


def test_the_summary_says_what_is_luck_and_which_thresholds_move() -> None:
    truth, scores = drawn(n=300)
    names = ("common", "usual", "rare", "<b>hardly ever</b>")
    found = bootstrap_thresholds(truth, scores, label_names=names, confidence=0.9)
    spread = found.table["predicted_high"] / np.maximum(found.table["predicted_low"], 0.5 / 300)
    summary, table = str(found).split("\n\n")
    words = " ".join(summary.split())
    assert words.startswith(
        f"macro F1 of the fitted thresholds: {found.macro_f:.4f} on these 300 rows, about"
        f" {found.macro_f_corrected:.4f} on others; {found.macro_optimism:.4f} is luck (200 bootstrap samples)"
        f" {np.count_nonzero(spread > 3)} of 4 thresholds "
    )
    assert "90 % interval" in words
    assert table.splitlines()[3].startswith(names[int(np.argmax(spread))])
    assert "&lt;b&gt;" in found._repr_html_()
    assert list(found.to_frame()["name"]) == list(names)


def test_a_threshold_that_may_predict_nothing_is_said_to_be_never() -> None:
    found = bootstrap_thresholds([[1], [0], [0]], [[0.3], [0.2], [0.1]])
    assert found.table["threshold_high"][0] == math.inf
    assert " to never " in str(found)


@pytest.mark.parametrize("scale", [1.0, -1e-6])
def test_the_table_is_no_wider_than_text(scale: float) -> None:
    truth, scores = drawn(n=300, decimals=5)
    found = bootstrap_thresholds(
        truth, scores * scale, label_names=[f"A label of {M} with a long name: {j}" for j in range(M)]
    )
    assert max(map(len, str(found).splitlines())) <= WIDTH
