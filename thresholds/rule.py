"""Fitted rules: what turns scores into decisions, and what is saved and loaded. Needs NumPy alone.

A `ThresholdRule` predicts label j of an instance iff `score[j] >= threshold[j]`; a `TopKRule` predicts the k
highest scores of each row.
"""

import json
import math
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from thresholds import _checks, files
from thresholds._checks import Dense, InputError, Matrix, is_sparse

Floats = npt.NDArray[np.float64]

FORMAT_VERSION = 1
QUANTILES = (0.0, 0.01, 0.25, 0.5, 0.75, 0.99, 1.0)

_SAMPLE_CELLS = 65_536  # Enough to see where scores lie; reading more would cost as much as predicting.
_BLOCK_ROWS = 4096


class ScoreRangeWarning(UserWarning):
    """Raised as a warning when scores lie outside the range of those a rule was fitted on."""


@dataclass(frozen=True, slots=True)
class FittedOn:
    """What a rule was fitted on: enough to notice that new scores are of another kind."""

    n_samples: int
    positives: tuple[float, ...]  # weight of the positives of each label
    dtype: str
    quantiles: tuple[float, ...]  # of finite scores, at `QUANTILES`, from at most 65,536 cells
    version: str


class _Saved:
    """Saving a rule as JSON: exact, readable, and free of code."""

    def to_dict(self) -> dict[str, Any]:
        """Give the rule as plain values, in the form of `rule.schema.json`."""
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the rule as JSON; thresholds come back bit for bit. A file is replaced whole or not at all."""
        text = json.dumps(self.to_dict(), indent=1, allow_nan=False, ensure_ascii=False)
        files.write_atomically(path, lambda stream: stream.write((text + "\n").encode()))


@dataclass(frozen=True, eq=False)
class ThresholdRule(_Saved):
    """One threshold for each label: predict iff `score >= threshold`.

    Attributes
    ----------
    thresholds : float64 (n_labels,)
        `+inf` never predicts, `-inf` always does.
    label_names : tuple of str, or None
    average, beta, per_label, zero_division, placement :
        What was maximised and how, None for a rule that was not fitted.
    objective : float or None
        The F-measure reached on the data of the fit, exactly that of `predict` there; None if not fitted.
    unsupported : bool (n_labels,)
        Labels that had no positives.
    missing : float
        The score of an entry that a sparse matrix leaves out.
    guard : None
        The protection against over-fitting that was applied; None is the plain in-sample optimum.
    fitted_on : FittedOn or None
    """

    thresholds: Floats
    label_names: tuple[str, ...] | None = None
    average: str | None = None
    beta: float = 1.0
    objective: float | None = None
    unsupported: npt.NDArray[np.bool_] | None = None
    missing: float = 0.0
    guard: str | None = None
    per_label: bool = True
    zero_division: float = 0.0
    placement: str | None = None
    fitted_on: FittedOn | None = None
    _warned: list[bool] = field(default_factory=list, repr=False)

    kind: ClassVar[str] = "thresholds"

    def __post_init__(self) -> None:
        """Check and freeze the arrays."""
        thresholds = _checked_thresholds(self.thresholds)
        names = None if self.label_names is None else _checks.names_of_labels(self.label_names)
        if names is not None and len(names) != thresholds.size:
            raise InputError(f"label_names has {len(names)} names, expected {thresholds.size}, one for each label")
        unsupported = np.zeros(thresholds.size, np.bool_) if self.unsupported is None else self.unsupported
        unsupported = np.array(unsupported, np.bool_)
        if unsupported.shape != thresholds.shape:
            raise InputError(f"unsupported has shape {unsupported.shape}, expected {thresholds.shape}")
        thresholds.flags.writeable = unsupported.flags.writeable = False
        for name, value in (("thresholds", thresholds), ("label_names", names), ("unsupported", unsupported)):
            object.__setattr__(self, name, value)

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.thresholds.size)

    def predict(self, y_score: object, *, dense: bool = False) -> Any:
        """Decide: 1 iff `score >= threshold`.

        Parameters
        ----------
        y_score : (n_samples, n_labels) real scores, dense or scipy.sparse; 1-D for a rule of one label
            Entries that a sparse matrix leaves out have the score `missing`.
        dense : for sparse scores, give a dense array; needed where a threshold at or below `missing` makes
            (nearly) every cell of a label positive

        Returns
        -------
        uint8 array of the shape of `y_score`; CSR for sparse scores, with the positives stored

        Raises
        ------
        InputError
            For NaN, +inf, another number of labels, or sparse scores that would give a dense answer.

        Warns
        -----
        ScoreRangeWarning
            Once, when most scores lie outside the range of those the rule was fitted on.

        Examples
        --------
        >>> import thresholds
        >>> thresholds.ThresholdRule([0.5, 0.2]).predict([[0.5, 0.1], [0.4, 0.3]])
        array([[1, 0],
               [0, 1]], dtype=uint8)
        """
        scores = _checks.scores(y_score, label_names=self.label_names)
        if scores.shape[1] != self.n_labels:
            raise InputError(f"y_score has {scores.shape[1]} labels, expected {self.n_labels} as the rule has")
        self._warn_if_out_of_range(scores)
        cut = _rounded_up(self.thresholds, scores.dtype)
        if not is_sparse(scores):
            return _like((scores >= cut).view(np.uint8), y_score)
        filled = np.flatnonzero(self.thresholds <= self.missing)
        if filled.size and not dense:
            name = filled[0] if self.label_names is None else repr(self.label_names[filled[0]])
            raise InputError(
                f"y_score is sparse, and the threshold {self.thresholds[filled[0]]} of label {name} is not above"
                f" missing={self.missing}: nearly all cells would be positive; pass dense=True"
            )
        hits = scores.data >= cut[scores.indices]
        if dense:
            decided = np.tile((self.thresholds <= self.missing).astype(np.uint8), (scores.shape[0], 1))
            decided[_row_of_entries(scores), scores.indices] = hits
            return decided
        return _sparse_like(_positives_only(scores, hits), y_score)

    def replace(self, thresholds: Mapping[str | int, float]) -> "ThresholdRule":
        """Give a rule with some thresholds changed, by label name or position; its objective is unknown.

        Examples
        --------
        >>> import thresholds
        >>> rule = thresholds.ThresholdRule([0.5, 0.2], label_names=("cat", "dog"))
        >>> rule.replace({"dog": float("inf")}).thresholds
        array([0.5, inf])
        """
        changed = self.thresholds.copy()
        for label, threshold in thresholds.items():
            changed[self.index_of(label)] = _checks.real(threshold, f"the threshold of {label!r}")
        values = {name: getattr(self, name) for name in ThresholdRule.__dataclass_fields__ if name != "_warned"}
        return ThresholdRule(**values | {"thresholds": changed, "objective": None})

    def index_of(self, label: str | int) -> int:
        """Give the position of a label."""
        if isinstance(label, str):
            if self.label_names is None or label not in self.label_names:
                raise InputError(f"label {label!r} is unknown, expected one of {_some(self.label_names)}")
            return self.label_names.index(label)
        position = _checks.count(label, "label", 0)
        if position >= self.n_labels:
            raise InputError(f"label {position} is unknown, expected at most {self.n_labels - 1}")
        return position

    def to_dict(self) -> dict[str, Any]:
        """Give the rule as plain values, in the form of `rule.schema.json`."""
        assert self.unsupported is not None
        fitted = self.fitted_on
        return {
            "format": "thresholds.rule",
            "version": FORMAT_VERSION,
            "kind": self.kind,
            "thresholds": [_to_json(t) for t in self.thresholds.tolist()],
            "label_names": None if self.label_names is None else list(self.label_names),
            "average": self.average,
            "beta": self.beta,
            "per_label": self.per_label,
            "zero_division": self.zero_division,
            "placement": self.placement,
            "guard": self.guard,
            "objective": self.objective,
            "unsupported": np.flatnonzero(self.unsupported).tolist(),
            "missing": _to_json(self.missing),
            "fitted_on": None
            if fitted is None
            else {
                "n_samples": fitted.n_samples,
                "positives": list(fitted.positives),
                "dtype": fitted.dtype,
                "quantiles": list(fitted.quantiles),
                "version": fitted.version,
            },
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "ThresholdRule":
        """Build a rule from what `to_dict` gave."""
        fitted = values["fitted_on"]
        unsupported = np.zeros(len(values["thresholds"]), np.bool_)
        unsupported[values["unsupported"]] = True
        return ThresholdRule(
            thresholds=np.array([_from_json(t) for t in values["thresholds"]], np.float64),
            label_names=None if values["label_names"] is None else tuple(values["label_names"]),
            average=values["average"],
            beta=float(values["beta"]),
            objective=None if values["objective"] is None else float(values["objective"]),
            unsupported=unsupported,
            missing=_from_json(values["missing"]),
            guard=values["guard"],
            per_label=bool(values["per_label"]),
            zero_division=float(values["zero_division"]),
            placement=values["placement"],
            fitted_on=None
            if fitted is None
            else FittedOn(
                n_samples=int(fitted["n_samples"]),
                positives=tuple(fitted["positives"]),
                dtype=str(fitted["dtype"]),
                quantiles=tuple(fitted["quantiles"]),
                version=str(fitted["version"]),
            ),
        )

    def __str__(self) -> str:
        """Say what was maximised, what was reached, and that nothing guards it."""
        if self.average is None:
            return f"{type(self).__name__}: {self.n_labels} labels, thresholds given, not fitted"
        name = f"{self.average} F{self.beta:g}"
        shape = "one threshold for each of" if self.per_label else "one threshold for all"
        never = int(np.isposinf(self.thresholds).sum())
        reached = "objective unknown" if self.objective is None else f"objective {self.objective:.4f}"
        guard = "in-sample optimum, unguarded" if self.guard is None else f"guard {self.guard}"
        return f"{name}, {shape} {self.n_labels} labels ({never} never predicted): {reached} ({guard})"

    def _warn_if_out_of_range(self, scores: Matrix) -> None:
        """Warn once if most scores lie outside the range of the fit."""
        if self.fitted_on is None or not self.fitted_on.quantiles or self._warned:
            return
        lowest, highest = self.fitted_on.quantiles[0], self.fitted_on.quantiles[-1]
        cells = sample_of(scores)
        outside = float(np.mean((cells < lowest) | (cells > highest))) if cells.size else 0.0
        if outside > 0.5:
            self._warned.append(True)
            warnings.warn(
                f"{outside:.0%} of the scores lie outside [{lowest:g}, {highest:g}], where the rule was fitted:"
                " are these logits for probabilities, or another model's scores?",
                ScoreRangeWarning,
                stacklevel=3,
            )


class FixedRule(ThresholdRule):
    """The same threshold for every label, chosen by hand.

    Examples
    --------
    >>> import thresholds
    >>> thresholds.FixedRule(0.5, 2).predict([[0.5, 0.1]])
    array([[1, 0]], dtype=uint8)
    """

    def __init__(
        self, threshold: float, n_labels: int, *, label_names: Sequence[str] | None = None, missing: float = 0.0
    ) -> None:
        value = _checks.real(threshold, "threshold")
        super().__init__(
            np.full(_checks.count(n_labels, "n_labels", 1), value),
            label_names=None if label_names is None else _checks.names_of_labels(label_names),
            missing=_checks.missing(missing, np.dtype(np.float64)),
            per_label=False,
        )


@dataclass(frozen=True)
class TopKRule(_Saved):
    """Predict the k highest scores of each row; among equal scores, those of the first labels.

    Attributes
    ----------
    k : number of labels predicted in each row (all of them where there are fewer)
    missing : the score of an entry that a sparse matrix leaves out
    label_names, average, beta, zero_division, objective : as in `ThresholdRule`

    Examples
    --------
    >>> import thresholds
    >>> thresholds.TopKRule(1).predict([[0.5, 0.1], [0.4, 0.4]])
    array([[1, 0],
           [1, 0]], dtype=uint8)
    """

    k: int
    missing: float = 0.0
    label_names: tuple[str, ...] | None = None
    average: str | None = None
    beta: float = 1.0
    zero_division: float = 0.0
    objective: float | None = None

    kind: ClassVar[str] = "top_k"

    def __post_init__(self) -> None:
        """Check the number of labels."""
        object.__setattr__(self, "k", _checks.count(self.k, "k", 0))
        object.__setattr__(self, "missing", _checks.missing(self.missing, np.dtype(np.float64)))

    def predict(self, y_score: object) -> Any:
        """Decide; see the class. Shapes, dtypes and errors as in `ThresholdRule.predict`; CSR for sparse scores."""
        scores = _checks.scores(y_score, label_names=self.label_names)
        if self.label_names is not None and scores.shape[1] != len(self.label_names):
            raise InputError(f"y_score has {scores.shape[1]} labels, expected {len(self.label_names)}")
        k = min(self.k, scores.shape[1])
        if not is_sparse(scores):
            decided = np.zeros(scores.shape, np.uint8)
            for start in range(0, len(scores), _BLOCK_ROWS):
                block = scores[start : start + _BLOCK_ROWS]
                np.put_along_axis(decided[start : start + _BLOCK_ROWS], highest(block, k), 1, axis=1)
            return _like(decided, y_score)
        chosen = [
            np.sort(highest(_checks.filled(scores[start : start + _BLOCK_ROWS], self.missing), k))
            for start in range(0, scores.shape[0], _BLOCK_ROWS)
        ]
        columns = np.concatenate(chosen).reshape(-1)
        starts = np.arange(scores.shape[0] + 1) * k
        ones = np.ones(columns.size, np.uint8)
        return _sparse_like(type(scores)((ones, columns, starts), shape=scores.shape), y_score)

    def to_dict(self) -> dict[str, Any]:
        """Give the rule as plain values, in the form of `rule.schema.json`."""
        return {
            "format": "thresholds.rule",
            "version": FORMAT_VERSION,
            "kind": self.kind,
            "k": self.k,
            "missing": _to_json(self.missing),
            "label_names": None if self.label_names is None else list(self.label_names),
            "average": self.average,
            "beta": self.beta,
            "zero_division": self.zero_division,
            "objective": self.objective,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Build a rule from what `to_dict` gave."""
        return cls(
            k=values["k"],
            missing=_from_json(values["missing"]),
            label_names=None if values["label_names"] is None else tuple(values["label_names"]),
            average=values["average"],
            beta=float(values["beta"]),
            zero_division=float(values["zero_division"]),
            objective=None if values["objective"] is None else float(values["objective"]),
        )

    def __str__(self) -> str:
        """Say how many labels, and what was reached."""
        reached = "not fitted" if self.objective is None else f"{self.average} F{self.beta:g} {self.objective:.4f}"
        return f"the {self.k} highest scores of each row: {reached}"


