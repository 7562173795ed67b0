"""Every average of F side by side, each naming its formula and its denominator."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from thresholds import _checks
from thresholds._arrays.types import Floats, Numbers
from thresholds._results.fields import record
from thresholds._results.result import Result
from thresholds._results.tables import Column, Table, records_of, tabulate
from thresholds._results.words import n_more
from thresholds.metrics import targets, undefined
from thresholds.metrics.averages import PRECISION, RECALL, Ratio, average_of, each, f_score
from thresholds.metrics.counts import ConfusionCounts
from thresholds.metrics.targets import LabelMatrices, Targets

_four_digits = "{:.4f}".format  # NaN is said, as it was asked for: `zero_division`


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


@record
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

    def _rows(self) -> list[dict[str, Any]]:
        """Return one row for each label, then one for each average; F in a column named for its beta."""
        names = [item.name for item in fields(Row)]
        rows = [{"kind": "label", **row} for row in records_of(self.labels, names)]
        rows += [{"kind": "average", **row} for row in records_of(self.averages, names)]
        return [
            {f"f{self.beta:g}" if name == "f" else name: value for name, value in row.items()}
            for row in rows
        ]

    def _parts(self, k: int) -> Iterator[str | Table]:
        """Show labels, of more than k the first and the last, then averages and what became of 0/0."""
        f = f"F{self.beta:g}"
        _, denominator = _fraction(self.beta)
        figures = (
            Column("precision", write=_four_digits),
            Column("recall", write=_four_digits),
            Column("f", f, _four_digits),
        )
        of_labels = (
            Column("name", "label", is_words=True),
            *figures,
            Column("support", write=_number),
            Column("denominator", denominator, lambda text: text.rpartition(" = ")[2]),
        )
        of_averages = (
            Column("name", "average", is_words=True),
            *figures,
            Column("formula", f"formula of {f}", is_words=True),
            Column("denominator", f"denominator of {f}", is_words=True),
        )

        # Of k labels, half are the last.
        n_labels = len(self.labels)
        first = k - k // 2
        last = max(first, n_labels - k // 2)
        labels = tabulate((*self.labels[:first], *self.labels[last:]), of_labels)
        if k < n_labels:
            left_out = (n_more(n_labels, k), *[""] * (len(of_labels) - 1))
            labels = labels._replace(body=[*labels.body[:first], left_out, *labels.body[first:]])
        yield labels
        yield tabulate(self.averages, of_averages)
        yield self.note


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

    counts = checked.by_label()
    return AveragesReport(
        labels=_rows_of_labels(names, checked, counts, beta, value),
        averages=_rows_of_averages(checked, counts, beta, value),
        beta=beta,
        zero_division=value,
        note=_note(counts, _groups_of(checked), beta, value),
    )


def _groups_of(checked: Targets) -> str:
    """Return what a report is about."""
    return "labels" if isinstance(checked, LabelMatrices) else "classes"


def _rows_of_labels(
    names: Sequence[str], checked: Targets, counts: ConfusionCounts, beta: float, value: float
) -> tuple[Row, ...]:
    """Return the row of each label; `value` is that of 0/0."""
    in_weights = checked.in_weights(counts)
    numerator, denominator = _fraction(beta)
    precision, recall, f = (
        each(figure, counts, value).tolist() for figure in (PRECISION, RECALL, f_score(beta))
    )
    support = in_weights.positives.tolist()
    denominators = _denominators(in_weights, beta)
    return tuple(
        Row(
            name=name,
            precision=precision[j],
            recall=recall[j],
            f=f[j],
            support=support[j],
            formula=f"{numerator} / ({denominator})",
            denominator=f"{denominator} = {_number(denominators[j])}",
        )
        for j, name in enumerate(names)
    )


def _rows_of_averages(
    checked: Targets, counts: ConfusionCounts, beta: float, value: float
) -> tuple[Row, ...]:
    """Return the row of each average; `value` is that of 0/0."""
    figure, f, groups = f_score(beta), f"F{beta:g}", _groups_of(checked)
    in_weights = checked.in_weights(counts)
    supported = counts.take(counts.positives > 0)
    positives = in_weights.positives.sum().item()

    # Denominators, in words: over how many labels each figure is averaged, and how many are 0/0.
    over_precision, over_recall, over_f = (
        _over(which, counts, groups, value) for which in (PRECISION, RECALL, figure)
    )
    _, denominator = _fraction(beta)
    pooled = _denominators(in_weights.pooled(), beta).item()
    means = f"precision {over_precision}; recall {over_recall}"
    if over_precision == over_recall == _how_many(counts.tp.size, groups):
        means = over_precision
    weight = f"{_number(positives)} positives" if positives else f"{over_f}, as none has positives"
    over_supported = _how_many(supported.tp.size, groups)

    # Of each the name, the counts and weights that it is taken over, its formula and its denominator.
    averages: list[tuple[str, ConfusionCounts, Numbers | None, str, str]] = [
        (
            "micro",
            counts,
            None,
            f"{f} of tp, fp and fn added over the {groups}",
            f"{denominator} = {_number(pooled)}",
        ),
        ("macro", counts, None, f"mean of the {groups}' {f}", over_f),
        (
            "macro_supported",
            supported,
            None,
            f"macro of the {groups} with positives",
            over_supported,
        ),
        ("f_of_averages", counts, None, f"{f} of mean precision and mean recall", means),
        ("weighted", counts, None, f"mean of the {groups}' {f}, weighted by positives", weight),
    ]
    if isinstance(checked, LabelMatrices):
        rows, weights = checked.known_rows()
        formula, over_rows = f"mean of the rows' {f}", _over(figure, rows, "rows", value)
        if weights is not None:
            is_defined = ~np.isnan(each(figure, rows, value))  # (n_rows,)
            formula += ", weighted"
            over_rows += f", weight {_number(weights[is_defined].sum() * checked.unit)}"
        averages.append(("samples", rows, weights, formula, over_rows))
    rows_of_averages = []
    for name, over, weights, formula, words in averages:
        kind = name.removesuffix("_supported")
        precision, recall, reached = (
            average_of(which, over, kind, value, weights) for which in (PRECISION, RECALL, figure)
        )
        row = Row(name, precision, recall, reached, positives, formula, words)
        rows_of_averages.append(row)
    return tuple(rows_of_averages)


def _note(counts: ConfusionCounts, groups: str, beta: float, value: float) -> str:
    """Say how often which figure is 0/0, and what became of it."""
    f = f"F{beta:g}"
    figures = (
        ("precision", "no predictions", PRECISION),
        ("recall", "no positives", RECALL),
        (f, "neither" if beta else "no predictions", f_score(beta)),
    )
    undefined_figures = []
    for name, reason, figure in figures:
        n_undefined = _n_undefined(figure, counts)
        if n_undefined:
            undefined_figures.append(f"{name} of {n_undefined} ({reason})")
    if not undefined_figures:
        return f"No precision, recall or {f} of the {groups} is 0/0."
    became = "left out of the means" if np.isnan(value) else f"counted as {value:g}"
    return f"0/0 among the {groups}, {became}: {', '.join(undefined_figures)}."


def _n_undefined(figure: Ratio, counts: ConfusionCounts) -> int:
    """Count the groups of which a figure is 0/0."""
    return int(np.isnan(figure.ratio(counts)).sum())


def _over(figure: Ratio, counts: ConfusionCounts, groups: str, value: float) -> str:
    """Say how many groups the mean of a figure is taken over; `value` is that of 0/0."""
    total = counts.tp.size
    all_groups = _how_many(total, groups)
    n_undefined = _n_undefined(figure, counts)
    if not n_undefined:
        return all_groups
    if np.isnan(value):
        return f"{total - n_undefined} of {all_groups}"
    return f"{all_groups}, {n_undefined} of them 0/0"


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
