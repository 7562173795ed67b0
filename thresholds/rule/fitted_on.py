"""What a rule was fitted on, enough to notice scores of another kind, and what it reached on other rows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds import _checks, devices
from thresholds._arrays.dtypes import key_dtype
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Booleans, Dense, Ints
from thresholds._checks import InputError
from thresholds._version import __version__
from thresholds.results import (
    Later,
    Result,
    Shown,
    Table,
    as_given,
    counted,
    made_when_read,
    records_of,
    tuples_when_read,
)

QUANTILES = (0.0, 0.01, 0.25, 0.5, 0.75, 0.99, 1.0)

# Enough to see where scores lie; reading more would cost as much as predicting.
SAMPLE_CELLS = 65_536


@made_when_read("quantiles")
@tuples_when_read("positives")
@dataclass(frozen=True, repr=False)
class FittedOn(Shown):
    """The data of a fit, in brief."""

    n_samples: int
    positives: tuple[float, ...]  # weight of the positives of each label
    dtype: str  # of the scores
    quantiles: tuple[float, ...]  # of finite scores, at `QUANTILES`, from at most 65,536 cells
    version: str  # of this library
    # Weight of the rows in which the truth of each label was known; None where it was in all.
    known: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        """Check what may come from a file."""
        _checks.count(self.n_samples, "n_samples", 1)
        for name in ("dtype", "version"):
            _checks.text(getattr(self, name), name)
        quantiles = as_given(self, "quantiles")
        if not isinstance(quantiles, Later):
            _checks.finites(quantiles, "quantiles")
            if len(quantiles) not in (0, len(QUANTILES)):
                raise InputError(
                    f"quantiles has {len(quantiles)} values, expected {len(QUANTILES)}, or none"
                )
        for name in ("positives", "known"):
            weights = as_given(self, name)
            if weights is not None and (_checks.finites(weights, name) < 0).any():
                raise InputError(f"{name} has {min(weights)}, expected weights of at least 0")
        if self.known is not None and len(self.known) != self.n_labels:
            raise InputError(
                f"known has {len(self.known)} values, expected {self.n_labels} as positives has"
            )

    def __getstate__(self) -> dict[str, Any]:
        """Return the values to copy or to pickle: quantiles, not the scores that they are of."""
        return self.__dict__ | {"quantiles": self.quantiles}

    @classmethod
    def of(
        cls,
        scores: Any,
        missing: float,
        positives: Any,
        known: npt.NDArray[Any] | None = None,
        *,
        some_scores: Dense | None = None,
    ) -> "FittedOn":
        """Describe checked scores, wherever they are, and the weights of each label's positives and known rows.

        Quantiles are of a copy of some scores, kept until they are read. Of scores that cannot be read some are given;
        of others a copy may be, that is kept anyway: (n_samples, n_labels) all of them.
        """
        copied = sampled_cells(scores, missing) if some_scores is None else some_scores
        quantiles: Any = _quantiles_later(copied, missing)
        return cls(
            n_samples=int(scores.shape[0]),
            positives=positives,
            dtype=devices.dtype_name(scores),
            quantiles=quantiles,
            version=__version__,
            known=None if known is None else tuple(known.tolist()),
        )

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(as_given(self, "positives"))

    @property
    def base_rates(self) -> npt.NDArray[np.float64]:
        """The share of positives of each label, (n_labels,), of the rows in which it is known; 0 without any."""
        rows = np.full(self.n_labels, self.n_samples) if self.known is None else self.known
        return np.asarray(as_given(self, "positives")) / np.where(np.equal(rows, 0), 1, rows)

    def taken(self, places: Ints) -> "FittedOn":
        """Return the same of some labels, in that order."""
        at = places.tolist()
        known = None if self.known is None else tuple(self.known[k] for k in at)
        return replace(self, positives=tuple(self.positives[k] for k in at), known=known)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, in the form of `rule.schema.json`."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        lists = ("positives", "quantiles", "known")
        values |= {name: list(values[name]) for name in lists if values[name] is not None}
        if self.known is None:
            del values["known"]
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "FittedOn":
        """Build it from what `to_dict` gave."""
        _checks.refuse_unknown(values, (item.name for item in fields(cls)))
        return cls(
            n_samples=values["n_samples"],
            positives=tuple(_checks.a_list(values["positives"], "positives")),
            dtype=values["dtype"],
            quantiles=tuple(_checks.a_list(values["quantiles"], "quantiles")),
            version=values["version"],
            known=tuple(_checks.a_list(values["known"], "known")) if "known" in values else None,
        )

    def _records(self) -> dict[str, Any]:
        """Return the positives, one row a label."""
        return {"n_positives": self.positives}

    def _tables(self, _: int) -> Iterator[str | Table]:
        """Sum up."""
        figures = f"{self.n_samples:,} rows, {counted(self.n_labels, 'label')}"
        scores = f"{self.dtype} scores"
        if self.quantiles:
            low, high = self.quantiles[0], self.quantiles[-1]
            median = self.quantiles[QUANTILES.index(0.5)]
            scores += f" from {low:.4g} to {high:.4g}, median {median:.4g}"
        yield f"{figures}, {scores}; by version {self.version}"


@tuples_when_read("tp", "predicted", "positives")
@dataclass(frozen=True, repr=False)
class LabelCounts(Shown):
    """Decisions about rows, counted label by label: numbers of rows, or sums of their weights."""

    n_samples: float  # rows that were decided about
    tp: tuple[float, ...]  # one a label, as the two others
    predicted: tuple[float, ...]
    positives: tuple[float, ...]

    def __post_init__(self) -> None:
        """Check what may come from a file."""
        most = _checks.positive(self.n_samples, "n_samples")
        counted = {}
        for name in ("tp", "predicted", "positives"):
            counts = as_given(self, name)
            if len(counts) != self.n_labels:
                raise InputError(f"{name} has {len(counts)} values, expected {self.n_labels}")
            counted[name] = _checks.finites(counts, name)  # (n_labels,)
            for j in _first((counted[name] < 0) | (counted[name] > most)):
                raise InputError(f"{name} has {counts[j]}, expected counts from 0 to {most:g}")
        for j in _first(counted["tp"] > np.minimum(counted["predicted"], counted["positives"])):
            raise InputError(
                f"tp has {self.tp[j]} with predicted {self.predicted[j]} and positives"
                f" {self.positives[j]}, expected no more than these"
            )

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(as_given(self, "tp"))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, in the form of `rule.schema.json`."""
        counts = {name: list(getattr(self, name)) for name in ("tp", "predicted", "positives")}
        return {"n_samples": self.n_samples, **counts}

    @classmethod
    def of(cls, n_samples: float, counts: Any) -> "LabelCounts":
        """Keep `ConfusionCounts` of the labels, in the weights of the rows."""
        return cls(n_samples, counts.tp, counts.predicted, counts.positives)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "LabelCounts":
        """Build it from what `to_dict` gave."""
        _checks.refuse_unknown(values, (item.name for item in fields(cls)))
        names = ("tp", "predicted", "positives")
        counts = {name: tuple(_checks.a_list(values[name], name)) for name in names}
        return cls(n_samples=values["n_samples"], **counts)

    def taken(self, places: Ints) -> "LabelCounts":
        """Return the counts of some labels, in that order."""
        at = places.tolist()
        return LabelCounts(
            n_samples=self.n_samples,
            tp=tuple(self.tp[k] for k in at),
            predicted=tuple(self.predicted[k] for k in at),
            positives=tuple(self.positives[k] for k in at),
        )

    def _records(self) -> dict[str, Any]:
        """Return the counts, one row a label."""
        return {"tp": self.tp, "predicted": self.predicted, "positives": self.positives}

    def _tables(self, _: int) -> Iterator[str | Table]:
        """Sum up over the labels."""
        tp, predicted, positives = (
            sum(counts) for counts in (self.tp, self.predicted, self.positives)
        )
        yield (
            f"decisions about {self.n_samples:,g} rows, {counted(self.n_labels, 'label')}:"
            f" {tp:,.10g} true positives, {predicted:,.10g} predicted, {positives:,.10g} positives"
        )


