"""What a rule was fitted on, in brief, and what it reached on other rows."""

from collections.abc import Iterable, Mapping
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from thresholds import _checks, _devices
from thresholds._arrays.dtypes import key_dtype
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Booleans, Dense, Floats, Ints, Numbers
from thresholds._checks import InputError
from thresholds._results.fields import of_labels, part, read_fields, record, value
from thresholds._results.result import SavedResult
from thresholds._results.words import counted
from thresholds._version import __version__

QUANTILES = (0.0, 0.01, 0.25, 0.5, 0.75, 0.99, 1.0)

# Enough to see where scores lie; reading more would cost as much as predicting.
SAMPLE_CELLS = 65_536

_size = partial(_checks.count, smallest=1)


def _weights(values: Any, name: str) -> Numbers:
    """Check weights of at least 0, one for each label; whole numbers stay whole."""
    found = _checks.finites(values, name)
    if (found < 0).any():
        raise InputError(f"{name} has {found.min():g}, expected weights of at least 0")
    return np.array(values)


def _seven_or_none(values: Any, name: str) -> Floats:
    """Check quantiles: one for each of `QUANTILES`, or none."""
    found = np.array(_checks.finites(values, name))
    if found.size not in (0, len(QUANTILES)):
        raise InputError(f"{name} has {found.size} values, expected {len(QUANTILES)}, or none")
    return found


@record
class FittedOn(SavedResult):
    """The data of a fit, in brief.

    Attributes
    ----------
    n_samples : rows
    positives : (n_labels,) weight of the positives of each label
    dtype : of the scores
    quantiles : of finite scores, at `QUANTILES`, from at most 65,536 cells; none without any
        Of a fit they are made of `scores`, a copy of these cells, when they are first read: to sort them takes as long
        as a small fit. A file has them, `known_quantiles`.
    version : of this library
    known : (n_labels,) weight of the rows in which the truth of each label was known; None where it was in all
    """

    n_samples: int = value(_size)
    positives: Numbers = of_labels(_weights)
    dtype: str = value(_checks.text)
    version: str = value(_checks.text)
    known: Numbers | None = of_labels(_weights, default=None, left_out=True)
    known_quantiles: Floats | None = value(
        _seven_or_none, default=None, saved=False, compare=False, repr=False
    )
    scores: Dense | None = value(default=None, saved=False, compare=False, repr=False)

    @cached_property
    def quantiles(self) -> Floats:
        """Quantiles of finite scores, at `QUANTILES`."""
        if self.known_quantiles is not None:
            return self.known_quantiles
        return _quantiles(np.empty(0) if self.scores is None else self.scores)

    def __eq__(self, other: object) -> bool:
        """Whether all values are equal, the quantiles too."""
        if not isinstance(other, FittedOn) or not super().__eq__(other):
            return False
        return np.array_equal(self.quantiles, other.quantiles)

    __hash__ = SavedResult.__hash__

    def __getstate__(self) -> dict[str, Any]:
        """Return the values to copy, or to pickle: quantiles, not the scores that they are of."""
        return vars(self) | {"known_quantiles": self.quantiles, "scores": None}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, in the form of `rule.schema.json`."""
        return super().to_dict() | {"quantiles": self.quantiles.tolist()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Build it from what `to_dict` gave."""
        found = read_fields(cls, values, also=["quantiles"])
        quantiles = _seven_or_none(_checks.a_list(values["quantiles"], "quantiles"), "quantiles")
        return cls(**found, known_quantiles=quantiles)

    @classmethod
    def from_scores(
        cls,
        scores: Any,
        missing: float,
        positives: Any,
        known: npt.NDArray[Any] | None = None,
        *,
        some_scores: Dense | None = None,
    ) -> Self:
        """Describe checked scores, wherever they are, and the weights of each label's positives and known rows.

        Of scores that cannot be read some are given, (n_cells,).
        """
        cells = some_scores
        if cells is None:
            cells = sampled_cells(scores, missing)
            # Nobody else has these cells; a record copies what others may write to.
            cells.flags.writeable = False
        return cls(
            n_samples=int(scores.shape[0]),
            positives=positives,
            dtype=_devices.dtype_name(scores),
            version=__version__,
            known=known,
            scores=cells,
        )

    @property
    def base_rates(self) -> Floats:
        """The share of positives of each label, (n_labels,), of the rows in which it is known; 0 without any."""
        rows = np.full(self.n_labels, self.n_samples) if self.known is None else self.known
        return np.asarray(self.positives / np.where(np.equal(rows, 0), 1, rows))

    def _sentences(self) -> Iterable[str]:
        """Sum up."""
        figures = f"{self.n_samples:,} rows, {counted(self.n_labels, 'label')}"
        scores = f"{self.dtype} scores"
        if self.quantiles.size:
            low, high = self.quantiles[0], self.quantiles[-1]
            median = self.quantiles[QUANTILES.index(0.5)]
            scores += f" from {low:.4g} to {high:.4g}, median {median:.4g}"
        yield f"{figures}, {scores}; by version {self.version}"


