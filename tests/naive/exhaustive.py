"""The definitions, tried exhaustively in exact arithmetic: the witness that every fast path is compared with.

    F_beta = (1 + B) TP / (B P + C),    B = beta^2,

with TP the weight of the true positives, P of the positives and C of the predicted positives, and 0/0 worth
`zero_division`. Every float stands for the rational number it is, so a tie here is a tie. Nothing relies on a
lemma about which thresholds can win, and nothing comes from the library: read it as the specification.

Scores are real or -inf, floating or integers up to 2^53; weights are non-negative and not all zero, and a row
of weight zero counts as absent; beta is positive.
"""

from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import DTypeLike, NDArray

Array = NDArray[np.generic]
NEVER = float("inf")  # the threshold that predicts nothing


# Numbers


def plain(value: float | np.generic) -> float:
    """A score as a Python float, which holds it exactly; -0.0 becomes 0.0."""
    return float(value) + 0.0


def exact_weights(sample_weight: Array | None, n_samples: int) -> list[Fraction]:
    """The weight of each row as a rational number; one for each without weights."""
    if sample_weight is None:
        return [Fraction(1)] * n_samples
    return [Fraction(float(weight)) for weight in sample_weight]


# F-measures of given decisions


def f_beta(tp: Fraction, predicted: Fraction, positives: Fraction, beta: float, zero_division: float) -> Fraction:
    """(1 + B) TP / (B P + C), or `zero_division` when TP + FP + FN = 0."""
    if predicted == 0 and positives == 0:
        return Fraction(zero_division)
    over, under = (part**2 for part in float(beta).as_integer_ratio())  # B is their quotient
    return Fraction(over + under) * tp / (over * positives + under * predicted)


def counts(truth: Array, decisions: Array, weights: list[Fraction]) -> tuple[Fraction, Fraction, Fraction]:
    """The weights of the true positives, the predicted positives and the positives of one label."""
    cells = list(zip(truth, decisions, weights, strict=True))
    tp = sum((w for y, h, w in cells if y and h), Fraction(0))
    predicted = sum((w for _, h, w in cells if h), Fraction(0))
    positives = sum((w for y, _, w in cells if y), Fraction(0))
    return tp, predicted, positives


def label_scores(
    y_true: Array, y_pred: Array, beta: float, zero_division: float, sample_weight: Array | None = None
) -> tuple[Fraction, ...]:
    """F-beta of each label."""
    w = exact_weights(sample_weight, len(y_true))
    return tuple(f_beta(*counts(y, h, w), beta, zero_division) for y, h in zip(y_true.T, y_pred.T, strict=True))


def macro(
    y_true: Array, y_pred: Array, beta: float, zero_division: float, sample_weight: Array | None = None
) -> Fraction:
    """The mean of F over all labels, with positives or without."""
    per_label = label_scores(y_true, y_pred, beta, zero_division, sample_weight)
    return sum(per_label, Fraction(0)) / len(per_label)


def weighted(
    y_true: Array, y_pred: Array, beta: float, zero_division: float, sample_weight: Array | None = None
) -> Fraction:
    """The support-weighted mean of F over labels; without any support the plain mean, as scikit-learn 1.9."""
    w = exact_weights(sample_weight, len(y_true))
    per_label = label_scores(y_true, y_pred, beta, zero_division, sample_weight)
    supports = [counts(y, y, w)[2] for y in y_true.T]
    if sum(supports) == 0:
        return sum(per_label, Fraction(0)) / len(per_label)
    return sum((s * f for s, f in zip(supports, per_label, strict=True)), Fraction(0)) / sum(supports)


def micro(
    y_true: Array, y_pred: Array, beta: float, zero_division: float, sample_weight: Array | None = None
) -> Fraction:
    """F of the counts summed over the labels."""
    w = exact_weights(sample_weight, len(y_true))
    per_label = [counts(y, h, w) for y, h in zip(y_true.T, y_pred.T, strict=True)]
    tp, predicted, positives = (sum(column, Fraction(0)) for column in zip(*per_label, strict=True))
    return f_beta(tp, predicted, positives, beta, zero_division)


def samples(
    y_true: Array, y_pred: Array, beta: float, zero_division: float, sample_weight: Array | None = None
) -> Fraction:
    """The weighted mean over rows of the row's F, which counts each of its cells once."""
    w = exact_weights(sample_weight, len(y_true))
    ones = [Fraction(1)] * y_true.shape[1]
    rows = [f_beta(*counts(y, h, ones), beta, zero_division) for y, h in zip(y_true, y_pred, strict=True)]
    return sum((weight * f for weight, f in zip(w, rows, strict=True)), Fraction(0)) / sum(w)