@dataclass(frozen=True, repr=False)
class OutOfFold(Result):
    """The F-measure of `cross_fit`: of all decisions about rows that the deciding rule was not fitted on."""

    f: float  # of the rule's average and beta
    n_folds: int
    how: str  # where the folds come from
    random_state: int | None  # seed of the folds, None also for folds that were given
    by_label: LabelCounts | None = None  # of the same decisions; None in files of older versions

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

    def taken(self, places: Ints) -> "OutOfFold":
        """Return the same with some labels, in that order."""
        by_label = None if self.by_label is None else self.by_label.taken(places)
        return replace(self, by_label=by_label)

    def _records(self) -> list[dict[str, Any]]:
        """Return the values that are not of a label, in one row."""
        (values,) = records_of([self])
        del values["by_label"]
        return [values]

    def _tables(self, _: int) -> Iterator[str | Table]:
        """Show the figure and the number of folds."""
        yield f"out of fold {self.f:.4f} ({counted(self.n_folds, 'fold')})"

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "OutOfFold":
        """Build it from what `to_dict` gave."""
        names = ("f", "n_folds", "how", "random_state")
        _checks.refuse_unknown(values, (*names, "by_label"))
        by_label = values.get("by_label")
        return cls(
            **{name: values[name] for name in names},
            by_label=None if by_label is None else LabelCounts.from_dict(by_label),
        )


