"""One sentence on each label, for people who know the label and no statistics.

"Rows" are what is labelled: images, patients, documents. A row is "marked" if the rule predicts the label there, and
"truly is" the label if the truth says so. Of 100 such rows the sentence says how many truly are, or are marked: by the
bounds of the table, which are Wilson's for a share, widened where counts are few, as whole numbers.

An unproven label is on the border of good enough if the bounds of its F are at most .2 apart: its F is known to about
.1, and even so not shown to be above the bar or below. Of all other unproven labels it is too early to say.
"""

import math
from typing import Any

import numpy as np

from thresholds._arrays.types import Booleans
from thresholds._results.text import shown_name
from thresholds._results.words import are, counted
from thresholds.diagnosis.bars import most_positives
from thresholds.diagnosis.evidence import FEWEST

MEANINGS = {
    "usable": "shown to be good enough",
    "weak": "shown not to be good enough",
    "unproven": "shown neither way",
    "missed": "scores know it, rule does not",
    "useless": "scores useless, or turned round",
}
TO_DO = {
    "usable": "use it",
    "weak": "have its marks checked",
    "unproven": "have its marks checked",
    "missed": "fit again, or another rule",
    "useless": "do not mark it",
}
_KNOWN_TO = (
    0.2  # between the bounds of F, from which on it is known well enough to call it near the bar
)
TO_DO_WITHOUT_THRESHOLDS = TO_DO | {"missed": "choose another rule"}
TO_DO_WITHIN_LIMITS = TO_DO | {"missed": "lower its limits"}


def are_on_border(figures: Any) -> Booleans:
    """Tell which labels are on the border of good enough; `figures` are columns of `Verdicts.table`, or a row of it."""
    is_known = figures["f_high"] - figures["f_low"] <= _KNOWN_TO
    can_be_shown = ~np.isnan(figures["positives_needed"])
    return np.asarray((figures["verdict"] == "unproven") & is_known & can_be_shown)


def sentence(
    row: Any,
    *,
    is_backwards: bool,
    on_own_rows: bool,
    has_thresholds: bool = True,
    has_limits: bool = False,
) -> str:
    """Say what the verdict on a label means; `row` is one of `Verdicts.table`, `has_...` are about the rule."""
    name = shown_name(row["name"])
    verdict = str(row["verdict"])
    if verdict == "usable":
        on_new_rows = "; on rows that the rule was not fitted on, fewer" if on_own_rows else ""
        return f"{_right(row, name)}; {_found(row, name)}{on_new_rows}."
    if verdict == "weak":
        return f"{_of_weak(row, name)}."
    if verdict == "useless":
        return f"{_of_useless(row, name, is_backwards)}."
    if verdict == "missed":
        remedy = "a new threshold" if has_thresholds else "a threshold of its own"
        unless = ", if the limits of the fit allowed it" if has_limits else ""
        return f"{_of_missed(row, name)}, so that {remedy} would do better{unless}."
    return f"{_of_unproven(row, name)}."


def sentence_on_flag(row: Any) -> str:
    """Say why the marks of a label are suspect, though its verdict is "unproven"; `row` as above."""
    name = shown_name(row["name"])
    predicted = row["predicted_positive"]
    positives = row["n_positives"]
    marked = f"{counted(predicted, 'row')} {are(predicted)} marked {name}"
    if positives == 0:
        return f"{marked}, and none truly is: no row here truly is {name}."
    tp = row["tp"]
    right = f"{marked}, of which {tp:,} truly {are(tp)}; in all, {positives:,} {are(positives)}"
    often = f"marked {predicted / positives:.3g} times as often as true"
    if positives < FEWEST:
        return f"{right}: {often}, and too few to tell whether the scores know it."
    return f"{right}: {often}, and nothing shows that the scores know it."


