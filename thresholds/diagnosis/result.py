"""What a diagnosis holds, and how it reads."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds import _checks
from thresholds._arrays.types import Booleans, Dense, Floats, Ints
from thresholds.diagnosis.by_state import NOT_OVER, by_state, platypuses_in_brief
from thresholds.diagnosis.evidence import FEWEST
from thresholds.diagnosis.repair import Repair, repaired
from thresholds.diagnosis.verdicts import Verdicts
from thresholds.results import (
    Drawable,
    Result,
    Table,
    as_given,
    as_plain_values,
    counted,
    first_names,
    n_more,
    rows_when_read,
)
from thresholds.rule import ThresholdRule

COLUMNS = (
    "name", "n_rows", "n_positives", "base_rate", "threshold", "predicted_positive", "predicted_rate", "overprediction",
    "precision", "recall", "f", "f_predict_all", "lift", "best_f", "auroc", "p_informative", "p_uninformative",
    "p_backwards", "informative", "state", "reason", "verdict", "f_low", "f_high", "bar", "positives_needed",
    "sentence",
)  # fmt: skip

_MEANINGS = {
    "backwards": "positives score lower; negated scores rank better",
    "platypus": "over-predicted; the scores know little or nothing",
    "suspect": "over-predicted; undetermined, or under 5 positives",
    "unsupported": "no positives here, and not predicted",
    "overpredicted": "over-predicted; the scores know something of it",
    NOT_OVER: "not over-predicted: it may still be bad",
}
FLAGGED = ("backwards", "platypus", "suspect")
STATES = tuple(_MEANINGS)  # in the order in which they apply


@rows_when_read("table")
@dataclass(frozen=True, eq=False, repr=False)
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
        return int(self.figures.size)

    @property
    def figures(self) -> Any:
        """The columns of the table but for reasons and sentences, which are made when it is read."""
        return as_given(self, "table")

    @property
    def state(self) -> npt.NDArray[np.str_]:
        """The state of each label."""
        return np.asarray(self.figures["state"])

    @property
    def verdict(self) -> npt.NDArray[np.str_]:
        """The verdict on each label."""
        return self.verdicts.verdict

    @property
    def backwards(self) -> Booleans:
        """Labels in state "backwards"."""
        return frozen(self.state == "backwards")

    @property
    def platypus(self) -> Booleans:
        """Labels in state "platypus"."""
        return frozen(self.state == "platypus")

    @property
    def suspect(self) -> Booleans:
        """Labels in state "suspect"."""
        return frozen(self.state == "suspect")

    @property
    def overpredicted(self) -> Booleans:
        """Labels predicted more than `overprediction` times as often as true, whatever their state."""
        return frozen(self.figures["overprediction"] > self.overprediction)

    @property
    def flagged_share(self) -> float:
        """Share of all predictions that fall on backwards, platypus and suspect labels; 0 without predictions."""
        predicted = self.figures["predicted_positive"]
        return float(predicted[self._is_flagged].sum() / max(predicted.sum(), 1))

    @property
    def _is_flagged(self) -> Booleans:
        """Labels whose predictions are not to be trusted."""
        return np.isin(self.state, FLAGGED)

    @property
    def _n_tested(self) -> int:
        """How many labels have enough positives, and negatives, to be shown to rank backwards."""
        return int((~np.isnan(self.figures["p_backwards"])).sum())

    def most_predicted(self, k: int = 8) -> "MostPredicted":
        """Return the k labels predicted most: how often, the highest F1 on these rows, and the threshold.

        This is the form of Lipton et al. 2013, figure 8.
        """
        order = np.argsort(-self.table["predicted_positive"], kind="stable")[
            : _checks.count(k, "k", 1)
        ]
        return MostPredicted(self.table[order])

    def repair(
        self, rule: ThresholdRule, action: str = "never", *, states: tuple[str, ...] | None = None
    ) -> Repair:
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
        return repaired(self, rule, action, states)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: NaN as None, infinite numbers as "inf" and "-inf", as JSON has neither."""
        names = (
            "alpha",
            "min_auroc",
            "overprediction",
            "min_f",
            "min_skill",
            "n_samples",
            "n_labels",
            "flagged_share",
        )
        values = {name: as_plain_values(getattr(self, name)) for name in names}
        if self.note:
            values["note"] = self.note
        return values | {"labels": as_plain_values(self.table)}

    def in_brief(self, k: int = 3) -> str:
        """Name the labels that rank backwards and the platypuses, k of each, in a line each; "" if there are none."""
        k = _checks.count(k, "k", 1)
        lines = []
        if self.backwards.any():
            names = self.figures["name"][self.backwards]
            lines.append(backwards_in_brief(names.size, self._n_tested, first_names(names, k)))
        if self.platypus.any():
            lines.append(platypuses_in_brief(self.figures, _MEANINGS["platypus"], k))
        return "\n".join(lines)

    def _records(self) -> Dense:
        """Return the table."""
        return self.table

    def _tables(self, k: int) -> Iterator[str | Table]:
        """Sum up by verdict, then by state, and list the k most predicted of the flagged labels."""
        if are_many(int(self.backwards.sum()), self._n_tested):
            yield backwards_in_brief(int(self.backwards.sum()), self._n_tested)
        yield from self.verdicts.parts(k)
        yield by_state(
            self.table,
            _MEANINGS,
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
        order = np.lexsort((-flagged["predicted_positive"], place))[:k]
        n_flagged = f"of {flagged.size:,} flagged"
        of = f"F{self.verdicts.beta:g}"
        least = f"AUROC >= {self.min_auroc:g}"
        head = [
            ("most predicted", "", "predicted", "true", "", "", "p-value of", "p-value of"),
            (n_flagged, "state", "on", "on", of, "AUROC", "chance", least),
        ]
        body = [
            (
                str(row["name"]),
                str(row["state"]),
                *(f"{row[name]:.2%}" for name in ("predicted_rate", "base_rate")),
                *(_number(row[name]) for name in ("f", "auroc")),
                *(_p_cell(row[name]) for name in ("p_informative", "p_uninformative")),
            )
            for row in flagged[order]
        ]
        return Table(head, body, left=(0, 1))


@dataclass(frozen=True, eq=False, repr=False)
class MostPredicted(Result):
    """The labels predicted most; `str` and HTML give the form of Lipton et al. 2013, figure 8."""

    table: Dense  # those rows of the diagnosis

    def _records(self) -> Dense:
        """Return the rows."""
        return self.table

    def _tables(self, k: int) -> Iterator[str | Table]:
        """Show the first k."""
        table = self.table[:k]
        columns: list[tuple[str, list[str]]] = [
            ("most predicted", [str(name) for name in table["name"]]),
            ("count", [f"{count:,}" for count in table["predicted_positive"]]),
            ("max F1", ["" if np.isnan(f) else f"{f:.4f}" for f in table["best_f"]]),
        ]
        # Not every kind of rule has thresholds.
        if not np.isnan(self.table["threshold"]).all():
            columns.append(("threshold", [_number(cut) for cut in table["threshold"]]))
        states = ["" if state == NOT_OVER else str(state) for state in table["state"]]
        columns.append(("state", states))
        head = [tuple(name for name, _ in columns)]
        body = [*zip(*(cells for _, cells in columns), strict=True)]
        yield Table(head, body, left=(0, len(columns) - 1), note=n_more(self.table.size, k))


def reason(columns: Mapping[str, Dense], j: int, min_auroc: float) -> str:
    """Say in words why a label has its state."""
    state = columns["state"][j]
    positives = columns["n_positives"][j]
    often = f"{columns['overprediction'][j]:.3g} times as often as true"

    # States that no test decides.
    if state == "unsupported":
        return "no positives"
    if state in ("overpredicted", NOT_OVER):
        return often
    if positives == 0:
        return "predicted, but never true here"
    if positives < FEWEST:
        return f"{often}, {counted(positives, 'positive')}: too few to test AUROC"
    if np.isnan(columns["p_informative"][j]):
        return f"{often}, hardly any negatives: nothing can be told"

    # What the tests say.
    if state == "backwards":
        below = f"AUROC {columns['auroc'][j]:.3g}, below 1/2 (p {_p(columns['p_backwards'][j])})"
        return f"{often}; {below}: negated scores would rank better"
    better = f"not shown better than chance (p {_p(columns['p_informative'][j])})"
    p_below = columns["p_uninformative"][j]
    below = f"AUROC below {min_auroc:g} (p {_p(p_below)})"
    if state == "platypus":
        return f"{often}; {below}, {better}"
    return f"{often}; {better}" + ("" if np.isnan(p_below) else f", nor {below}")


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


def frozen(array: Dense) -> Dense:
    """Make an array read-only."""
    array.flags.writeable = False
    return array


def _p(value: float) -> str:
    """Return a p-value; normal tails are not trusted beyond 1e-15."""
    return "< 1e-15" if value < 1e-15 else f"= {value:.2g}"


def _p_cell(value: float) -> str:
    """Return a p-value as a table shows it, nothing for NaN."""
    return "" if np.isnan(value) else _p(value).removeprefix("= ")


def _number(value: float) -> str:
    """Return a number to four digits, nothing for NaN."""
    return "" if np.isnan(value) else f"{value:.4g}"
