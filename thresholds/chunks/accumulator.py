"""Truth and scores gathered batch by batch, as training loops give them, and fitted as one.

What is kept are rows, or counts of them (`binned.py`). Counts need not be looked at again and again: batches wait until
they have as many cells as there are bins, so that every cell takes part in few sums.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, Unpack

import numpy as np

from thresholds import _checks
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Floats, Matrix
from thresholds._checks import Average, InputError
from thresholds._checks.unknown import unknown_value
from thresholds._engine.unknown import UNKNOWN, coded
from thresholds.chunks.binned import BinnedRows
from thresholds.chunks.blocks import block_of
from thresholds.data.growing import Form, Gathered, add_all
from thresholds.fitting.by_name import fit
from thresholds.fitting.empirical import fit_empirical
from thresholds.fitting.options import DEFAULTS, FitArguments, FitOptions, with_fit_options
from thresholds.results import counted

Keep = Literal["rows", "counts"]

_NO_ROWS = "the accumulator has no rows, expected update(y_true, y_score) before"
_USUAL_BINS = 4096
_MANY_CELLS = 2**22  # that may wait to be counted, whatever is counted already


class Accumulator:
    """Rows gathered batch by batch, from which thresholds are fitted as if all had come at once.

    Parameters
    ----------
    label_names : strings, one per label; None for those of the first batch, if it is a frame
    missing : score of the entries that a sparse `y_score` leaves out
    unknown : what stands for truth that is not known in the batches, as in `fit_empirical`: "nan", or a number, as -1
    spill :
        None (default): all rows are kept in memory.
        A folder: they are kept in temporary files there (a disk: /tmp is memory on some systems), from which `compute`
        and the arrays below are mapped. The files vanish with the accumulator.
    keep :
        None (default): "rows", or "counts" with `exact=False`.
        "rows": everything can be fitted, and judged out of fold.
        "counts": of each label, how many rows have each distinct score, and in how many of them the label is true.
        `compute` gives the same rule. That is little where scores have 16 bits (float16, bfloat16) or are rounded: at
        most 65,536 scores of a label, 1.5 MB; of raw float32 scores, more than the rows. For what counts can fit, see
        `Counts.fit`; there is no `rule=`, no "samples", no `cross_fit`. Weights are whole numbers.
    exact :
        False: counts in bins of neighbouring scores, at most `n_bins` of each label, in bounded memory however many
        rows come. The rule's thresholds lie between bins, its objective is exactly what it reaches on the rows, and
        `bound` says how much more any other could reach. Nothing is lost of a label that has no more scores than bins.
    n_bins : with `exact=False`, bins of each label at most, 4096 if None; 24 bytes each, 32 of float64 scores

    Attributes
    ----------
    y_true, y_score, sample_weight : all rows so far, read-only; for `cross_fit`, `diagnose`, `compare`
        Where counts are kept, there are none.
        `y_true`: uint8 (n_samples, n_labels), dense or CSR; with `unknown` int8, -1 where it is not known.
        `y_score`: same shape, in the dtype of the batches (bfloat16 as float32).
        `sample_weight`: float64 (n_samples,), or None if no batch had weights.
    unknown : -1 if the accumulator was told what stands for truth that is not known, else None; for the same functions
    label_names, missing, n_labels : `n_labels` is 0 before the first rows; `len()` is the number of rows
    nbytes : bytes of what is kept

    Notes
    -----
    A cell takes the bytes of its score's dtype and one for its truth; a stored entry of a sparse matrix four more for
    its column. Rows are copied, so that buffers may be used again. To join them, for `compute` and the arrays, takes
    64 MiB more for a moment, and their time: once an epoch is better than once a batch.

    The rule is that of `fit_empirical` on all rows, bit for bit, however they were split. In another order of rows
    thresholds are the same, and so is the objective, but for rounding in the mean over rows ("samples") and in weights
    that are no whole numbers. Only `fitted_on.quantiles` and `profile` come from a sample.

    Bins are those of docs/training_loops.md: all scores that agree in their leading bits, as many as leave few enough
    bins of the label. They do not depend on the order of rows, on batches, or on ranks. Counts take, beside the bins, a
    buffer of rows: 4 million cells, or as many as there are bins if these are more.

    Pickles and copies hold all that is kept and share no later updates: ranks send theirs, one merges them. Not for
    several threads at once.

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
    >>> rule = rows.compute("macro", guard="auto")
    >>> rule.objective == thresholds.fit_empirical(rows.y_true, rows.y_score, guard="auto").objective
    True

    In bounded memory:

    >>> binned = thresholds.Accumulator(exact=False, n_bins=64)
    >>> binned.update(rows.y_true, rows.y_score)
    >>> rule = binned.compute("macro")
    >>> bool(rule.objective <= rows.compute("macro").objective <= binned.bound("macro"))
    True
    """

    def __init__(
        self,
        *,
        label_names: object = None,
        missing: float = 0.0,
        unknown: object = None,
        spill: str | os.PathLike[str] | None = None,
        keep: Keep | None = None,
        exact: bool = True,
        n_bins: int | None = None,
    ) -> None:
        self._given_names = None if label_names is None else _checks.names_of_labels(label_names)
        self._missing = _checks.missing(missing, np.dtype(np.float64))
        self._stands_for_unknown = unknown_value(unknown)
        self._spill = _folder(spill)
        self._keep = _kept(keep, exact)
        self._most = _most_bins(exact, n_bins)
        if self._keep == "counts" and self._spill is not None:
            raise InputError(
                f"spill is {_checks.shown(spill)} where counts are kept, expected None: there are no rows to spill"
            )
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
            with self._refusing_a_full_disk():
                self._take(y_true, y_score, sample_weight)
        except InputError as error:
            raise InputError(f"{error} (in the batch that begins at row {len(self)})") from None

    def _take(self, y_true: Any, y_score: Any, sample_weight: Any) -> None:
        """Append a batch; where a fault of it lies, the caller says."""
        if _has_no_rows(y_true) and _has_no_rows(y_score):
            return
        aligned = _checks.aligned_rows(
            sample_weight, "sample_weight", y_score=y_score, y_true=y_true
        )
        batch = _checks.pair(
            y_true,
            y_score,
            self._label_names,
            unknown=self._stands_for_unknown,
            some_known=False,
        )
        weights = _checked_weights(aligned, batch.scores.shape[0])
        truth = batch.truth.astype(np.uint8)
        if self._stands_for_unknown is not None:
            truth = coded(batch.truth, batch.unknown)
        if self._keep == "counts":
            _refuse_fractions(weights)
        self._append(truth, batch.scores, batch.label_names, weights)

    @contextmanager
    def _refusing_a_full_disk(self) -> Iterator[None]:
        """Say where a disk is full, which a file without a name does not tell; rows that were there stay."""
        try:
            yield
        except OSError as error:
            if self._spill is None or error.filename is not None:
                raise
            raise InputError(
                f"spill is {self._spill!r}, which takes no more after {len(self):,} rows"
                f" ({error.strerror}), expected a folder on a larger disk, or None to keep rows in memory"
            ) from None

    def merge(self, other: "Accumulator") -> None:
        """Append the rows of another accumulator, or add its counts; it stays as it is.

        Raises
        ------
        InputError
            If it has other labels, another dtype of scores, another `missing` or `unknown`, or keeps counts of another
            kind than this one; then nothing is appended.
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
        if other._keep == "counts":
            self._merge_counts(other)
            return
        if self._keep == "counts":
            _refuse_fractions(other.sample_weight)
        with self._refusing_a_full_disk():
            self._append(other.y_true, other.y_score, other.label_names, other.sample_weight)

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
        average, and the options from `beta` on : as in `fit_empirical`, with its defaults
        rule : any rule by its name, as in `fit`, in place of an average, a guard and `per_label`

        Returns
        -------
        ThresholdRule, or the kind of rule that was asked for by name

        Raises
        ------
        InputError
            As `fit_empirical`, and without any rows.
        """
        if self._keep == "counts":
            if rule is not None:
                raise InputError(
                    f"rule is {_checks.shown(rule)} where counts are kept, expected None: rules by name need rows"
                )
            return self._all_counted().fit(FitOptions(average=average, **options), options)
        about_rows: dict[str, Any] = {
            "sample_weight": self.sample_weight,
            "missing": self.missing,
            "unknown": self.unknown,
            "label_names": self.label_names,
        }
        if rule is None:
            return fit_empirical(self.y_true, self.y_score, average, **about_rows, **options)
        # An average that is not the rule's is refused.
        FitOptions(average=average, rule=rule, **options)
        return fit(self.y_true, self.y_score, rule, **about_rows, **options)

    def bound(
        self,
        average: Average = "macro",
        *,
        beta: float = 1.0,
        zero_division: float = 0.0,
        keep_sparse: bool | None = None,
    ) -> float:
        """Return an F that no thresholds exceed on the rows so far.

        What `exact=False` may have cost is at most `bound(average) - rule.objective`; without bins it is nothing, as
        the bound is what `compute(average)` reaches.

        Parameters
        ----------
        average : "macro", "weighted" or "micro"
        beta, zero_division, keep_sparse : as in `compute`

        Returns
        -------
        F in [0, 1], of the best case: in each bin, all positives come first. Exact but for rounding, 1e-15.

        Raises
        ------
        InputError
            For another average, and without any rows.

        Examples
        --------
        >>> import numpy as np, thresholds
        >>> rng = np.random.default_rng(0)
        >>> rows = thresholds.Accumulator(exact=False, n_bins=256)
        >>> for _ in range(50):
        ...     y_true = rng.random((400, 5)) < 0.1
        ...     rows.update(y_true, rng.normal(size=(400, 5)) + 2 * y_true)
        >>> rule = rows.compute("macro")
        >>> print(f"{rule.objective:.4f}, and none reaches more than {rows.bound('macro'):.4f}")
        0.6210, and none reaches more than 0.6526
        """
        _checks.option(average, "average", ("macro", "weighted", "micro"))
        beta = _checks.beta(beta)
        zero_division = _checks.zero_division(zero_division)
        _checks.option(keep_sparse, "keep_sparse", (None, True, False))
        if self._keep == "counts":
            return self._all_counted().bound(average, beta, zero_division, keep_sparse)
        settings: FitArguments = {
            "beta": beta,
            "zero_division": zero_division,
            "keep_sparse": keep_sparse,
        }
        return float(self.compute(average, **settings).objective)

    def reset(self) -> None:
        """Forget all rows, for the next epoch."""
        self._label_names = self._given_names
        self._counted: BinnedRows | None = None
        self._begin()

    def _begin(self) -> None:
        """Begin to gather rows."""
        self._truth = Gathered("y_true", self._spill)
        self._scores = Gathered("y_score", self._spill)
        self._weights: Gathered | None = None

    def __len__(self) -> int:
        """Return the number of rows."""
        n_counted = 0 if self._counted is None else self._counted.totals.n_samples
        return n_counted + self._scores.n_rows

    def __repr__(self) -> str:
        """Return size and kind on one line."""
        if not len(self):
            return "Accumulator(no rows)"
        words = [
            counted(len(self), "row"),
            counted(self.n_labels, "label"),
            f"{self._kind_of_scores} scores",
        ]
        if self._is_weighted:
            words.append("weighted")
        if self._keep == "counts":
            bins = "" if self._most is None else f" in at most {counted(self._most, 'bin')} a label"
            words.append(f"as counts{bins}")
        if self._spill is not None:
            words.append(f"spilled to {self._spill!r}")
        return f"Accumulator({', '.join(words)})"

    @property
    def y_true(self) -> Matrix:
        """All truth so far, (n_samples, n_labels): uint8, or int8 with -1 where it may be not known."""
        return self._whole(self._truth)

    @property
    def y_score(self) -> Matrix:
        """All scores so far, (n_samples, n_labels)."""
        return self._whole(self._scores)

    @property
    def sample_weight(self) -> Floats | None:
        """All weights so far, (n_samples,), or None."""
        self._refuse_arrays()
        return None if self._weights is None else self._whole(self._weights)[:, 0]

    @property
    def label_names(self) -> tuple[str, ...] | None:
        """Names of the labels, if they have names."""
        return self._label_names

    @property
    def missing(self) -> float:
        """Score of the entries that a sparse `y_score` leaves out."""
        return self._missing

    @property
    def unknown(self) -> int | None:
        """What `y_true` has where the truth is not known: -1, or None where all of it has to be known."""
        return None if self._stands_for_unknown is None else UNKNOWN

    @property
    def n_labels(self) -> int:
        """Number of labels, 0 before the first rows."""
        return self._scores.n_labels if self._counted is None else self._counted.kind.n_labels

    @property
    def nbytes(self) -> int:
        """Bytes of the rows so far, or of what is kept of them, in memory or in files."""
        gathered = (self._truth, self._scores, self._weights)
        n_counted = 0 if self._counted is None else self._counted.bins.nbytes
        return n_counted + sum(rows.nbytes for rows in gathered if rows is not None)

    @property
    def _kind_of_scores(self) -> str:
        """Dtype of the scores, and whether they are sparse, in words."""
        return self._scores.kind if self._counted is None else self._counted.kind.form

    @property
    def _is_weighted(self) -> bool:
        """Whether any rows came with weights."""
        was_weighted = self._counted is not None and self._counted.totals.weighted
        return was_weighted or self._weights is not None

    def _append(
        self, truth: Matrix, scores: Matrix, names: tuple[str, ...] | None, weights: Floats | None
    ) -> None:
        """Append checked rows, all or none."""
        # Columns in the order of the rows before.
        known = self._label_names
        if names is not None and known is None and len(self):
            expected = "none, as the rows before came without: give label_names at the start"
            raise InputError(f"label_names are {_checks.shown(names)}, expected {expected}")
        order = _checks.places(names, known, "label_names", "those of the rows before", "")
        truth = _checks.in_order(truth, order)
        scores = _checks.in_order(scores, order)
        _checks.one_name_each(known, scores.shape[1])

        # Everything is checked before anything is added.
        _checks.missing(self._missing, scores.dtype)
        self._scores.check(scores)
        if self._counted is not None:
            kind = self._counted.kind
            Form(kind.n_labels, kind.dtype, kind.sparse).check("y_score", scores)
        additions = [(self._truth, truth), (self._scores, scores)]
        weights_before = self._weights_before(weights)
        if weights_before is not None:
            new_weights = np.ones(scores.shape[0]) if weights is None else weights
            additions.append((weights_before, new_weights[:, np.newaxis]))
        add_all(additions)
        self._label_names = known or names
        self._weights = weights_before
        if self._keep == "counts" and self._scores.n_stored >= self._most_waiting:
            self._count()

    @property
    def _most_waiting(self) -> int:
        """Number of cells that may wait to be counted: as many as there are bins, so that these are added up seldom."""
        n_bins = 0 if self._counted is None else self._counted.bins.weights.size
        return max(_MANY_CELLS, n_bins)

    def _count(self) -> None:
        """Count the rows that wait, and let go of them."""
        if not self._scores.n_rows:
            return
        weights = None if self._weights is None else self._weights.matrix()[:, 0]
        block, kind = block_of(
            self._truth.matrix(),
            self._scores.matrix(),
            sample_weight=weights,
            missing=self._missing,
            unknown=self.unknown,
            label_names=self._label_names,
        )
        found = BinnedRows.of(block, kind, self._most)
        self._counted = found if self._counted is None else self._counted + found
        self._begin()

    def _all_counted(self) -> BinnedRows:
        """Return the counts of all rows so far."""
        self._count()
        if self._counted is None:
            raise InputError(_NO_ROWS)
        return self._counted

    def _merge_counts(self, other: "Accumulator") -> None:
        """Add the counts of another accumulator."""
        if (self._keep, self._most) != (other._keep, other._most):
            raise InputError(
                f"other keeps {other._what_is_kept}, expected {self._what_is_kept} as here"
            )
        theirs = other._all_counted()
        known = self._label_names
        names = other.label_names
        if len(self):
            mine = self._all_counted()
            if names is not None and known is None:
                raise InputError(
                    f"other has label_names {_checks.shown(names)}, expected none as here: give them at the start"
                )
            order = _checks.places(names, known, "label_names", "those of the rows before", "")
            theirs = theirs.in_order(order, known)
            mine.kind.refuse_other(theirs.kind)
            theirs = mine + theirs
        else:
            _checks.one_name_each(known, theirs.kind.n_labels)
            order = _checks.places(names, known, "label_names", "those of the rows before", "")
            theirs = theirs.in_order(order, known or names)
        self._counted = theirs
        self._label_names = theirs.kind.label_names

    @property
    def _what_is_kept(self) -> str:
        """What is kept, in words."""
        if self._keep == "rows":
            return "rows"
        return "exact counts" if self._most is None else f"counts in at most {self._most:,} bins"

    def _weights_before(self, weights: Floats | None) -> Gathered | None:
        """Return the weights so far, if there are any with the new ones: rows that came without weigh 1."""
        if self._weights is not None or weights is None:
            return self._weights
        ones = Gathered("sample_weight")
        if self._scores.n_rows:
            ones.add(np.ones((self._scores.n_rows, 1)))
        return ones

    def _whole(self, rows: Gathered) -> Matrix:
        """Return all rows, read-only."""
        self._refuse_arrays()
        if not len(self):
            raise InputError(_NO_ROWS)
        matrix = rows.matrix()
        arrays = [matrix]
        if is_sparse(matrix):
            arrays = [matrix.data, matrix.indices, matrix.indptr]
        for array in arrays:
            array.flags.writeable = False
        return matrix

    def _refuse_arrays(self) -> None:
        """Refuse to give rows that were not kept."""
        if self._keep == "counts":
            raise InputError(
                "the accumulator keeps counts, and its rows are asked for, expected one with keep='rows'"
            )

    def __getstate__(self) -> dict[str, Any]:
        """Return what a pickle holds: rows, where they are spilled, too."""
        state: dict[str, Any] = {
            "names": self._given_names,
            "missing": self._missing,
            "unknown": self._stands_for_unknown,
            "spill": self._spill,
            "keep": self._keep,
            "most": self._most,
        }
        if self._keep == "counts":
            self._count()
            state["counted"] = self._counted, self._label_names
        elif len(self):
            truth = _in_memory(self.y_true)
            scores = _in_memory(self.y_score)
            state["rows"] = truth, scores, self._label_names, self.sample_weight
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Gather the rows of a pickle anew."""
        self._given_names = state["names"]
        self._missing = state["missing"]
        self._stands_for_unknown = state.get("unknown")  # which older pickles do not have
        self._spill = _folder(state["spill"])
        self._keep = state.get("keep", "rows")
        self._most = state.get("most")
        self.reset()
        if "counted" in state:
            self._counted, self._label_names = state["counted"]
        if "rows" in state:
            with self._refusing_a_full_disk():
                self._append(*state["rows"])