AVERAGES = {"macro": macro, "weighted": weighted, "micro": micro, "samples": samples}


def score(
    y_true: Array,
    y_pred: Array,
    average: str,
    beta: float,
    zero_division: float,
    sample_weight: Array | None = None,
) -> Fraction | tuple[Fraction, ...]:
    """F-beta of decisions, averaged as named in `AVERAGES`; "none" gives the tuple over labels."""
    if average == "none":
        return label_scores(y_true, y_pred, beta, zero_division, sample_weight)
    return AVERAGES[average](y_true, y_pred, beta, zero_division, sample_weight)


# Decisions and the thresholds worth trying


def decide(y_score: Array, thresholds: float | list[float] | tuple[float, ...] | Array) -> NDArray[np.uint8]:
    """Positive iff score >= threshold, with one threshold per label or one for all."""
    per_label = [plain(t) for t in np.broadcast_to(thresholds, y_score.shape[1:])]
    rows = [[plain(s) >= t for s, t in zip(row, per_label, strict=True)] for row in y_score]
    return np.array(rows, dtype=np.uint8)


def candidates(scores: Array, weights: list[Fraction]) -> list[float]:
    """Every distinct score that carries weight, and never, from the highest down."""
    distinct = {plain(s) for s, w in zip(scores, weights, strict=True) if w > 0}
    return [NEVER, *sorted(distinct, reverse=True)]


def pooled(y_score: Array, sample_weight: Array | None) -> tuple[Array, list[Fraction]]:
    """All cells as one column, each with the weight of its row."""
    n_samples, n_labels = y_score.shape
    w = exact_weights(sample_weight, n_samples)
    return y_score.reshape(-1), [w[i] for i in range(n_samples) for _ in range(n_labels)]


def column_choices(
    truth: Array, scores: Array, weights: list[Fraction]
) -> dict[float, tuple[Fraction, Fraction, Fraction]]:
    """The counts at every candidate threshold of one label, from the highest threshold down."""
    at = {t: np.array([plain(s) >= t for s in scores]) for t in candidates(scores, weights)}
    return {t: counts(truth, decisions, weights) for t, decisions in at.items()}


# Thresholds that maximise F. `max` returns the first of several maxima, and candidates come from the highest
# down: of tied thresholds the highest wins, and a label without positives gets +inf.


def best_macro(
    y_true: Array, y_score: Array, beta: float, zero_division: float, sample_weight: Array | None = None
) -> list[tuple[float, Fraction]]:
    """Per label, the highest threshold that maximises its F, and that F."""
    w = exact_weights(sample_weight, len(y_true))
    best = []
    for truth, scores in zip(y_true.T, y_score.T, strict=True):
        choices = column_choices(truth, scores, w)
        f = {t: f_beta(*choices[t], beta, zero_division) for t in choices}
        best.append(max(f.items(), key=lambda item: item[1]))
    return best


def best_known_macro(y_true: Array, y_score: Array, is_known: Array | bool = True, zero_division: float = 0) -> float:
    """The highest macro F1 of the cells that are known, with a threshold for each label."""
    known = np.broadcast_to(is_known, y_true.shape)  # (n_samples, n_labels)
    total = Fraction(0)
    for label in range(y_true.shape[1]):
        rows, column = known[:, label], slice(label, label + 1)
        [(_, f)] = best_macro(y_true[rows, column], y_score[rows, column], 1.0, zero_division)
        total += f
    return float(total / y_true.shape[1])


def best_micro(
    y_true: Array, y_score: Array, beta: float, zero_division: float, sample_weight: Array | None = None
) -> tuple[list[float], Fraction]:
    """Thresholds that jointly maximise micro F, over all combinations, and that F*.

    Ties: per label, the highest maximiser of (1 + B) TP_j - F* C_j.
    """
    w = exact_weights(sample_weight, len(y_true))
    labels = [column_choices(y, s, w) for y, s in zip(y_true.T, y_score.T, strict=True)]
    positives = sum((choices[NEVER][2] for choices in labels), Fraction(0))
    best_f = max(
        f_beta(sum(c[0] for c in chosen), sum(c[1] for c in chosen), positives, beta, zero_division)
        for chosen in product(*(choices.values() for choices in labels))
    )
    gain = 1 + Fraction(beta) ** 2
    thresholds = [max(choices, key=lambda t, at=choices: gain * at[t][0] - best_f * at[t][1]) for choices in labels]
    return thresholds, best_f


def best_shared(
    y_true: Array,
    y_score: Array,
    average: str,
    beta: float,
    zero_division: float,
    sample_weight: Array | None = None,
) -> tuple[float, Fraction]:
    """The highest single threshold for all labels that maximises the averaged F, and that F."""
    f = {
        t: AVERAGES[average](y_true, decide(y_score, t), beta, zero_division, sample_weight)
        for t in candidates(*pooled(y_score, sample_weight))
    }
    return max(f.items(), key=lambda item: item[1])


