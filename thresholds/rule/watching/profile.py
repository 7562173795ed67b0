"""What the scores of a fit look like, label by label, in few bytes: enough to notice that others have changed.

A profile holds, of each label, seven quantiles of its scores and on how many rows it is predicted;
and of the rows, how many labels they are given and how many of their scores lie above the quartiles
of their labels. With means and standard deviations *of rows* a change that all labels share can be
tested, however the labels depend on each other. `describing.py` makes it, `check.py` tests new
scores against it.

Scores are compared as float32, on both sides, so that the rounding of the file changes no order.
Masked cells (-inf) are no scores, nor are the entries that sparse scores leave out, or that equal
`missing` there: of these only the number is known.
"""

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds import _checks
from thresholds._arrays.types import Booleans, Floats, Ints, Numbers
from thresholds._checks import InputError
from thresholds._results.fields import of_labels, record, value
from thresholds._results.result import Result
from thresholds._results.words import counted

# The share of a label's scores that lies at or below each quantile.
LEVELS = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)

_FIGURES = ("labels", "above", "outside", "scored")  # of rows

_MOST_COUNTED = 2**53

Float32s = npt.NDArray[np.float32]
MeanAndSd = tuple[float, float]


def _size(given: object, name: str) -> int:
    """Check a number of rows."""
    size = _checks.count(given, name, 1)
    _check_counts([size], name, 1)
    return size


@record
class ScoreProfile(Result):
    """The scores of a fit, in brief, and what the rule decided about them.

    Attributes
    ----------
    n_rows : number of rows on which `predicted` was counted: all of the fit, or those sampled
    predicted : float64 (n_labels,), on how many of them each label is predicted; NaN where that is not known
    n_sampled : number of rows that all else is from
        They are evenly spaced; with weights, in proportion to these, and no more than their effective number
        (sum w)^2 / sum w^2 (Kish 1965, section 11.2).
    sparse : whether cells equal to `missing` have no score
    quantiles : float32 (n_labels, 7), of each label's scores at .01, .1, .25, .5, .75, .9 and .99
        The lowest score with at least that share at or below it; NaN for a label without scores.
    scored : int64 (n_labels,), on how many of the sampled rows a label has a score; None for all
    rows : mean and standard deviation, over sampled rows, of four figures
        "labels": labels predicted, None where that is not known. "above": the mean share of scores above the lower, and
        above the upper, quartile of their label. "outside": the share at or below the lower or above the upper
        quartile. "scored": the number of labels with a score.
        Both shares are those to expect of other rows, as the quartiles were chosen on these.
    """

    n_rows: int = value(_size)
    predicted: Floats = of_labels()
    n_sampled: int = value(_size)
    sparse: bool = value(_checks.flag)
    quantiles: Float32s = of_labels()
    scored: Ints | None = of_labels()
    rows: Mapping[str, MeanAndSd | None]

    def _check(self) -> None:
        """Refuse what a file may have that no fit has."""
        super()._check()
        _check_largest(self.predicted, self.n_rows, "predicted")
        if self.scored is not None:
            _check_largest(self.scored, self.n_sampled, "scored")
        if (self.quantiles[:, 1:] < self.quantiles[:, :-1]).any():
            raise InputError("quantiles fall, expected that those of a label rise")
        for name, figure in self.rows.items():
            if figure is not None and max(figure) > self.n_labels + 1:
                raise InputError(
                    f"{name} of rows is {list(figure)}, expected numbers of at most"
                    f" {self.n_labels + 1}"
                )

    @property
    def n_scores(self) -> Ints:
        """Number of sampled scores of each label: (n_labels,)."""
        return np.full(self.n_labels, self.n_sampled) if self.scored is None else self.scored

    def without_predictions(self, labels: Booleans) -> "ScoreProfile":
        """Forget how often some labels are predicted, as they no longer are decided as they were."""
        predicted = np.where(labels, np.nan, self.predicted)
        return replace(self, predicted=predicted, rows={**self.rows, "labels": None})

    def of_other_decisions(self) -> "ScoreProfile":
        """Forget how often each label is predicted."""
        return self.without_predictions(np.ones(self.n_labels, np.bool_))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, in the form of `rule.schema.json`."""
        # Labels without scores, most of very many, need no room for theirs.
        quantiles = self.quantiles if self.scored is None else self.quantiles[self.scored > 0]
        return super().to_dict() | {
            "predicted": [None if np.isnan(n) else int(n) for n in self.predicted.tolist()],
            "quantiles": base64.b64encode(quantiles.astype("<f4").tobytes()).decode(),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "ScoreProfile":
        """Build it from what `to_dict` gave."""
        _checks.refuse_unknown(values, (item.name for item in fields(cls)))
        _checks.refuse_unknown(values["rows"], _FIGURES)
        predicted = _checks.a_list(values["predicted"], "predicted")
        _check_counts([count for count in predicted if count is not None], "predicted", 0)
        scored = values["scored"]
        if scored is not None:
            _check_counts(_checks.a_list(scored, "scored"), "scored", 0)
            scored = np.array(scored, np.int64)  # (n_labels,)
        return cls(
            n_rows=values["n_rows"],
            predicted=np.array(predicted, np.float64),  # (n_labels,), None becomes NaN
            n_sampled=values["n_sampled"],
            sparse=values["sparse"],
            quantiles=_quantiles(values["quantiles"], scored, len(predicted)),
            scored=scored,
            rows={name: _figure(values["rows"][name], name) for name in _FIGURES},
        )

    def _rows(self) -> dict[str, Any]:
        """Return columns, one row a label: `n_predicted`, `n_scores` and the quantiles."""
        quantiles = {f"q{level:g}": self.quantiles[:, k] for k, level in enumerate(LEVELS)}
        return {"n_predicted": self.predicted, "n_scores": self.n_scores, **quantiles}

    def _sentences(self) -> Iterator[str]:
        """Say what is known of the scores."""
        labels = self.rows["labels"]
        predicted = "" if labels is None else f"; a row got {labels[0]:.3g} labels on average"
        sample = f"{counted(self.n_sampled, 'row')} of the fit"
        kind = "lists of scores" if self.sparse else "scores"
        yield f"quantiles of the {kind} of {counted(self.n_labels, 'label')}, on {sample}{predicted}"


def ranks(n_scores: Ints) -> Ints:
    """Return how many of a label's scores lie up to each quantile at least: (n_labels, n_levels)."""
    # Twelve digits, as .99 * 100 is a little more than 99.
    exact = np.round(n_scores[:, np.newaxis] * np.array(LEVELS), 12)
    return np.asarray(np.ceil(exact).astype(np.int64))