def _kept(keep: object, exact: object) -> Keep:
    """Check what is kept."""
    _checks.option(exact, "exact", (True, False))
    if keep is None:
        return "rows" if exact else "counts"
    checked: Keep = _checks.option(keep, "keep", ("rows", "counts"))
    if checked == "rows" and not exact:
        raise InputError(
            "keep is 'rows' with exact=False, expected 'counts' or None: of rows nothing is lost"
        )
    return checked


def _most_bins(exact: bool, n_bins: object) -> int | None:
    """Check how many bins a label may have; None for one of each distinct score."""
    if not exact:
        return _checks.count(_USUAL_BINS if n_bins is None else n_bins, "n_bins", 2)
    if n_bins is not None:
        raise InputError(f"n_bins is {_checks.shown(n_bins)} without exact=False, expected None")
    return None


def _refuse_fractions(weights: Floats | None) -> None:
    """Refuse weights that cannot be counted."""
    if weights is None:
        return
    fractions = np.flatnonzero(weights % 1 != 0)
    if fractions.size:
        row = int(fractions[0])
        raise InputError(
            f"sample_weight has {weights[row]} at row {row}, expected whole numbers where counts are kept"
        )


def _folder(spill: object) -> str | None:
    """Check the folder to spill to."""
    if spill is None:
        return None
    if not isinstance(spill, str | os.PathLike) or not os.path.isdir(spill):
        raise InputError(f"spill is {_checks.shown(spill)}, expected a folder that exists")
    return os.fsdecode(spill)


def _in_memory(matrix: Matrix) -> Matrix:
    """Return a mapped file as a plain array, which a pickle holds whole."""
    return matrix if is_sparse(matrix) else np.asarray(matrix)


def _has_no_rows(value: Any) -> bool:
    """Whether an array, a frame or a list is empty."""
    if hasattr(value, "shape"):
        return len(value.shape) > 0 and value.shape[0] == 0
    return hasattr(value, "__len__") and len(value) == 0


def _checked_weights(value: object, n_rows: int) -> Floats | None:
    """Check the weights of a batch, which may all be 0."""
    if value is None:
        return None
    _checks.weights_of_rows(value, n_rows, some=False)
    return _checks.plain(value, "sample_weight").astype(np.float64)
