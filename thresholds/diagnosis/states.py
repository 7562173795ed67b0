"""Is a label predicted too often? A state for each label, and its words.

The first that applies, with the tests of `evidence`, each with its own false discovery rate:

- backwards: positives are shown to score lower, and not shown to be informative.
- platypus: over-predicted, shown to have an AUROC below `min_auroc`, and not shown to be informative.
- suspect: over-predicted, and neither is shown, or there are fewer than `FEWEST` positives.
- unsupported: no positives, and no predictions.
- overpredicted: over-predicted all the same.
- restrained: all others.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds._results.tables import Column, Table, count, p_value, tabulate, tenths
from thresholds._results.text import and_others, shown_name
from thresholds._results.words import counted
from thresholds.diagnosis.evidence import FEWEST, Criteria, LabelEvidence, shown_of
from thresholds.metrics.counts import ConfusionCounts

NOT_OVER = "restrained"  # the state that says nothing else of a label
MEANINGS_OF_STATES = {  # in the order in which they apply
    "backwards": "positives score lower; negated scores rank better",
    "platypus": "over-predicted; the scores know little or nothing",
    "suspect": "over-predicted; undetermined, or under 5 positives",
    "unsupported": "no positives here, and not predicted",
    "overpredicted": "over-predicted; the scores know something of it",
    NOT_OVER: "not over-predicted: it may still be bad",
}
STATES = tuple(MEANINGS_OF_STATES)
FLAGGED = ("backwards", "platypus", "suspect")  # whose predictions are not to be trusted


def states_of(
    counts: ConfusionCounts, evidence: LabelEvidence, criteria: Criteria
) -> npt.NDArray[np.str_]:
    """Return the state of each label from what a rule predicts, counted without weights, and the evidence."""
    _, predicted, positives = counts.sums
    with np.errstate(divide="ignore", invalid="ignore"):
        over = predicted / positives > criteria.overprediction

    # What the tests say.
    informative, uninformative, backwards = shown_of(evidence, criteria)
    useless = uninformative & ~informative
    undetermined = (positives < FEWEST) | ~(informative | uninformative)

    # The first that applies, in the order of STATES.
    conditions = [backwards, over & useless, over & undetermined, positives == 0, over]
    return np.select(conditions, STATES[:-1], STATES[-1])


def reason(label: Mapping[str, Any], min_auroc: float) -> str:
    """Say in words why a label has its state; `label` has the columns of `Diagnosis.table`."""
    state = label["state"]
    positives = label["n_positives"]
    often = f"{label['overprediction']:.3g} times as often as true"

    # States that no test decides.
    if state == "unsupported":
        return "no positives"
    if state in ("overpredicted", NOT_OVER):
        return often
    if positives == 0:
        return "predicted, but never true here"
    if positives < FEWEST:
        return f"{often}, {counted(positives, 'positive')}: too few to test AUROC"
    if np.isnan(label["p_informative"]):
        return f"{often}, hardly any negatives: nothing can be told"

    # What the tests say.
    if state == "backwards":
        below = f"AUROC {label['auroc']:.3g}, below 1/2 (p {_p(label['p_backwards'])})"
        return f"{often}; {below}: negated scores would rank better"
    better = f"not shown better than chance (p {_p(label['p_informative'])})"
    below = f"AUROC below {min_auroc:g} (p {_p(label['p_uninformative'])})"
    if state == "platypus":
        return f"{often}; {below}, {better}"
    return f"{often}; {better}" + ("" if np.isnan(label["p_uninformative"]) else f", nor {below}")


def _p(value: float) -> str:
    """Return a p-value as sentences have it."""
    shown = p_value(value)
    return shown if shown.startswith("<") else f"= {shown}"


def by_state(table: npt.NDArray[Any], meanings: Mapping[str, str], title: str) -> Table:
    """Lay out the columns `state` and `predicted_positive` of a table; `meanings` gives the states in order.

    Of states without labels only that of platypuses is shown: that there are none is worth knowing.
    """
    in_state = {state: table["state"] == state for state in meanings}  # (n_labels,) each
    shown = [state for state in meanings if in_state[state].any() or state == "platypus"]
    labels = [int(np.count_nonzero(in_state[state])) for state in shown]
    predicted = [int(table["predicted_positive"][in_state[state]].sum()) for state in shown]
    n_predicted = max(int(table["predicted_positive"].sum()), 1)
    columns = {
        "state": shown,
        "labels": labels,
        "of_labels": [number / table.size for number in labels],
        "predictions": predicted,
        "of_predictions": [number / n_predicted for number in predicted],
        "meaning": [meanings[state] for state in shown],
    }
    return tabulate(columns, _BY_STATE, title=title)


_BY_STATE = (
    Column("state", is_words=True),
    Column("labels", write=count),
    Column("of_labels", ("",), tenths),
    Column("predictions", write=count),
    Column("of_predictions", "share", tenths),
    Column("meaning", ("",), is_words=True),
)


def platypuses_in_brief(table: npt.NDArray[Any], meaning: str, k: int) -> str:
    """Say how many platypuses there are, what share of all predictions they take, and name those predicted most."""
    places = np.flatnonzero(table["state"] == "platypus")
    predicted = table["predicted_positive"][places]
    share = predicted.sum() / max(table["predicted_positive"].sum(), 1)
    order = places[np.argsort(-predicted, kind="stable")]
    names = [
        f"{shown_name(table['name'][j])} (on {table['predicted_rate'][j]:.1%} of the rows)"
        for j in order[:k]
    ]
    these = "1 platypus takes" if places.size == 1 else f"{places.size:,} platypuses take"
    return f"{these} {share:.1%} of all predictions ({meaning}): {and_others(names, places.size)}"


def are_many(backwards: int, tested: int) -> bool:
    """Whether most of the labels that could be tested rank backwards."""
    return 2 * backwards > tested


def backwards_in_brief(backwards: int, tested: int, names: str = "") -> str:
    """Say how many labels rank backwards, which, and what that looks like."""
    labels = f"{backwards:,} of {counted(tested, 'label')} with at least {FEWEST} positives"
    rank = "ranks" if backwards == 1 else "rank"
    which = f" ({names})" if names else ""
    if are_many(backwards, tested):
        meaning = "y_score looks negated (higher should mean more likely)"
    else:
        meaning = "positives score lower than the rest"
    return f"{labels} {rank} backwards{which}: {meaning}"
