"""Every average of F side by side, each naming its formula and its denominator."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from thresholds import _checks
from thresholds._arrays.types import Floats, Numbers
from thresholds.metrics import targets, undefined
from thresholds.metrics.averages import PRECISION, RECALL, Ratio, average_of, each, f_score
from thresholds.metrics.counts import ConfusionCounts
from thresholds.metrics.targets import LabelMatrices, Targets
from thresholds.results import Result, Table, n_more, records_of


@dataclass(frozen=True, slots=True)
class Row:
    """Precision, recall and F of one label, or of one average."""

    name: str
    precision: float
    recall: float
    f: float
    support: float  # positives: their number, or weight
    formula: str
    denominator: str


@dataclass(frozen=True, eq=False, repr=False)
class AveragesReport(Result):
    """Labels, then averages; `str` and HTML give tables, `to_frame` and `to_dict` the values.

    `report["macro"]` is the row of an average: "micro", "macro", "macro_supported" (macro over the labels with
    positives), "f_of_averages", "weighted", and "samples" for matrices.
    """

    _shown = 30

    labels: tuple[Row, ...]
    averages: tuple[Row, ...]
    beta: float
    zero_division: float
    note: str  # how often which figure is 0/0

    def __getitem__(self, average: str) -> Row:
        """Return an average by its name."""
        return {row.name: row for row in self.averages}[average]

    def _records(self) -> list[dict[str, Any]]:
        """Return one row for each label, then one for each average; F in a column named for its beta."""
        rows = [{"kind": "label", **row} for row in records_of(self.labels)]
        rows += [{"kind": "average", **row} for row in records_of(self.averages)]
        return [
            {f"f{self.beta:g}" if name == "f" else name: value for name, value in row.items()}
            for row in rows
        ]

    def _tables(self, k: int) -> Iterator[str | Table]:
        """Show labels, of more than k the first and the last, then averages and what became of 0/0."""
        yield self._labels(k)
        f = f"F{self.beta:g}"
        head = [("average", "precision", "recall", f, f"formula of {f}", f"denominator of {f}")]
        body = [(*_figures(row), row.formula, row.denominator) for row in self.averages]
        yield Table(head, body, left=(0, 4, 5))
        yield self.note

    def _labels(self, k: int) -> Table:
        """Lay out k labels, half of them the last."""
        _, denominator = _fraction(self.beta)
        head = [("label", "precision", "recall", f"F{self.beta:g}", "support", denominator)]
        n_labels = len(self.labels)
        n_last = k // 2
        n_first = k - n_last
        body = [_label_cells(row) for row in self.labels[:n_first]]
        if k < n_labels:
            body.append((n_more(n_labels, k), "", "", "", "", ""))
        body += [_label_cells(row) for row in self.labels[max(n_first, n_labels - n_last) :]]
        return Table(head, body)


def averages_report(
    y_true: object,
    y_pred: object,
    *,
    beta: float = 1.0,
    labels: object = None,
    label_names: object = None,
    sample_weight: object = None,
    unknown: object = None,
    zero_division: float = 0.0,
) -> AveragesReport:
    """Report precision, recall and F-beta of each label, and every average of them with its formula.

    Parameters
    ----------
    y_true, y_pred, beta, labels, sample_weight, unknown : as in `precision_recall_fscore_support`
    label_names : names of the labels of the report; without them the numbers of the columns, or the classes
    zero_division : {0, 1, nan}
        The value of 0/0; NaN leaves it out of the means. The report counts how often it was needed.

    Returns
    -------
    AveragesReport

    Raises
    ------
    InputError
        For bad arrays, weights, names and options.

    References
    ----------
    Opitz and Burst 2019, on the two averages that are called macro F1; formulas and sources of all in
    `thresholds.metrics.averages`.

    Examples
    --------
    >>> from thresholds.metrics import averages_report
    >>> truth = ["boat", "boat", "car", "car", "car", "car"]
    >>> report = averages_report(truth, ["boat", "boat", "car", "boat", "boat", "boat"])
    >>> round(report["macro"].f, 4), round(report["f_of_averages"].f, 4)
    (0.4857, 0.6604)
    """
    value = undefined.value_of(zero_division, warns=False)
    beta = _checks.beta(beta, measures=True)
    y_true, y_pred = _checks.kept(y_true, "y_true"), _checks.kept(y_pred, "y_pred")
    checked = targets.read(y_true, y_pred, labels, sample_weight, unknown)

    # Names: those that are given, else those of frames, else the labels themselves.
    if label_names is None and labels is None:
        _, _, label_names = _checks.aligned(y_pred, "y_pred", y_true, "y_true", unknown=unknown)
    if label_names is None:
        names: Sequence[str] = [str(label) for label in checked.labels]
    else:
        names = _checks.names_of_labels(label_names)
    _checks.one_name_each(names, len(checked.labels))

    writer = _Writer(checked, checked.by_label(), beta, value)
    return AveragesReport(writer.labels(names), writer.averages(), beta, value, writer.note())


class _Average(NamedTuple):
    """What is said of an average, and the counts that it is taken over."""

    name: str
    counts: ConfusionCounts
    formula: str
    denominator: str
    row_weights: Numbers | None = None


@dataclass(frozen=True)
class _Writer:
    """Writes the rows of a report."""

    targets: Targets
    counts: ConfusionCounts
    beta: float
    value: float  # of 0/0

    @property
    def what(self) -> str:
        """What the report is about."""
        return "labels" if isinstance(self.targets, LabelMatrices) else "classes"

    @property
    def f(self) -> Ratio:
        """F-beta."""
        return f_score(self.beta)

    def labels(self, names: Sequence[str]) -> tuple[Row, ...]:
        """Return the row of each label."""
        precision = self._each(PRECISION)
        recall = self._each(RECALL)
        f = self._each(self.f)
        shown = self.targets.in_weights(self.counts)
        support = shown.positives.tolist()
        denominators = _denominators(shown, self.beta)
        numerator, denominator = _fraction(self.beta)
        rows = []
        for j, name in enumerate(names):
            row = Row(
                name=name,
                precision=precision[j],
                recall=recall[j],
                f=f[j],
                support=support[j],
                formula=f"{numerator} / ({denominator})",
                denominator=f"{denominator} = {_number(denominators[j])}",
            )
            rows.append(row)
        return tuple(rows)

    def averages(self) -> tuple[Row, ...]:
        """Return the row of each average."""
        f = f"F{self.beta:g}"
        what = self.what
        shown = self.targets.in_weights(self.counts)
        supported = self.counts.take(self.counts.positives > 0)
        positives = shown.positives.sum().item()

        # Denominators, in words: over how many labels each figure is averaged, and how many are 0/0.
        over_precision = self._how_many(PRECISION, self.counts, what)
        over_recall = self._how_many(RECALL, self.counts, what)
        over_f = self._how_many(self.f, self.counts, what)
        over_supported = _how_many(supported.tp.size, what)
        _, denominator = _fraction(self.beta)
        pooled_denominator = _denominators(shown.pooled(), self.beta).item()
        pooled = f"{denominator} = {_number(pooled_denominator)}"
        means = f"precision {over_precision}; recall {over_recall}"
        if over_precision == over_recall == _how_many(self.counts.tp.size, what):
            means = over_precision
        weight = f"{over_f}, as none has positives"
        if positives:
            weight = f"{_number(positives)} positives"

        averages = [
            _Average("micro", self.counts, f"{f} of tp, fp and fn added over the {what}", pooled),
            _Average("macro", self.counts, f"mean of the {what}' {f}", over_f),
            _Average(
                "macro_supported",
                supported,
                f"macro of the {what} with positives",
                over_supported,
            ),
            _Average("f_of_averages", self.counts, f"{f} of mean precision and mean recall", means),
            _Average(
                "weighted",
                self.counts,
                f"mean of the {what}' {f}, weighted by positives",
                weight,
            ),
        ]
        if isinstance(self.targets, LabelMatrices):
            averages.append(self._samples(self.targets))
        return tuple(self._row(average, positives) for average in averages)

    def _row(self, average: "_Average", positives: float) -> Row:
        """Return the row of an average."""
        kind = average.name.removesuffix("_supported")

        def mean(figure: Ratio) -> float:
            return average_of(figure, average.counts, kind, self.value, average.row_weights)

        return Row(
            name=average.name,
            precision=mean(PRECISION),
            recall=mean(RECALL),
            f=mean(self.f),
            support=positives,
            formula=average.formula,
            denominator=average.denominator,
        )

    def _each(self, figure: Ratio) -> list[float]:
        """Return a figure of each label."""
        values: list[float] = each(figure, self.counts, self.value).tolist()
        return values

    def _samples(self, matrices: LabelMatrices) -> "_Average":
        """Describe the mean over rows."""
        counts, weights = matrices.known_rows()
        formula = f"mean of the rows' F{self.beta:g}"
        over_rows = self._how_many(self.f, counts, "rows")
        if weights is not None:
            is_defined = ~np.isnan(each(self.f, counts, self.value))  # (n_rows,)
            weight = weights[is_defined].sum() * matrices.unit
            formula += ", weighted"
            over_rows += f", weight {_number(weight)}"
        return _Average("samples", counts, formula, over_rows, weights)

    def note(self) -> str:
        """Say how often which figure is 0/0, and what became of it."""
        f = f"F{self.beta:g}"
        figures = (
            ("precision", "no predictions", PRECISION),
            ("recall", "no positives", RECALL),
            (f, "neither" if self.beta else "no predictions", self.f),
        )
        undefined_figures = []
        for name, reason, figure in figures:
            n_undefined = int(np.isnan(figure.ratio(self.counts)).sum())
            if n_undefined:
                undefined_figures.append(f"{name} of {n_undefined} ({reason})")
        if not undefined_figures:
            return f"No precision, recall or {f} of the {self.what} is 0/0."
        became = "left out of the means" if np.isnan(self.value) else f"counted as {self.value:g}"
        return f"0/0 among the {self.what}, {became}: {', '.join(undefined_figures)}."

    def _how_many(self, figure: Ratio, counts: ConfusionCounts, what: str) -> str:
        """Say how many groups a mean is taken over."""
        total = counts.tp.size
        groups = _how_many(total, what)
        n_undefined = int(np.isnan(figure.ratio(counts)).sum())
        if not n_undefined:
            return groups
        if np.isnan(self.value):
            return f"{total - n_undefined} of {groups}"
        return f"{groups}, {n_undefined} of them 0/0"


def _how_many(number: int, what: str) -> str:
    """Say how many labels, classes or rows."""
    singular = {"labels": "label", "classes": "class", "rows": "row"}
    return f"{number} {singular[what] if number == 1 else what}"


def _number(value: float) -> str:
    """Show a whole number in full, another to six digits."""
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.6g}"


def _fraction(beta: float) -> tuple[str, str]:
    """Return numerator and denominator of F in words."""
    if beta == 1:
        return "2 tp", "2 tp + fp + fn"
    if beta == 0:
        return "tp", "tp + fp"
    return f"(1 + {beta:g}^2) tp", f"{beta:g}^2 (tp + fn) + tp + fp"


def _denominators(counts: ConfusionCounts, beta: float) -> Floats:
    """Return the denominators of F."""
    return beta**2 * counts.positives + counts.predicted


def _label_cells(row: Row) -> tuple[str, ...]:
    """Show figures, support and the value of the denominator."""
    _, _, denominator = row.denominator.rpartition(" = ")
    return (*_figures(row), _number(row.support), denominator)


def _figures(row: Row) -> tuple[str, str, str, str]:
    """Show name, precision, recall and F."""
    return row.name, f"{row.precision:.4f}", f"{row.recall:.4f}", f"{row.f:.4f}"
