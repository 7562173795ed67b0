"""Rules from probabilities alone, of rows that come in blocks: `fit_expected`.

Thresholds come from passes over bins (`expectation/bins.py`), whose sums are whole numbers. So the rule has the same
bits however rows are cut into blocks, in whatever order, and whoever reads them.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from thresholds import _checks
from thresholds._arrays.dtypes import key_dtype, rounded_up
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.threads import workers
from thresholds._arrays.types import Floats, Ints, Matrix
from thresholds._checks import AVERAGES, Average, InputError
from thresholds.chunks.candidates import exact_sum
from thresholds.chunks.passes import Map, Passes, Place, ScoresBar, WeightsOfBlock
from thresholds.chunks.sampling import Picked, Plan
from thresholds.chunks.sources import BlockSource, Rows, Shard, n_rows_of
from thresholds.data.counted import Kind, SomeRows, Unread
from thresholds.expectation import outcomes
from thresholds.expectation.bins import CutSearch, ProbabilityBins
from thresholds.files.source import Wanted
from thresholds.fitting.expected import fit_expected as fit_expected_in_memory
from thresholds.fitting.expected import rule_of_cuts
from thresholds.metrics.averages import average_of, f_score
from thresholds.metrics.counts import ConfusionCounts
from thresholds.rule import FittedOn, InstanceRule, ThresholdRule
from thresholds.rule.made_by import MadeBy
from thresholds.rule.watching.profile import ScoreProfile

_N_PASSES = 3  # as a rule


def fit_expected(
    source: object,
    average: Average = "macro",
    *,
    map: Map = map,
    beta: float = 1.0,
    zero_division: float = 0.0,
    label_names: object = None,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> ThresholdRule | InstanceRule:
    """Find the decisions that maximise the F-beta to expect, from probabilities that come in blocks, and no labels.

    The rule is that of `thresholds.fit_expected` on all rows at once, but for the rounding of its sums: see Notes.

    Parameters
    ----------
    source : where calibrated probabilities come from
        A matrix (n_samples, n_labels): NumPy's, a memory map, zarr's, dask's. A path of a file, a folder or a pattern
        of shards, or a list of paths. A function without arguments that returns an iterator of blocks, a new one each
        time it is called, or a list of such functions, or of functions that return one block.
        A block is a matrix of probabilities, or has `y_score` for them, as those of `chunks.fit` have: with
        `sample_weight`, and truth that is not looked at.
    average, beta, zero_division, label_names : as in `thresholds.fit_expected`
        `exact=True` and `per_label=False`, which need the probabilities of a label in order, are not known here.
    map : applies a function to tasks, and returns or yields the results, in any order, as in `chunks.fit`
    n_jobs : threads that read shards, with the built-in `map`
    progress : show a progress bar on stderr if it takes longer than a second

    Returns
    -------
    ThresholdRule, or with "samples" InstanceRule

    Raises
    ------
    InputError
        As `thresholds.fit_expected` and `chunks.fit`.

    Notes
    -----
    Sums: without weights they are exact, but for float32 probabilities below 2^-60 and float64 ones below 2^-32. With
    weights each cell is rounded, by 2^-54 of the largest weight times the largest probability of its bin at most. So
    sums do not depend on the order of rows. Those of `thresholds.fit_expected` are rounded in their order: thresholds
    of float64 may differ in their last two or three digits from its own, and the objective likewise. Thresholds of
    float32 and float16 are rounded up to these, and differ where the best cut lies within 1e-13 of one. A decision
    differs only of a probability that is the cut but for rounding, which changes nothing. Where floats add up without
    rounding (as probabilities of ten bits do), everything is the same, bit for bit.

    Passes: three as a rule, at most five of float32 and nine of float64; one more with weights, for the unit of their
    sums; two with "samples", three with weights.

    Memory, beside a block for each thread or worker: at most 16 MB of sums for up to 65,536 labels and 288 bytes a
    label beyond, for each thread or worker; some ten times that in the process that adds them up; and 8 bytes a row
    if rows have weights.

    References
    ----------
    As `thresholds.fit_expected`; Dinkelbach 1967 for the iteration.

    Examples
    --------
    >>> import numpy as np, thresholds
    >>> def blocks():
    ...     rng = np.random.default_rng(0)
    ...     for _ in range(10):
    ...         yield np.round(rng.random((100, 3)) ** 4, 3)
    >>> rule = thresholds.chunks.fit_expected(blocks)
    >>> in_memory = thresholds.fit_expected(np.concatenate(list(blocks())))
    >>> bool(np.allclose(rule.thresholds, in_memory.thresholds, rtol=1e-14))
    True
    """
    _checks.option(average, "average", AVERAGES)
    beta = _checks.beta(beta)
    zero_division = _checks.zero_division(zero_division)
    workers(n_jobs)  # Refuses what is no number of threads.
    names = None if label_names is None else _checks.names_of_labels(label_names)
    blocks = probabilities_in(source, names)
    names = blocks.label_names if names is None else names
    bar = ScoresBar("fitting", blocks.n_rows, _N_PASSES) if progress else None
    options = {
        "average": average,
        "beta": beta,
        "per_label": True,
        "zero_division": zero_division,
        "exact": False,
    }
    try:
        return _fit(Passes(blocks, map, n_jobs, bar), names, options)
    finally:
        if bar is not None:
            bar.close()


def _fit(
    passes: Passes, names: tuple[str, ...] | None, options: dict[str, Any]
) -> ThresholdRule | InstanceRule:
    """Fit in passes."""
    average, beta, zero_division = (options[name] for name in ("average", "beta", "zero_division"))

    # 1. Which rows there are. Unless they have weights, sums can be added up at once.
    found: _Found = passes.add_up(_Adding(names))
    kind = found.kind
    weights, units = found.weights_of_rows(passes)
    shape = (passes.n_rows, kind.n_labels)
    plan = Plan.of(*shape, passes.n_stored, weights * units.unit)
    adding = _Adding(names, units=units, plan=plan)

    # 2. Sums of bins, until they say where the best cuts lie; rows to keep are picked in the first of these passes.
    bins = ProbabilityBins.at_first(kind.n_labels, key_dtype(kind.dtype), float(weights.max()))
    search = CutSearch(bins, beta, pooled=average == "micro")
    by_row = None
    if average == "samples":  # There are no cuts, and positives are known after one pass.
        by_row = InstanceRule(beta, zero_division, kind.label_names)
        adding = replace(adding, by_row=by_row)
    if found.sums is not None:
        search.take(found.sums)
    wanted = None if by_row is not None and found.sums is not None else search.bins
    picked: Picked | None = None
    value = Fraction(0)
    while wanted is not None or picked is None:
        found = passes.add_up(replace(adding, bins=wanted))
        if found.sums is not None:
            search.take(found.sums)
        if picked is None:
            picked, value = found.picked, found.value
            adding = replace(adding, plan=None, by_row=None)
        wanted = None if by_row is not None else search.bins
    assert picked is not None, "the second pass has picked some"

    # 3. The rule, and what it keeps of its fit.
    total = float(weights.sum())
    counts = ConfusionCounts(search.sums, total, units.unit, range(kind.n_labels))
    some = picked.all(
        0.0, weighted=units.weighted, lacks_some=passes.n_stored < shape[0] * shape[1]
    )
    unread: Any = Unread(shape, kind.dtype, passes.n_stored)
    fitted_on = FittedOn.of(unread, 0.0, counts.positives, some_scores=some.cells)
    if by_row is not None:
        return replace(
            by_row,
            objective=float(value / exact_sum(weights)),
            fitted_on=fitted_on,
            made_by=MadeBy.of(fit_expected_in_memory, options),
            profile=ScoreProfile.of_sample(by_row, some.rows, n_rows=shape[0]),
        )
    return _rule_of(search.cuts, counts, kind, options, fitted_on, some)


def _rule_of(
    cuts: Floats,
    counts: ConfusionCounts,
    kind: Kind,
    options: dict[str, Any],
    fitted_on: FittedOn,
    some: SomeRows,
) -> ThresholdRule:
    """Return the rule of the best cuts."""
    if kind.dtype.kind == "f":
        cuts = rounded_up(cuts, kind.dtype).astype(np.float64)
    rule = rule_of_cuts(cuts, counts, options, kind.label_names, fitted_on)
    measure = f_score(options["beta"])
    objective = average_of(measure, counts, options["average"], options["zero_division"])
    predicted = None if some.weighted else counts.predicted
    profile = ScoreProfile.of_sample(
        rule, some.rows, n_rows=fitted_on.n_samples, predicted=predicted
    )
    return replace(rule, objective=float(objective), profile=profile)


class _Units(NamedTuple):
    """In what the weights of rows are counted."""

    unit: float = 1.0
    whole: bool = True
    weighted: bool = False  # whether any row weighs other than 1

    def of(self, weights: Floats) -> Floats:
        """Return weights as multiples of the unit, as `_checks.weights_of_rows` does for all rows at once."""
        multiples = weights / self.unit
        return np.maximum(np.rint(multiples), weights > 0) if self.whole else multiples


@dataclass(frozen=True)
class _Found:
    """What is found in some blocks."""

    kind: Kind
    sums: Ints | None  # of bins
    weights: Sequence[WeightsOfBlock] = ()
    picked: Picked | None = None
    value: Fraction = Fraction(0)  # of the decisions about rows, times their weights

    def __add__(self, other: "_Found") -> "_Found":
        """Add what is found in other blocks."""
        self.kind.refuse_other(other.kind, "a block")
        sums = None if self.sums is None or other.sums is None else self.sums + other.sums
        picked = self.picked
        if picked is not None and other.picked is not None:
            picked = picked + other.picked
        weights = [*self.weights, *other.weights]
        return _Found(self.kind, sums, weights, picked, self.value + other.value)

    @property
    def nbytes(self) -> int:
        """Grows where more is kept of more blocks."""
        return 1 + sum(weights.nbytes for *_, weights in self.weights)

    def weights_of_rows(self, passes: Passes) -> tuple[Floats, _Units]:
        """Return the weights of all rows, (n_samples,), in units, and these."""
        weights = passes.weights_of_rows(self.weights)
        if not self.weights:
            return weights, _Units()
        if not weights.any():
            raise InputError(
                "sample_weight is 0 for every row, expected at least one positive weight"
            )
        checked, unit = _checks.weights_of_rows(weights, weights.size)
        assert checked is not None, "weights are given"
        weighted = not np.all(weights == 1)
        return checked.astype(np.float64), _Units(unit, checked.dtype.kind == "i", weighted)


@dataclass(frozen=True)
class _Adding:
    """The work of a pass: add up bins, pick rows to keep, and decide about rows, as far as asked for.

    Without `units`, in the first pass, bins are those of the first pass over rows without weights.
    """

    label_names: tuple[str, ...] | None
    units: _Units | None = None
    bins: ProbabilityBins | None = None
    plan: Plan | None = None
    by_row: InstanceRule | None = None

    def __call__(self, rows: Rows, place: Place) -> _Found | None:
        """Look at a block."""
        if not n_rows_of(rows.y_score):
            return None
        given = _checks.aligned_rows(
            rows.sample_weight, "sample_weight", probabilities=rows.y_score
        )
        matrix, kind = self._checked(rows.y_score)
        n_rows = matrix.shape[0]
        weights = np.ones(n_rows) if given is None else _checks.sample_weights(given, n_rows)
        if self.units is None:
            if given is not None:
                return _Found(kind, None, [WeightsOfBlock(place.shard, place.in_shard, weights)])
            bins = ProbabilityBins.at_first(kind.n_labels, key_dtype(kind.dtype), 1.0)
            return _Found(kind, _sums(bins, matrix, weights))
        weights = self.units.of(weights)
        return _Found(
            kind,
            None if self.bins is None else _sums(self.bins, matrix, weights),
            (),
            None if self.plan is None else self.plan.picked(matrix, place),
            Fraction(0) if self.by_row is None else self._value(matrix, weights),
        )

    def _checked(self, probabilities: Any) -> tuple[Matrix, Kind]:
        """Check a block, and say of which kind it is."""
        probabilities, names = _checks.named(probabilities, "probabilities", self.label_names)
        matrix = _checks.probabilities(probabilities, label_names=names)
        _checks.one_name_each(names, matrix.shape[1])
        dtype = matrix.dtype.newbyteorder("=")
        return matrix, Kind(matrix.shape[1], dtype, is_sparse(matrix), 0.0, names, 1.0)

    def _value(self, matrix: Matrix, weights: Floats) -> Fraction:
        """Return what F to expect of the decisions about rows, times their weights, added up."""
        rule = self.by_row
        assert rule is not None, "rows are decided"
        decided = rule.decide(matrix, n_jobs=1)
        values = outcomes.expected_of_rows(
            matrix, decided, rule.beta, rule.zero_division, n_jobs=1, progress=False
        )
        return exact_sum(values * weights)


def _sums(bins: ProbabilityBins, matrix: Matrix, weights: Floats) -> Ints:
    """Return the sums of bins of a block."""
    sums = bins.empty()
    bins.add(matrix, weights, sums)
    return sums


def probabilities_in(source: object, label_names: tuple[str, ...] | None) -> BlockSource:
    """Find out what a source of probabilities is, whose blocks need no truth."""
    scores_alone = Wanted(label_names=label_names, with_truth=False)
    if isinstance(source, str | os.PathLike):
        return BlockSource.of_files([source], scores_alone)
    if isinstance(source, list | tuple) and len(source):
        if all(isinstance(part, str | os.PathLike) for part in source):
            return BlockSource.of_files(source, scores_alone)
        if all(callable(part) for part in source):
            return BlockSource([_Unlabelled(part) for part in source])
    if isinstance(source, Mapping):
        return BlockSource.of_arrays(_unlabelled(source))
    if hasattr(source, "shape"):
        return BlockSource.of_arrays(Rows(None, source))
    if callable(source):
        return BlockSource([_Unlabelled(source)])
    return BlockSource.of(source, label_names=label_names)


@dataclass(frozen=True)
class _Unlabelled:
    """A shard whose blocks need no truth."""

    shard: Shard

    def __call__(self) -> Any:
        """Return its blocks, or the only one."""
        given = self.shard()
        if isinstance(given, Mapping | tuple) or hasattr(given, "shape"):
            return _unlabelled(given)
        if hasattr(given, "__iter__"):
            return (_unlabelled(block) for block in given)
        return given


def _unlabelled(block: Any) -> Rows:
    """Read a block in any of its forms, probabilities alone among them."""
    if isinstance(block, Mapping):
        return Rows.of({"y_true": None, **block})
    return Rows.of(block) if isinstance(block, tuple) else Rows(None, block)
