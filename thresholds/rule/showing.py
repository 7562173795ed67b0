"""Rules as text and as frames: a sentence, and a row for each label."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from thresholds._results.result import names_of
from thresholds._results.tables import Column, Table, tabulate
from thresholds.rule.protocol import HasFit

_HEADINGS = {  # where text has other words
    "name": "label",
    "threshold_of_probability": "threshold of probability",
    "n_positives": "positives",
    "n_predicted": "predicted",
}


def parts_of(rule: HasFit, k: int) -> Iterator[str | Table]:
    """Return what is shown of a rule: its sentence, and the first k labels."""
    yield rule.in_words()
    n_labels = rule.n_labels
    if not k or n_labels is None:
        return
    columns = columns_of(rule, n_labels)
    known = [
        Column(name, _HEADINGS.get(name, name), _cell, is_words=name == "name")
        for name, values in columns.items()
        if values.dtype.kind != "f" or not np.isnan(values[:k]).all()
    ]
    if len(known) > 1:  # more than names
        yield tabulate(columns, known, k, thing="label")


def columns_of(rule: HasFit, n_labels: int) -> dict[str, Any]:
    """Return columns (n_labels,) about the labels of a rule, by name."""
    fitted, profile = rule.fitted_on, rule.profile
    unknown = np.full(n_labels, np.nan)
    return {
        "name": names_of(rule.label_names, n_labels),
        **rule.columns_of_labels(),
        "n_positives": unknown if fitted is None else fitted.positives,
        "n_predicted": unknown if profile is None else profile.predicted,
    }


def _cell(value: float | str) -> str:
    """Write a cell of the table of labels, nothing for NaN."""
    if isinstance(value, str):
        return value
    if np.isnan(value):
        return ""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.6g}"
