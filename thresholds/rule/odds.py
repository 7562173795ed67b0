"""How often labels are true by their scores, on the rows of a fit: this tells two fits what has changed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds import _checks
from thresholds._checks import InputError
from thresholds.results import Shown, Table, as_given, counted, tuples_when_read
from thresholds.rule.saving import from_json, refuse_unknown, to_json


@tuples_when_read("at", "level", "slope", "level_error", "slope_error")
@dataclass(frozen=True, repr=False)
class OddsByScore(Shown):
    """How often each label is true at a score, on the rows of a fit: a logistic curve, and how well it is known.

        log odds of truth at x = level + slope (x - at),    its variance = level_error^2 + slope_error^2 (x - at)^2

    x is the score, or the log odds of scores that all lie in [0, 1]. With the same curve from other rows it tells
    whether a threshold that has moved has a reason. Errors are standard errors; an infinite one knows nothing.
    """

    of_shares: bool  # whether x is the log odds of the scores
    at: tuple[float, ...]  # (n_labels,), as all others
    level: tuple[float, ...]
    slope: tuple[float, ...]
    level_error: tuple[float, ...]
    slope_error: tuple[float, ...]

    def __post_init__(self) -> None:
        """Check what may come from a file."""
        _checks.option(self.of_shares, "of_shares", (True, False))
        for name in _OF_LABELS:
            values = as_given(self, name)
            if len(values) != self.n_labels:
                raise InputError(
                    f"{name} of odds has {len(values)} values, expected {self.n_labels} as at has"
                )
            if not name.endswith("error"):
                _checks.finites(values, name)
                continue
            is_error = _checks.reals(values, name) >= 0  # (n_labels,); NaN is none
            if not is_error.all():
                found = values[int(is_error.argmin())]
                raise InputError(f"{name} of odds has {found}, expected at least 0")

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(as_given(self, "at"))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, in the form of `rule.schema.json`: an infinite error is null."""
        lists = {name: [to_json(value) for value in getattr(self, name)] for name in _OF_LABELS}
        return {"of_shares": self.of_shares, **lists}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "OddsByScore":
        """Build it from what `to_dict` gave."""
        refuse_unknown(values, ("of_shares", *_OF_LABELS))
        lists = {
            name: tuple(from_json(value) for value in _checks.a_list(values[name], name))
            for name in _OF_LABELS
        }
        return cls(of_shares=values["of_shares"], **lists)

    def abscissae(self, scores: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the x of scores, infinite at the ends of [0, 1] and beyond where it is their log odds."""
        if not self.of_shares:
            return scores
        shares = np.clip(scores, 0.0, 1.0)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(shares) - np.log1p(-shares))

    def read(self, x: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return the log odds of truth at one x (n_labels,) of each label, and their variances."""
        at, level, slope, level_error, slope_error = (
            np.array(as_given(self, name)) for name in _OF_LABELS
        )
        away = x - at
        log_odds = level + slope * away
        with np.errstate(invalid="ignore"):
            variance = level_error**2 + (slope_error * away) ** 2
        return log_odds, np.nan_to_num(variance, nan=np.inf, posinf=np.inf)

    def taken(self, places: npt.NDArray[Any]) -> "OddsByScore":
        """Return the curves of some labels, in that order."""
        lists = (tuple(getattr(self, name)[k] for k in places.tolist()) for name in _OF_LABELS)
        return OddsByScore(self.of_shares, *lists)

    def _records(self) -> dict[str, Any]:
        """Return the curves, one row a label."""
        return {name: getattr(self, name) for name in _OF_LABELS}

    def _tables(self, _: int) -> Iterator[str | Table]:
        """Say what is known."""
        x = "log odds of the scores" if self.of_shares else "scores"
        yield f"how often each of {counted(self.n_labels, 'label')} is true at a score: logistic curves of the {x}"


_OF_LABELS = tuple(item.name for item in fields(OddsByScore) if item.name != "of_shares")