def _check_counts(counts: Sequence[Any], name: str, smallest: int) -> None:
    """Refuse what are no numbers of rows, or more than float64 counts one by one."""
    _checks.counts(counts, name, smallest)
    largest = max(counts, default=0)
    if largest > _MOST_COUNTED:
        raise InputError(f"{name} is {_checks.shown(largest)}, expected at most 2**53")


def _check_largest(counts: Numbers, most: int, name: str) -> None:
    """Refuse counts of more rows than there are."""
    largest = np.nanmax(counts, initial=0)
    if largest > most:
        raise InputError(f"{name} has {int(largest)} rows of {most}, expected no more")


def _quantiles(text: object, scored: Ints | None, n_labels: int) -> Float32s:
    """Read quantiles (n_labels, n_levels) of float32 in base64: of all labels, or of those with scores alone."""
    try:
        raw = base64.b64decode(_checks.text(text, "quantiles"), validate=True)
        found = np.frombuffer(raw, "<f4").astype(np.float32)
    except (binascii.Error, ValueError):
        shown = _checks.shown(text)
        raise InputError(f"quantiles is {shown}, expected float32 numbers in base64") from None
    has_scores = np.ones(n_labels, np.bool_)
    if scored is not None and scored.size == n_labels and found.size != n_labels * len(LEVELS):
        has_scores = scored > 0
    expected = np.count_nonzero(has_scores) * len(LEVELS)
    if found.size != expected:
        raise InputError(f"quantiles has {found.size} values, expected {expected}")
    quantiles = np.full((n_labels, len(LEVELS)), np.nan, np.float32)
    quantiles[has_scores] = found.reshape(-1, len(LEVELS))
    return quantiles


def _figure(values: object, name: str) -> MeanAndSd | None:
    """Read the mean and standard deviation of a figure of rows."""
    if values is None and name == "labels":
        return None
    numbers = [_checks.finite(number, name) for number in _checks.a_list(values, name)]
    if len(numbers) != 2 or min(numbers) < 0:
        raise InputError(
            f"{name} of rows is {_checks.shown(values)}, expected a mean and a standard deviation"
        )
    mean, sd = numbers
    return mean, sd
