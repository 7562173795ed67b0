"""What a diagnosis holds, and how it reads; and what a repair of its rule changed."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds import _checks
from thresholds._arrays.types import Booleans, Dense, Floats, Ints
from thresholds._checks import InputError
from thresholds._results.fields import record
from thresholds._results.plain import plain
from thresholds._results.result import Drawable, Result, rows_of
from thresholds._results.tables import (
    Column,
    Table,
    count,
    number,
    p_value,
    share,
    tabulate,
)
from thresholds._results.text import first_names
from thresholds._results.words import figure
from thresholds.diagnosis.states import (
    FLAGGED,
    MEANINGS_OF_STATES,
    NOT_OVER,
    are_many,
    backwards_in_brief,
    by_state,
    platypuses_in_brief,
)
from thresholds.diagnosis.verdicts import Verdicts
from thresholds.rule import ThresholdRule

_MOST_PREDICTED = (
    Column("name", "most predicted", is_words=True),
    Column("predicted_positive", "count", count),
    Column("best_f", "max F1", figure),
    Column("threshold", write=number),
    Column("state", "state", lambda state: "" if state == NOT_OVER else str(state), True),
)
_CHANGES = (
    Column("name", ("", "label"), is_words=True),
    Column("state", ("", "state"), is_words=True),
    Column("old_threshold", ("old", "threshold"), number),
    Column("new_threshold", ("new", "threshold"), number),
    Column("predicted_before", ("predicted", "before"), count),
    Column("predicted_after", ("predicted", "after"), count),
)


@record
class Diagnosis(Result, Drawable):
    """Labels by verdict and by state; `str` and HTML sum up, `table` has one row a label.

    Attributes
    ----------
    table : structured array (n_labels,): `table["auroc"]` is a column, `table[3]` a row
        name, n_rows (in which its truth is known), n_positives, base_rate, threshold (NaN for rules without one for
        each label), predicted_positive, predicted_rate, overprediction (predictions over positives, inf without
        positives), precision, recall, f (F-beta of the rule's beta, F1 if it has none), f_predict_all
        ((1 + B) b / (B b + 1) for base rate b and B = beta^2), lift (f / f_predict_all), best_f (the highest F1 that
        any threshold has on these rows), auroc,
        p_informative, p_uninformative, p_backwards, informative, state, reason; and verdict, f_low, f_high, bar,
        positives_needed, sentence as in `verdicts.table`. 0/0 is NaN.
    verdicts : Verdicts, whether each label may be relied on
    alpha, min_auroc, overprediction, min_f, min_skill : as asked for
    n_samples : rows judged on
    label_names : tuple of str, or None
    caps, cap_predicted : (n_labels,) the thresholds of the lowest cuts that predict at most `overprediction` times the
        positives, and what they predict: what `repair(rule, "cap")` raises thresholds to
    note : what is not as it were on rows, in a sentence, of a diagnosis by counts; "" of rows
    """

    _shown = 5
    _display = "OverpredictionDisplay.from_diagnosis"

    table: Dense
    verdicts: Verdicts
    alpha: float
    min_auroc: float
    overprediction: float
    min_f: float
    min_skill: float
    n_samples: int
    label_names: tuple[str, ...] | None
    caps: Floats
    cap_predicted: Ints
    note: str = ""

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.table.size)

    @property
    def state(self) -> npt.NDArray[np.str_]:
        """The state of each label."""
        return np.asarray(self.table["state"])

    @property
    def verdict(self) -> npt.NDArray[np.str_]:
        """The verdict on each label."""
        return self.verdicts.verdict

    @property
    def backwards(self) -> Booleans:
        """Labels in state "backwards"."""
        return _frozen(self.state == "backwards")

    @property
    def platypus(self) -> Booleans:
        """Labels in state "platypus"."""
        return _frozen(self.state == "platypus")

    @property
    def suspect(self) -> Booleans:
        """Labels in state "suspect"."""
        return _frozen(self.state == "suspect")

    @property
    def overpredicted(self) -> Booleans:
        """Labels predicted more than `overprediction` times as often as true, whatever their state."""
        return _frozen(self.table["overprediction"] > self.overprediction)

    @property
    def flagged_share(self) -> float:
        """Share of all predictions that fall on backwards, platypus and suspect labels; 0 without predictions."""
        predicted = self.table["predicted_positive"]
        return float(predicted[self._is_flagged].sum() / max(predicted.sum(), 1))

    @property
    def _is_flagged(self) -> Booleans:
        """Labels whose predictions are not to be trusted."""
        return np.isin(self.state, FLAGGED)

    @property
    def _n_tested(self) -> int:
        """How many labels have enough positives, and negatives, to be shown to rank backwards."""
        return int((~np.isnan(self.table["p_backwards"])).sum())

    def most_predicted(self, k: int = 8) -> "MostPredicted":
        """Return the k labels predicted most: how often, the highest F1 on these rows, and the threshold.

        This is the form of Lipton et al. 2013, figure 8.
        """
        order = np.argsort(-self.table["predicted_positive"], kind="stable")
        return MostPredicted(self.table[order[: _checks.count(k, "k", 1)]])

    def repair(
        self, rule: ThresholdRule, action: str = "never", *, states: tuple[str, ...] | None = None
    ) -> "Repair":
        """Mend the thresholds of flagged labels.

        Parameters
        ----------
        rule : ThresholdRule, as a rule the one that was diagnosed
        action : "never" does not predict them any more; "cap" raises their thresholds until they predict at most
            `overprediction` times the positives of these rows (never, if all those scores are equal or none is true)
            Labels that rank backwards are never predicted again by either, as a cap would keep the rows that are least
            likely; only one that is so common, and predicted so often, that to predict it on every row is not
            over-predicting either, and not better, stays as it is. No threshold suits such labels: negate their
            scores and fit again.
        states : which labels, some of "backwards", "platypus" and "suspect"; None for the first two, and with "cap" for
            all three: never to predict a label again takes proof, a cap costs little

        Returns
        -------
        Repair : the new rule, and what changed

        Raises
        ------
        InputError
            For a rule without a threshold for each label, or of other labels; an unknown action or state.
        """
        place = self._places_in(rule)  # (n_labels,)
        action = _checks.option(action, "action", ("never", "cap"))
        if states is None:
            states = FLAGGED if action == "cap" else ("backwards", "platypus")
        if not isinstance(states, tuple | list) or not states:
            raise InputError(
                f"states is {_checks.shown(states)}, expected some of {', '.join(map(repr, FLAGGED))}"
            )
        wanted = [_checks.option(state, "states", FLAGGED) for state in states]

        # A cap of scores that rank backwards would keep the rows that are least likely.
        old = rule.thresholds[place]  # (n_labels,)
        capped = (action == "cap") & ~self.backwards
        new = np.where(capped, self.caps, np.inf)

        # A common label that is predicted (nearly) everywhere stays: no cut does better.
        spared = self.backwards & ~self.overpredicted & (self.table["lift"] >= 1)
        changed = np.flatnonzero(np.isin(self.state, wanted) & (new > old) & ~spared)
        columns = {
            "name": self.table["name"],
            "state": self.table["state"],
            "old_threshold": old,
            "new_threshold": new,
            "predicted_before": self.table["predicted_positive"],
            "predicted_after": np.where(capped, self.cap_predicted, 0),
        }
        changes = rows_of({name: values[changed] for name, values in columns.items()})
        if changed.size:
            rule = rule.replace({int(place[j]): float(new[j]) for j in changed})
        return Repair(rule, changes)

    def _places_in(self, rule: object) -> Ints:
        """Return the place in a rule of each label, (n_labels,); refuse a rule that cannot be mended."""
        if not isinstance(rule, ThresholdRule):
            raise InputError(
                f"rule is {_checks.shown(rule)}, expected one with a threshold for each label, as thresholds.fit makes"
            )
        if rule.n_labels != self.n_labels:
            raise InputError(
                f"rule has {rule.n_labels} labels, expected {self.n_labels} as were diagnosed"
            )
        order = _checks.places(
            rule.label_names, self.label_names, "rule", "those that were diagnosed"
        )
        return np.arange(rule.n_labels) if order is None else order

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: NaN as None, infinite numbers as "inf" and "-inf", as JSON has neither."""
        names = ["alpha", "min_auroc", "overprediction", "min_f", "min_skill"]
        names += ["n_samples", "n_labels", "flagged_share"]
        values = {name: plain(getattr(self, name)) for name in names}
        if self.note:
            values["note"] = self.note
        return values | {"labels": plain(self.table)}

    def in_brief(self, k: int = 3) -> str:
        """Name the labels that rank backwards and the platypuses, k of each, in a line each; "" if there are none."""
        k = _checks.count(k, "k", 1)
        lines = []
        if self.backwards.any():
            names = self.table["name"][self.backwards]
            lines.append(backwards_in_brief(names.size, self._n_tested, first_names(names, k)))
        if self.platypus.any():
            lines.append(platypuses_in_brief(self.table, MEANINGS_OF_STATES["platypus"], k))
        return "\n".join(lines)

    def _parts(self, k: int) -> Iterator[str | Table]:
        """Sum up by verdict, then by state, and list the k most predicted of the flagged labels."""
        n_backwards = int(self.backwards.sum())
        if are_many(n_backwards, self._n_tested):
            yield backwards_in_brief(n_backwards, self._n_tested)
        yield from self.verdicts._parts(k)
        yield by_state(
            self.table,
            MEANINGS_OF_STATES,
            f"Whatever the verdicts, over-predicted is more than {self.overprediction:g} times as often as true:",
        )
        if k and self._is_flagged.any():
            yield self._most_predicted_flagged(k)
        if self.note:
            yield self.note

    def _most_predicted_flagged(self, k: int) -> Table:
        """Lay out the k most predicted of the flagged labels."""
        flagged = self.table[self._is_flagged]
        place = np.array([FLAGGED.index(state) for state in flagged["state"]], np.int64)
        order = np.lexsort((-flagged["predicted_positive"], place))
        columns = (
            Column("name", ("most predicted", f"of {flagged.size:,} flagged"), is_words=True),
            Column("state", ("", "state"), is_words=True),
            Column("predicted_rate", ("predicted", "on"), share),
            Column("base_rate", ("true", "on"), share),
            Column("f", ("", f"F{self.verdicts.beta:g}"), number),
            Column("auroc", ("", "AUROC"), number),
            Column("p_informative", ("p-value of", "chance"), p_value),
            Column("p_uninformative", ("p-value of", f"AUROC >= {self.min_auroc:g}"), p_value),
        )
        return tabulate(flagged[order], columns, k, note="")


@record
class MostPredicted(Result):
    """The labels predicted most; `str` and HTML give the form of Lipton et al. 2013, figure 8."""

    table: Dense  # those rows of the diagnosis

    def _parts(self, k: int) -> Iterator[str | Table]:
        """Show the first k."""
        # Not every kind of rule has thresholds.
        has_thresholds = not np.isnan(self.table["threshold"]).all()
        columns = [c for c in _MOST_PREDICTED if has_thresholds or c.name != "threshold"]
        yield tabulate(self.table, columns, k)


@record
class Repair(Result):
    """A mended rule and what changed; `rule, changes = diagnosis.repair(...)`.

    Attributes
    ----------
    rule : ThresholdRule, the mended one
    changes : structured array, one row for each changed threshold
        name, state, old_threshold, new_threshold, and on the rows of the diagnosis predicted_before and
        predicted_after: predictions of the diagnosed rule, and of the new one.
    """

    _shown = 8

    rule: ThresholdRule
    changes: Dense

    def __iter__(self) -> Iterator[Any]:
        """Return the rule, then the changes."""
        return iter((self.rule, self.changes))

    def _rows(self) -> Dense:
        """Return the changes."""
        return self.changes

    def _parts(self, k: int) -> Iterator[str | Table]:
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
            order = np.argsort(
                changes["predicted_after"] - changes["predicted_before"], kind="stable"
            )
            yield tabulate(changes[order], _CHANGES, k, note="")


def _frozen(array: Dense) -> Dense:
    """Make an array read-only."""
    array.flags.writeable = False
    return array
