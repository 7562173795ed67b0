"""Base rates of new rows, label by label, and what is said of them: what `estimate_base_rates` gives."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from thresholds import _checks
from thresholds._arrays.types import Floats
from thresholds._checks import InputError
from thresholds._results.fields import record
from thresholds._results.result import Result
from thresholds._results.tables import Column, Table, tabulate
from thresholds._results.text import first_names, shown_name
from thresholds._results.words import counted, in_percent

MOVED = "moved"
EITHER = "either"
SAME = "same"
CHANGED = "changed"
UNKNOWN = "unknown"

_MEANINGS = {
    MOVED: "scores fit another base rate; positives that score otherwise now are not ruled out",
    EITHER: "base rates have moved, or scores tell less than before, or more: which cannot be told",
    SAME: "the base rate is not shown to have moved",
    CHANGED: "no base rate explains the scores: they changed their meaning",
    UNKNOWN: "cannot be told: too few positives, or scores that know too little",
}

NAMES_SHOWN = 5


@record
class BaseRates(Result):
    """Base rates of new rows, label by label, found without labels by `estimate_base_rates`.

    Attributes
    ----------
    table : structured array (n_labels,)
        name; before (the base rate that the calibrator presumes; of one pooled over labels, each label's own in the
        calibration); estimate, low, high (of highest likelihood, and its interval); p_moved (p-value of no shift),
        p_fit (p-value of scores that mean the same; NaN of fewer rows than three bins take); verdict; rate (what
        `Calibrator.for_base_rates` uses).
        The verdict is the first of these that applies: "changed" (no base rate explains the scores: they changed
        their meaning), "unknown" (the rate cannot be told: its interval is [0, 1] then), "either" (nearly all shifts
        go one way, as they do where scores tell positives less well than before, or better, and which of the two it is
        cannot be told; or most labels are "changed"), "moved" (the scores fit another base rate; that positives score
        otherwise now is not ruled out), "same" (not shown to have moved).
    n_samples : new rows
    confidence : of each interval
    alpha : false discovery rate of labels that are called changed, and of those that are called moved
    label_names : tuple of str, or None
    """

    _shown: ClassVar[int] = 20

    table: npt.NDArray[Any]
    n_samples: int
    confidence: float
    alpha: float
    label_names: tuple[str, ...] | None = None

    @property
    def verdict(self) -> npt.NDArray[np.str_]:
        """The verdict on each label."""
        return np.asarray(self.table["verdict"])

    @property
    def rates(self) -> Floats:
        """The rate of each label that `Calibrator.for_base_rates` uses: float64 (n_labels,)."""
        return np.asarray(self.table["rate"])

    def sentence(self, label: int | str) -> str:
        """Say of one label, given by name or position, what has happened to its base rate."""
        place = _checks.place_of(label, self.label_names, self.table.size)
        row = self.table[place]
        name = shown_name(row["name"])
        if row["verdict"] == MOVED:
            return (
                f"the base rate of {name} seems to have moved from {_percent(row['before'])} to"
                f" {_percent(row['estimate'])} [{_interval(row['low'], row['high'])}]: its scores fit that; that its"
                " positives score otherwise now is not ruled out"
            )
        if row["verdict"] == EITHER:
            rises = row["estimate"] > row["before"]
            return (
                f"the base rate of {name} has {'risen' if rises else 'fallen'}, or its positives score"
                f" {'higher' if rises else 'lower'} now: which it is cannot be told, as most"
                " labels go that way, or changed their meaning"
            )
        if row["verdict"] == SAME:
            by_chance = ""
            if not row["low"] <= row["before"] <= row["high"]:
                by_chance = (
                    f" by itself, but of {counted(self.table.size, 'label')} some look so by chance"
                )
            return (
                f"the base rate of {name} is not shown to have moved from {_percent(row['before'])}; it may be"
                f" {_interval(row['low'], row['high'])}{by_chance}"
            )
        if row["verdict"] == CHANGED:
            return f"no base rate explains the scores of {name}: they changed their meaning"
        return f"the base rate of {name} cannot be told from its scores"

    def in_brief(self, k: int = NAMES_SHOWN) -> str:
        """Say in a few lines which base rates moved and which scores changed their meaning, naming k labels of each."""
        return "\n".join(self._lines(_checks.count(k, "k", 1)))

    def _parts(self, k: int) -> Iterator[str | Table]:
        """Sum up by verdict, then show the k labels whose rates moved most."""
        about = (
            f"base rates of {counted(self.table.size, 'label')} on {counted(self.n_samples, 'row')} without labels,"
            " if positives and negatives score as they did in the calibration, and rows are independent:"
        )
        yield "\n".join([about, *self._lines(NAMES_SHOWN)])
        rows = self.table[self._largest()[:k]]
        if not rows.size:
            return
        shown: dict[str, Any] = {
            name: rows[name] for name in ("name", "before", "estimate", "verdict")
        }
        shown["interval"] = [_interval(row["low"], row["high"]) for row in rows]
        columns = [
            Column("name", "label", is_words=True),
            Column("before", ("base rate", "before"), _percent),
            Column("estimate", "now", _percent),
            Column("interval", (in_percent(self.confidence), "interval")),
            Column("verdict", is_words=True),
        ]
        title = f"the {len(rows)} of {self.table.size:,} labels that moved most:"
        yield tabulate(shown, columns, title=title if len(rows) < self.table.size else "")

    def _lines(self, k: int) -> Iterator[str]:
        """Say how many labels have each verdict, naming k of those that moved or changed."""
        for verdict, meaning in _MEANINGS.items():
            names = self.table["name"][self.verdict == verdict]
            if names.size:
                is_named = verdict in (MOVED, EITHER, CHANGED)
                named = f" ({first_names(names, k)})" if is_named else ""
                yield f"{counted(names.size, 'label')}: {meaning}{named}"

    def _largest(self) -> npt.NDArray[np.intp]:
        """Order labels: those that can be told first, by how clearly they moved or changed."""
        worst = np.fmin(self.table["p_moved"], self.table["p_fit"])
        return np.lexsort((np.where(np.isnan(worst), 1.0, worst), self.verdict == UNKNOWN))


def checked_rates(rates: object, before: Floats, label_names: Sequence[str] | None) -> Floats:
    """Check the base rates that a calibrator is told, (n_labels,), in the order of its labels."""
    if isinstance(rates, BaseRates):
        if rates.rates.size != before.size:
            raise InputError(
                f"rates is about {counted(rates.rates.size, 'label')}, expected {before.size} as the calibrator is"
            )
        order = _checks.places(rates.label_names, label_names, "rates", "those of the calibrator")
        return rates.rates if order is None else rates.rates[order]
    if isinstance(rates, Mapping):
        after = before.copy()
        for name, rate in rates.items():
            place = _checks.place_of(name, label_names, before.size)
            after[place] = _checks.inside(rate, f"the base rate of {shown_name(name)}")
        return after
    values = _checks.numbers(rates, "rates").astype(np.float64)
    if values.shape != before.shape:
        raise InputError(f"rates has shape {values.shape}, expected {before.size} numbers")
    bad = np.flatnonzero(~((values > 0) & (values < 1)))
    if bad.size:
        raise InputError(f"rates has {values[bad[0]]} at {bad[0]}, expected numbers inside (0, 1)")
    return values


def _percent(rate: float) -> str:
    """Write a rate."""
    return "unknown" if np.isnan(rate) else f"{100 * rate:.3g} %"


def _interval(low: float, high: float) -> str:
    """Write an interval of rates."""
    return f"{100 * low:.3g} to {100 * high:.3g} %"
