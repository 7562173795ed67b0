"""The columns of a report, one row a label, and which labels come first."""

import numpy as np
import numpy.typing as npt

from thresholds._arrays.types import Dense, Floats, Ints
from thresholds._engine.f_measure import f_of_counts
from thresholds._results.result import rows_of
from thresholds.diagnosis import Diagnosis
from thresholds.diagnosis.sentences import are_on_border, sentence_on_flag
from thresholds.diagnosis.states import FLAGGED
from thresholds.report.content import BORDER, DISTRUSTED, LABELS, OPEN, TRUSTED, Group
from thresholds.report.wording import TITLES, decided_by_others
from thresholds.rule import Rule

_MOST_MARKED = 200  # labels that have a curve whatever is known of them
_MOST_CURVES = 2_000  # more than a page of one megabyte holds


def table_of(diagnosis: Diagnosis, rule: Rule, marked: Ints, *, by_folds: bool) -> Dense:
    """Lay out the columns; the rule itself marks so many rows, (n_labels,), and is judged `by_folds` or by these."""
    table = diagnosis.table
    trust = _trust(diagnosis)
    own = {
        "trust": trust,
        "positives": table["n_positives"],
        "marked": marked,
        "predicted": table["predicted_positive"],
        "tp": diagnosis.verdicts.table["tp"],
        "f_out_of_fold": _f_out_of_fold(rule, diagnosis.n_labels),
        "sentence": _sentences(diagnosis, by_folds=by_folds),
    }
    return rows_of({name: own[name] if name in own else table[name] for name in LABELS})


def groups_of(labels: Dense) -> tuple[Group, ...]:
    """Add up the labels of each group."""
    n_marked = max(int(labels["marked"].sum()), 1)
    groups = []
    for trust, title in TITLES.items():
        of_group = labels[labels["trust"] == trust]
        columns = ("marked", "predicted", "tp", "positives")
        marked, predicted, right, true = (int(of_group[name].sum()) for name in columns)
        shares = of_group.size / labels.size, marked / n_marked
        groups.append(Group(trust, title, of_group.size, marked, predicted, right, true, *shares))
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
    on_border = are_on_border(diagnosis.verdicts.table)
    is_open = (verdict == "unproven") & ~on_border
    is_border = on_border & ~np.isin(diagnosis.state, FLAGGED)
    return np.select([verdict == "usable", is_open, is_border], [TRUSTED, OPEN, BORDER], DISTRUSTED)


def _sentences(diagnosis: Diagnosis, *, by_folds: bool) -> npt.NDArray[np.str_]:
    """Return what is said of each label: by its verdict, or why it is flagged though nothing is proven."""
    verdicts = diagnosis.verdicts.table
    sentences = verdicts["sentence"].tolist()
    by_flag = (diagnosis.verdict == "unproven") & np.isin(diagnosis.state, FLAGGED)
    for j in np.flatnonzero(by_flag).tolist():
        sentences[j] = sentence_on_flag(verdicts[j])
    if by_folds:
        # Sentences that count rows, not of 100, say whose decisions these are.
        has_counts = np.isin(diagnosis.verdict, ["unproven", "missed"])
        has_counts |= (verdicts["predicted_positive"] == 0) | (verdicts["n_positives"] == 0)
        for j in np.flatnonzero(has_counts).tolist():
            sentences[j] = decided_by_others(sentences[j])
    return np.array(sentences, np.str_)


def _f_out_of_fold(rule: Rule, n_labels: int) -> Floats:
    """Return F of the out-of-fold decisions that a rule keeps, NaN where it keeps none, or for 0/0."""
    kept = None if rule.out_of_fold is None else rule.out_of_fold.by_label
    if kept is None:
        return np.full(n_labels, np.nan)
    return f_of_counts(kept.tp, kept.predicted, kept.positives, rule.beta, np.nan)
