"""Every average of F side by side, each naming its formula and its denominator."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

import numpy as np

from thresholds import _checks, tables
from thresholds._checks import InputError
from thresholds.metrics import targets, undefined
from thresholds.metrics.averages import PRECISION, RECALL, Figure, average_of, each, f_score
from thresholds.metrics.counts import ConfusionCounts, Floats, Ints
from thresholds.metrics.targets import LabelMatrices, Targets

Figures = tuple[Figure, Figure, Figure]  # precision, recall, F

_SHOWN = 30  # labels that text and HTML list


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


@dataclass(frozen=True, slots=True, eq=False)
class AveragesReport:
    """Labels, then averages; `str` and HTML give tables, `to_frame` and `to_dict` the values.

    `report["macro"]` is the row of an average: "micro", "macro", "macro_supported" (macro over the labels with
    positives), "f_of_averages", "weighted", and "samples" for matrices.
    """

    labels: tuple[Row, ...]
    averages: tuple[Row, ...]
    beta: float
    zero_division: float
    note: str  # how often which figure is 0/0

    def __getitem__(self, average: str) -> Row:
        """Give an average by its name."""
        return {row.name: row for row in self.averages}[average]

    def to_dict(self) -> dict[str, Any]:
        """Give plain values, for JSON (where NaN becomes null unless it is allowed)."""
        return asdict(self)

    def to_frame(self) -> Any:
        """Give a pandas DataFrame with one row for each label, then one for each average."""
        try:
            import pandas as pd
        except ImportError:
            raise ImportError("to_frame() needs pandas: pip install pandas") from None
        rows = [{"kind": "label", **asdict(row)} for row in self.labels]
        rows += [{"kind": "average", **asdict(row)} for row in self.averages]
        return pd.DataFrame(rows).rename(columns={"f": f"f{self.beta:g}"})

    def __str__(self) -> str:
        """Lay both tables out as text."""
        (head, body), (average_head, average_body) = self._tables()
        averages = tables.as_text(average_head, average_body, left=(0, 4, 5))
        return f"{tables.as_text(head, body)}\n\n{averages}\n\n{self.note}"

    def _repr_html_(self) -> str:
        """Lay both tables out as HTML."""
        return "".join(tables.as_html(*table) for table in self._tables()) + f"<p>{escape(self.note)}</p>"

    def _tables(self) -> list[tuple[tables.Lines, tables.Lines]]:
        """Give head and body of the tables of labels and of averages; of many labels the first and the last."""
        f, denominator = f"F{self.beta:g}", _fraction(self.beta)[1]
        body = [(*_figures(row), f"{row.support:g}", row.denominator) for row in self.labels]
        if len(body) > _SHOWN:
            half = _SHOWN // 2
            body[half:-half] = [(f"... {len(body) - 2 * half} more", "", "", "", "", "")]
        averages = [(*_figures(row), row.formula, row.denominator) for row in self.averages]
        return [
            ([("label", "precision", "recall", f, "support", denominator)], body),
            ([("average", "precision", "recall", f, f"formula of {f}", "denominator")], averages),
        ]


def averages_report(
    y_true: object,
    y_pred: object,
    *,
    beta: float = 1.0,
    labels: object = None,
    label_names: object = None,
    sample_weight: object = None,
    zero_division: float = 0.0,
) -> AveragesReport:
    """Report precision, recall and F-beta of each label, and every average of them with its formula.

    Parameters
    ----------
    y_true, y_pred, beta, labels, sample_weight : as in `precision_recall_fscore_support`
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
    if isinstance(zero_division, str):
        raise InputError(f"zero_division is {zero_division!r}, expected 0, 1 or nan: the report counts what is 0/0")
    value, beta = undefined.value_of(zero_division), _checks.beta(beta)
    found = targets.read(y_true, y_pred, labels, sample_weight)
    names = [str(label) for label in found.labels] if label_names is None else _checks.names_of_labels(label_names)
    if len(names) != len(found.labels):
        raise InputError(f"label_names has {len(names)} names, expected {len(found.labels)}, one for each label")
    counts = found.by_label()
    figures = (PRECISION, RECALL, f_score(beta))
    return AveragesReport(
        labels=_label_rows(found, counts, figures, beta, value, names),
        averages=_average_rows(found, counts, figures, beta, value),
        beta=beta,
        zero_division=value,
        note=_note(counts, figures, beta, value),
    )