def _of_weak(row: Any, name: str) -> str:
    """Say how few are right, and how few found."""
    if row["predicted_positive"] == 0:
        return f"No row is marked {name}, though {row['n_positives']:,} should be"
    if row["n_positives"] == 0:
        marked = f"{counted(row['predicted_positive'], 'row')} {are(row['predicted_positive'])} marked {name}"
        bounds = between(row["precision_low"], row["precision_high"])
        return f"{marked}, and none truly is; of 100 such rows, probably {bounds} truly are"
    return (
        f"{_right(row, name)}, and {_found(row, name)}: too many mistakes to rely on it unchecked"
    )


def _of_useless(row: Any, name: str, is_backwards: bool) -> str:
    """Say that the scores are at fault: AUROC as a share of pairs that they rank rightly."""
    marked = _right(row, name) if row["predicted_positive"] else f"No row is marked {name}"
    cases = f"about {100 * row['auroc']:.0f} of 100 cases, and by chance it would in 50"
    pairs = f"of two rows, only one of which truly is {name}, that one scores higher in {cases}"
    turned = ": the scores seem turned round" if is_backwards else ""
    return f"{marked}; {pairs}{turned}"


def _of_missed(row: Any, name: str) -> str:
    """Say what the rule does, and what the highest scores hold."""
    tp = row["tp"]
    if row["predicted_positive"] > row["n_positives"]:
        rule = (
            f"Of {counted(row['predicted_positive'], 'row')} marked {name}, {tp:,} truly {are(tp)}"
        )
    else:
        rule = f"Of {_rows_that_are(row['n_positives'], name)}, {tp:,} {are(tp)} marked"
    top_tp = row["top_tp"]
    top = f"of the {row['top_predicted']:,} rows that score highest for {name}, {top_tp:,} truly {are(top_tp)}"
    return f"{rule}; {top}"


def _of_unproven(row: Any, name: str) -> str:
    """Say what was seen, and how many rows would probably show more."""
    positives = row["n_positives"]
    predicted = row["predicted_positive"]
    needed = row["positives_needed"]
    if np.isnan(needed):
        return f"Too early to say: all rows here truly are {name}, and some that are not are needed"
    if positives == 0:
        marked = f", and {predicted:,} {are(predicted)} marked so" if predicted else ""
        wanted = f"it takes at least {needed:,.0f} rows that truly are {name}"
        return f"Too early to say: no row here truly is {name}{marked}; {wanted}"

    tp = row["tp"]
    seen = f"of {_rows_that_are(positives, name)}, {tp:,} {are(tp)} marked"
    if predicted:
        seen += f"; of {counted(predicted, 'row')} marked so, {tp:,} truly {are(tp)}"
    begin = "On the border of good enough" if are_on_border(row) else "Too early to say"
    if math.isinf(needed):
        most = f"{most_positives(positives):,.0f} rows that truly are {name}"
        return f"{begin}: {seen}; even {most} may not settle it"
    outcome = "good enough" if row["f"] > row["bar"] else "not good enough"
    enough = f"about {needed:,.0f} rows that truly are {name}, in all"
    return f"{begin}: {seen}; if this goes on, it would take {enough}, to show that it is {outcome}"


def _right(row: Any, name: str) -> str:
    """Say how many of those marked are right."""
    bounds = between(row["precision_low"], row["precision_high"])
    return f"Of 100 rows marked {name}, probably {bounds} truly are"


def _found(row: Any, name: str) -> str:
    """Say how many of those that are true are marked."""
    bounds = between(row["recall_low"], row["recall_high"])
    return f"of 100 rows that truly are {name}, probably {bounds} are marked"


def _rows_that_are(number: int, name: str) -> str:
    """Count the rows that are a label."""
    return f"{counted(number, 'row')} that truly {are(number)} {name}"


def between(low: float, high: float) -> str:
    """Name two bounds as whole numbers of 100, of which the true one lies between."""
    return f"between {math.floor(100 * low)} and {math.ceil(100 * high)}"
