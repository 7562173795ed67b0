"""One sentence on each label, for people who know the label and no statistics.

"Rows" are what is labelled: images, patients, documents. A row is "marked" if the rule predicts the label there, and
"is" the label if the truth says so. Of 100 such rows the sentence says how many are right, or found: by the bounds of
the table, which are Wilson's for a share, as whole numbers.
"""

import math
from typing import Any

import numpy as np

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


def most_positives(positives: Any) -> Any:
    """Return the number of positives above which an estimate of how many are needed is worth nothing."""
    return np.maximum(10 * positives, 1000)


def sentence(row: Any, *, is_backwards: bool, on_own_rows: bool) -> str:
    """Say what the verdict on a label means; `row` is one of `Verdicts.table`."""
    name = " ".join(str(row["name"]).split())
    say = {
        "usable": _of_usable,
        "weak": _of_weak,
        "unproven": _of_unproven,
        "missed": _of_missed,
        "useless": _of_backwards if is_backwards else _of_useless,
    }[str(row["verdict"])]
    text = say(row, name)
    if on_own_rows and row["verdict"] == "usable":
        text += ", on the rows that the rule was fitted on; on new rows fewer"
    return f"{text}."


def _of_usable(row: Any, name: str) -> str:
    """Say how many are right, and how many found."""
    return f"{_right(row, name)}; {_found(row, name)}"


def _of_weak(row: Any, name: str) -> str:
    """Say how few are right, and how few found."""
    if row["predicted_positive"] == 0:
        return (
            f"{name} is never marked, though it should be on {counted(row['n_positives'], 'row')}"
        )
    if row["n_positives"] == 0:
        return f"{_right(row, name)}; no row here is {name}"
    return f"{_right(row, name)}, and {_found(row, name)}: not enough to rely on"


def _of_useless(row: Any, name: str) -> str:
    """Say that the scores are at fault."""
    if row["predicted_positive"] == 0:
        return f"{name} is never marked; the scores cannot tell rows that are {name} from others"
    return f"{_right(row, name)}; the scores cannot tell them from others"


def _of_backwards(row: Any, name: str) -> str:
    """Say that the scores are the wrong way round."""
    marked = f"{name} is never marked" if row["predicted_positive"] == 0 else _right(row, name)
    return f"{marked}; rows that are {name} have lower scores than others, where they should have higher ones"


def _of_missed(row: Any, name: str) -> str:
    """Say what the rule does, and what the highest scores hold."""
    top = counted(row["top_predicted"], "row")
    if row["predicted_positive"] > row["n_positives"]:
        right = f"Of {counted(row['predicted_positive'], 'row')} marked {name}, {_hits(row):,} are right"
        return f"{right}; of the {top} with the highest scores, {row['top_tp']:,} would be"
    found = f"Of {counted(row['n_positives'], 'row')} that are {name}, {_hits(row):,} are marked"
    return f"{found}; the {top} with the highest scores hold {row['top_tp']:,} of them"


def _of_unproven(row: Any, name: str) -> str:
    """Say what was seen, and how much would be enough."""
    positives = row["n_positives"]
    predicted = row["predicted_positive"]
    if positives == 0:
        seen = f"No row here is {name}" + (f", and {predicted:,} marked so" if predicted else "")
        return f"{seen}: too little to say; at least {row['positives_needed']:,.0f} rows that are {name} are needed"
    found = f"{_hits(row):,} of {counted(positives, 'row')} that {_are(positives)} {name} {_are(_hits(row))} marked"
    right = (
        f", and {_hits(row):,} of {counted(predicted, 'row')} marked so {_are(_hits(row))} right"
        if predicted
        else ""
    )
    return f"{found}{right}: too few to say; {_enough(row, name)}"


def _enough(row: Any, name: str) -> str:
    """Say how many positives would be enough."""
    needed = row["positives_needed"]
    if math.isinf(needed):
        return "it lies so close to what is asked for that many more rows may not settle it"
    return f"about {needed:,.0f} rows that are {name} would be enough"


def _right(row: Any, name: str) -> str:
    """Say how many of those marked are right."""
    bounds = _between(row["precision_low"], row["precision_high"])
    return f"Of 100 rows marked {name}, {bounds} are right"


def _found(row: Any, name: str) -> str:
    """Say how many of those that are true are marked."""
    bounds = _between(row["recall_low"], row["recall_high"])
    return f"of 100 rows that are {name}, {bounds} are marked"


def _between(low: float, high: float) -> str:
    """Name two bounds as whole numbers of 100, of which the true one lies between."""
    least = math.floor(100 * low)
    most = math.ceil(100 * high)
    return f"between {least} and {most}" if most > least else f"{least}"


def _are(number: int) -> str:
    """Return the verb for so many."""
    return "is" if number == 1 else "are"


def _hits(row: Any) -> int:
    """Return the true positives."""
    return int(np.rint(row["tp"]))
