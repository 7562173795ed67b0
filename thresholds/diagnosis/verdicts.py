"""Which labels may be relied on: a verdict for each, from decisions about rows that the rule was not fitted on.

The first that applies:

- usable: F-beta of the decisions is shown to be at least a bar.
- useless: AUROC is shown to be below `min_auroc`, and the scores are not shown to know the label, or they rank it
  backwards.
- missed: the scores are shown to know the label, and to reach more at another cut than the rule does.
- weak: F-beta is shown to be below the bar.
- unproven: none of these is shown.

"Shown" means rejected by a test, with Benjamini and Hochberg's procedure over all labels (`rejected`). What
the bar is, and how F is tested against it and at another cut, is in `bars`.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from thresholds._arrays.types import Dense
from thresholds._engine.f_measure import f_of_counts
from thresholds._results.fields import record
from thresholds._results.plain import objects_of
from thresholds._results.result import Result, names_of, rows_of
from thresholds._results.tables import Column, Table, count, tabulate, tenths
from thresholds._results.words import counted, in_percent, n_more
from thresholds._significance import rejected
from thresholds.diagnosis.bars import Marked, bar_of, p_missed, p_of_bar, positives_needed
from thresholds.diagnosis.evidence import Criteria, LabelEvidence, shown_of
from thresholds.diagnosis.sentences import (
    MEANINGS,
    TO_DO,
    TO_DO_WITHIN_LIMITS,
    TO_DO_WITHOUT_THRESHOLDS,
    sentence,
)
from thresholds.metrics.clusters import IndependentShares
from thresholds.metrics.counts import ConfusionCounts
from thresholds.metrics.intervals import score_interval, share_interval

VERDICTS = tuple(MEANINGS)

_BY_VERDICT = (
    Column("verdict", is_words=True),
    Column("labels", write=count),
    Column("of_labels", ("",), tenths),
    Column("of_predictions", write=tenths),
    Column("meaning", ("",), is_words=True),
    Column("to_do", "what to do", is_words=True),
)
_SENTENCES = (
    Column("verdict", is_words=True),
    Column("sentence", "what it means", is_words=True),
)


@record
class Verdicts(Result):
    """Which labels may be relied on; `str` and HTML sum up by verdict, `table` has one row a label.

    Attributes
    ----------
    table : structured array (n_labels,)
        name, verdict, n_rows (in which its truth is known),
        n_positives, predicted_positive, tp (true positives), precision and recall with their bounds
        (precision_low, precision_high, recall_low, recall_high), f (F-beta), f_low, f_high, bar (the F that "usable"
        asks for), p_usable and p_weak (of the tests of F against the bar), top_predicted, top_tp and top_f (what the
        cut reaches that marks as many rows as are positive), p_missed, positives_needed (how many would be enough for
        a verdict on an "unproven" label, inf if not even 1,000, or 10 times as many as here; NaN for the others),
        auroc, sentence. 0/0 is NaN; bounds of it are 0 and 1.
    alpha, min_f, min_skill, min_auroc : as asked for; bounds have the confidence 1 - alpha, each for itself
    beta : of the F
    n_samples : rows judged on
    on_own_rows : whether the rule was fitted on these rows, so that all this flatters it
    has_thresholds : whether the rule has a threshold for each label, which could be another
    has_limits : whether limits, or floors, were asked for in the fit, which may hold a threshold back
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
    has_thresholds: bool = True
    has_limits: bool = False

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
        on_own_rows = "; on rows that the rule was fitted on, so fewer are usable on others"
        return (
            f"{counted(self.table.size, 'label')}: {each}{on_own_rows if self.on_own_rows else ''}"
        )

    def _parts(self, k: int) -> Iterator[str | Table]:
        """Sum up by verdict, and give the sentences of k labels."""
        yield self._about()
        yield self._by_verdict()
        if k:
            yield self._some_sentences(k)

    def _about(self) -> str:
        """Say what was judged, and what is asked of a label."""
        on_own_rows = ""
        if self.on_own_rows:
            on_own_rows = " that the rule was fitted on, so that it will do worse on others"
        f = f"F{self.beta:g}"
        return (
            f"{counted(self.table.size, 'label')} judged on {counted(self.n_samples, 'row')}"
            f"{on_own_rows}{self._known()}."
            f" Good enough is an {f} of at least {self.min_f:g}, and at least {in_percent(self.min_skill)} of"
            f" the way from marking every row up to 1; of labels called usable, at most"
            f" {in_percent(self.alpha)} are expected to fall short"
        )

    def _known(self) -> str:
        """Say in how many rows each label is known, where that is not all of them."""
        fewest, most = int(self.table["n_rows"].min()), int(self.table["n_rows"].max())
        if fewest == self.n_samples:
            return ""
        return f", each where its truth is known: in {fewest:,}{'' if most == fewest else f' to {most:,}'} of them"

    def _by_verdict(self) -> Table:
        """Lay out labels and their share of all predictions by verdict, and what to do."""
        to_do = TO_DO_WITHIN_LIMITS if self.has_limits else TO_DO
        if not self.has_thresholds:
            to_do = TO_DO_WITHOUT_THRESHOLDS
        predicted = self.table["predicted_positive"]
        n_predicted = max(predicted.sum(), 1)
        shown = [name for name, number in self.counts.items() if number or name == "usable"]
        columns = {
            "verdict": shown,
            "labels": [self.counts[name] for name in shown],
            "of_labels": [self.counts[name] / self.table.size for name in shown],
            "of_predictions": [
                predicted[self.verdict == name].sum() / n_predicted for name in shown
            ],
            "meaning": [MEANINGS[name] for name in shown],
            "to_do": [to_do[name] for name in shown],
        }
        return tabulate(columns, _BY_VERDICT)

    def _some_sentences(self, k: int) -> Table:
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
        return tabulate(self.table[chosen], _SENTENCES, note=n_more(self.table.size, k))


