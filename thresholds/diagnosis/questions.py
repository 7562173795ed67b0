"""What is not decided about a label, and how many more rows would decide it?

Five questions, each answered by a test that is looked at again when there are more rows (`enough`). Per observation:

| question | observations | their mean | decided where it is shown to be |
|---|---|---|---|
| do the scores know it? | positives | their placements: AUROC | above 1/2, or below `min_auroc` |
| is its F good enough? | rows marked, true or both | Z of `metrics.intervals` at the bar | above 0, or below |
| is its precision above a floor? | predictions at its best cut for that | whether they are right | above the floor |
| is its recall above a floor? | positives | | certain: a number is enough |
| is it ever true? | rows | whether they are true | above 0 |

**Scores.** A positive's placement is the share of negatives below it. By chance its variance is (1 - sum (t^3 - t) /
(n^3 - n)) / 12, t the sizes of tie groups, and Mann and Whitney's test has that over 1 - b, b the base rate. Of those
to come it is that of Hanley and McNeil 1982 at the AUROC so far, A: 2 A^2 / (1 + A) - A^2 + b / (1 - b) (A / (2 - A) -
A^2). A has two positives added, of the mean AUROC of the labels with at least 5.

**F.** Each of the three kinds of rows counts half a row more (Jeffreys). With c = 1 - bar / 2 (`rows_needed`).

**Precision.** The cut whose precision is most clearly above the floor, of those that keep a floor of recall, if there
is one, too; half a right and half a wrong one more, c = 1.

**Recall.** A cut at the lowest score of P positives has a recall of at least f on new rows with probability 1 - f^P
(Wilks 1941). So ln(delta) / ln(f) positives, rounded up, are enough to promise it with confidence 1 - delta.

**Ever true.** If before n rows without a positive all base rates were equally likely, the first one is found among m
more with probability m / (n + 1 + m) (Laplace's rule of succession). So m = 4 (n + 1) for a probability of .8.

From observations to rows: divided by how many of them came with each row so far. The interval of rows allows for this
being an estimate, and for chance in what is to come, too: on a logarithmic scale, with squares added,

    ln(upper / needed)^2 = ln(upper / needed)^2 of the observations + z^2 (1 / n + 1 / k),    z = 1.28 (80 %)
"""

from typing import NamedTuple

import numpy as np

from thresholds._arrays.types import Booleans, Floats
from thresholds.diagnosis.bars import Marked, bar_of, most_positives, next_level
from thresholds.diagnosis.enough import LEVELS, Bar, Course, More, more_needed
from thresholds.diagnosis.evidence import FEWEST, Criteria, LabelEvidence
from thresholds.metrics.intervals import moments

_PRIOR_POSITIVES = 2  # with the AUROC of other labels
_Z = 1.2816  # of an interval from LEVELS[0] to LEVELS[2]


class Answer(NamedTuple):
    """How many observations and rows answer a question; (n_labels,) each, inf where no number may.

    Of labels of which the question is not open they mean nothing.
    """

    positives: More  # in all
    rows: More  # more than here
    top_rows: Floats  # more than here, if they score highest; NaN where such rows do not answer it


def of_scores(
    evidence: LabelEvidence,
    positives: Floats,
    n: Floats,
    criteria: Criteria,
    is_suspect: Booleans,
    is_open: Booleans,
) -> Answer:
    """Ask whether the scores know a label."""
    auroc = np.nan_to_num(evidence.auroc, nan=0.5)
    base_rate = (positives + 1) / (n + 2)
    known = positives + _PRIOR_POSITIVES
    least = np.full_like(positives, criteria.min_auroc)
    expected = (positives * auroc + _PRIOR_POSITIVES * _usual(auroc, positives)) / known
    course = Course(
        seen=positives,
        mean=auroc,
        expected=expected,
        spread=_spread_of_placements(expected, base_rate),
        known=known,
    )
    untied = 1 - evidence.tie_cubes / np.maximum(n**3 - n, 1)
    above = _bar(
        0.5,
        next_level(evidence.p_informative, criteria.alpha) / 2,
        np.sqrt(untied / (12 * (1 - base_rate))),
    )
    below = _bar(
        criteria.min_auroc,
        next_level(evidence.p_uninformative, criteria.alpha),
        _spread_of_placements(least, base_rate),
    )
    more = more_needed(course, above, below, is_open)
    fewest = np.where(is_suspect, FEWEST - positives, 1)  # suspect is any with fewer
    more = More(*(np.maximum(number, fewest) for number in more))
    return _answer(more, positives, n, positives, np.ones_like(positives))


def _usual(auroc: Floats, positives: Floats) -> float:
    """Return the mean AUROC of labels with enough positives for a test, 1/2 without any."""
    has_enough = positives >= FEWEST
    return float(auroc[has_enough].mean()) if has_enough.any() else 0.5


def _spread_of_placements(auroc: Floats, base_rate: Floats) -> Floats:
    """Return the standard deviation of a placement, as Hanley and McNeil have it."""
    of_positive = 2 * auroc**2 / (1 + auroc) - auroc**2
    of_negative = auroc / (2 - auroc) - auroc**2
    return np.asarray(np.sqrt(of_positive + base_rate / (1 - base_rate) * of_negative))


