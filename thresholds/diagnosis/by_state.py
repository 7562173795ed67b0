"""Labels, and their share of all predictions, by state: what every diagnosis opens with, and what it says in brief."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds.results import Table, counted, on_one_line

NOT_OVER = "restrained"  # the state that says nothing else of a label


def by_state(table: npt.NDArray[Any], meanings: Mapping[str, str]) -> Table:
    """Lay out the columns `state` and `predicted_positive` of a table; `meanings` gives the states in order."""
    predicted = table["predicted_positive"]
    n_predicted = max(predicted.sum(), 1)
    body = []
    for state, meaning in meanings.items():
        in_state = table["state"] == state
        n_labels = np.count_nonzero(in_state)
        predictions = int(predicted[in_state].sum())
        labels = (f"{n_labels:,}", f"{n_labels / table.size:.1%}")
        body.append(
            (state, *labels, f"{predictions:,}", f"{predictions / n_predicted:.1%}", meaning)
        )
    return Table([("state", "labels", "", "predictions", "share", "")], body, left=(0, 5))


def platypuses_in_brief(table: npt.NDArray[Any], meaning: str, k: int) -> str:
    """Say how many platypuses there are, what share of all predictions they take, and name those predicted most."""
    platypuses = table[table["state"] == "platypus"]
    share = platypuses["predicted_positive"].sum() / max(table["predicted_positive"].sum(), 1)
    order = np.argsort(-platypuses["predicted_positive"], kind="stable")
    names = [
        f"{row['name']} (on {row['predicted_rate']:.1%} of the rows)" for row in platypuses[order]
    ]
    these = "1 platypus takes" if platypuses.size == 1 else f"{platypuses.size:,} platypuses take"
    return f"{these} {share:.1%} of all predictions ({meaning}): {first_names(names, k)}"


def first_names(names: Collection[str], k: int) -> str:
    """List the first k names, and say how many more there are."""
    shown = [on_one_line(str(name)) for name in list(names)[:k]]
    n_others = len(names) - k
    return ", ".join(shown) + (f" and {counted(n_others, 'other')}" if n_others > 0 else "")
