"""Labels, and their share of all predictions, by state: what every diagnosis opens with, and what it says in brief."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds.results import Table, counted


def by_state(table: npt.NDArray[Any], meanings: Mapping[str, str]) -> Table:
    """Lay out the columns `state` and `predicted_positive` of a table; `meanings` gives the states in order."""
    predicted, body = table["predicted_positive"], []
    for state, meaning in meanings.items():
        of_state = table["state"] == state
        n, count = np.count_nonzero(of_state), int(predicted[of_state].sum())
        shares = (f"{n / table.size:.1%}", f"{count:,}", f"{count / max(predicted.sum(), 1):.1%}")
        body.append((state, f"{n:,}", *shares, meaning))
    return Table([("state", "labels", "", "predictions", "share", "")], body, left=(0, 5))


def of_platypuses(table: npt.NDArray[Any], meaning: str, k: int) -> str:
    """Say how many platypuses there are, what share of all predictions they take, and name those predicted most."""
    flagged, predicted = table[table["state"] == "platypus"], table["predicted_positive"]
    share = flagged["predicted_positive"].sum() / max(predicted.sum(), 1)
    order = np.argsort(-flagged["predicted_positive"], kind="stable")
    most = [f"{row['name']} ({row['predicted_rate']:.1%} of the rows)" for row in flagged[order]]
    these = "1 platypus takes" if flagged.size == 1 else f"{flagged.size:,} platypuses take"
    return f"{these} {share:.1%} of all predictions ({meaning}): {named(most, k)}"


def named(names: Collection[str], k: int) -> str:
    """List the first k names, and say how many more there are."""
    shown, more = list(names)[:k], len(names) - k
    return ", ".join(" ".join(str(name).split()) for name in shown) + (
        f" and {counted(more, 'other')}" if more > 0 else ""
    )