# The k highest scores of each row


def samples_top_k(y_score: Array, k: int) -> NDArray[np.uint8]:
    """The indicator of the k highest scores of each row; of equal scores the first label wins."""
    y_pred = np.zeros(y_score.shape, dtype=np.uint8)
    for i, row in enumerate(y_score):
        order = sorted(range(len(row)), key=lambda j, row=row: (-plain(row[j]), j))
        y_pred[i, order[:k]] = 1
    return y_pred


def best_top_k(
    y_true: Array, y_score: Array, beta: float, zero_division: float, sample_weight: Array | None = None
) -> tuple[int, Fraction]:
    """The smallest k in 0 ... n_labels that maximises the samples F, and that F."""
    f = {
        k: samples(y_true, samples_top_k(y_score, k), beta, zero_division, sample_weight)
        for k in range(y_score.shape[1] + 1)
    }
    return max(f.items(), key=lambda item: item[1])


# Where in (next lower score, score] the threshold is put


def next_lower(scores: Array, weights: list[Fraction], score: float) -> float | None:
    """The highest score below the given one among rows with weight; None if there is none."""
    return max((t for t in candidates(scores, weights) if t < plain(score)), default=None)


def threshold_dtype(dtype: DTypeLike) -> np.dtype[np.floating]:
    """The dtype in which thresholds are rounded: that of floating scores, float64 for integers."""
    dtype = np.dtype(dtype)
    return dtype if np.issubdtype(dtype, np.floating) else np.dtype(np.float64)


def step(value: float, towards: float, dtype: np.dtype[np.floating]) -> float:
    """The neighbour of a float in its dtype."""
    return plain(np.nextafter(dtype.type(value), dtype.type(towards)))


def round_up(exact: Fraction, dtype: np.dtype[np.floating]) -> float:
    """The smallest float of the dtype that is not below the number."""
    value = plain(dtype.type(float(exact)))
    while Fraction(value) < exact:
        value = step(value, np.inf, dtype)
    while Fraction(below := step(value, -np.inf, dtype)) >= exact:
        value = below
    return value


def round_nearest(exact: Fraction, dtype: np.dtype[np.floating]) -> float:
    """The float of the dtype nearest to the number; half way, the one with the even significand."""
    above, below = round_up(exact, dtype), plain(-round_up(-exact, dtype))
    up, down = Fraction(above) - exact, exact - Fraction(below)
    if up == down:
        return below if has_even_significand(below, dtype) else above
    return above if up < down else below


def has_even_significand(value: float, dtype: np.dtype[np.floating]) -> bool:
    """Whether the last bit of the float is 0."""
    return int(dtype.type(value).view(f"u{dtype.itemsize}")) % 2 == 0


def without_subnormal(value: float, dtype: np.dtype[np.floating]) -> float:
    """The value, a subnormal one raised to the next float that is not: zero or the smallest normal."""
    smallest_normal = plain(np.finfo(dtype).smallest_normal)
    if 0 < value < smallest_normal:
        return smallest_normal
    return 0.0 if -smallest_normal < value < 0 else value


def place(score: float, lower: float | None, placement: str, dtype: DTypeLike) -> float:
    """The threshold of a cut between two neighbouring scores, in the dtype of the scores.

    "score": the score. "mid": the midpoint, rounded to nearest. "low": max(nextafter(lower), lower + (score -
    lower) / 1024), rounded up. A subnormal is raised to the next number that is not, or becomes zero
    if that is too far up. Where both leave (lower, score], and where the lower score is absent or -inf: the score.
    """
    score, dtype = plain(score), threshold_dtype(dtype)
    if placement == "score" or lower is None or lower == -np.inf or score == NEVER:
        return score
    low, high = Fraction(plain(lower)), Fraction(score)
    if placement == "low":
        neighbour = Fraction(step(plain(lower), np.inf, dtype))
        threshold = round_up(max(neighbour, low + (high - low) / 1024), dtype)
    elif placement == "mid":
        threshold = round_nearest((low + high) / 2, dtype)
    else:
        raise ValueError(f'placement is "low", "mid" or "score"; got {placement!r}')
    normal = without_subnormal(threshold, dtype)
    choices = [normal] if normal == threshold else [normal, 0.0]
    return next((choice for choice in choices if low < Fraction(choice) <= high), score)


def place_in(scores: Array, weights: list[Fraction], score: float, placement: str) -> float:
    """The placed threshold of a cut at a score of this column, as `place` puts it."""
    return place(score, next_lower(scores, weights, score), placement, scores.dtype)