def _label_rows(
    found: Targets, counts: ConfusionCounts, figures: Figures, beta: float, value: float, names: Sequence[str]
) -> tuple[Row, ...]:
    """Give the row of each label."""
    shown = found.in_weights(counts)
    columns = [each(figure, counts, value) for figure in figures]
    numbers = np.stack([*columns, _denominators(shown, beta)]).T.tolist()
    formula = "{} / ({})".format(*_fraction(beta))
    return tuple(
        Row(name, precision, recall, f, support, formula, f"{denominator:.6g}")
        for name, (precision, recall, f, denominator), support in zip(
            names, numbers, shown.positives.tolist(), strict=True
        )
    )


def _average_rows(
    found: Targets, counts: ConfusionCounts, figures: Figures, beta: float, value: float
) -> tuple[Row, ...]:
    """Give the row of each average."""
    f, shown, what = f"F{beta:g}", found.in_weights(counts), "labels" if isinstance(found, LabelMatrices) else "classes"
    supported = counts.take(counts.positives > 0)
    positives = float(shown.positives.sum())
    over = [_how_many(figure, counts, value, what) for figure in figures]
    pooled = f"{_fraction(beta)[1]} = {_denominators(shown.pooled(), beta)[0]:.6g}"
    two_means = over[0] if over[0] == over[1] else f"{over[0]} and {over[1]}"
    weight = f"{positives:.6g} positives" if positives else f"{over[2]}, as none has positives"
    rows = [
        ("micro", counts, f"{f} of tp, fp and fn added over the {what}", pooled),
        ("macro", counts, f"mean of the {what}' {f}", over[2]),
        ("macro_supported", supported, f"macro of the {what} with positives", f"{supported.tp.size} {what}"),
        ("f_of_averages", counts, f"{f} of mean precision and mean recall", two_means),
        ("weighted", counts, f"mean of the {what}' {f}, weighted by positives", weight),
    ]
    if isinstance(found, LabelMatrices):
        by_sample = found.by_sample()
        by_weight = "" if found.weights is None else ", weighted"
        over_rows = _how_many(figures[2], by_sample, value, "rows")
        rows.append(("samples", by_sample, f"mean of the rows' {f}{by_weight}", over_rows))
    return tuple(
        _average_row(name, of, figures, value, found.weights, support=positives, formula=formula, denominator=over_what)
        for name, of, formula, over_what in rows
    )


def _average_row(
    name: str, counts: ConfusionCounts, figures: Figures, value: float, row_weights: Ints | None, **words: Any
) -> Row:
    """Average the three figures."""
    average = name.removesuffix("_supported")
    precision, recall, f = (average_of(figure, counts, average, value, row_weights) for figure in figures)
    return Row(name, precision, recall, f, **words)


def _note(counts: ConfusionCounts, figures: Figures, beta: float, value: float) -> str:
    """Say how often which figure is 0/0, and what became of it."""
    words = ("precision of {} (no predictions)", "recall of {} (no positives)", f"F{beta:g} of {{}} (neither)")
    times = [int(np.isnan(figure.ratio(counts)).sum()) for figure in figures]
    found = ", ".join(word.format(k) for word, k in zip(words, times, strict=True) if k)
    became = "left out of the means" if np.isnan(value) else f"counted as {value:g}"
    return f"0/0, {became}: {found}." if found else "Nothing is 0/0."


def _how_many(figure: Figure, counts: ConfusionCounts, value: float, what: str) -> str:
    """Say how many groups a mean is taken over."""
    total, left_out = counts.tp.size, int(np.isnan(each(figure, counts, value)).sum())
    return f"{total - left_out} of {total} {what}" if left_out else f"{total} {what}"


def _fraction(beta: float) -> tuple[str, str]:
    """Give numerator and denominator of F in words."""
    if beta == 1:
        return "2 tp", "2 tp + fp + fn"
    return f"(1 + {beta:g}^2) tp", f"{beta:g}^2 (tp + fn) + tp + fp"


def _denominators(counts: ConfusionCounts, beta: float) -> Floats:
    """Give the denominators of F."""
    return beta**2 * counts.positives + counts.predicted


def _figures(row: Row) -> tuple[str, str, str, str]:
    """Show name, precision, recall and F."""
    return row.name, f"{row.precision:.4f}", f"{row.recall:.4f}", f"{row.f:.4f}"
