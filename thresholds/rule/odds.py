"""How often labels are true by their scores, on the rows of a fit: this tells two fits what has changed."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds import _checks
from thresholds._arrays.types import Floats
from thresholds._checks import InputError
from thresholds._results.fields import of_labels, record, value
from thresholds._results.result import SavedResult
from thresholds._results.words import counted


def _errors(values: Any, name: str) -> Floats:
    """Check standard errors, one for each label; an infinite one knows nothing."""
    errors = _checks.reals(values, name)
    is_error = errors >= 0  # False for NaN
    if not is_error.all():
        found = errors[int(is_error.argmin())]
        raise InputError(f"{name} of odds has {found}, expected at least 0")
    return errors


@record
class OddsByScore(SavedResult):
    """How often each label is true at a score, on the rows of a fit: a logistic curve, and how well it is known.

        log odds of truth at x = level + slope (x - at),    its variance = level_error^2 + slope_error^2 (x - at)^2

    x is the score, or, with `of_shares`, the log odds of scores that all lie in [0, 1]. The numbers of the curves are
    (n_labels,). With the same curve from other rows it tells whether a threshold that has moved has a reason. Errors
    are standard errors; an infinite one knows nothing.
    """

    of_shares: bool = value(_checks.flag)
    at: Floats = of_labels(_checks.finites, form="cut")
    level: Floats = of_labels(_checks.finites, form="cut")
    slope: Floats = of_labels(_checks.finites, form="cut")
    level_error: Floats = of_labels(_errors, form="cut")
    slope_error: Floats = of_labels(_errors, form="cut")

    def abscissae(self, scores: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the x of scores, infinite at the ends of [0, 1] and beyond where it is their log odds."""
        if not self.of_shares:
            return scores
        shares = np.clip(scores, 0.0, 1.0)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(shares) - np.log1p(-shares))

    def read(self, x: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return the log odds of truth at one x (n_labels,) of each label, and their variances."""
        away = x - self.at
        log_odds = self.level + self.slope * away
        with np.errstate(invalid="ignore"):
            variance = self.level_error**2 + (self.slope_error * away) ** 2
        return log_odds, np.nan_to_num(variance, nan=np.inf, posinf=np.inf)

    def _sentences(self) -> Iterable[str]:
        """Say what is known."""
        x = "log odds of the scores" if self.of_shares else "scores"
        yield f"how often each of {counted(self.n_labels, 'label')} is true at a score: logistic curves of the {x}"