@record
class LabelCounts(SavedResult):
    """Decisions about rows, counted label by label: numbers of rows, or sums of their weights.

    Attributes
    ----------
    n_samples : rows that were decided about
    tp, predicted, positives : (n_labels,)
    """

    n_samples: float = value(_checks.positive)
    tp: Numbers = of_labels(_weights)
    predicted: Numbers = of_labels(_weights)
    positives: Numbers = of_labels(_weights)

    def _check(self) -> None:
        """Refuse more than there are rows, and more true positives than predictions or positives."""
        super()._check()
        for name in ("tp", "predicted", "positives"):
            counts = getattr(self, name)
            for j in _first(counts > self.n_samples):
                raise InputError(
                    f"{name} has {counts[j]:g}, expected counts from 0 to {self.n_samples:g}"
                )
        for j in _first(self.tp > np.minimum(self.predicted, self.positives)):
            raise InputError(
                f"tp has {self.tp[j]:g} with predicted {self.predicted[j]:g} and positives"
                f" {self.positives[j]:g}, expected no more than these"
            )

    @classmethod
    def from_counts(cls, n_samples: float, counts: Any) -> Self:
        """Keep `ConfusionCounts` of the labels, in the weights of the rows."""
        return cls(n_samples, counts.tp, counts.predicted, counts.positives)

    def _sentences(self) -> Iterable[str]:
        """Sum up over the labels."""
        sums = (self.tp.sum(), self.predicted.sum(), self.positives.sum())
        tp, predicted, positives = (f"{each:,.10g}" for each in sums)
        yield (
            f"decisions about {self.n_samples:,g} rows, {counted(self.n_labels, 'label')}:"
            f" {tp} true positives, {predicted} predicted, {positives} positives"
        )


def _seed(number: Any, name: str) -> int | None:
    """Check the seed of folds, None for folds that were given."""
    return None if number is None else _checks.count(number, name, 0)


def _where_from(text: Any, name: str) -> str:
    """Check that it is said where folds come from."""
    if _checks.text(text, name) == "":
        raise InputError(f"{name} is '', expected where the folds come from")
    return str(text)


@record
class OutOfFold(SavedResult):
    """The F-measure of `cross_fit`: of all decisions about rows that the deciding rule was not fitted on.

    Attributes
    ----------
    f : of the rule's average and beta
    n_folds : how many
    how : where the folds come from
    random_state : seed of the folds, None also for folds that were given
    by_label : LabelCounts of the same decisions; None in files of older versions
    """

    f: float = value(lambda f, _: _checks.share(f, "the f of out_of_fold"))
    n_folds: int = value(_size)
    how: str = value(_where_from)
    random_state: int | None = value(_seed)
    by_label: LabelCounts | None = part(LabelCounts.from_dict, default=None, later=True)

    def _rows(self) -> list[dict[str, Any]]:
        """Return the values that are not of a label, in one row."""
        names = ("f", "n_folds", "how", "random_state")
        return [{name: getattr(self, name) for name in names}]

    def _sentences(self) -> Iterable[str]:
        """Give the figure and the number of folds."""
        yield f"out of fold {self.f:.4f} ({counted(self.n_folds, 'fold')})"


def _first(where: Booleans) -> Ints:
    """Return the first place at which something is so, in an array that is empty without one."""
    return np.flatnonzero(where)[:1]


def sampled_cells(scores: Any, missing: float) -> Dense:
    """Copy at most 65,536 evenly spaced scores: of a sparse matrix stored ones, and once the absent ones'.

    They are float32 or float64, as holds them exactly.
    """
    n_cells = scores.shape[0] * scores.shape[1]
    if isinstance(scores, np.ndarray) and n_cells <= SAMPLE_CELLS:
        return np.asarray(scores.astype(key_dtype(scores.dtype)).reshape(-1))
    n_stored = scores.nnz if is_sparse(scores) else n_cells
    places = np.linspace(0, n_stored - 1, min(n_stored, SAMPLE_CELLS)).astype(np.int64)
    if is_sparse(scores):
        cells = scores.data[places]
        if n_stored < n_cells:
            cells = np.append(cells, np.float64(missing))
    elif _devices.namespace_on_device(scores) is not None:
        cells = _devices.sample(scores, places)
    elif isinstance(scores, np.ndarray) and scores.flags.c_contiguous:
        cells = scores.reshape(-1).take(places)  # .6 ms less than to divide
    else:
        cells = scores[np.divmod(places, scores.shape[1])]
    return np.asarray(cells.astype(key_dtype(cells.dtype), copy=False))


def _quantiles(cells: Dense) -> Floats:
    """Return the quantiles of the finite ones of some scores, none without any."""
    cells = finite_cells(cells)
    # NumPy sorts in less time than it looks for seven quantiles, and float32 faster than float64. Which 0 it finds,
    # -0 or 0, is chance: both are 0.
    at = np.multiply(QUANTILES, cells.size - 1).astype(np.int64) if cells.size else []
    return np.asarray(np.sort(cells)[at].astype(np.float64) + 0.0)


def finite_cells(cells: Dense) -> Dense:
    """Return the cells that are not masked."""
    return cells[np.isfinite(cells)]
