"""What was counted at each score elsewhere: columns of a `GROUP BY label, score`."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from thresholds import _checks
from thresholds._arrays.dtypes import key_dtype
from thresholds._arrays.types import Dense, Ints
from thresholds._checks import InputError, listed, shown
from thresholds._engine.histograms import Histograms, added
from thresholds.counts.kind import Kind, Totals
from thresholds.counts.parts import MOST_UNITS

_LAST_LABEL = 2**31 - 1  # that tables of counts have room for


def counted_groups(
    label: object,
    score: object,
    positives: object,
    rows: object,
    *,
    label_names: object,
    n_labels: int | None,
    n_samples: int | None,
    missing: float,
) -> tuple[Kind, Totals, Histograms]:
    """Check columns (n_groups,) each, and return a bin for each score, one of them for rows without a group."""
    names = None if label_names is None else _checks.names_of_labels(label_names)
    place, names = _places(_checks.plain(label, "label"), names)
    n_labels = _number_of_labels(place, names, n_labels)
    groups = _Groups.of(place, score, positives, rows)

    # Rows without a group: all are known if the number of rows is.
    of_label = _sums_of(groups.weights, place, n_labels)
    most = int(of_label.max())
    absent = np.zeros(n_labels, np.int64)
    if n_samples is not None:
        most = _number_of_rows(n_samples, of_label, names)
        absent = most - of_label

    dtype = groups.scores.dtype.newbyteorder("=")
    missing = _checks.missing(missing, dtype)
    kind = Kind(n_labels, dtype, n_samples is not None, missing, names, unit=1.0)
    return kind, _totals(of_label + absent, most), groups.histograms(absent, missing)


class _Groups(NamedTuple):
    """Columns of tie groups, checked: (n_groups,) each."""

    place: Ints  # the position of the label
    scores: Dense
    positive_weights: Ints
    weights: Ints

    @classmethod
    def of(cls, place: Ints, score: object, positives: object, rows: object) -> "_Groups":
        """Check what is counted in groups, as many as there are labels of them."""
        scores = _column_of_scores(score)
        weights = _whole_numbers(rows, "rows")
        positive_weights = _whole_numbers(positives, "positives")
        columns = (("score", scores), ("positives", positive_weights), ("rows", weights))
        for name, column in columns:
            if column.size != place.size:
                raise InputError(
                    f"{name} has {column.size} values, expected {place.size} as label has"
                )
        excess = np.flatnonzero(positive_weights > weights)
        if excess.size:
            at = excess[0]
            raise InputError(
                f"positives has {positive_weights[at]} at place {at} with {weights[at]} rows, expected no more than"
                " rows"
            )
        return cls(place, scores, positive_weights, weights)

    def histograms(self, absent: Ints, missing: float) -> Histograms:
        """Return a bin for each score of a label, with what is absent of each, (n_labels,), at `missing`."""
        n_labels = absent.size
        dtype = key_dtype(self.scores.dtype.newbyteorder("="))
        place = np.append(self.place, np.arange(n_labels))
        scores = np.append(self.scores.astype(dtype), np.full(n_labels, missing, dtype)) + 0.0
        hits = np.append(self.positive_weights, np.zeros(n_labels, np.int64))
        weights = np.append(self.weights, absent)
        # Groups without rows say nothing.
        order = np.argsort(place, kind="stable")
        order = order[weights[order] > 0]
        offsets = place[order].searchsorted(np.arange(n_labels + 1))
        scores = scores[order]
        return added([Histograms(offsets, scores, scores, hits[order], weights[order])], None)


def _number_of_rows(n_samples: int, of_label: Ints, names: Sequence[str] | None) -> int:
    """Check the number of rows, which no label has more of in its groups, (n_labels,)."""
    n_rows = _checks.count(n_samples, "n_samples", 1)
    if n_rows >= MOST_UNITS:
        raise InputError(f"n_samples is {n_rows}, expected less than 2**61")
    worst = int(of_label.argmax())
    if of_label[worst] > n_rows:
        raise InputError(
            f"rows has {of_label[worst]} rows of label {worst if names is None else shown(names[worst])} in all,"
            f" expected at most n_samples, {n_rows}"
        )
    return n_rows


def _totals(known: Ints, n_rows: int) -> Totals:
    """Return what is known of rows: in how many each label is, (n_labels,), all of which have a known cell."""
    all_known = bool((known == n_rows).all())
    return Totals(
        n_samples=n_rows,
        of_labels=np.full((3, 1), n_rows) if all_known else np.stack([known] * 3),
        n_present=n_rows,
        weight=n_rows,
        divisor=1,
        is_weighted=False,
        all_known=all_known,
    )


def _places(label: Dense, names: Sequence[str] | None) -> tuple[Ints, tuple[str, ...] | None]:
    """Return the position of each group's label, (n_groups,), and the names of the labels."""
    if label.ndim != 1 or not label.size:
        raise InputError(
            f"label has shape {label.shape}, expected a list, one label for each group"
        )
    if label.dtype.kind in "iu":
        if label.min() < 0 or label.max() > _LAST_LABEL:
            odd = label.min() if label.min() < 0 else label.max()
            raise InputError(
                f"label has {odd}, expected positions from 0, at most {_LAST_LABEL}, or names"
            )
        return label.astype(np.int64), None if names is None else tuple(names)
    texts = label.tolist()
    odd = next((text for text in texts if not isinstance(text, str)), "")
    if odd != "":
        raise InputError(
            f"label has {shown(odd)} of type {type(odd).__name__}, expected names, or whole numbers"
        )
    given = sorted(set(texts))
    names = _checks.names_of_labels(given if names is None else names)
    unknown = [text for text in given if text not in set(names)]
    if unknown:
        raise InputError(f"label has {listed(unknown)}, expected labels of label_names")
    number = {name: j for j, name in enumerate(names)}
    return np.array([number[text] for text in texts], np.int64), tuple(names)


