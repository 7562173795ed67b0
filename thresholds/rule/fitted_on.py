"""What a rule was fitted on, enough to notice scores of another kind, and what it reached on other rows."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds import _checks, devices
from thresholds._arrays.sparse import is_sparse
from thresholds._checks import InputError
from thresholds._version import __version__
from thresholds.results import Result, Table, counted, records_of
from thresholds.rule.base import in_brief
from thresholds.rule.saving import from_json, refuse_unknown, to_json

QUANTILES = (0.0, 0.01, 0.25, 0.5, 0.75, 0.99, 1.0)

# Enough to see where scores lie; reading more would cost as much as predicting.
_SAMPLE_CELLS = 65_536

_MOST = 0.5  # of the scores outside the range, above which to warn
_ENOUGH_CELLS = 20  # With fewer scores, most may lie outside by chance.


class ScoreRangeWarning(UserWarning):
    """Issued when most scores lie outside the range of those a rule was fitted on."""


@dataclass(frozen=True, slots=True, repr=False)
class FittedOn:
    """The data of a fit, in brief."""

    n_samples: int
    positives: tuple[float, ...]  # weight of the positives of each label
    dtype: str  # of the scores
    quantiles: tuple[float, ...]  # of finite scores, at `QUANTILES`, from at most 65,536 cells
    version: str  # of this library

    def __post_init__(self) -> None:
        """Check what may come from a file."""
        _checks.count(self.n_samples, "n_samples", 1)
        for name in ("dtype", "version"):
            _checks.text(getattr(self, name), name)
        for name in ("positives", "quantiles"):
            for number in getattr(self, name):
                _checks.finite(number, name)
        if min(self.positives, default=0) < 0:
            raise InputError(f"positives has {min(self.positives)}, expected weights of at least 0")

    @classmethod
    def of(cls, scores: Any, missing: float, positives: npt.NDArray[Any]) -> "FittedOn":
        """Describe checked scores, wherever they are, and the weight of each label's positives."""
        cells = _sample(scores, missing)
        quantiles = np.quantile(cells, QUANTILES, method="lower") if cells.size else np.empty(0)
        return cls(
            n_samples=int(scores.shape[0]),
            positives=tuple(positives.tolist()),
            dtype=devices.dtype_name(scores),
            quantiles=tuple(quantiles.tolist()),
            version=__version__,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, in the form of `rule.schema.json`."""
        return asdict(self) | {"positives": list(self.positives), "quantiles": list(self.quantiles)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "FittedOn":
        """Build it from what `to_dict` gave."""
        refuse_unknown(values, (item.name for item in fields(cls)))
        return cls(
            n_samples=values["n_samples"],
            positives=tuple(_checks.a_list(values["positives"], "positives")),
            dtype=values["dtype"],
            quantiles=tuple(_checks.a_list(values["quantiles"], "quantiles")),
            version=values["version"],
        )

    def __repr__(self) -> str:
        """Return the fields in brief: of positives and quantiles the first few."""
        return in_brief(self)

    def share_outside(self, scores: Any, missing: float) -> float:
        """Return the share of scores, wherever they are, outside the range of the fit; 0 where too few tell."""
        cells = _sample(scores, missing)
        if not self.quantiles or cells.size < _ENOUGH_CELLS:
            return 0.0
        lowest = self.quantiles[0]
        highest = self.quantiles[-1]
        return float(np.mean((cells < lowest) | (cells > highest)))

    def out_of_range(self, outside: float) -> str | None:
        """Say that a share of the scores lies outside the range of the fit, if it is most of them."""
        if outside <= _MOST:
            return None
        return (
            f"{outside:.0%} of the scores lie outside [{self.quantiles[0]:g}, {self.quantiles[-1]:g}], where the rule"
            " was fitted: logits for probabilities need scipy.special.expit first, another model's scores a rule of"
            " their own"
        )


@dataclass(frozen=True, slots=True, repr=False)
class OddsByScore:
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
            values = getattr(self, name)
            if len(values) != len(self.at):
                raise InputError(
                    f"{name} of odds has {len(values)} values, expected {len(self.at)} as at has"
                )
            is_error = name.endswith("error")
            for number in values:
                if is_error and not _checks.real(number, name) >= 0:
                    raise InputError(f"{name} of odds has {number}, expected at least 0")
                if not is_error:
                    _checks.finite(number, name)

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
        away = x - np.array(self.at)
        log_odds = np.array(self.level) + np.array(self.slope) * away
        with np.errstate(invalid="ignore"):
            variance = np.array(self.level_error) ** 2 + (np.array(self.slope_error) * away) ** 2
        return log_odds, np.nan_to_num(variance, nan=np.inf, posinf=np.inf)

    def taken(self, places: npt.NDArray[Any]) -> "OddsByScore":
        """Return the curves of some labels, in that order."""
        lists = (tuple(getattr(self, name)[k] for k in places.tolist()) for name in _OF_LABELS)
        return OddsByScore(self.of_shares, *lists)


_OF_LABELS = tuple(item.name for item in fields(OddsByScore) if item.name != "of_shares")


@dataclass(frozen=True, repr=False)
class OutOfFold(Result):
    """The F-measure of `cross_fit`: of all decisions about rows that the deciding rule was not fitted on."""

    f: float  # of the rule's average and beta
    n_folds: int
    how: str  # where the folds come from
    random_state: int | None  # seed of the folds, None also for folds that were given

    def __post_init__(self) -> None:
        """Check what may come from a file."""
        seed = self.random_state
        if seed is not None:
            seed = _checks.count(seed, "random_state", 0)
        if _checks.text(self.how, "how") == "":
            raise InputError("how is '', expected where the folds come from")
        checked = {
            "f": _checks.share(self.f, "the f of out_of_fold"),
            "n_folds": _checks.count(self.n_folds, "n_folds", 1),
            "how": self.how,
            "random_state": seed,
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def _records(self) -> list[dict[str, Any]]:
        """Return the values, in one row."""
        return records_of([self])

    def _tables(self, _: int) -> Iterator[str | Table]:
        """Show the figure and the number of folds."""
        yield f"out of fold {self.f:.4f} ({counted(self.n_folds, 'fold')})"

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "OutOfFold":
        """Build it from what `to_dict` gave."""
        names = [item.name for item in fields(cls)]
        refuse_unknown(values, names)
        return cls(**{name: values[name] for name in names})


def _sample(scores: Any, missing: float) -> npt.NDArray[np.float64]:
    """Return at most 65,536 evenly spaced finite scores: of a sparse matrix stored ones, and once the absent ones'."""
    n_cells = scores.shape[0] * scores.shape[1]
    n_stored = scores.nnz if is_sparse(scores) else n_cells
    places = np.linspace(0, n_stored - 1, min(n_stored, _SAMPLE_CELLS)).astype(np.int64)
    if is_sparse(scores):
        cells = scores.data[places]
        if n_stored < n_cells:
            cells = np.append(cells, np.float64(missing))
    elif devices.namespace_on_device(scores) is None:
        cells = scores[np.divmod(places, scores.shape[1])]
    else:
        cells = devices.sample(scores, places)
    cells = cells.astype(np.float64)
    return cells[np.isfinite(cells)]  # type: ignore[no-any-return]
