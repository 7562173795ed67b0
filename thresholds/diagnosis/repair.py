"""Mending the thresholds of flagged labels."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from thresholds import _checks
from thresholds._checks import InputError
from thresholds.results import Result, Table, rows_of
from thresholds.rule import ThresholdRule

if TYPE_CHECKING:
    from thresholds.diagnosis.result import Diagnosis

_MENDED = ("backwards", "platypus", "suspect")  # states whose thresholds may be changed


class _RuleAndChanges(NamedTuple):
    """What a repair is unpacked into."""

    rule: ThresholdRule
    changes: npt.NDArray[Any]


class Repair(Result, _RuleAndChanges):
    """A mended rule and what changed; `rule, changes = diagnosis.repair(...)`.

    Attributes
    ----------
    rule : ThresholdRule, the mended one
    changes : structured array, one row for each changed threshold
        name, state, old_threshold, new_threshold, and on the rows of the diagnosis predicted_before and
        predicted_after: predictions of the diagnosed rule, and of the new one.
    """

    _shown = 8

    def _records(self) -> npt.NDArray[Any]:
        """Return the changes."""
        return self.changes

    def _tables(self, k: int) -> Iterator[str | Table]:
        """Sum up, and list the k largest changes."""
        changes = self.changes
        if not changes.size:
            yield f"nothing to repair: none of {self.rule.n_labels:,} thresholds was changed"
            return
        before = int(changes["predicted_before"].sum())
        after = int(changes["predicted_after"].sum())
        of_all = f"{changes.size:,} of {self.rule.n_labels:,} thresholds"
        summary = f"repaired {of_all}: {after:,} predictions of these labels instead of {before:,}"
        backwards = np.count_nonzero(changes["state"] == "backwards")
        if backwards == 1:
            summary += "; 1 ranks backwards: no threshold suits it, negate its scores and fit again"
        elif backwards:
            summary += f"; {backwards:,} rank backwards: no threshold suits these, negate their scores and fit again"
        if 0 < k < changes.size:
            summary += f"; the {k} largest changes:"
        yield summary
        if k:
            yield self._largest_changes(k)

    def _largest_changes(self, k: int) -> Table:
        """Lay the k largest changes out."""
        order = np.argsort(
            self.changes["predicted_after"] - self.changes["predicted_before"], kind="stable"
        )[:k]
        head = [
            ("", "", "old", "new", "predicted", "predicted"),
            ("label", "state", "threshold", "threshold", "before", "after"),
        ]
        body = [
            (
                str(row["name"]),
                str(row["state"]),
                *(f"{row[name]:.4g}" for name in ("old_threshold", "new_threshold")),
                *(f"{row[name]:,}" for name in ("predicted_before", "predicted_after")),
            )
            for row in self.changes[order]
        ]
        return Table(head, body, left=(0, 1))


def repaired(diagnosis: "Diagnosis", rule: object, action: object, states: object) -> Repair:
    """Change the thresholds of the labels in some states."""
    if not isinstance(rule, ThresholdRule):
        raise InputError(
            f"rule is {_checks.shown(rule)}, expected one with a threshold for each label, as thresholds.fit makes"
        )
    if rule.n_labels != diagnosis.n_labels:
        raise InputError(
            f"rule has {rule.n_labels} labels, expected {diagnosis.n_labels} as were diagnosed"
        )
    order = _checks.places(
        rule.label_names, diagnosis.label_names, "rule", "those that were diagnosed"
    )
    # The place in the rule of each diagnosed label, (n_labels,).
    place = np.arange(rule.n_labels) if order is None else order
    action = _checks.option(action, "action", ("never", "cap"))
    if states is None:
        states = _MENDED if action == "cap" else ("backwards", "platypus")
    if not isinstance(states, tuple | list) or not states:
        raise InputError(
            f"states is {_checks.shown(states)}, expected some of {', '.join(map(repr, _MENDED))}"
        )
    wanted = [_checks.option(state, "states", _MENDED) for state in states]
    table = diagnosis.table
    old = rule.thresholds[place]  # (n_labels,)
    # A cap of scores that rank backwards would keep the rows that are least likely.
    capped = (action == "cap") & ~diagnosis.backwards
    new = np.where(capped, diagnosis.caps, np.inf)
    predicted = np.where(capped, diagnosis.cap_predicted, 0)
    # A common label that is predicted (nearly) everywhere: no cut does better.
    spared = diagnosis.backwards & ~diagnosis.overpredicted & (table["lift"] >= 1)
    changed = np.flatnonzero(np.isin(diagnosis.state, wanted) & (new > old) & ~spared)
    columns = {
        "name": table["name"],
        "state": table["state"],
        "old_threshold": old,
        "new_threshold": new,
        "predicted_before": table["predicted_positive"],
        "predicted_after": predicted,
    }
    mended = rule.replace({int(place[j]): float(new[j]) for j in changed}) if changed.size else rule
    return Repair(mended, rows_of({name: values[changed] for name, values in columns.items()}))
