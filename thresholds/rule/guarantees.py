"""What a rule promises on new rows: which floors of which labels, with which probability, and on what assumption."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from thresholds import _checks
from thresholds._arrays.types import Booleans, Floats, Ints, Texts
from thresholds._checks import InputError, shown
from thresholds._checks.options import FAMILIES
from thresholds.results import (
    Result,
    Table,
    are,
    as_plain_values,
    counted,
    in_percent,
    n_more,
    names_of,
)
from thresholds.rule.saving import refuse_unknown

if TYPE_CHECKING:
    from thresholds.rule.row_guarantees import RowGuarantees

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
_OF_LABELS = (
    "min_precision",
    "min_recall",
    "precision_shown",
    "recall_shown",
    "instead",
    "predictions_needed",
    "positives_needed",
)


@dataclass(frozen=True, eq=False, repr=False)
class Guarantees(Result):
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

    confidence: float
    family: str
    units: str
    min_precision: Floats
    min_recall: Floats
    precision_shown: Booleans
    recall_shown: Booleans
    instead: Texts
    predictions_needed: Floats
    positives_needed: Floats
    label_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Check what may come from a file."""
        _checks.inside(self.confidence, "confidence")
        _checks.option(self.family, "family", FAMILIES)
        _checks.option(self.units, "units", UNITS)
        for name in _OF_LABELS:
            if getattr(self, name).shape != self.instead.shape:
                raise InputError(
                    f"{name} has shape {getattr(self, name).shape}, expected {self.instead.shape}"
                )
        odd = set(self.instead.tolist()) - {"", NEVER, ALWAYS}
        if odd:
            raise InputError(
                f"instead has {shown(min(odd))}, expected '', {NEVER!r} or {ALWAYS!r} for each label"
            )
        super().__post_init__()

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.instead.size)

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

    def taken(self, places: Ints) -> "Guarantees":
        """Return the same with the labels in that order."""
        moved = {name: getattr(self, name)[places] for name in _OF_LABELS}
        names = self.label_names
        if names is not None:
            names = tuple(names[k] for k in places.tolist())
        return replace(self, **moved, label_names=names)

    def with_names(self, label_names: Sequence[str] | None) -> "Guarantees":
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

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, in the form of `rule.schema.json`."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        del values["label_names"]
        return {name: as_plain_values(value) for name, value in values.items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Guarantees | RowGuarantees":
        """Build it from what `to_dict` gave, without names of labels, which the rule has.

        Floors of all labels together, which are of an average, are `RowGuarantees`.
        """
        if isinstance(values, Mapping) and "average" in values:
            from thresholds.rule.row_guarantees import RowGuarantees

            return RowGuarantees.from_dict(values)
        names = [item.name for item in fields(cls) if item.name != "label_names"]
        refuse_unknown(values, names)
        lists = {name: _checks.a_list(values[name], name) for name in _OF_LABELS}
        return cls(
            confidence=values["confidence"],
            family=values["family"],
            units=values["units"],
            min_precision=_floats(lists, "min_precision", _checks.share),
            min_recall=_floats(lists, "min_recall", _checks.share),
            precision_shown=_booleans(lists, "precision_shown"),
            recall_shown=_booleans(lists, "recall_shown"),
            instead=np.array([_checks.text(word, "instead") for word in lists["instead"]], np.str_),
            predictions_needed=_floats(lists, "predictions_needed", number_needed),
            positives_needed=_floats(lists, "positives_needed", number_needed),
        )

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

    def _records(self) -> dict[str, npt.NDArray[Any]]:
        """Return columns, one row a label."""
        columns = {name: getattr(self, name) for name in _OF_LABELS}
        return {"name": names_of(self.label_names, self.n_labels), **columns}

    def _tables(self, k: int) -> Iterator[str | Table]:
        """Sum up, say what is assumed, and list k labels whose floors cannot be shown, those that lack least first."""
        yield f"{self.in_words()}\nassumed: {self.assumption}"
        n_without = int(np.count_nonzero(self.instead != ""))
        if k and n_without:
            yield self._not_shown(min(k, n_without), n_without)

    def _not_shown(self, k: int, n_without: int) -> Table:
        """Lay out k labels whose floors are not shown."""
        lacking = np.flatnonzero(self.instead != "")
        needed = np.fmax(self.predictions_needed, self.positives_needed)[lacking]
        order = lacking[np.argsort(needed, kind="stable")[:k]]
        names = names_of(self.label_names, self.n_labels)
        head = [
            ("", "", "precision", "predictions", "recall", "positives"),
            ("floor not shown", "predicted", "at least", "needed", "at least", "needed"),
        ]
        body = [
            (
                str(names[j]),
                str(self.instead[j]),
                *(
                    _cell(column[j])
                    for column in (
                        self.min_precision,
                        self.predictions_needed,
                        self.min_recall,
                        self.positives_needed,
                    )
                ),
            )
            for j in order
        ]
        return Table(head, body, left=(0, 1), note=n_more(n_without, k, "label"))


def assumption_of(units: str) -> str:
    """Say what must be true of new rows."""
    return _ASSUMPTIONS[units]


def new_rows_of(units: str) -> str:
    """Say of which rows something is promised."""
    return "new rows" if units == "rows" else "rows of new groups"


def _cell(value: float) -> str:
    """Return a floor, or a number of rows; nothing where there is none."""
    if np.isnan(value):
        return ""
    return "no number" if np.isinf(value) else f"{value:,.10g}"


def _floats(lists: Mapping[str, list[Any]], name: str, check: Any) -> Floats:
    """Read a column of numbers: None is NaN, "inf" is infinite."""
    numbers = [np.inf if value == "inf" else value for value in lists[name]]
    return np.array([np.nan if value is None else check(value, name) for value in numbers])


def number_needed(value: object, name: str) -> float:
    """Read how many rows, predictions or positives would show a floor."""
    number = _checks.real(value, name)
    if number < 0:
        raise InputError(f"{name} is {number}, expected a number of at least 0")
    return number


def _booleans(lists: Mapping[str, list[Any]], name: str) -> Booleans:
    """Read a column of booleans."""
    return np.array([_checks.option(value, name, (True, False)) for value in lists[name]], np.bool_)