def of_f(
    marked: Marked,
    n: Floats,
    p_usable: Floats,
    p_weak: Floats,
    criteria: Criteria,
    beta: float,
    is_open: Booleans,
) -> Answer:
    """Ask whether F is above its bar, or below."""
    tp, predicted, positives = marked
    has_negatives = positives < n
    bar = np.where(has_negatives, bar_of(positives / n, criteria, beta), 0.5)
    taking_part = predicted + positives - tp
    mean, _, _ = moments(tp, predicted, positives, bar, beta)
    expected, null_variance, variance = moments(tp + 0.5, predicted + 1, positives + 1, bar, beta)
    course = Course(
        seen=taking_part,
        mean=np.nan_to_num(mean),
        expected=expected,
        spread=np.sqrt(variance),
        known=taking_part + 1.5,
    )
    step = 1 - bar / 2
    above, below = (
        _bar(0.0, next_level(p, criteria.alpha), np.sqrt(null_variance), step)
        for p in (p_usable, p_weak)
    )
    more = more_needed(course, above, below, is_open)
    more = More(*(np.where(has_negatives, number, np.nan) for number in more))
    share = (positives + 1) / (taking_part + 1.5)  # of these rows that are positives
    return _answer(more, taking_part, n, positives, share)


def of_precision(cut: Marked, n: Floats, floor: Floats, delta: Floats) -> Answer:
    """Ask whether the precision at the cut of each label that promises most is above a floor; NaN without a floor."""
    tp, predicted, positives = cut
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.nan_to_num(tp / predicted)
    expected = (tp + 0.5) / (predicted + 1)
    course = Course(
        seen=predicted,
        mean=mean,
        expected=expected,
        spread=np.sqrt(expected * (1 - expected)),
        known=predicted + 1,
    )
    above = _bar(floor, delta, np.sqrt(floor * (1 - floor)), np.ones_like(floor))
    more = more_needed(course, above, _bar(np.nan, delta, floor), ~np.isnan(floor))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.maximum(positives, 1) / np.maximum(predicted, 1)
    return _answer(more, predicted, n, positives, share)._replace(top_rows=more.needed)


def of_recall(positives: Floats, n: Floats, needed: Floats) -> Answer:
    """Ask for the positives that are needed for a cut that is shown to keep a floor of recall."""
    more = np.maximum(needed - positives, 1)
    return _answer(More(more, more, more), positives, n, positives, np.ones_like(positives))


def of_first(n: Floats, half_share: Floats) -> Answer:
    """Ask for a first positive; `half_share` is the share of rows that score highest and hold half of the positives."""
    odds = np.array([level / (1 - level) for level in LEVELS])
    exact = (n + 1) * odds[:, np.newaxis]  # (3, n_labels)
    rows = np.ceil(np.round(exact, 6))  # What is whole but for rounding stays.
    one = np.ones_like(half_share)
    return Answer(
        positives=More(one, one, one),
        rows=More(*rows),
        top_rows=np.ceil(2 * half_share * rows[1]),
    )


def _bar(
    value: Floats | float, level: Floats | float, spread: Floats, step: Floats | None = None
) -> Bar:
    """Return a bar that a test at a level asks for."""
    from scipy.special import ndtri

    quantile = ndtri(1 - np.broadcast_to(level, spread.shape))
    return Bar(
        value=np.broadcast_to(value, spread.shape),
        quantile=quantile,
        spread=spread,
        step=np.zeros_like(spread) if step is None else step,
    )


def _answer(more: More, seen: Floats, n: Floats, positives: Floats, share: Floats) -> Answer:
    """Turn observations into positives and rows; `share` of the observations are positives."""
    # Numbers of positives beyond what can be foreseen are infinite.
    most = most_positives(positives)
    in_all = [positives + np.ceil(number * share) for number in more]
    more = More(*(np.where(sum_ > most, np.inf, k) for sum_, k in zip(in_all, more, strict=True)))
    in_all = [np.where(sum_ > most, np.inf, sum_) for sum_ in in_all]

    # Rows bring observations at the rate so far; both are left to chance.
    rows_each = n / np.maximum(seen, 0.5)
    middle = np.where(np.isfinite(more.needed), more.needed, more.low)
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = _Z**2 * (1 / np.maximum(seen, 0.5) + 1 / middle)
        below = np.exp(-np.sqrt(np.log(more.low / middle) ** 2 + chance))
        above = np.exp(np.sqrt(np.log(more.high / middle) ** 2 + chance))
        rows = More(
            low=np.where(
                np.isfinite(middle), np.maximum(np.floor(middle * rows_each * below), 1), middle
            ),
            needed=np.ceil(more.needed * rows_each),
            high=np.where(np.isfinite(more.high), np.ceil(middle * rows_each * above), more.high),
        )
    return Answer(More(*in_all), rows, np.full_like(positives, np.nan))
