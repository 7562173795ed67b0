"""Were floors that the folds' rules promised kept on the rows of the folds, which these rules had not seen?"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from thresholds._arrays.types import Floats, Ints
from thresholds._results.words import counted
from thresholds.metrics.averages import PRECISION, RECALL, average_of
from thresholds.metrics.counts import ConfusionCounts
from thresholds.metrics.intervals import p_at_least
from thresholds.metrics.judging import Judged
from thresholds.rule import Rule, ThresholdRule
from thresholds.rule.guarantees import Guarantees
from thresholds.rule.row_guarantees import RowGuarantees

KEPT = "kept"
BELOW = "below"
CLEARLY_BELOW = "clearly below"


def promises_out_of_fold(rules: Sequence[Rule], judged: Sequence[Judged]) -> dict[str, Any]:
    """Return columns (n_labels,) about promises of the folds' rules; none where nothing is promised.

    `judged` are the counts of each fold's rule on its rows.

    n_folds_promised : of how many folds the rule promised the label's floors
    precision_out_of_fold, recall_out_of_fold : of all decisions of these folds' rules about rows they had not seen,
        counted together; NaN without a floor, or without any such fold
    floors_out_of_fold : "kept", "below", or "clearly below" where so few hits have a probability of at most
        1 - confidence at the floor; empty where nothing was promised
        That probability counts rows as independent: of groups, whose rows are not, it is not computed.
    """
    promised = [
        (rule.guarantees, fold.by_label)
        for rule, fold in zip(rules, judged, strict=True)
        if isinstance(rule, ThresholdRule) and isinstance(rule.guarantees, Guarantees)
    ]
    if not promised:
        return {}
    guarantees = promised[0][0]
    is_promised = np.stack([kept.promised for kept, _ in promised])  # (n_folds, n_labels)
    sums = np.stack([counts.sums for _, counts in promised])  # (n_folds, 3, n_labels)
    tp, predicted, positives = np.where(is_promised[:, np.newaxis], sums, 0).sum(axis=0)
    n_folds = np.count_nonzero(is_promised, axis=0)
    error = 1 - guarantees.confidence
    below, clearly, shares = np.zeros(n_folds.size, np.bool_), np.zeros(n_folds.size, np.bool_), []
    for n, floor in ((predicted, guarantees.min_precision), (positives, guarantees.min_recall)):
        shares.append(_share(tp, n, floor))
        below |= shares[-1] < floor
        if guarantees.units == "groups":
            continue
        # A share is F-beta of beta 0; without rows, or a floor, nothing is shown to be below.
        clearly |= (n > 0) & (p_at_least(tp, n, n, floor, 0.0) <= error)
    words = np.select([n_folds == 0, clearly, below], ["", CLEARLY_BELOW, BELOW], KEPT)
    return {
        "n_folds_promised": n_folds,
        "precision_out_of_fold": shares[0],
        "recall_out_of_fold": shares[1],
        "floors_out_of_fold": words,
    }


class RowPromise(NamedTuple):
    """A floor of all labels together that the folds' rules promised, on the rows that these had not seen."""

    name: str  # as "micro precision"
    floor: float
    n_promised: int  # folds whose rule promised it
    n_folds: int
    reached: float  # by the decisions of these folds' rules, counted together; NaN without one

    def in_words(self) -> str:
        """Say what was promised, and reached."""
        by = f"promised by the rules of {self.n_promised} of {counted(self.n_folds, 'fold')}"
        reached = f": {self.reached:.4f} on rows that they had not seen" if self.n_promised else ""
        return f"{self.name} of at least {self.floor:g}, {by}{reached}"


def row_promises_out_of_fold(
    rules: Sequence[Rule], judged: Sequence[Judged]
) -> tuple[RowPromise, ...]:
    """Return what became of floors of micro, or of means over rows; of groups, too, rows are counted."""
    asked = [rule.guarantees for rule in rules if isinstance(rule, ThresholdRule)]
    wanted = next((one for one in asked if isinstance(one, RowGuarantees)), None)
    if wanted is None:
        return ()
    promised = [
        fold
        for rule, fold in zip(rules, judged, strict=True)
        if isinstance(rule, ThresholdRule)
        and isinstance(rule.guarantees, RowGuarantees)
        and rule.guarantees.promised
    ]
    by_row = wanted.average == "samples"
    of_folds = [fold.by_sample if by_row else fold.by_label for fold in promised]
    counts = [of_fold for of_fold in of_folds if of_fold is not None]
    sums = np.concatenate([np.zeros((3, 1)), *(count.sums for count in counts)], axis=1)
    together = ConfusionCounts(sums[:, 1:], 1)
    found = []
    for figure, floor in ((PRECISION, wanted.min_precision), (RECALL, wanted.min_recall)):
        if floor is not None:
            # Rows of which nothing is asked are left out.
            average = "macro" if by_row else "micro"
            reached = average_of(figure, together, average, np.nan) if promised else np.nan
            name = f"{wanted.what} {figure.name.lower()}"
            found.append(RowPromise(name, floor, len(promised), len(rules), reached))
    return tuple(found)


def promises_in_words(floors: Any, units: str) -> str:
    """Say how many promises were kept out of fold, from the column of that name; `units` are rows or groups."""
    n = {word: int(np.count_nonzero(floors == word)) for word in (KEPT, BELOW, CLEARLY_BELOW)}
    n_promised = sum(n.values())
    if n_promised == 0:
        return "no fold's rule promised a floor"
    kept = (
        f"floors promised by the folds' rules, on rows that they had not seen: kept for {n[KEPT]:,} of"
        f" {counted(n_promised, 'label')}; {n[BELOW]:,} below"
    )
    if units == "groups":
        return f"{kept}, and it is not tested whether by chance, as rows of a group are alike"
    return f"{kept} by no more than chance explains, {n[CLEARLY_BELOW]:,} clearly below"


def _share(tp: Ints, n: Ints, floor: Floats) -> Floats:
    """Return tp / n of labels with a floor, NaN for others."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.isnan(floor), np.nan, tp / n)
