"""At most so many labels of a row, of those that another rule predicts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, ClassVar, Literal, Self

import numpy as np

from thresholds import _checks
from thresholds._arrays.sparse import is_sparse, row_of_entries
from thresholds._arrays.types import Booleans, Floats, Ints, Matrix
from thresholds._checks import InputError
from thresholds._devices.capping import at_most, priorities
from thresholds._results.fields import part, record, value
from thresholds._results.words import counted
from thresholds.rule.base import Rule
from thresholds.rule.gains import OF_LABELS, GainByScore
from thresholds.rule.saving import Read
from thresholds.rule.sparse_answers import positives_only
from thresholds.rule.threshold import ThresholdRule
from thresholds.rule.top_k import highest_of_lists

Order = Literal["score", "margin", "gain"]
ORDERS: tuple[Order, ...] = ("score", "margin", "gain")

_FIRST = {
    "score": "the highest scores",
    "margin": "the highest margins above their thresholds",
    "gain": "those that add most to F",
}


def _rule(given: Any, name: str) -> Rule:
    """Check the rule within."""
    if not isinstance(given, Rule) or isinstance(given, CappedRule):
        raise InputError(
            f"{name} is {_checks.shown(given)}, expected a rule of another kind than CappedRule"
        )
    return given


@record
class CappedRule(Rule):
    """Predict at most k labels of a row: of those that another rule predicts, the first k in an order.

    Attributes
    ----------
    rule : the other rule, of any kind but this
    k : most labels of a row, new rows too
    order : which labels come first; of equal ones the first label
        "score": the highest score. "margin": the highest score above the threshold, for a `ThresholdRule`.
        "gain": the highest gain of F, as `gains` has it.
    gains : GainByScore, with order "gain"; else None
    average, beta, zero_division, missing, label_names : those of `rule`
    objective : float or None
        The F-measure that the capped decisions reach on the data of the fit, exactly that of `predict` there; None if
        they were not fitted. Without labels it is expected, as that of `rule`, whose own is without the cap.
    fitted_on, out_of_fold, made_by, profile : what is known of the fit, as in `ThresholdRule`

    Examples
    --------
    >>> import thresholds
    >>> rule = thresholds.CappedRule(thresholds.ThresholdRule([0.5, 0.2, 0.1]), 2)
    >>> rule.predict([[0.6, 0.4, 0.3], [0.6, 0.1, 0.2]])
    array([[1, 1, 0],
           [1, 0, 1]], dtype=uint8)
    """

    rule: Rule = value(_rule)
    k: int = value(partial(_checks.count, smallest=1))
    order: Order = value(lambda order, name: _checks.option(order, name, ORDERS), default="score")
    gains: GainByScore | None = part(GainByScore.from_dict, default=None, repr=False)

    kind: ClassVar[str] = "capped"

    def _check(self) -> None:
        """Refuse parts that do not belong together."""
        if self.order == "margin" and not isinstance(self.rule, ThresholdRule):
            raise InputError(
                f"order is 'margin' with a {type(self.rule).__name__}, expected 'score', or a ThresholdRule: only"
                " thresholds have margins"
            )
        if (self.order == "gain") != isinstance(self.gains, GainByScore):
            raise InputError(
                f"order is {self.order!r} with gains={_checks.shown(self.gains)}, expected both 'gain' and a"
                " GainByScore, as of a fit with max_predicted_per_row, or neither"
            )
        if self.gains is not None and self.rule.n_labels not in (None, self.gains.n_labels):
            raise InputError(
                f"gains has {self.gains.n_labels} labels, expected {self.rule.n_labels}"
            )
        super()._check()

    @classmethod
    def around(cls, rule: Rule, k: int, order: Order | None = None) -> "CappedRule":
        """Put a cap around a rule: of those that it predicts, at most k labels of a row, the first in an order.

        Parameters
        ----------
        rule : any rule; of one that is capped already the cap is another one
        k : at least 1
        order : which labels come first; of equal ones the first label
            "score" (default): the highest score. "margin": the highest score above the threshold, for a rule of
            thresholds. What a prediction adds to F is learnt in a fit: give it `max_predicted_per_row=k` for that
            order, which keeps more of F (docs/budgets.md); a rule of such a fit keeps it here.

        Returns
        -------
        CappedRule
            What it reaches is unknown. It knows the rows of the rule's fit, and the scores there, which `check` and
            `predict` compare new ones with.

        Raises
        ------
        InputError
            For a k that is no number of labels, and an order that the rule has not.

        Examples
        --------
        >>> import thresholds
        >>> rule = thresholds.ThresholdRule([0.5, 0.2])
        >>> thresholds.CappedRule.around(rule, 1, "margin").predict([[0.6, 0.4]])
        array([[0, 1]], dtype=uint8)
        """
        uncapped = _rule(rule.uncapped if isinstance(rule, Rule) else rule, "rule")
        profile = None if rule.profile is None else rule.profile.of_other_decisions()
        known: dict[str, Any] = {"fitted_on": rule.fitted_on, "kept": profile}
        if isinstance(rule, CappedRule) and order in (None, rule.order):
            return cls(rule.rule, k, rule.order, rule.gains, **known)
        return cls(uncapped, k, "score" if order is None else order, **known)

    @property
    def label_names(self) -> tuple[str, ...] | None:
        """Names of the labels, if the rule has them."""
        return self.rule.label_names

    @property
    def n_labels(self) -> int | None:
        """Number of labels; None if any number is taken."""
        return self.rule.n_labels if self.gains is None else self.gains.n_labels

    @property
    def missing(self) -> float:
        """The score of an entry that a sparse matrix leaves out."""
        return self.rule.missing

    @property
    def average(self) -> str | None:
        """What was maximised."""
        return self.rule.average

    @property
    def beta(self) -> float:
        """Weight of recall in what was maximised."""
        return self.rule.beta

    @property
    def zero_division(self) -> float:
        """The F of a label, or row, with neither positives nor predictions."""
        return self.rule.zero_division

    @property
    def uncapped(self) -> Rule:
        """The rule within."""
        return self.rule

    def validate(self, scores: Any) -> None:
        """Refuse scores that the rule cannot take, and another number of labels than the gains are of."""
        super().validate(scores)
        self.rule.validate(scores)

    def decide(self, scores: Matrix, *, dense: bool = False) -> Matrix:
        """Return decisions about scores that `validate` takes."""
        decided = self.rule.decide(scores, dense=dense)

        # The cells of rows that have too many, and which of them are not kept.
        n_decided = np.asarray(decided.sum(axis=1, dtype=np.int64)).reshape(-1)  # (n_samples,)
        has_too_many = n_decided > self.k
        if not has_too_many.any():
            return decided
        if not is_sparse(decided):
            rows = np.flatnonzero(has_too_many)
            row, column = self._possibly_first(scores, decided, rows)
            kept = self._kept(scores, rows[row], column)
            decided[rows] = 0
            decided[rows[row[kept]], column[kept]] = 1
            return decided
        row = row_of_entries(decided)  # (n_entries,)
        among = np.flatnonzero(has_too_many[row])
        keeps = np.ones(row.size, np.bool_)
        keeps[among] = self._kept(scores, row[among], decided.indices[among])
        return positives_only(decided, keeps)

    def _possibly_first(self, scores: Matrix, decided: Matrix, rows: Ints) -> tuple[Ints, Ints]:
        """Return cells, by place in `rows` and column, among which the first k of these rows are."""
        are_few = True
        if is_sparse(scores) and isinstance(self.rule, ThresholdRule):
            stored = scores[rows]
            n_listed = rows.size * self.k + 2 * stored.nnz  # below, at most
            are_few = np.count_nonzero(decided[rows]) <= n_listed
        width = decided.shape[1]
        if are_few:
            places = np.flatnonzero(decided[rows].view(np.bool_))
            row, column = np.divmod(places, width)
            return row, column

        # What a sparse matrix leaves out is decided and ordered alike in all rows: of m labels that it stores, no more
        # can stand in the way of the first k, so that these are among the first k + m.
        n_first = np.minimum(self.k + np.diff(stored.indptr), self._absent_in_order.size)
        row = np.repeat(np.arange(rows.size), n_first)
        number = np.arange(row.size) - np.repeat(n_first.cumsum() - n_first, n_first)
        listed = row * width + self._absent_in_order[number]  # places in the block of these rows
        among_stored = row_of_entries(stored) * width + stored.indices
        row, column = np.divmod(np.unique(np.concatenate([listed, among_stored])), width)
        is_decided = decided[rows[row], column] != 0
        return row[is_decided], column[is_decided]

    def _kept(self, scores: Matrix, rows: Ints, columns: Ints) -> Booleans:
        """Tell which of some cells, given row by row, are among the first k of their rows."""
        cells = _scores_at(scores, rows, columns, self.missing)  # (n_cells,)
        is_first = np.append(True, rows[1:] != rows[:-1])[: rows.size]
        starts = np.append(np.flatnonzero(is_first), rows.size)
        wanted = np.full(starts.size - 1, self.k)  # (n_rows,)
        return highest_of_lists(self._priority(cells, columns), starts, wanted)

    def _priority(self, cells: Floats, columns: Ints) -> Floats:
        """Return the priority of some cells, (n_cells,) of these columns."""
        table = [row[columns] for row in self._table]
        with np.errstate(over="ignore"):
            return np.asarray(priorities(np, cells[np.newaxis], table, self._of_shares)[0])

    @cached_property
    def _absent_in_order(self) -> Ints:
        """The labels that are predicted where a sparse matrix leaves them out, those that come first in front."""
        labels = np.flatnonzero(self.rule.predicted_if_absent())
        priority = self._priority(np.full(labels.size, self.missing), labels)
        return labels[np.lexsort((labels, -priority))]

    @cached_property
    def _table(self) -> list[Floats]:
        """The numbers of labels by which cells are ordered, as `_devices.capping` takes them."""
        if self.gains is not None:
            return [np.array(getattr(self.gains, name)) for name in OF_LABELS]
        if self.order == "margin":
            assert isinstance(self.rule, ThresholdRule), "others have no margins"
            largest = np.finfo(np.float64).max
            return [np.clip(self.rule.thresholds, -largest, largest)]
        return []

    @property
    def _of_shares(self) -> bool:
        """Whether gains go by the log odds of the scores."""
        return self.gains is not None and self.gains.of_shares

    def decide_on_device(self, scores: Any) -> Any:
        """Return decisions about scores that are not in host memory, beside them."""
        decided = self.rule.decide_on_device(scores)
        return at_most(scores, decided, self.k, self._table, self._of_shares)

    def decide_in_onnx(self, scores: Any) -> Any:
        """Record decisions about scores of an ONNX graph."""
        from thresholds.rule.serving.onnx import first_of_decided

        decided = self.rule.decide_in_onnx(scores)
        return first_of_decided(scores, decided, self.k, self._table, self._of_shares)

    def _to_torch(self) -> Any:
        """Return a PyTorch module that decides as the rule does."""
        from thresholds.rule.serving.torch import CappedModule

        return CappedModule(
            self.rule.to_torch(),
            self.k,
            self.order,
            self._table,
            self._of_shares,
            self.n_labels,
            self.label_names,
        )

    def with_names(self, label_names: Sequence[str]) -> Self:
        """Return the same rule with names for its labels, in order."""
        return replace(self, rule=self.rule.with_names(label_names))

    def taken(self, places: Ints) -> Self:
        """Return the same rule with its labels in another order: label j is the one that is at `places[j]` here.

        Of labels in one row whose priority is equal the first is kept, and which is first changes with the order.
        """
        return replace(super().taken(places), rule=self.rule.taken(places))

    def only(self, places: Ints) -> "CappedRule":
        """Return the rule for some labels: at most k of these."""
        gains = None if self.gains is None else self.gains.taken(places)
        return CappedRule(self.rule.only(places), self.k, self.order, gains)

    def settings(self) -> dict[str, Any]:
        """Return what two rules may differ by, those of the rule within among them."""
        about = {"kind": self.kind, "caps": self.rule.kind, "k": self.k, "order": self.order}
        return self.rule.settings() | about

    def predicted_if_absent(self) -> Booleans:
        """Tell for which labels the rule within predicts absent entries."""
        return self.rule.predicted_if_absent()

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as plain values, in the form of `rule.schema.json`."""
        return super().to_dict() | {"rule": self.rule.to_dict()}

    @classmethod
    def _read(cls, values: Mapping[str, Any], read: Read) -> dict[str, Any]:
        """Return the fields of a rule from plain values, `read` the rule within."""
        found = super()._read(values, read)
        return found | {"rule": read(found["rule"])}

    def columns_of_labels(self) -> dict[str, Any]:
        """Return what the rule within decides by about each label."""
        return self.rule.columns_of_labels()

    def in_words(self) -> str:
        """Say how many labels a row may have and which, what was reached, and what the rule is without the cap."""
        reached = "not fitted"
        if self.objective is not None:
            reached = f"{self.average} F{self.beta:g} {self.objective:.4f}"
        return (
            f"at most {counted(self.k, 'label')} of any row, {_FIRST[self.order]}: {reached}{self.on_other_rows()}"
            f"{self.source()}; without this cap: {self.rule.in_words()}"
        )


def _scores_at(scores: Matrix, rows: Ints, columns: Ints, missing: float) -> Floats:
    """Return the scores of some cells; what a sparse matrix leaves out is `missing`."""
    if not is_sparse(scores):
        return np.asarray(scores[rows, columns], np.float64)
    # Find each cell by its place in the matrix of these rows, read row by row.
    some, row = np.unique(rows, return_inverse=True)
    stored = scores[some]
    width = scores.shape[1]
    place = row_of_entries(stored).astype(np.int64) * width + stored.indices  # (n_stored,)
    order = np.argsort(place, kind="stable")
    wanted = row * width + columns.astype(np.int64)  # (n_cells,)
    at = np.minimum(np.searchsorted(place, wanted, sorter=order), max(place.size - 1, 0))
    found = np.full(wanted.size, missing, np.float64)
    if place.size:
        entry = order[at]
        is_stored = place[entry] == wanted
        found[is_stored] = stored.data[entry[is_stored]]
    return found
