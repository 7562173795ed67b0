"""Truth and scores gathered batch by batch, as training loops give them, and fitted as one."""

import os
from typing import Any, Unpack

import numpy as np

from thresholds import _checks
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Floats, Matrix
from thresholds._checks import Average, InputError
from thresholds._results.words import counted
from thresholds.fitting.by_name import fit
from thresholds.fitting.empirical import fit_empirical
from thresholds.fitting.options import DEFAULTS, FitArguments, FitOptions, with_fit_options
from thresholds.sources.growing import GrowingRows
from thresholds.sources.rows import Rows


class Accumulator:
    """Rows gathered batch by batch, from which thresholds are fitted as if all had come at once.

    Parameters
    ----------
    label_names : strings, one per label; None for those of the first batch, if it is a frame
    missing : score of the entries that a sparse `y_score` leaves out
    unknown : what stands for truth that is not known in the batches, as in `fit_empirical`: "nan", a number, as -1, or
        several of these
    spill :
        None (default): all rows are kept in memory.
        A folder: they are kept in temporary files there (a disk: /tmp is memory on some systems), from which `compute`
        and the arrays below are mapped. The files vanish with the accumulator.

    Attributes
    ----------
    y_true, y_score, sample_weight : all rows so far, read-only; for `cross_fit`, `diagnose`, `compare`
        `y_true`: uint8 (n_samples, n_labels), dense or CSR; with `unknown` int8, -1 where it is not known.
        `y_score`: same shape, in the dtype of the batches (bfloat16 as float32).
        `sample_weight`: float64 (n_samples,), or None if no batch had weights.
    unknown : -1 if the accumulator was told what stands for truth that is not known, else None; for the same functions
    label_names, missing, n_labels : `n_labels` is 0 before the first rows; `len()` is the number of rows
    nbytes : bytes of all rows

    Notes
    -----
    A cell takes the bytes of its score's dtype and one for its truth; a stored entry of a sparse matrix four more for
    its column. Rows are copied, so that buffers may be used again. To join them, for `compute` and the arrays, takes
    64 MiB more for a moment, and their time: once an epoch is better than once a batch.

    The rule is that of `fit_empirical` on all rows with the same options, bit for bit, however they were split. In
    another order of rows thresholds are the same, and so is the objective, but for rounding in the mean over rows
    ("samples") and in weights that are no whole numbers. Only `fitted_on.quantiles` and `profile` come from a sample.

    Pickles and copies hold all rows and share no later updates: ranks send theirs, one merges them. Not for several
    threads at once.

    Examples
    --------
    >>> import numpy as np, thresholds
    >>> rng = np.random.default_rng(0)
    >>> rows = thresholds.Accumulator()
    >>> for _ in range(10):
    ...     y_true = rng.random((32, 5)) < 0.2
    ...     rows.update(y_true, rng.normal(size=(32, 5)) + y_true)
    >>> other_rank = thresholds.Accumulator()
    >>> other_rank.update([[1, 0, 0, 0, 0]], [[0.9, 0.1, 0.3, 0.2, 0.4]])
    >>> rows.merge(other_rank)
    >>> rows
    Accumulator(321 rows, 5 labels, float64 scores)
    >>> rule = rows.compute("macro")
    >>> rule.objective == thresholds.fit_empirical(rows.y_true, rows.y_score, guard="auto").objective
    True
    """

    def __init__(
        self,
        *,
        label_names: object = None,
        missing: float = 0.0,
        unknown: object = None,
        spill: str | os.PathLike[str] | None = None,
    ) -> None:
        self._settings: dict[str, Any] = {
            "label_names": None if label_names is None else _checks.names_of_labels(label_names),
            "missing": missing,
            "unknown": unknown,
            "spill": _folder(spill),
        }
        self.reset()

    def update(self, y_true: object, y_score: object, sample_weight: object = None) -> None:
        """Append a batch of rows, or refuse all of it.

        Parameters
        ----------
        y_true, y_score : as in `fit_empirical`; all batches are dense or all sparse, in one dtype of scores
            Of no rows, a batch adds nothing.
        sample_weight : (n_samples,) non-negative; rows of batches without weights weigh 1

        Raises
        ------
        InputError
            As `fit_empirical`, and for a batch of another form than those before, or that the disk of `spill` has no
            room for. It says where the batch begins; nothing of the batch is kept.

        Examples
        --------
        >>> import thresholds
        >>> rows = thresholds.Accumulator(label_names=["cat", "dog"])
        >>> rows.update([[1, 0], [0, 1]], [[0.9, 0.2], [0.4, 0.7]])
        >>> rows.update([[1, 0]], [[0.8, float("nan")]])
        Traceback (most recent call last):
        ...
        thresholds.errors.InputError: y_score has NaN at row 0, label 'dog', expected real scores (in the batch\
 that begins at row 2)
        >>> len(rows)
        2
        """
        try:
            self._rows.add(Rows(y_true, y_score, sample_weight))
        except InputError as error:
            raise InputError(f"{error} (in the batch that begins at row {len(self)})") from None

    def merge(self, other: "Accumulator") -> None:
        """Append the rows of another accumulator; it stays as it is.

        Raises
        ------
        InputError
            If it has other labels, another dtype of scores, another `missing` or `unknown`; then nothing is appended.
        """
        if not isinstance(other, Accumulator):
            raise InputError(f"other is {_checks.shown(other)}, expected an Accumulator")
        if other is self:
            raise InputError(
                "other is this accumulator itself, expected another: its rows would count twice"
            )
        if not len(other):
            return
        if other.missing != self.missing:
            raise InputError(f"other has missing={other.missing}, expected {self.missing} as here")
        if other.unknown != self.unknown:
            raise InputError(f"other has unknown={other.unknown}, expected {self.unknown} as here")
        self._rows.append(other._rows.all())

    @with_fit_options(DEFAULTS)
    def compute(
        self,
        average: Average = "macro",
        *,
        rule: str | None = None,
        **options: Unpack[FitArguments],
    ) -> Any:
        """Fit thresholds, or another rule by its name, on all rows so far; more may follow.

        Parameters
        ----------
        average, and the options from `beta` on : as in `fit_empirical`; `guard` is "auto" by default, as in `cross_fit`
        rule : any rule by its name, as in `fit`, in place of an average, a guard and `per_label`

        Returns
        -------
        ThresholdRule, or the kind of rule that was asked for by name

        Raises
        ------
        InputError
            As `fit_empirical`, and without any rows.
        """
        about_rows: dict[str, Any] = {
            "sample_weight": self.sample_weight,
            "missing": self.missing,
            "unknown": self.unknown,
            "label_names": self.label_names,
        }
        # An average that is not the rule's is refused.
        checked = FitOptions(average=average, rule=rule, **options)
        if rule is None:
            options["guard"] = checked.guard
            return fit_empirical(self.y_true, self.y_score, average, **about_rows, **options)
        return fit(self.y_true, self.y_score, rule, **about_rows, **options)

    def reset(self) -> None:
        """Forget all rows, for the next epoch."""
        self._rows = GrowingRows(**self._settings)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._rows)

    def __repr__(self) -> str:
        """Return size and kind on one line."""
        if not len(self):
            return "Accumulator(no rows)"
        words = [
            counted(len(self), "row"),
            counted(self.n_labels, "label"),
            f"{self._rows.kind_of_scores} scores",
        ]
        if self.sample_weight is not None:
            words.append("weighted")
        if self._rows.spill is not None:
            words.append(f"spilled to {self._rows.spill!r}")
        return f"Accumulator({', '.join(words)})"

    @property
    def y_true(self) -> Matrix:
        """All truth so far, (n_samples, n_labels): uint8, or int8 with -1 where it may be not known."""
        return self._some().y_true

    @property
    def y_score(self) -> Matrix:
        """All scores so far, (n_samples, n_labels)."""
        return self._some().y_score

    @property
    def sample_weight(self) -> Floats | None:
        """All weights so far, (n_samples,), or None."""
        return self._rows.sample_weight

    @property
    def label_names(self) -> tuple[str, ...] | None:
        """Names of the labels, if they have names."""
        return self._rows.label_names

    @property
    def missing(self) -> float:
        """Score of the entries that a sparse `y_score` leaves out."""
        return self._rows.missing

    @property
    def unknown(self) -> int | None:
        """What `y_true` has where the truth is not known: -1, or None where all of it has to be known."""
        return self._rows.unknown

    @property
    def n_labels(self) -> int:
        """Number of labels, 0 before the first rows."""
        return self._rows.n_labels

    @property
    def nbytes(self) -> int:
        """Bytes of all rows, in memory or in files."""
        return self._rows.nbytes

    def _some(self) -> GrowingRows:
        """Return the rows, of which there have to be some."""
        if not len(self):
            raise InputError("the accumulator has no rows, expected update(y_true, y_score) before")
        return self._rows

    def __getstate__(self) -> dict[str, Any]:
        """Return what a pickle holds: rows, where they are spilled, too."""
        rows = self._rows.all() if len(self) else None
        if rows is not None:
            truth, scores = map(_in_memory, (rows.y_true, rows.y_score))
            rows = rows._replace(y_true=truth, y_score=scores)
        return {"settings": self._settings, "rows": rows}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Gather the rows of a pickle anew."""
        # Whoever reads it may have no such folder, as another machine: then rows are kept in memory.
        spill = state["settings"]["spill"]
        is_folder = spill is not None and os.path.isdir(spill)
        self._settings = {**state["settings"], "spill": spill if is_folder else None}
        self.reset()
        if state["rows"] is not None:
            self._rows.append(state["rows"])


def _in_memory(matrix: Matrix) -> Matrix:
    """Return a mapped file as a plain array, which a pickle holds whole."""
    return matrix if is_sparse(matrix) else np.asarray(matrix)


def _folder(spill: object) -> str | None:
    """Check the folder to spill to."""
    if spill is None:
        return None
    if not isinstance(spill, str | os.PathLike) or not os.path.isdir(spill):
        raise InputError(f"spill is {_checks.shown(spill)}, expected a folder that exists")
    return os.fsdecode(spill)