def _first(where: Booleans) -> Ints:
    """Return the first place at which something is so, in an array that is empty without one."""
    return np.flatnonzero(where)[:1]


def _places_of_sample(n_stored: int) -> Ints:
    """Return which of so many scores describe them: at most 65,536, evenly spaced, from the first to the last."""
    return np.linspace(0, n_stored - 1, min(n_stored, SAMPLE_CELLS)).astype(np.int64)


def sampled_cells(scores: Any, missing: float) -> Dense:
    """Copy at most 65,536 evenly spaced scores: of a sparse matrix stored ones, and once the absent ones'.

    They are float32 or float64, as holds them exactly.
    """
    n_cells = scores.shape[0] * scores.shape[1]
    if isinstance(scores, np.ndarray) and n_cells <= SAMPLE_CELLS:
        return np.asarray(scores.astype(key_dtype(scores.dtype)).reshape(-1))
    n_stored = scores.nnz if is_sparse(scores) else n_cells
    places = _places_of_sample(n_stored)
    if is_sparse(scores):
        cells = scores.data[places]
        if n_stored < n_cells:
            cells = np.append(cells, np.float64(missing))
    elif devices.namespace_on_device(scores) is not None:
        cells = devices.sample(scores, places)
    elif isinstance(scores, np.ndarray) and scores.flags.c_contiguous:
        cells = scores.reshape(-1).take(places)  # .6 ms less than to divide
    else:
        cells = scores[np.divmod(places, scores.shape[1])]
    return np.asarray(cells.astype(key_dtype(cells.dtype), copy=False))


def _quantiles_later(copied: Dense, missing: float) -> Later:
    """Return how to make quantiles of a sample of scores, (n_cells,), or of all (n_samples, n_labels)."""
    return Later(
        lambda _: _quantiles(copied if copied.ndim == 1 else sampled_cells(copied, missing))
    )


def _quantiles(cells: Dense) -> tuple[float, ...]:
    """Return the quantiles of the finite ones of some scores, none without any."""
    cells = finite_cells(cells)
    # NumPy sorts in less time than it looks for seven quantiles, and float32 faster than float64. Which 0 it finds,
    # -0 or 0, is chance: both are 0.
    at = np.multiply(QUANTILES, cells.size - 1).astype(np.int64) if cells.size else []
    quantiles = np.sort(cells)[at].astype(np.float64) + 0.0
    return tuple(quantiles.tolist())


def finite_cells(cells: Dense) -> Dense:
    """Return the cells that are not masked."""
    return cells[np.isfinite(cells)]
