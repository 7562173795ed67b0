"""The columns of a report, one row a label, and which labels come first."""

import numpy as np
import numpy.typing as npt

from thresholds._arrays.types import Dense, Floats, Ints
from thresholds.diagnosis import Diagnosis
from thresholds.diagnosis.result import FLAGGED
from thresholds.diagnosis.sentences import sentence_on_flag
from thresholds.metrics.counts import f_of_counts
from thresholds.report.content import DISTRUSTED, LABELS, OPEN, TRUSTED, Group
from thresholds.report.wording import TITLES
from thresholds.results import rows_of
from thresholds.rule import Rule

_MOST_MARKED = 200  # labels that have a curve whatever is known of them
_MOST_CURVES = 2_000  # more than a page of one megabyte holds


def table_of(diagnosis: Diagnosis, rule: Rule) -> Dense:
    """Lay out the columns."""
    table = diagnosis.table
    trust = _trust(diagnosis)
    own = {
        "trust": trust,
        "positives": table["n_positives"],
        "predicted": table["predicted_positive"],
        "tp": diagnosis.verdicts.table["tp"],
        "f_out_of_fold": _f_out_of_fold(rule, diagnosis.n_labels),
        "sentence": _sentences(diagnosis, trust),
    }
    return rows_of({name: own[name] if name in own else table[name] for name in LABELS})


def groups_of(labels: Dense) -> tuple[Group, ...]:
    """Add up the labels of each group."""
    n_predicted = max(int(labels["predicted"].sum()), 1)
    groups = []
    for trust, title in TITLES.items():
        of_group = labels[labels["trust"] == trust]
        predicted = int(of_group["predicted"].sum())
        right = int(of_group["tp"].sum())
        true = int(of_group["positives"].sum())
        shares = of_group.size / labels.size, predicted / n_predicted
        groups.append(Group(trust, title, of_group.size, predicted, right, true, *shares))
    return tuple(groups)


def worst_of(labels: Dense, k: int) -> Ints:
    """Return the positions of k labels that are not to be trusted: those that add most wrong marks, then miss most."""
    distrusted = np.flatnonzero(labels["trust"] == DISTRUSTED)
    missed = labels["positives"] - labels["tp"]  # (n_labels,)
    order = np.lexsort((-missed[distrusted], -_wrong_marks(labels)[distrusted]))
    return np.asarray(distrusted[order][:k])


def most_wrong_marks(labels: Dense, k: int) -> Ints:
    """Return the positions of the k labels that add most wrong marks, whatever their group; none without any."""
    wrong = _wrong_marks(labels)
    order = np.argsort(-wrong, kind="stable")[:k]
    return np.asarray(order[wrong[order] > 0])


def with_curves(labels: Dense, first: Ints) -> Ints:
    """Return the positions of the labels whose curves are shown: `first`, those marked most, the distrusted ones."""
    by_marks = np.argsort(-labels["predicted"], kind="stable")
    distrusted = by_marks[labels["trust"][by_marks] == DISTRUSTED]
    wanted = np.concatenate([first, by_marks[:_MOST_MARKED], distrusted])
    _, places = np.unique(wanted, return_index=True)
    once = wanted[np.sort(places)]
    return np.asarray(once[labels["positives"][once] > 0][:_MOST_CURVES])


def _wrong_marks(labels: Dense) -> Ints:
    """Count false positives, (n_labels,)."""
    return np.asarray(labels["predicted"] - labels["tp"])


def _trust(diagnosis: Diagnosis) -> npt.NDArray[np.str_]:
    """Return the group of each label."""
    verdict = diagnosis.verdict
    is_open = (verdict == "unproven") & ~np.isin(diagnosis.state, FLAGGED)
    return np.select([verdict == "usable", is_open], [TRUSTED, OPEN], DISTRUSTED)


def _sentences(diagnosis: Diagnosis, trust: npt.NDArray[np.str_]) -> npt.NDArray[np.str_]:
    """Return what is said of each label: by its verdict, or why it is flagged though nothing is proven."""
    sentences = diagnosis.table["sentence"].tolist()
    by_flag = (diagnosis.verdict == "unproven") & (trust == DISTRUSTED)
    for j in np.flatnonzero(by_flag).tolist():
        sentences[j] = sentence_on_flag(diagnosis.verdicts.table[j])
    return np.array(sentences, np.str_)


def _f_out_of_fold(rule: Rule, n_labels: int) -> Floats:
    """Return F of the out-of-fold decisions that a rule keeps, NaN where it keeps none, or for 0/0."""
    kept = None if rule.out_of_fold is None else rule.out_of_fold.by_label
    if kept is None:
        return np.full(n_labels, np.nan)
    tp, predicted, positives = np.array([kept.tp, kept.predicted, kept.positives])
    return f_of_counts(tp, predicted, positives, rule.beta, np.nan)
