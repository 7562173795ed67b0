"""Counts of blocks of rows, which are added and fitted: what a fit reads, without the rows."""

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Unpack

import numpy as np

from thresholds._arrays.types import Booleans, Floats, Ints, Keys
from thresholds._checks import Average, InputError, shown
from thresholds.chunks.blocks import block_of
from thresholds.chunks.candidates import Candidates, Seen, reads_steps_only
from thresholds.chunks.groups import tie_groups
from thresholds.data.counted import CountedProblem, Kind, Totals
from thresholds.data.problem import Items
from thresholds.data.tallies import LabelKeys, Opened, Tally, joined, tally_of, union_of_keys
from thresholds.data.tiles import map_tiles
from thresholds.fitting.empirical import fit_problem
from thresholds.fitting.options import DEFAULTS, FitArguments, FitOptions, with_fit_options
from thresholds.results import counted
from thresholds.rule import ThresholdRule
from thresholds.search.counting.runs import OpenRuns, open_runs, runs_with_positives

_TIE_GROUPS = "tie groups"
_MOST_UNITS = 2**62  # that all cells may weigh together


@dataclass(frozen=True, eq=False)
class Counts:
    """What weighs at which score of each label, added up over blocks of rows: all that a fit reads.

    Two forms, which are made by `Counts.of`:

    *Tie groups*, without `candidates`: for each distinct score of a label, the weight of its rows, and of those in
    which the label is true. One pass over the rows. Small where scores are rounded, integers or float16; of raw floats
    nearly as large as the scores.

    *Counts at candidates*: the same at each candidate, and for each *run* between two candidates (and below the first,
    and above the last) its weight and its highest score. With all scores of positives as candidates that is all a fit
    reads (docs/proofs.md). Two passes; 40 bytes for each candidate.

    Counts of the same candidates add up, in any order and any tree: weights by sum, highest scores by maximum.
    `fit` then gives the rule of `fit_empirical` on all rows, bit for bit.

    Attributes
    ----------
    n_samples, n_labels : numbers of rows counted, and of labels
    label_names : as given, or None
    dtype : of the scores
    missing : score of the entries that sparse scores leave out
    positives : float64 (n_labels,), weight of the rows in which each label is true
    nbytes : bytes of the counts

    Examples
    --------
    Tie groups, one pass:

    >>> import numpy as np, thresholds
    >>> rng = np.random.default_rng(0)
    >>> y_true = rng.random((1000, 3)) < 0.1
    >>> y_score = np.round(rng.normal(size=(1000, 3)) + y_true, 1)
    >>> blocks = [slice(0, 400), slice(400, 1000)]
    >>> counts = sum(thresholds.Counts.of(y_true[rows], y_score[rows]) for rows in blocks)
    >>> rule = counts.fit("macro")
    >>> bool((rule.thresholds == thresholds.fit_empirical(y_true, y_score).thresholds).all())
    True

    Candidates, then counts at them:

    >>> of = thresholds.Candidates.of
    >>> candidates = sum(of(y_true[rows], y_score[rows]) for rows in blocks)
    >>> of = thresholds.Counts.of
    >>> counts = sum(of(y_true[rows], y_score[rows], candidates) for rows in blocks)
    >>> counts.fit("macro").objective == rule.objective
    True
    """

    kind: Kind = field(repr=False)
    at: str = field(repr=False)  # of which candidates
    totals: Totals = field(repr=False)
    tally: Tally = field(repr=False)
    lowest: Keys = field(
        repr=False
    )  # (n_labels,) the lowest key of each label, the highest there is without any

    @classmethod
    def of(
        cls,
        y_true: object,
        y_score: object,
        candidates: Candidates | None = None,
        *,
        sample_weight: object = None,
        weight_unit: float | None = None,
        missing: float = 0.0,
        unknown: object = None,
        label_names: object = None,
        n_jobs: int | None = 1,
    ) -> "Counts":
        """Count a block of rows.

        Parameters
        ----------
        y_true, y_score, sample_weight, missing, unknown, label_names : as in `fit_empirical`, of these rows
            No truth of a block need be known, and all weights may be 0.
        candidates : of all rows, or None to count at every score
        weight_unit : what weights are whole multiples of, or rounded to; the same for all blocks
            None: 1, and weights are whole numbers. For others, `Candidates.weight_unit` of all rows: with it the
            weights are those of `fit_empirical`, bit for bit.
        n_jobs : threads

        Returns
        -------
        Counts

        Raises
        ------
        InputError
            As `fit_empirical`; for labels, dtype or `missing` other than those of the candidates; and for weights that
            are no whole numbers without a `weight_unit`.
        """
        if candidates is not None and not isinstance(candidates, Candidates):
            raise InputError(f"candidates is {shown(candidates)}, expected Candidates or None")
        if candidates is not None and label_names is None:
            label_names = candidates.label_names
        block, kind = block_of(
            y_true,
            y_score,
            sample_weight=sample_weight,
            weight_unit=weight_unit,
            missing=missing,
            unknown=unknown,
            label_names=label_names,
        )
        if candidates is None:
            at = _TIE_GROUPS
            keys = LabelKeys(np.zeros(kind.n_labels + 1, np.int64), np.empty(0, kind.key_dtype))
            opened = Opened.everything(kind.n_labels, kind.key_dtype)
        else:
            candidates.kind.refuse_other(replace(kind, unit=candidates.kind.unit), "y_score")
            at, keys, opened = candidates.digest, candidates.keys, candidates.opened

        def count(first: int, last: int) -> tuple[Tally, Keys]:
            items = block.label_items(first, last)
            tally = tally_of(items, keys.of(first, last), opened.of(first, last))
            return tally, _lowest(items)

        tallies, lowest = zip(*map_tiles(block, count, n_jobs=n_jobs), strict=True)
        return cls(kind, at, Totals.of(block), joined(tallies), np.concatenate(lowest))

    @classmethod
    def from_tie_groups(
        cls,
        label: object,
        score: object,
        positives: object,
        rows: object,
        *,
        label_names: object = None,
        n_labels: int | None = None,
        n_samples: int | None = None,
        missing: float = 0.0,
    ) -> "Counts":
        """Take tie groups that were counted elsewhere, as `GROUP BY label, score` gives them in any engine.

        Parameters
        ----------
        label : (n_groups,) names, or positions from 0
        score : (n_groups,) the dtype is that of the scores; a label may have the same score in several groups
        positives : (n_groups,) whole numbers: rows of that label and score in which the label is true, or their weight
        rows : (n_groups,) whole numbers: all rows of that label and score, or their weight
        label_names : names of all labels, in order; None with names in `label` takes these, sorted
        n_labels : where `label` has positions: number of labels; None: as many as are needed
        n_samples : number of rows, where scores are sparse: rows in which a label has no group have the score `missing`
            None: a label is known in the rows that it has groups for; where these are fewer than another label's,
            the truth of the others counts as unknown.
        missing : score of rows without a group

        Returns
        -------
        Counts

        Raises
        ------
        InputError
            For columns of different length, labels that are not among the names, scores that are NaN or +inf, more
            positives than rows, or more rows of a label than `n_samples`.

        Examples
        --------
        >>> import thresholds
        >>> counts = thresholds.Counts.from_tie_groups(
        ...     label=["cat", "cat", "dog", "dog"],
        ...     score=[0.25, 0.75, 0.5, 0.25],
        ...     positives=[1, 8, 3, 0],
        ...     rows=[90, 10, 4, 96],
        ... )
        >>> counts.fit("macro", placement="score").thresholds
        array([0.75, 0.5 ])
        """
        kind, totals, items = tie_groups(
            label,
            score,
            positives,
            rows,
            label_names=label_names,
            n_labels=n_labels,
            n_samples=n_samples,
            missing=missing,
        )
        nothing = LabelKeys(np.zeros(kind.n_labels + 1, np.int64), np.empty(0, kind.key_dtype))
        opened = Opened.everything(kind.n_labels, kind.key_dtype)
        tally = tally_of(items, nothing, opened)
        return cls(kind, _TIE_GROUPS, totals, tally, _lowest(items))

    def __add__(self, other: "Counts") -> "Counts":
        """Return the counts of both, of other rows each."""
        if not isinstance(other, Counts):
            raise InputError(f"other is {shown(other)}, expected Counts")
        self.kind.refuse_other(other.kind)
        if self.at != other.at:
            raise InputError(
                f"other is counted at {other._what}, expected {self._what}: only counts at the same scores add up"
            )
        return Counts(
            self.kind,
            self.at,
            self.totals + other.totals,
            self.tally + other.tally,
            np.minimum(self.lowest, other.lowest),
        )

    def __radd__(self, other: object) -> "Counts":
        """Let `sum` add them."""
        if other == 0:
            return self
        return NotImplemented

    def __repr__(self) -> str:
        """Return sizes on one line."""
        words = [counted(self.n_samples, "row"), counted(self.n_labels, "label"), self._what]
        return f"Counts({', '.join(words)})"

    @property
    def _what(self) -> str:
        """What is counted, in words."""
        if self.at == _TIE_GROUPS:
            return counted(self.tally.tied.keys.size, "tie group")
        n_candidates = (self.tally.counted.keys.size - self.n_labels) // 2
        return f"{counted(n_candidates, 'candidate')} ({self.at[:6]})"

    @property
    def n_samples(self) -> int:
        """Number of rows counted."""
        return self.totals.n_samples

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return self.kind.n_labels

    @property
    def label_names(self) -> tuple[str, ...] | None:
        """Names of the labels, if they have names."""
        return self.kind.label_names

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the scores."""
        return self.kind.dtype

    @property
    def missing(self) -> float:
        """Score of the entries that sparse scores leave out."""
        return self.kind.missing

    @property
    def positives(self) -> Floats:
        """Weight of the rows in which each label is true, (n_labels,)."""
        units = sum(_of_labels(items) for items in self.tally)  # (n_labels,)
        return np.asarray(units * np.float64(self.kind.unit))

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        arrays = [self.totals.of_labels, self.lowest]
        for items in self.tally:
            arrays += items
        return sum(array.nbytes for array in arrays)

    @with_fit_options(DEFAULTS)
    def needed_for(
        self,
        average: Average = "macro",
        *,
        candidates: Candidates | None = None,
        **options: Unpack[FitArguments],
    ) -> Candidates | None:
        """Return what one more pass over the rows has to count at before these counts can be fitted.

        Whoever has the rows counts them at what is returned, and asks again, until the answer is None. Counts at a few
        scores of each label show where the best cut cannot be; what is left is a small part of the candidates.

        Parameters
        ----------
        average, and the options : as in `fit_empirical`, with its defaults, and as `fit` will get them
        candidates : those of all rows
            None: the next pass counts every score where the best cut may be, as tie groups.

        Returns
        -------
        Candidates, or None where the counts suffice

        Raises
        ------
        InputError
            As `fit`, and for candidates that lack scores of positives.

        Examples
        --------
        >>> import numpy as np, thresholds
        >>> from thresholds import Candidates, Counts
        >>> rng = np.random.default_rng(0)
        >>> y_true = rng.random((10_000, 3)) < 0.2
        >>> y_score = rng.normal(size=(10_000, 3)) + y_true
        >>> candidates = Candidates.of(y_true, y_score)
        >>> needed = candidates.quantiles(32)
        >>> while needed is not None:
        ...     print(needed.n_candidates)
        ...     counts = Counts.of(y_true, y_score, needed)
        ...     needed = counts.needed_for("micro", candidates=candidates)
        96
        1219
        >>> counts.fit("micro").objective == thresholds.fit_empirical(y_true, y_score, "micro").objective
        True
        """
        checked = FitOptions(average=average, **options)
        _refuse_rows(checked)
        if candidates is not None and not isinstance(candidates, Candidates):
            raise InputError(f"candidates is {shown(candidates)}, expected Candidates or None")
        open_ = self._open_runs(checked)
        if not open_.label.size:
            return None
        return self._more_closely(open_, candidates)

    def _more_closely(self, open_: OpenRuns, candidates: Candidates | None) -> Candidates:
        """Return what is counted here, and more where runs are open: scores of positives, or all scores."""
        kind = replace(self.kind, unit=1.0)
        known = union_of_keys([self.tally.candidates, LabelKeys(*self.tally.tied[:2])])
        low = np.full(self.n_labels, np.iinfo(kind.key_dtype).max, kind.key_dtype)
        high = np.zeros(self.n_labels, kind.key_dtype)
        low[open_.label], high[open_.label] = open_.low, open_.high
        opened = Opened.nothing(self.n_labels, kind.key_dtype)
        if candidates is None:
            one = kind.key_dtype.type(1)
            opened.lowest[open_.label], opened.highest[open_.label] = (
                open_.low + one,
                open_.high - one,
            )
            weight = Fraction(self.totals.weight) * Fraction(self.kind.unit)
            seen = Seen(self.n_samples, weight, math.nan, math.nan, math.nan)
            return Candidates(kind, known.where(~_are_between(known, low, high)), opened, seen)
        candidates.kind.refuse_other(kind, "candidates")
        inside = candidates.keys.where(_are_between(candidates.keys, low, high))
        keys = union_of_keys([known, inside])
        if keys.keys.size == known.keys.size:
            raise InputError(
                "candidates lack scores of positives that were counted, expected those of all rows"
            )
        return replace(candidates, keys=keys)

    def _open_runs(self, options: FitOptions) -> OpenRuns:
        """Return where a fit may cut beside the candidates."""
        items, is_run = self.tally.rising()
        if reads_steps_only(options):
            jointly = options.average == "micro"
            return open_runs(items, is_run, options.beta, jointly=jointly)
        return runs_with_positives(items, is_run)

    @with_fit_options(DEFAULTS)
    def fit(self, average: Average = "macro", **options: Unpack[FitArguments]) -> ThresholdRule:
        """Fit the thresholds that maximise F-beta on all rows that were counted, exactly.

        Parameters
        ----------
        average, and the options : as in `fit_empirical`, with its defaults

        Returns
        -------
        ThresholdRule
            Thresholds, objective and all else that of `fit_empirical` on the rows, but for `fitted_on.quantiles`, which
            are of the scores counted, and `profile`, which needs rows and is None. With weights that are no whole
            numbers the objective may differ in its last bits.

        Raises
        ------
        InputError
            As `fit_empirical`; for what needs rows; and for counts at candidates that leave out scores of positives.
        """
        checked = FitOptions(average=average, **options)
        return fit_problem(self.problem(checked), checked)

    def problem(self, options: FitOptions) -> CountedProblem:
        """Return what a fit takes, if a fit with these options can do without rows."""
        _refuse_rows(options)
        if not any(self.totals.of_labels[0]):
            raise InputError("y_true has no known cell, expected at least one")
        if not self.totals.weight:
            raise InputError(
                "sample_weight is 0 for every row with a known cell, expected at least one positive weight"
            )
        if self.totals.weight * self.n_labels >= _MOST_UNITS:
            raise InputError(
                f"sample_weight adds up to {self.totals.weight:,} units, expected less than 2**62 over all cells:"
                " give the weight_unit of the Candidates of all rows"
            )
        if self._open_runs(options).label.size:
            raise InputError(
                "the counts are at candidates that leave out scores at which a label may have to be cut, expected"
                " another pass over the rows, at what needed_for returns"
            )
        return CountedProblem.of_tally(
            self.kind,
            self.totals,
            self.tally,
            self.lowest,
            keep_sparse=options.keep_sparse is not False,
        )


def _are_between(keys: LabelKeys, low: Keys, high: Keys) -> Booleans:
    """Tell which keys lie between two of their label, (n_labels,) each."""
    label = keys.label
    return np.asarray((keys.keys > low[label]) & (keys.keys < high[label]))


def _lowest(items: Items) -> Keys:
    """Return the lowest key of each label that has weight, (n_labels,), the highest there is without one."""
    keys = items.keys
    if not items.is_unweighted:
        keys = np.where(items.weights > 0, keys, np.iinfo(keys.dtype).max).astype(keys.dtype)
    return np.asarray(np.minimum.reduceat(keys, items.starts[:-1]))


def _of_labels(items: Items) -> Ints:
    """Return the positive weight of each label, (n_labels,)."""
    before = np.append(0, items.positive_weights.cumsum())
    return np.asarray(np.diff(before[items.starts]))


def _refuse_rows(options: FitOptions) -> None:
    """Refuse what looks at rows."""
    if options.rule is None and options.average == "samples":
        raise InputError(
            "average is 'samples', a mean over rows, which counts do not have; expected 'macro', 'weighted' or"
            " 'micro', or fit_empirical with the rows"
        )
    if options.max_predicted_per_row is not None:
        raise InputError(
            f"max_predicted_per_row is {options.max_predicted_per_row}, a limit of rows, which counts do not have;"
            " expected None, or fit_empirical with the rows"
        )