def verdicts_of(
    counts: ConfusionCounts,
    n_samples: int,
    evidence: LabelEvidence,
    criteria: Criteria,
    label_names: Sequence[str] | None,
    *,
    beta: float = 1.0,
    on_own_rows: bool = False,
    has_thresholds: bool = True,
    has_limits: bool = False,
    independent: IndependentShares | None = None,
) -> Verdicts:
    """Give the verdict on each label.

    Parameters
    ----------
    counts : decisions by label, without weights, best about rows that the deciding rule was not fitted on: held out, or
        out of fold
    n_samples : rows that were counted
    evidence : of the same rows, from `evidence_of`
    criteria : what is asked for
    label_names : None for positions
    beta : of the F that the rule is judged by
    on_own_rows : whether the rule was fitted on these rows
    has_thresholds : whether the rule has a threshold for each label
    has_limits : whether limits, or floors, were asked for in the fit
    independent : what part of each label's rows counts as independent, where rows belong to groups; None for all
        All bounds and the tests of F count so many; the evidence counts rows.
    """
    n_rows = np.full(evidence.auroc.size, counts.total)  # (n_labels,) in which each is known
    rows = np.maximum(n_rows, 1)

    # What the rule marks, and what the cut does that marks as many rows as are positive.
    tp, predicted, positives = counts.sums
    rule = Marked(*counts.sums.astype(np.float64))
    top = Marked(
        evidence.top_tp.astype(np.float64),
        evidence.top_predicted.astype(np.float64),
        rule.positives,
    )

    # Of these, what counts as independent.
    for_precision, for_recall, for_f = independent or np.ones((3, n_rows.size))
    rule_for_f = rule.times(for_f)
    rows_for_f = rows * for_f

    # F against the bar, and against the other cut.
    p_usable, p_weak = p_of_bar(rule_for_f, rows_for_f, criteria, beta)
    p_of_top = p_missed(rule_for_f, top.times(for_f), beta)

    # What is shown, and the first that applies.
    informative, uninformative, backwards = shown_of(evidence, criteria)
    shown = {
        "usable": rejected(p_usable, criteria.alpha),
        "useless": (uninformative & ~informative) | backwards,
        "missed": rejected(p_of_top, criteria.alpha) & informative,
        "weak": rejected(p_weak, criteria.alpha),
    }
    verdict = np.select(list(shown.values()), list(shown), "unproven")

    # Bounds, and what would be enough.
    confidence = 1 - criteria.alpha
    precision_low, precision_high = share_interval(
        rule.tp * for_precision, rule.predicted * for_precision, confidence
    )
    recall_low, recall_high = share_interval(
        rule.tp * for_recall, rule.positives * for_recall, confidence
    )
    f_low, f_high = score_interval(*rule_for_f, beta, confidence)
    needed = positives_needed(rule, rows, p_usable, p_weak, criteria, beta, for_f)
    columns = {
        "name": names_of(label_names, verdict.size),
        "verdict": verdict,
        "n_rows": n_rows,
        "n_positives": positives,
        "predicted_positive": predicted,
        "tp": tp,
        "precision": counts.precision(),
        "precision_low": precision_low,
        "precision_high": precision_high,
        "recall": counts.recall(),
        "recall_low": recall_low,
        "recall_high": recall_high,
        "f": f_of_counts(*rule, beta, np.nan),
        "f_low": f_low,
        "f_high": f_high,
        "bar": bar_of(rule.positives / rows, criteria, beta),
        "p_usable": p_usable,
        "p_weak": p_weak,
        "top_predicted": evidence.top_predicted,
        "top_tp": evidence.top_tp,
        "top_f": f_of_counts(*top, beta, np.nan),
        "p_missed": p_of_top,
        "auroc": evidence.auroc,
        "positives_needed": np.where(verdict == "unproven", needed, np.nan),
    }
    about_rule = {
        "on_own_rows": on_own_rows,
        "has_thresholds": has_thresholds,
        "has_limits": has_limits,
    }
    labels = zip(objects_of(rows_of(columns)), backwards.tolist(), strict=True)
    sentences = [sentence(label, is_backwards=is_so, **about_rule) for label, is_so in labels]
    return Verdicts(
        table=rows_of(columns | {"sentence": np.array(sentences)}),
        alpha=criteria.alpha,
        min_f=criteria.min_f,
        min_skill=criteria.min_skill,
        min_auroc=criteria.min_auroc,
        beta=beta,
        n_samples=n_samples,
        **about_rule,
    )