Rule = ThresholdRule | TopKRule


def load_rule(path: str | os.PathLike[str]) -> Rule:
    """Read a rule that `save` wrote; needs NumPy alone.

    Raises
    ------
    InputError
        If the file is not such a rule: truncated, a pickle, of a newer format, or with impossible values.
    """
    try:
        values = json.loads(Path(path).read_bytes())
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(f"{path} is not a rule: {error}, expected the JSON of rule.save") from None
    if not isinstance(values, dict) or values.get("format") != "thresholds.rule":
        raise InputError(f"{path} is not a rule: expected a JSON object with format 'thresholds.rule'")
    if values.get("version") != FORMAT_VERSION:
        raise InputError(f"{path} has format version {values.get('version')!r}, expected {FORMAT_VERSION}")
    kinds: dict[str, Any] = {rule.kind: rule for rule in (ThresholdRule, TopKRule)}
    _checks.option(values.get("kind"), f"the kind of {path}", tuple(kinds))
    try:
        return kinds[values["kind"]].from_dict(values)  # type: ignore[no-any-return]
    except KeyError as error:
        raise InputError(f"{path} lacks {error}, expected the JSON of rule.save") from None
    except (TypeError, ValueError, IndexError) as error:
        raise InputError(f"{path} is not a rule: {error}") from None


