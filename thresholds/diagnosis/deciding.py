"""After how many more observations will the test that is open of a label have decided?

A test looks at a mean of N observations, and decides where it lies far enough above one value, or below another. Of the
N, n have been seen, and their mean is x. The k = N - n to come have the mean y. What is known of y is what the n have
shown: it is normal, with

    mean m and variance s^2 (1 / n' + 1 / k)

where m, s and n' are mean, standard deviation and number of the observations so far, with a few more added so that few
observations claim no certainty. So the mean of all is normal, too, with

    mean (n x + k m) / N    and standard deviation (k / N) s sqrt(1 / n' + 1 / k)

and a test that asks for x_N - c / (2 N) >= a + z s_a / sqrt(N), c for continuity, decides with a probability that is
read off it. This is the predictive probability of trials that are looked at before they end (Spiegelhalter, Freedman
and Blackburn 1986; Jennison and Turnbull 2000, "Group Sequential Methods with Applications to Clinical Trials", section
10.3): unlike a power, it allows for how little is known of the effect. As k grows it tends to the probability that the
effect is one that can be shown, which may be less than what is asked for: then no number is enough.

The three numbers that are given are those at which it reaches `LEVELS`: enough in one case of ten, in eight, in nine.

Three tests are of this kind:

| question | observations | their mean | decided where it is shown to be |
|---|---|---|---|
| do the scores know it? | positives | their placements: AUROC | above 1/2, or below `min_auroc` |
| is its F good enough? | rows marked, true or both | Z of `metrics.intervals` at the bar | above 0, or below |
| is its precision above a floor? | predictions at its best cut for that | whether they are right | above the floor |

**Scores.** A positive's placement is the share of negatives below it. By chance its variance is (1 - sum (t^3 - t) /
(n^3 - n)) / 12, t the sizes of tie groups, and Mann and Whitney's test has that over 1 - b, b the base rate. Of those
to come it is that of Hanley and McNeil 1982 at the AUROC so far, A: 2 A^2 / (1 + A) - A^2 + b / (1 - b) (A / (2 - A) -
A^2). A has two positives added, of the mean AUROC of the labels with at least 5.

**F.** Each of the three kinds of rows counts half a row more (Jeffreys). With c = 1 - bar / 2 (`rows_needed`).

**Precision.** The cut whose precision is most clearly above the floor, of those that keep a floor of recall, if there
is one, too; half a right and half a wrong one more, c = 1.
"""

from collections.abc import Mapping

import numpy as np

from thresholds._arrays.blocks import row_blocks
from thresholds._arrays.types import Dense, Floats, Ints
from thresholds.diagnosis.bars import Marked, bar_of, most_positives, next_level
from thresholds.diagnosis.evidence import FEWEST, Criteria, LabelEvidence
from thresholds.metrics.intervals import moments

# Probabilities of having decided: the lower end, what is needed, the upper end.
LEVELS = (0.1, 0.8, 0.9)

# What a test is about, in the letters of above.
COLUMNS = (
    "seen",  # n
    "mean",  # x, anything where nothing was seen
    "expected",  # m
    "spread",  # s
    "known",  # n'
    "above",  # a, NaN where there is no such test
    "above_margin",  # z s_a
    "below",
    "below_margin",
    "step",  # c
    "share",  # of the observations that are positives
)
TEST = np.dtype([(name, np.float64) for name in COLUMNS])

_MOST = 10**7  # observations that are thought of
_PER_DECADE = 60
_PRIOR_POSITIVES = 2  # with the AUROC of other labels
_Z = 1.2816  # of an interval from LEVELS[0] to LEVELS[2]


def scores_test(
    evidence: LabelEvidence, positives: Floats, n: Floats, criteria: Criteria, labels: Ints
) -> dict[str, Floats | float]:
    """Return the test whether scores know some labels, of counts of all; a value of `TEST` for each, or for all."""
    auroc = np.nan_to_num(evidence.auroc, nan=0.5)
    has_enough = positives >= FEWEST
    usual = float(auroc[has_enough].mean()) if has_enough.any() else 0.5
    level_above = next_level(evidence.p_informative, criteria.alpha) / 2
    level_below = next_level(evidence.p_uninformative, criteria.alpha)

    # Of these labels.
    auroc, seen, n = auroc[labels], positives[labels], n[labels]
    base_rate = (seen + 1) / (n + 2)
    expected = (seen * auroc + _PRIOR_POSITIVES * usual) / (seen + _PRIOR_POSITIVES)
    untied = 1 - evidence.tie_cubes[labels] / np.maximum(n**3 - n, 1)
    by_chance = np.sqrt(untied / (12 * (1 - base_rate)))
    at_least = _spread_of_placements(np.full_like(seen, criteria.min_auroc), base_rate)
    return {
        "seen": seen,
        "mean": auroc,
        "expected": expected,
        "spread": _spread_of_placements(expected, base_rate),
        "known": seen + _PRIOR_POSITIVES,
        "above": 0.5,
        "above_margin": _quantile(level_above) * by_chance,
        "below": criteria.min_auroc,
        "below_margin": _quantile(level_below) * at_least,
        "step": 0.0,
        "share": 1.0,
    }


def _spread_of_placements(auroc: Floats, base_rate: Floats) -> Floats:
    """Return the standard deviation of a placement, as Hanley and McNeil have it."""
    of_positive = 2 * auroc**2 / (1 + auroc) - auroc**2
    of_negative = auroc / (2 - auroc) - auroc**2
    return np.asarray(np.sqrt(of_positive + base_rate / (1 - base_rate) * of_negative))


