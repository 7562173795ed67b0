"""Labels, and their share of all predictions, by state: what every diagnosis opens with, and what it says in brief."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds.results import Table, and_others, shown_name

NOT_OVER = "restrained"  # the state that says nothing else of a label


def by_state(table: npt.NDArray[Any], meanings: Mapping[str, str], title: str) -> Table:
    """Lay out the columns `state` and `predicted_positive` of a table; `meanings` gives the states in order.

    Of states without labels only that of platypuses is shown: that there are none is worth knowing.
    """
    predicted = table["predicted_positive"]
    n_predicted = max(predicted.sum(), 1)
    body = []
    for state, meaning in meanings.items():
        in_state = table["state"] == state
        n_labels = np.count_nonzero(in_state)
        if not n_labels and state != "platypus":
            continue
        predictions = int(predicted[in_state].sum())
        labels = (f"{n_labels:,}", f"{n_labels / table.size:.1%}")
        body.append(
            (state, *labels, f"{predictions:,}", f"{predictions / n_predicted:.1%}", meaning)
        )
    head = [("state", "labels", "", "predictions", "share", "")]
    return Table(head, body, left=(0, 5), title=title)


def platypuses_in_brief(table: Any, meaning: str, k: int) -> str:
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
