"""Labels, and their share of all predictions, by state: what every diagnosis opens with."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds.tables import Lines


def by_state(table: npt.NDArray[Any], meanings: Mapping[str, str]) -> tuple[Lines, Lines]:
    """Lay out the columns `state` and `predicted_positive` of a table; `meanings` gives the states in order."""
    predicted, body = table["predicted_positive"], []
    for state, meaning in meanings.items():
        of_state = table["state"] == state
        n, count = np.count_nonzero(of_state), int(predicted[of_state].sum())
        shares = (f"{n / table.size:.1%}", f"{count:,}", f"{count / max(predicted.sum(), 1):.1%}")
        body.append((state, f"{n:,}", *shares, meaning))
    return [("state", "labels", "", "predictions", "share", "")], body