def f_test(
    marked: Marked, n: Floats, verdicts: Dense, criteria: Criteria, beta: float, labels: Ints
) -> dict[str, Floats | float]:
    """Return the test whether F of some labels is above its bar, or below; `verdicts` is the table of all."""
    level_above = next_level(verdicts["p_usable"], criteria.alpha)
    level_below = next_level(verdicts["p_weak"], criteria.alpha)

    # Of these labels.
    tp, predicted, positives = (counts[labels] for counts in marked)
    bar = bar_of(positives / n[labels], criteria, beta)
    seen = predicted + positives - tp
    mean, _, _ = moments(tp, predicted, positives, bar, beta)
    expected, null_variance, variance = moments(tp + 0.5, predicted + 1, positives + 1, bar, beta)
    return {
        "seen": seen,
        "mean": np.nan_to_num(mean),
        "expected": expected,
        "spread": np.sqrt(variance),
        "known": seen + 1.5,
        "above": 0.0,
        "above_margin": _quantile(level_above) * np.sqrt(null_variance),
        "below": 0.0,
        "below_margin": _quantile(level_below) * np.sqrt(null_variance),
        "step": 1 - bar / 2,
        "share": (positives + 1) / (seen + 1.5),
    }


def precision_test(cut: Marked, floor: Floats, delta: Floats) -> dict[str, Floats | float]:
    """Return the test whether the precision at the cut of some labels is above a floor, with an error of `delta`."""
    tp, predicted, positives = cut
    expected = (tp + 0.5) / (predicted + 1)
    return {
        "seen": predicted,
        "mean": tp / np.maximum(predicted, 1),
        "expected": expected,
        "spread": np.sqrt(expected * (1 - expected)),
        "known": predicted + 1,
        "above": floor,
        "above_margin": _quantile(delta) * np.sqrt(floor * (1 - floor)),
        "step": 1.0,
        "share": np.maximum(positives, 1) / np.maximum(predicted, 1),
    }


def _quantile(level: Floats | float) -> Floats:
    """Return the normal quantile that a test at a level asks for."""
    from scipy.special import ndtri

    return np.asarray(ndtri(1 - np.asarray(level)))


def more_needed(tests: Dense) -> Floats:
    """Return how many more observations decide tests with the probabilities of `LEVELS`, (3, n_tests), inf for never.

    `tests` (n_tests,) are rows of `TEST`.
    """
    numbers = _numbers()
    found = np.full((len(LEVELS), tests.size), np.inf)
    for block in row_blocks(tests.size, numbers.size):
        # (n_tests of the block, n_numbers)
        p = _p_decided({name: tests[name][block, np.newaxis] for name in COLUMNS}, numbers)
        reached = np.maximum.accumulate(p, axis=1)
        for row, level in zip(found, LEVELS, strict=True):
            is_enough = reached >= level
            first = is_enough.argmax(axis=1)
            row[block] = np.where(is_enough.any(axis=1), numbers[first], np.inf)
    return found


def _numbers() -> Floats:
    """Return the numbers of observations that are tried, from 1 on: each that is a twenty-fifth more than the last."""
    decades = np.log10(_MOST)
    return np.unique(np.rint(np.logspace(0, decades, int(_PER_DECADE * decades) + 1)))


def _p_decided(test: Mapping[str, Floats], more: Floats) -> Floats:
    """Return the probability that a test has decided after so many more observations."""
    from scipy.special import ndtr

    # The mean of all observations.
    total = test["seen"] + more
    mean = (test["seen"] * test["mean"] + more * test["expected"]) / total
    spread = more / total * test["spread"] * np.sqrt(1 / test["known"] + 1 / more)

    # Where each test begins to decide.
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(total)
        by_steps = test["step"] / (2 * total)
        least = test["above"] + test["above_margin"] / root + by_steps
        most = test["below"] - test["below_margin"] / root - by_steps
        p_above = ndtr((mean - least) / spread)
        p_below = ndtr((most - mean) / spread)
    return np.asarray(np.minimum(np.nan_to_num(p_above) + np.nan_to_num(p_below), 1.0))


def in_positives_and_rows(
    more: Floats, seen: Floats, share: Floats, positives: Floats, n: Floats
) -> tuple[Floats, Floats]:
    """Turn observations, (3, n_labels), into positives in all, and into more rows, each (3, n_labels).

    Of n rows so far, (n_labels,), `seen` had a part in the test; `share` of such rows are positives. The interval of
    rows allows for this being an estimate, and for chance in what is to come: on a logarithmic scale, with squares
    added,

        ln(upper / needed)^2 = ln(upper / needed)^2 of the observations + z^2 (1 / seen + 1 / k),    z = 1.28 (80 %)
    """
    # Numbers of positives beyond what can be foreseen are infinite.
    in_all = positives + np.ceil(more * share)
    is_beyond = in_all > most_positives(positives)
    in_all = np.where(is_beyond, np.inf, in_all)
    low, needed, high = np.where(is_beyond, np.inf, more)

    # Rows bring observations at the rate so far; both are left to chance.
    seen = np.maximum(seen, 0.5)
    rows_each = n / seen
    middle = np.where(np.isfinite(needed), needed, low)
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = _Z**2 * (1 / seen + 1 / middle)
        below = np.exp(-np.sqrt(np.log(low / middle) ** 2 + chance))
        above = np.exp(np.sqrt(np.log(high / middle) ** 2 + chance))
        low = np.maximum(np.floor(middle * rows_each * below), 1)
        high = np.where(np.isfinite(high), np.ceil(middle * rows_each * above), high)
    low = np.where(np.isfinite(middle), low, middle)
    return in_all, np.stack([low, np.ceil(needed * rows_each), high])
