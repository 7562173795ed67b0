"""One sentence on each label, for people who know the label and no statistics.

"Rows" are what is labelled: images, patients, documents. A row is "marked" if the rule predicts the label there, and
"is" the label if the truth says so. Of 100 such rows the sentence says how many are right, or found: by the bounds of
the table, which are Wilson's for a share, as whole numbers.
"""

import math
from typing import Any

import numpy as np

from thresholds.diagnosis.bars import most_positives
from thresholds.results import counted

MEANINGS = {
    "usable": "shown to be good enough",
    "weak": "shown not to be good enough",
    "unproven": "too few rows to say",
    "missed": "the scores know it, the rule does not use them",
    "useless": "the scores are shown to know little of it",
}
TO_DO = {
    "usable": "rely on it, as far as its sentence says",
    "weak": "have its marks checked, or look for better scores",
    "unproven": "get more labelled rows; until then, have its marks checked",
    "missed": "fit its threshold anew, or choose another rule",
    "useless": "do not mark it; look where its scores and its truth come from",
}


def sentence(row: Any, *, is_backwards: bool, on_own_rows: bool) -> str:
    """Say what the verdict on a label means; `row` is one of `Verdicts.table`."""
    name = " ".join(str(row["name"]).split())
    verdict = str(row["verdict"])
    if verdict == "usable":
        on_new_rows = "; on rows that the rule was not fitted on, fewer" if on_own_rows else ""
        return f"{_right(row, name)}; {_found(row, name)}{on_new_rows}."
    if verdict == "weak":
        return f"{_of_weak(row, name)}."
    if verdict == "useless":
        return f"{_of_useless(row, name, is_backwards)}."
    if verdict == "missed":
        return f"{_of_missed(row, name)}."
    return f"{_of_unproven(row, name)}."


def _of_weak(row: Any, name: str) -> str:
    """Say how few are right, and how few found."""
    if row["predicted_positive"] == 0:
        return f"No row is marked {name}, though {row['n_positives']:,} should be"
    if row["n_positives"] == 0:
        bounds = _between(row["precision_low"], row["precision_high"])
        none = f"No row here is {name}, though {row['predicted_positive']:,} are marked so"
        return f"{none}: of 100 such rows, {bounds} are right"
    return f"{_right(row, name)}, and {_found(row, name)}: not enough to rely on"


def _of_useless(row: Any, name: str, is_backwards: bool) -> str:
    """Say that the scores are at fault."""
    if is_backwards:
        why = f"rows that are {name} have lower scores than others, where they should have higher ones"
    elif row["predicted_positive"] == 0:
        why = f"the scores cannot tell which rows are {name}"
    else:
        why = "the scores cannot tell them from others"
    marked = _right(row, name) if row["predicted_positive"] else f"No row is marked {name}"
    return f"{marked}; {why}"


def _of_missed(row: Any, name: str) -> str:
    """Say what the rule does, and what the highest scores hold."""
    tp = row["tp"]
    if row["predicted_positive"] > row["n_positives"]:
        rule = f"Of {row['predicted_positive']:,} rows marked {name}, {tp:,} {_are(tp)} right"
    else:
        rule = f"Of {row['n_positives']:,} rows that are {name}, {tp:,} {_are(tp)} marked"
    top_tp = row["top_tp"]
    top = (
        f"of the {row['top_predicted']:,} with the highest scores, {top_tp:,} {_are(top_tp)} {name}"
    )
    return f"{rule}; {top}, so that another threshold would do better"


def _of_unproven(row: Any, name: str) -> str:
    """Say what was seen, and how much would be enough."""
    positives = row["n_positives"]
    predicted = row["predicted_positive"]
    needed = row["positives_needed"]
    if np.isnan(needed):
        return (
            f"All rows here are {name}, so that nothing can be said; rows that are not are needed"
        )
    if positives == 0:
        marked = f", and {predicted:,} {_are(predicted)} marked so" if predicted else ""
        wanted = f"at least {needed:,.0f} rows that are {name} are needed"
        return f"Not enough rows to say: none here is {name}{marked}; {wanted}"

    tp = row["tp"]
    found = f"of {_rows_that_are(positives, name)}, {tp:,} {_are(tp)} marked"
    right = f", and of {predicted:,} marked so, {tp:,} {_are(tp)} right" if predicted else ""
    if math.isinf(needed):
        wanted = (
            f"it would take more than {most_positives(positives):,.0f} rows that are {name} to say"
        )
        return f"Too near the limit to say: {found}{right}; {wanted}"
    wanted = f"about {needed:,.0f} rows that are {name} would be enough"
    return f"Not enough rows to say: {found}{right}; {wanted}"


def _right(row: Any, name: str) -> str:
    """Say how many of those marked are right."""
    bounds = _between(row["precision_low"], row["precision_high"])
    return f"Of 100 rows marked {name}, {bounds} are right"


def _found(row: Any, name: str) -> str:
    """Say how many of those that are true are marked."""
    bounds = _between(row["recall_low"], row["recall_high"])
    return f"of 100 rows that are {name}, {bounds} are marked"


def _rows_that_are(number: int, name: str) -> str:
    """Count the rows that are a label."""
    return f"{counted(number, 'row')} that {_are(number)} {name}"


def _between(low: float, high: float) -> str:
    """Name two bounds as whole numbers of 100, of which the true one lies between."""
    return f"between {math.floor(100 * low)} and {math.ceil(100 * high)}"


def _are(number: int) -> str:
    """Return the verb for so many."""
    return "is" if number == 1 else "are"
