"""Which labels may be relied on: a verdict for each, from decisions about rows that the rule was not fitted on.

The first that applies:

- usable: F-beta of the decisions is shown to be at least a bar.
- useless: AUROC is shown to be below `min_auroc`, and the scores are not shown to know the label, or they rank it
  backwards.
- missed: the scores are shown to know the label, and to reach more at another cut than the rule does.
- weak: F-beta is shown to be below the bar.
- unproven: none of these is shown.

**The bar** of a label is the higher of two. One is `min_f`. The other lies above what is reached by marking every row,
F_always = (1 + B) b / (B b + 1) for base rate b and B = beta^2, which is high for common labels,

    F_always + min_skill (1 - F_always)

**Shown** means rejected by a test, with Benjamini and Hochberg's procedure over all labels (`evidence.rejected`). That
of F against the bar is exact for beta = 1 (`metrics.intervals`). As b is estimated on the same rows, a normal test of
F less the second bar has to reject, too; its variance is that of the delta method.

**Another cut** is the lowest that marks at most as many rows as are positive (ties that would exceed them stay out).
It is not chosen by what it reaches, so nothing of that is luck. It reaches more if the bounds of F there lie above
those of the rule's F. Bounds that do not meet need no assumption on how the two depend on each other:

    p = 2 min over f of max(p(F of the cut is at most f), p(F of the rule is at least f))

And by `_CLEARLY` at least, as a trifle is not worth a new threshold.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from thresholds._arrays.types import Dense, Floats
from thresholds.diagnosis.evidence import Criteria, Evidence, are_backwards, rejected
from thresholds.diagnosis.sentences import MEANINGS, TO_DO, most_positives, sentence
from thresholds.metrics.counts import ConfusionCounts, f_of_counts
from thresholds.metrics.intervals import (
    p_at_least,
    p_at_most,
    rows_needed,
    score_interval,
    wilson,
)
from thresholds.results import Result, Table, counted, n_more, rows_of

VERDICTS = tuple(MEANINGS)

_CLEARLY = 0.1  # of F, that another cut must reach above the rule
_HALVINGS = 30


@dataclass(frozen=True, eq=False, repr=False)
class Verdicts(Result):
    """Which labels may be relied on; `str` and HTML sum up by verdict, `table` has one row a label.

    Attributes
    ----------
    table : structured array (n_labels,)
        name, verdict, n_positives, predicted_positive, tp (true positives), precision and recall with their bounds
        (precision_low, precision_high, recall_low, recall_high), f (F-beta), f_low, f_high, bar (the F that "usable"
        asks for), p_usable and p_weak (of the tests of F against the bar), top_predicted, top_tp and top_f (what the
        cut reaches that marks as many rows as are positive), p_missed, positives_needed (how many would be enough for
        a verdict on an "unproven" label, inf if not even 1,000, or 10 times as many as here; NaN for the others),
        sentence. 0/0 is NaN; bounds of it are 0 and 1.
    alpha, min_f, min_skill, min_auroc : as asked for; bounds have the confidence 1 - alpha, each for itself
    beta : of the F
    n_samples : rows judged on
    on_own_rows : whether the rule was fitted on these rows, so that all this flatters it
    """

    _shown = 10

    table: Dense
    alpha: float
    min_f: float
    min_skill: float
    min_auroc: float
    beta: float
    n_samples: int
    on_own_rows: bool = False

    @property
    def verdict(self) -> npt.NDArray[np.str_]:
        """The verdict on each label."""
        return np.asarray(self.table["verdict"])

    @property
    def counts(self) -> dict[str, int]:
        """How many labels have each verdict."""
        return {verdict: int(np.count_nonzero(self.verdict == verdict)) for verdict in VERDICTS}

    def in_brief(self) -> str:
        """Say in a line how many labels have each verdict."""
        each = ", ".join(f"{number:,} {verdict}" for verdict, number in self.counts.items())
        return f"{counted(self.table.size, 'label')}: {each}{self._remark()}"

    def _records(self) -> Dense:
        """Return the table."""
        return self.table

    def _tables(self, k: int) -> Iterator[str | Table]:
        """Sum up, and give the sentences of some labels."""
        return self.parts(k)

    def parts(self, k: int) -> Iterator[str | Table]:
        """Sum up by verdict, and give the sentences of k labels: what is shown, also within other results."""
        yield self._about()
        yield self._by_verdict()
        if k:
            yield self._sentences(k)

    def _about(self) -> str:
        """Say what was judged, and what is asked of a label."""
        return (
            f"{counted(self.table.size, 'label')} judged on {self.n_samples:,} rows{self._remark()}; usable is an"
            f" F{self.beta:g} shown to be at least {self.min_f:g}, and {self.min_skill:.0%} of the way from marking"
            f" every row to no mistake; false discovery rate {self.alpha:g}"
        )

    def _remark(self) -> str:
        """Say that the rule was fitted on these rows."""
        return (
            " that the rule was fitted on, so it will do worse on new ones"
            if self.on_own_rows
            else ""
        )

    def _by_verdict(self) -> Table:
        """Lay out labels and their share of all predictions by verdict, and what to do."""
        predicted = self.table["predicted_positive"]
        n_predicted = max(predicted.sum(), 1)
        body = []
        for verdict, number in self.counts.items():
            if number:
                share = predicted[self.verdict == verdict].sum() / n_predicted
                shares = (f"{number / self.table.size:.1%}", f"{share:.1%}")
                body.append((verdict, f"{number:,}", *shares, MEANINGS[verdict], TO_DO[verdict]))
        head = [("verdict", "labels", "", "of predictions", "", "what to do")]
        return Table(head, body, left=(0, 4, 5))

    def _sentences(self, k: int) -> Table:
        """Give k sentences, as many of each verdict, those first of labels that are predicted or true most."""
        place = np.array([VERDICTS.index(verdict) for verdict in self.verdict])  # (n_labels,)
        weight = self.table["predicted_positive"] + self.table["n_positives"]
        order = np.lexsort((-weight, place))

        # The rank of each label within its verdict: the first of each, then the second of each, and so on.
        firsts = np.searchsorted(place[order], place[order])
        rank = np.empty_like(place)
        rank[order] = np.arange(place.size) - firsts
        chosen = np.lexsort((place, rank))[:k]
        chosen = chosen[np.lexsort((rank[chosen], place[chosen]))]
        body = [(str(row["verdict"]), str(row["sentence"])) for row in self.table[chosen]]
        return Table(
            [("verdict", "what it means")], body, left=(0, 1), note=n_more(self.table.size, k)
        )


def verdicts_of(
    counts: ConfusionCounts,
    n_samples: int,
    evidence: Evidence,
    criteria: Criteria,
    names: npt.NDArray[Any],
    *,
    beta: float = 1.0,
    on_own_rows: bool = False,
) -> Verdicts:
    """Give the verdict on each label.

    Parameters
    ----------
    counts : decisions by label, without weights, best about rows that the deciding rule was not fitted on: held out, or
        out of fold
    n_samples : rows that were counted
    evidence : of the same rows, from `evidence_of`
    criteria : what is asked for
    names : (n_labels,) as `results.names_of` gives them
    beta : of the F that the rule is judged by
    on_own_rows : whether the rule was fitted on these rows
    """
    # All are float64 (n_labels,).
    tp, predicted, positives = (np.asarray(values, np.float64) for values in counts.sums)
    base_rate = positives / n_samples

    # F against the bar.
    f_always = (1 + beta**2) * base_rate / (beta**2 * base_rate + 1)
    skill_bar = f_always + criteria.min_skill * (1 - f_always)
    bar = np.maximum(criteria.min_f, skill_bar)
    p_usable, p_weak = _p_of_bar(tp, predicted, positives, n_samples, criteria, beta)

    # The cut that marks as many rows as are positive.
    top = _Cut(
        np.asarray(evidence.top_tp, np.float64), np.asarray(evidence.top_predicted, np.float64)
    )
    top_f = f_of_counts(top.tp, top.predicted, positives, beta, np.nan)
    f = f_of_counts(tp, predicted, positives, beta, np.nan)
    p_missed = _p_missed(_Cut(tp, predicted), top, positives, beta)

    # What is shown, and the first that applies.
    informative = rejected(evidence.p_informative, criteria.alpha)
    uninformative = rejected(evidence.p_uninformative, criteria.alpha)
    backwards = are_backwards(evidence, criteria)
    shown = {
        "usable": rejected(p_usable, criteria.alpha),
        "useless": (uninformative & ~informative) | backwards,
        "missed": rejected(p_missed, criteria.alpha) & informative,
        "weak": rejected(p_weak, criteria.alpha),
    }
    verdict = np.select(list(shown.values()), list(shown), "unproven")

    confidence = 1 - criteria.alpha
    precision_low, precision_high = wilson(tp, predicted, confidence)
    recall_low, recall_high = wilson(tp, positives, confidence)
    f_low, f_high = score_interval(tp, predicted, positives, beta, confidence)
    needed = _positives_needed(
        tp, predicted, positives, bar, p_usable, p_weak, criteria.alpha, beta
    )
    _, predictions, truths = counts.sums
    columns = {
        "name": names,
        "verdict": verdict,
        "n_positives": truths,
        "predicted_positive": predictions,
        "tp": counts.sums[0],
        "precision": counts.precision(),
        "precision_low": precision_low,
        "precision_high": precision_high,
        "recall": counts.recall(),
        "recall_low": recall_low,
        "recall_high": recall_high,
        "f": f,
        "f_low": f_low,
        "f_high": f_high,
        "bar": bar,
        "p_usable": p_usable,
        "p_weak": p_weak,
        "top_predicted": evidence.top_predicted,
        "top_tp": evidence.top_tp,
        "top_f": top_f,
        "p_missed": p_missed,
        "positives_needed": np.where(
            (verdict == "unproven") & (positives < n_samples), needed, np.nan
        ),
    }
    rows = rows_of(columns)
    columns["sentence"] = np.array(
        [
            sentence(rows[j], is_backwards=backwards[j], on_own_rows=on_own_rows)
            for j in range(rows.size)
        ]
    )
    return Verdicts(
        table=rows_of(columns),
        alpha=criteria.alpha,
        min_f=criteria.min_f,
        min_skill=criteria.min_skill,
        min_auroc=criteria.min_auroc,
        beta=beta,
        n_samples=n_samples,
        on_own_rows=on_own_rows,
    )


class _Cut(NamedTuple):
    """What is marked of each label, and how much of it rightly; (n_labels,)."""

    tp: Floats
    predicted: Floats


def _p_of_bar(
    tp: Floats, predicted: Floats, positives: Floats, n: int, criteria: Criteria, beta: float
) -> tuple[Floats, Floats]:
    """Return the p-values of F being at most the bar, and at least the bar.

    NaN where F is 0/0, and without negatives, where nothing is better than to mark every row.
    """
    from scipy.special import ndtr

    # F less the second bar, and its standard error: (n_labels,).
    base_rate = positives / n
    beta2 = beta * beta
    steepness = (1 + beta2) / (beta2 * base_rate + 1) ** 2  # of F_always in the base rate
    f_always = (1 + beta2) * base_rate / (beta2 * base_rate + 1)
    skill_bar = f_always + criteria.min_skill * (1 - f_always)
    f = f_of_counts(tp, predicted, positives, beta, np.nan)
    above = f - skill_bar

    # What one row more changes, by what it is: true positive, miss, false alarm, rightly unmarked; (4, n_labels).
    slope = (1 - criteria.min_skill) * steepness
    scale = (beta2 * positives + predicted) / n
    with np.errstate(divide="ignore", invalid="ignore"):
        influence = np.stack(
            [
                (1 + beta2) * (1 - f) / scale - slope * (1 - base_rate),
                -f * beta2 / scale - slope * (1 - base_rate),
                -f / scale + slope * base_rate,
                slope * base_rate,
            ]
        )
        shares = np.stack([tp, positives - tp, predicted - tp, n - predicted - positives + tp]) / n
        error = np.sqrt((shares * influence**2).sum(axis=0) / n)
        z = above / error
    p_at_most_skill = np.where(error > 0, ndtr(-z), above <= 0)
    p_at_least_skill = np.where(error > 0, ndtr(z), above >= 0)

    bar = np.maximum(criteria.min_f, skill_bar)
    counts = (tp, predicted, positives)
    p_usable = np.maximum(p_at_most(*counts, bar, beta), p_at_most_skill)
    p_weak = p_at_least(*counts, bar, beta)
    p_weak = np.where(skill_bar > criteria.min_f, np.maximum(p_weak, p_at_least_skill), p_weak)
    testable = (predicted + positives > 0) & (positives < n)
    return np.where(testable, p_usable, np.nan), np.where(testable, p_weak, np.nan)


def _p_missed(rule: _Cut, top: _Cut, positives: Floats, beta: float) -> Floats:
    """Return the p-values of F of the other cut being at most that of the rule; 1 where it is not clearly higher here.

    NaN without positives. The one chance falls with f and the other rises, so that the least of the larger lies where
    they cross.
    """
    p = np.where(positives > 0, 1.0, np.nan)
    rule_f = f_of_counts(*rule, positives, beta, 0.0)
    top_f = f_of_counts(*top, positives, beta, 0.0)
    some = np.flatnonzero((positives > 0) & (top_f >= rule_f + _CLEARLY))
    rule = _Cut(rule.tp[some], rule.predicted[some])
    top = _Cut(top.tp[some], top.predicted[some])
    low = rule_f[some]
    high = top_f[some]
    for _ in range(_HALVINGS):
        f = (low + high) / 2
        p_top = p_at_most(*top, positives[some], f, beta)
        p_rule = p_at_least(*rule, positives[some], f, beta)
        low = np.where(p_top < p_rule, f, low)
        high = np.where(p_top < p_rule, high, f)
        p[some] = np.minimum(2 * np.maximum(p_top, p_rule), 1)
    return p


def _positives_needed(
    tp: Floats,
    predicted: Floats,
    positives: Floats,
    bar: Floats,
    p_usable: Floats,
    p_weak: Floats,
    alpha: float,
    beta: float,
) -> Floats:
    """Return how many positives would show F to be above the bar, or below, with probability .8, if it is what it is.

    Rounded up to two digits, and infinite above `most_positives`. Of a label without positives how many would be enough
    if no mistake were made.
    """
    known = positives > 0
    tp, predicted, positives_or_one = (
        np.where(known, values, 1.0) for values in (tp, predicted, positives)
    )
    f = f_of_counts(tp, predicted, positives_or_one, beta, np.nan)
    level = np.where(f > bar, _next_level(p_usable, alpha), _next_level(p_weak, alpha))
    rows = rows_needed(tp, predicted, positives_or_one, bar, level, beta)
    share = positives_or_one / (
        predicted + positives_or_one - tp
    )  # of these rows that are positives
    needed = np.maximum(rows * share, positives + 1)
    with np.errstate(invalid="ignore"):
        digits = 10 ** np.maximum(np.floor(np.log10(needed)) - 1, 0)
        rounded = np.ceil(needed / digits) * digits
    return np.where(rounded <= most_positives(positives), rounded, np.inf)


def _next_level(p: Floats, alpha: float) -> float:
    """Return the p-value that would be rejected beside those that are (Benjamini & Hochberg)."""
    n_tested = max(int((~np.isnan(p)).sum()), 1)
    return alpha * min(int(rejected(p, alpha).sum()) + 1, n_tested) / n_tested