def sample_of(scores: Matrix) -> Dense:
    """Give at most 65,536 evenly spaced finite scores (stored ones of a sparse matrix)."""
    if is_sparse(scores):
        cells = scores.data[:: max(1, scores.nnz // _SAMPLE_CELLS)]
    else:
        row_step = max(1, scores.size // _SAMPLE_CELLS)
        cells = scores[:: min(row_step, max(1, len(scores) // 64))].reshape(-1)
        cells = cells[:: max(1, cells.size // _SAMPLE_CELLS)]
    cells = cells[:_SAMPLE_CELLS].astype(np.float64)
    return cells[np.isfinite(cells)]  # type: ignore[no-any-return]


def highest(scores: Dense, k: int) -> npt.NDArray[np.intp]:
    """Give the columns of the k highest scores of each row; equal scores by column."""
    backwards = scores.shape[1] - 1 - np.argsort(scores[:, ::-1], axis=1, kind="stable")
    return np.asarray(backwards[:, ::-1][:, :k])


def _checked_thresholds(value: object) -> Floats:
    """Give thresholds as a new float64 vector without NaN."""
    thresholds = np.array(value, np.float64)
    if thresholds.ndim != 1 or thresholds.size == 0:
        raise InputError(f"thresholds has shape {thresholds.shape}, expected (n_labels,)")
    if np.isnan(thresholds).any():
        raise InputError(f"thresholds has NaN at label {int(np.isnan(thresholds).argmax())}, expected numbers")
    return thresholds + 0.0


def _rounded_up(thresholds: Floats, dtype: np.dtype[Any]) -> Dense:
    """Give thresholds in the dtype of the scores, rounded up: no score decides otherwise than in float64."""
    if dtype.kind != "f":
        return thresholds
    with np.errstate(over="ignore"):
        cut = thresholds.astype(dtype)
        return np.where(cut < thresholds, np.nextafter(cut, dtype.type(np.inf)), cut)


def _row_of_entries(array: Any) -> npt.NDArray[np.intp]:
    """Give the row of each stored entry of a CSR array."""
    return np.repeat(np.arange(array.shape[0]), np.diff(array.indptr))


def _positives_only(scores: Any, hits: npt.NDArray[np.bool_]) -> Any:
    """Give a CSR array of ones where `hits`."""
    starts = np.concatenate([[0], np.cumsum(hits)])[scores.indptr]
    columns = scores.indices[hits]
    return type(scores)((np.ones(columns.size, np.uint8), columns, starts), shape=scores.shape)


def _sparse_like(decided: Any, y_score: Any) -> Any:
    """Give a spmatrix for a spmatrix."""
    from scipy import sparse

    return sparse.csr_matrix(decided) if isinstance(y_score, sparse.spmatrix) else decided


def _like(decided: Dense, y_score: object) -> Dense:
    """Give one dimension for one dimension."""
    return decided[:, 0] if np.ndim(y_score) == 1 else decided  # type: ignore[arg-type]


def _to_json(value: float) -> float | str | None:
    """Write +inf as null (never) and -inf as a word: JSON has neither."""
    if math.isinf(value):
        return None if value > 0 else "-inf"
    return value


def _from_json(value: float | str | None) -> float:
    """Read what `_to_json` wrote."""
    if value is None:
        return math.inf
    if value == "-inf":
        return -math.inf
    return _checks.real(value, "a threshold")


def _some(names: tuple[str, ...] | None) -> str:
    """List a few label names."""
    if names is None:
        return "the positions, as the rule has no label names"
    return ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
