"""What a rule guarantees on new rows: which floors of which labels, with which probability, and on what assumption."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from thresholds import _checks
from thresholds._arrays.types import Booleans, Floats, Texts
from thresholds._checks import InputError, shown
from thresholds._checks.options import FAMILIES
from thresholds._results.fields import names, of_labels, record, value
from thresholds._results.result import SavedResult
from thresholds._results.tables import Column, Table, tabulate
from thresholds._results.words import are, counted, in_percent, n_more

UNITS = ("rows", "groups")
NEVER = "never"
ALWAYS = "always"
STORED = "stored"  # always, but where a sparse matrix leaves out the score

_ASSUMPTIONS = {
    "rows": "new rows come like those of the fit, each by itself (rows are exchangeable)",
    "groups": (
        "new groups come like those of the fit, each by itself (groups are exchangeable), and a row of a group is taken"
        " at random"
    ),
}


def _or_nan(check: Any) -> Any:
    """Return a check of one number for each label, NaN where there is none."""

    def check_all(values: Any, name: str) -> Floats:
        numbers = np.array(values, object)
        return np.array(
            [number if number != number else check(number, name) for number in numbers], np.float64
        )

    return check_all


def number_needed(given: object, name: str) -> float:
    """Check how many rows, predictions or positives would show a floor: at least 0, perhaps infinite."""
    number = _checks.real(given, name)
    if number < 0:
        raise InputError(f"{name} is {number}, expected a number of at least 0")
    return number


def _flags(values: Any, name: str) -> Booleans:
    """Check truth values, one for each label."""
    return np.array(
        [_checks.flag(flag, name) for flag in np.asarray(values, object).tolist()], np.bool_
    )


def _instead(values: Any, name: str) -> Texts:
    """Check what is predicted where a floor is not shown, for each label."""
    words = [_checks.text(word, name) for word in np.asarray(values, object).tolist()]
    odd = set(words) - {"", NEVER, ALWAYS}
    if odd:
        raise InputError(
            f"{name} has {shown(min(odd))}, expected '', {NEVER!r} or {ALWAYS!r} for each label"
        )
    return np.array(words, np.str_)


def _needed(number: float) -> str:
    """Write a floor, or a number of rows; nothing where there is none."""
    if np.isnan(number):
        return ""
    return "no number" if np.isinf(number) else f"{number:,.10g}"


_NOT_SHOWN = (
    Column("name", "floor not shown", is_words=True),
    Column("instead", "predicted", is_words=True),
    Column("min_precision", ("precision", "at least"), _needed),
    Column("predictions_needed", ("predictions", "needed"), _needed),
    Column("min_recall", ("recall", "at least"), _needed),
    Column("positives_needed", ("positives", "needed"), _needed),
)


@record
class Guarantees(SavedResult):
    """Floors of labels that hold on new rows with a stated probability; one entry a label.

    The probability is over the rows of the fit: of many fits, each on rows of its own, at most 1 - confidence break a
    floor that they promise, whatever the scores are. What is promised is the precision and the recall of each
    threshold among all rows that may come, not those of a sample of them, which scatter around it.

    Attributes
    ----------
    confidence : the probability, inside (0, 1)
    family : "each": each label's promises hold with that probability; "all": those of all labels at once do
    units : "rows" or "groups": what is exchangeable
    min_precision, min_recall : (n_labels,) the floors, NaN for none
    precision_shown, recall_shown : bool (n_labels,), whether the floor is promised
    instead : (n_labels,) str: "never" or "always" for a label of which a floor could not be shown, else empty
        "never" wherever a floor of precision is not shown: nothing is predicted, so nothing wrongly. "always" where a
        floor of recall alone is not shown: recall is 1; "never" there, too, with `keep_sparse`, where no threshold
        predicts always, and of a label whose truth is known in no row.
    predictions_needed : (n_labels,) where a floor of precision is not shown: how many predictions would show it, if as
        many of them were right as in the sample at the cut that shows it most clearly; inf where none is above the
        floor there. NaN for other labels.
    positives_needed : (n_labels,) where a floor of recall is not shown: how many positives would show it at the lowest
        of their scores; NaN for other labels
    label_names : tuple of str, or None
    """

    _shown = 5

    confidence: float = value(_checks.inside)
    family: str = value(lambda family, name: _checks.option(family, name, FAMILIES))
    units: str = value(lambda units, name: _checks.option(units, name, UNITS))
    min_precision: Floats = of_labels(_or_nan(_checks.share), form="figure")
    min_recall: Floats = of_labels(_or_nan(_checks.share), form="figure")
    precision_shown: Booleans = of_labels(_flags)
    recall_shown: Booleans = of_labels(_flags)
    instead: Texts = of_labels(_instead)
    predictions_needed: Floats = of_labels(_or_nan(number_needed), form="figure")
    positives_needed: Floats = of_labels(_or_nan(number_needed), form="figure")
    label_names: tuple[str, ...] | None = names(default=None, saved=False)  # The rule has them.

    @property
    def assumption(self) -> str:
        """What must be true of new rows, in words."""
        return assumption_of(self.units)

    @property
    def asked(self) -> Booleans:
        """Whether a label (n_labels,) has a floor."""
        return np.asarray(~(np.isnan(self.min_precision) & np.isnan(self.min_recall)))

    @property
    def promised(self) -> Booleans:
        """Whether a label (n_labels,) has a floor, and all its floors are shown."""
        return np.asarray(self.asked & (self.instead == ""))

    def with_names(self, label_names: Sequence[str] | None) -> Self:
        """Return the same with names for its labels, in order."""
        return replace(self, label_names=None if label_names is None else tuple(label_names))

    def in_words(self) -> str:
        """Say what is promised, for how many labels, and what happens to the others, in a sentence or two."""
        of_whom = "for each label" if self.family == "each" else "for all labels at once"
        n_promised = int(np.count_nonzero(self.promised))
        text = (
            f"promised on {new_rows_of(self.units)} with a confidence of {in_percent(self.confidence)}, {of_whom}:"
            f" {self._floors()} of {n_promised:,} of {counted(int(np.count_nonzero(self.asked)), 'label')}"
        )
        others = [
            f"{counted(n, 'label')} cannot be shown to keep {'its' if n == 1 else 'their'} floor and"
            f" {are(n)} {what} predicted"
            for what in (NEVER, ALWAYS)
            if (n := int(np.count_nonzero(self.instead == what)))
        ]
        return "; ".join([text, *others])

    def _floors(self) -> str:
        """Name the floors: a number where all labels have the same."""
        named = []
        for what in ("precision", "recall"):
            floors = getattr(self, f"min_{what}")
            known = np.unique(floors[~np.isnan(floors)])
            if known.size:
                value = f"of at least {known[0]:g}" if known.size == 1 else "at the labels' floors"
                named.append(f"{what} {value}")
        return " and ".join(named)

    def _sentences(self) -> Iterable[str]:
        """Sum up, and say what is assumed."""
        yield f"{self.in_words()}\nassumed: {self.assumption}"

    def _parts(self, k: int) -> Iterator[str | Table]:
        """Sum up, and list k labels whose floors cannot be shown, those that lack least first."""
        yield from self._sentences()
        lacking = np.flatnonzero(self.instead != "")
        if k and lacking.size:
            needed = np.fmax(self.predictions_needed, self.positives_needed)[lacking]
            first = lacking[np.argsort(needed, kind="stable")[:k]]
            columns = {name: column[first] for name, column in self._rows().items()}
            yield tabulate(columns, _NOT_SHOWN, note=n_more(lacking.size, k, "label"))


def assumption_of(units: str) -> str:
    """Say what must be true of new rows."""
    return _ASSUMPTIONS[units]


def new_rows_of(units: str) -> str:
    """Say of which rows something is promised."""
    return "new rows" if units == "rows" else "rows of new groups"