def _number_of_labels(place: Ints, names: Sequence[str] | None, n_labels: int | None) -> int:
    """Return how many labels there are, each position being one of them."""
    n_needed = int(place.max()) + 1
    if names is not None:
        if n_labels is not None:
            _checks.one_name_each(names, _checks.count(n_labels, "n_labels", 1))
        n_labels = len(names)
    if n_labels is None:
        return n_needed
    n_labels = _checks.count(n_labels, "n_labels", 1)
    if n_labels > _LAST_LABEL:
        raise InputError(f"n_labels is {n_labels}, expected at most {_LAST_LABEL}")
    if n_needed > n_labels:
        raise InputError(f"label has position {n_needed - 1}, expected at most {n_labels - 1}")
    return n_labels


def _column_of_scores(score: object) -> Dense:
    """Check the score of each group, (n_groups,)."""
    column = _checks.numbers(score, "score")
    if column.ndim != 1:
        raise InputError(f"score has shape {column.shape}, expected one score for each group")
    bad = np.flatnonzero(~(column < np.inf))  # NaN is not below it either
    if bad.size:
        raise InputError(f"score has {column[bad[0]]} at place {bad[0]}, expected real scores")
    return np.asarray(_checks.scores(column, "score")[:, 0])


def _sums_of(weights: Ints, place: Ints, n_labels: int) -> Ints:
    """Add up the rows of each label's groups, (n_labels,)."""
    nearly = np.bincount(place, weights.astype(np.float64), n_labels)
    if nearly.max() >= MOST_UNITS:
        raise InputError(f"rows adds up to {nearly.max():.3g} of a label, expected less than 2**61")
    sums = np.zeros(n_labels, np.int64)
    np.add.at(sums, place, weights)
    return sums


def _whole_numbers(value: object, name: str) -> Ints:
    """Check whole numbers that are not negative, (n_groups,)."""
    column = _checks.numbers(value, name)
    if column.ndim != 1:
        raise InputError(f"{name} has shape {column.shape}, expected one number for each group")
    bad = np.flatnonzero(~((column >= 0) & (column < 2**62) & (column == np.floor(column))))
    if bad.size:
        raise InputError(
            f"{name} has {column[bad[0]]} at place {bad[0]}, expected whole numbers of at least 0"
        )
    return column.astype(np.int64)
