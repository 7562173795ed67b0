"""Counts of parts of the rows, which are added and fitted: what a fit reads, without the rows."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from thresholds._arrays.types import Booleans, Floats, Ints
from thresholds._checks import Average, InputError, shown
from thresholds._engine.histograms import MOST_BINS, Histograms, added, histograms
from thresholds._results.words import counted
from thresholds.counts.kind import Kind, Totals
from thresholds.counts.parts import MOST_UNITS, has_no_rows, one_row_like, part_of, scores_within
from thresholds.counts.problem import CountedProblem
from thresholds.counts.ranges import ScoreRanges
from thresholds.fitting.options import DEFAULTS, FitArguments, FitOptions, with_fit_options
from thresholds.rule import Rule, ThresholdRule

if TYPE_CHECKING:
    from thresholds.calibration import Calibrator
    from thresholds.diagnosis import Diagnosis
    from thresholds.metrics.counts import ConfusionCounts


@dataclass(frozen=True, eq=False, repr=False)
class Counts:
    """What weighs at which score of each label, added up over parts of the rows: all that a fit reads.

    Of each label there are at most 1,024 *bins*: scores that agree in their leading bits, each with the weight of its
    rows, and of those in which the label is true. Bins of parts add up to those of all rows, in any order and any tree,
    bit for bit. A label of no more distinct scores has a bin for each, and nothing is lost: probabilities of three
    decimals, for one.

    Where labels have more, the best threshold may lie within some of the bins, as a rule one in a hundred of them.
    `needed_for` tells which, and a second pass over the rows counts every score in these. Then `fit` gives the
    thresholds and the objective of `fit_empirical` on all rows, bit for bit.

    Attributes
    ----------
    n_samples, n_labels : numbers of rows counted, and of labels
    label_names : as given, or None
    dtype : of the scores
    missing : score of the entries that sparse scores leave out
    positives : float64 (n_labels,), weight of the rows in which each label is true
    ranges : ScoreRanges, where only scores in these were counted; else None
    nbytes : bytes of the counts: 24 for each bin, 32 of float64 scores

    Examples
    --------
    >>> import numpy as np, thresholds
    >>> from thresholds import Counts
    >>> rng = np.random.default_rng(0)
    >>> y_true = rng.random((20_000, 3)) < 0.1
    >>> y_score = rng.normal(size=(20_000, 3)) + y_true
    >>> parts = [slice(0, 8_000), slice(8_000, 20_000)]

    A first pass over the rows, and a second over the few scores that matter:

    >>> counts = sum(Counts.of(y_true[rows], y_score[rows]) for rows in parts)
    >>> needed = counts.needed_for("macro")
    >>> counts = counts.with_scores(sum(Counts.of(y_true[rows], y_score[rows], needed) for rows in parts))
    >>> rule = counts.fit("macro")
    >>> rule.objective == thresholds.fit_empirical(y_true, y_score, guard="auto").objective
    True
    """

    kind: Kind
    totals: Totals
    bins: Histograms = field(repr=False)
    most: int | None = MOST_BINS  # bins of a label; None where there is one for each score
    ranges: ScoreRanges | None = None
    # Where scores were counted one by one: all bins, with these in their place; and which bins those are, (n_bins,).
    finest: Histograms | None = field(default=None, repr=False)
    are_known: Booleans | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        y_true: object,
        y_score: object,
        ranges: ScoreRanges | None = None,
        *,
        sample_weight: object = None,
        weight_unit: float = 1.0,
        missing: float = 0.0,
        unknown: object = None,
        label_names: object = None,
        n_jobs: int | None = 1,
    ) -> "Counts":
        """Count some of the rows.

        Parameters
        ----------
        y_true, y_score, sample_weight, missing, unknown, label_names : as in `fit_empirical`, of these rows
            No truth of them need be known, all weights may be 0, and arrays may have no rows.
        ranges : what `needed_for` returned: every score in them is counted, and no other. None: all scores, in bins
        weight_unit : what all weights are whole multiples of, the same for all parts: a whole number, as 1 (default),
            or a power of two, as 0.25 for quarters
        n_jobs : threads

        Returns
        -------
        Counts

        Raises
        ------
        InputError
            As `fit_empirical`; for labels, dtype or `missing` other than those of the ranges; and for weights that are
            no multiples of the unit.
        """
        if ranges is not None and not isinstance(ranges, ScoreRanges):
            raise InputError(
                f"ranges is {shown(ranges)}, expected what needed_for returns, or None"
            )
        if ranges is not None and label_names is None:
            label_names = ranges.kind.label_names
        is_empty = has_no_rows(y_true, y_score)
        if is_empty:
            y_true, y_score, label_names = one_row_like(y_true, y_score, label_names)
            sample_weight = [0]
        about: Any = {
            "weight_unit": weight_unit,
            "missing": missing,
            "unknown": unknown,
            "label_names": label_names,
        }
        part = part_of(y_true, y_score, sample_weight=sample_weight, **about)
        kind = Kind.of(part)
        totals = Totals.none() if is_empty else Totals.of(part)
        if ranges is None:
            return cls(kind, totals, histograms(part, n_jobs=n_jobs))
        ranges.kind.refuse_other(kind, "y_score")
        bins = scores_within(part, ranges, n_jobs=n_jobs)
        return cls(kind, totals, bins, most=None, ranges=ranges)

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
        """Take what was counted at each score elsewhere, as `GROUP BY label, score` gives it in any engine.

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
            With a bin for each score, so that nothing else is needed for a fit.

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
        >>> counts.fit("macro", guard=None, placement="score").thresholds
        array([0.75, 0.5 ])
        """
        from thresholds.counts.groups import counted_groups

        kind, totals, bins = counted_groups(
            label,
            score,
            positives,
            rows,
            label_names=label_names,
            n_labels=n_labels,
            n_samples=n_samples,
            missing=missing,
        )
        return cls(kind, totals, bins, most=None)

    def __add__(self, other: "Counts") -> "Counts":
        """Return the counts of both, of other rows each."""
        return added_counts([self, other])

    def __radd__(self, other: object) -> "Counts":
        """Let `sum` add them."""
        if other == 0:
            return self
        return NotImplemented

    def __repr__(self) -> str:
        """Return sizes on one line."""
        words = [counted(self.n_samples, "row"), counted(self.n_labels, "label")]
        what = "score" if self.most is None else "bin"
        words.append(counted(self.bins.lowest.size, what))
        if self.ranges is not None:
            words[-1] += " in ranges"
        if self.finest is not None:
            words.append("scores where needed")
        return f"Counts({', '.join(words)})"

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
        return np.asarray(self.bins.positives * np.float64(self.kind.unit))

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.totals.of_labels.nbytes + sum(
            found.nbytes for found in (self.bins, self.finest) if found is not None
        )

    def with_scores(self, scores: "Counts") -> "Counts":
        """Return the same, score by score in the ranges of others, which were counted on the same rows.

        Parameters
        ----------
        scores : the sum of `Counts.of(..., ranges)` over all rows

        Returns
        -------
        Counts
            Which can be fitted, and no more added to.

        Raises
        ------
        InputError
            For counts that are of no ranges, and for those of other rows: they are known by their number, and by the
            weight of rows and of positives in each range.
        """
        if not isinstance(scores, Counts) or scores.ranges is None:
            raise InputError(
                f"scores is {shown(scores)}, expected Counts in the ranges that needed_for returned"
            )
        self.kind.refuse_other(scores.kind, "scores")
        number = scores.ranges.range_of(self.bins)  # (n_bins,)
        _refuse_other_rows(self, scores, number)

        # Put them in the place of bins that are not known by their scores already.
        finest, are_known = self.finest, self.are_known
        if finest is None or are_known is None:
            finest, are_known = self.bins, np.zeros(number.size, np.bool_)
        new = ScoreRanges.of_bins(self.kind, self.bins, (number >= 0) & ~are_known)
        own = scores.bins.where(new.range_of(scores.bins) >= 0)
        finest = finest.in_place_of(new.range_of(finest) >= 0, own)
        return replace(self, finest=finest, are_known=are_known | (number >= 0))

    def lacking(self, wanted: Booleans) -> ScoreRanges | None:
        """Return the ranges of those bins, (n_bins,), whose scores are not known one by one; None where all are."""
        lacking = wanted & (self.bins.lowest < self.bins.highest)
        if self.are_known is not None:
            lacking &= ~self.are_known
        return ScoreRanges.of_bins(self.kind, self.bins, lacking) if lacking.any() else None

    @with_fit_options(DEFAULTS)
    def needed_for(
        self, average: Average = "macro", **options: Unpack[FitArguments]
    ) -> ScoreRanges | None:
        """Return in which ranges every score is to be counted before these counts can be fitted.

        Parameters
        ----------
        average, and the options : as `fit` will get them

        Returns
        -------
        ScoreRanges, or None where the counts suffice

        Raises
        ------
        InputError
            As `fit`.
        """
        return self.needed_by(FitOptions(average=average, **options))

    @with_fit_options(DEFAULTS)
    def fit(self, average: Average = "macro", **options: Unpack[FitArguments]) -> ThresholdRule:
        """Fit thresholds for F-beta on all rows that were counted: those of `fit_empirical` on the rows, exactly.

        Parameters
        ----------
        average, and the options : as in `fit_empirical`
            But for `guard`, whose default is "auto", as in `cross_fit`; None is the best on these rows
            (docs/guards.md).
            What looks at rows is refused: average "samples", `max_predicted_per_row`; and what looks at the scores of
            all labels together, or tests them one by one: `per_label=False`, `max_predicted`, `confidence`.

        Returns
        -------
        ThresholdRule
            Thresholds and objective are those of `fit_empirical` with the same options on the rows; those of a guard,
            too, as guards read the same bins. `made_by` says "Counts.fit", `fitted_on` has quantiles of bins, and there
            is no `profile`, which takes rows.

        Raises
        ------
        InputError
            As `fit_empirical`; for what is refused; and for counts in bins, where `needed_for` says what is lacking.
        """
        return self.fitted_by(FitOptions(average=average, **options))

    def needed_by(self, options: FitOptions) -> ScoreRanges | None:
        """Return in which ranges every score is to be counted for a fit; None where the counts suffice."""
        from thresholds.counts.fitting import bins_to_fit

        return self.lacking(bins_to_fit(self._problem_of(options), options))

    def fitted_by(self, options: FitOptions) -> ThresholdRule:
        """Fit the thresholds of all rows that were counted."""
        from thresholds.counts.fitting import fit_counts

        if self.needed_by(options) is not None:
            raise InputError(
                "counts are in bins, in some of which the best thresholds may lie, expected every score there to be"
                " counted, too: with_scores, in the ranges that needed_for returns"
            )
        return fit_counts(self._problem_of(options), options)

    def _problem_of(self, options: FitOptions) -> CountedProblem:
        """Return what a fit takes, if counts tell all that its options ask."""
        from thresholds.counts.fitting import refuse_for_counts

        refuse_for_counts(options)
        keeps_sparse = options.keep_sparse is not False and self.kind.is_sparse
        return self.problem(keep_sparse=keeps_sparse)

    def needed_to_judge(self, *rules: Rule) -> ScoreRanges | None:
        """Return in which ranges every score is to be counted before rules can be judged by these counts.

        Parameters
        ----------
        rules : those that `confusion` or `diagnose` will get

        Returns
        -------
        ScoreRanges, or None where the counts suffice

        Raises
        ------
        InputError
            As `confusion`.

        Examples
        --------
        >>> import numpy as np, thresholds
        >>> from thresholds import Counts
        >>> rng = np.random.default_rng(0)
        >>> y_true = rng.random((10_000, 2)) < 0.1
        >>> y_score = rng.normal(size=(10_000, 2)) + y_true
        >>> rule = thresholds.FixedRule(0.6, 2)
        >>> counts = Counts.of(y_true, y_score)
        >>> needed = counts.needed_to_judge(rule)
        >>> counts = counts.with_scores(Counts.of(y_true, y_score, needed))
        >>> decided = thresholds.metrics.confusion_counts(y_true, rule.predict(y_score))
        >>> bool((counts.confusion(rule).tp == decided.tp).all())
        True
        """
        from thresholds.counts.judging import bins_to_judge

        return self.lacking(bins_to_judge(self.problem(), rules))

    def confusion(self, rule: Rule) -> "ConfusionCounts":
        """Count what a rule decides about the rows, label by label.

        Parameters
        ----------
        rule : one that decides by each label's own score, as a `ThresholdRule`

        Returns
        -------
        ConfusionCounts
            By weight, as `metrics.confusion_counts` of the rule's predictions; F, precision and recall of it are those
            of the metrics.

        Raises
        ------
        InputError
            For a rule that looks at whole rows, one of other labels, and where a threshold lies within a bin:
            `needed_to_judge` says what to count.

        Examples
        --------
        >>> import thresholds
        >>> y_true, y_score = [[1, 0], [0, 1], [1, 1]], [[0.9, 0.2], [0.6, 0.7], [0.4, 0.8]]
        >>> counts = thresholds.Counts.of(y_true, y_score)
        >>> counts.confusion(thresholds.FixedRule(0.5, 2)).tp
        array([1, 2])
        """
        from thresholds.counts.judging import confusion

        return confusion(self.problem(), rule)

    def diagnose(
        self,
        rule: Rule,
        *,
        alpha: float = 0.05,
        min_auroc: float = 0.7,
        overprediction: float = 3.0,
        min_f: float = 0.5,
        min_skill: float = 0.25,
        n_jobs: int | None = -1,
        progress: bool = False,
    ) -> "Diagnosis":
        """Tell which labels of a rule may be relied on, and which it predicts far too often, as `diagnose` does.

        What the rule decides is counted exactly. What the scores know of labels is read from bins, where those of one
        bin count as equal. On 14 sets of real scores AUROC was off by .0011 at most, and one verdict of 5,867 was
        another (docs/scale.md).

        Parameters
        ----------
        rule : one that decides by each label's own score, as a `ThresholdRule`
        alpha, min_auroc, overprediction, min_f, min_skill, n_jobs, progress : as in `diagnose`

        Returns
        -------
        Diagnosis

        Raises
        ------
        InputError
            As `confusion`, and for counts of weighted rows.

        Examples
        --------
        >>> import numpy as np, thresholds
        >>> rng = np.random.default_rng(0)
        >>> y_true = rng.random((1000, 2)) < [0.2, 0.05]
        >>> y_score = rng.normal(size=(1000, 2)) + [2, 0] * y_true
        >>> counts = thresholds.Counts.of(y_true, y_score)
        >>> counts.diagnose(thresholds.ThresholdRule([1.3, -1.0])).verdict.tolist()
        ['usable', 'useless']
        """
        from thresholds.counts.judging import diagnose
        from thresholds.diagnosis.evidence import criteria_of

        criteria = criteria_of(alpha, min_auroc, overprediction, min_f, min_skill)
        return diagnose(self.problem(), rule, criteria, n_jobs=n_jobs, progress=progress)

    def calibrate(self, method: Any = "isotonic", by: Any = "shrink") -> "Calibrator":
        """Fit a map that turns scores into probabilities, as `calibrate` does, to the bins.

        Parameters
        ----------
        method, by : as in `calibrate`

        Returns
        -------
        Calibrator
            Where labels have a bin for each score it is that of the rows. Of others scores in one bin count as its
            middle: log loss on other rows differs by some 1e-4 of itself. Probabilities close to 1 are an exception, as
            bins are wide there in log odds: count log odds in their place. It has no `profile`, which takes rows.

        Raises
        ------
        InputError
            As `calibrate`, and for counts of weighted rows.

        Examples
        --------
        >>> import thresholds
        >>> counts = thresholds.Counts.of([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
        >>> counts.calibrate().transform([0.2, 0.35, 0.5])
        array([0. , 0.5, 1. ])
        """
        from thresholds.counts.calibrating import calibrate

        return calibrate(self.problem(), method, by)

    def to_arrow(self) -> Any:
        """Return the counts as a `pyarrow.Table`, which any engine that has Arrow can carry.

        Columns: label (int32), lowest, highest (float64), positives, weight (int64), about (string). Tables of several
        parts may be concatenated and their rows put in any order: `from_arrow` adds up what it gets.

        Returns
        -------
        pyarrow.Table
        """
        from thresholds.counts.arrow import Head, to_table

        if self.finest is not None:
            raise InputError(
                "counts have scores where they are needed, expected those before with_scores: a table is for what is"
                " added"
            )
        return to_table(Head(self.kind, self.totals, self.most, self.ranges), self.bins)

    @classmethod
    def from_arrow(cls, data: object) -> "Counts":
        """Add up tables of `to_arrow`.

        Parameters
        ----------
        data : a `pyarrow.Table`, a batch, whatever streams Arrow, or an iterable of these
            All rows of each table, in any order.

        Returns
        -------
        Counts

        Raises
        ------
        InputError
            For other tables, for rows that were lost, doubled or changed, and for counts that do not add up, as `+`.

        Examples
        --------
        >>> import thresholds
        >>> counts = thresholds.Counts.of([[1, 0], [0, 1]], [[0.9, 0.2], [0.4, 0.7]])
        >>> thresholds.Counts.from_arrow([counts.to_arrow(), counts.to_arrow()])  # doctest: +SKIP
        Counts(4 rows, 2 labels, 4 bins)
        """
        from thresholds.counts.arrow import from_tables

        heads, bins = from_tables(data)
        nothing = bins.where(np.zeros(bins.lowest.size, np.bool_))
        whole = added_counts(
            [cls(kind, totals, nothing, most, ranges) for kind, totals, most, ranges in heads]
        )
        return replace(whole, bins=added([bins], whole.most))

    def problem(self, *, keep_sparse: bool = False) -> CountedProblem:
        """Return the counts as what a fit takes."""
        if self.ranges is not None:
            raise InputError(
                "counts are of some ranges of scores alone, expected those of all scores: give these to their"
                " with_scores"
            )
        if not self.n_samples:
            raise InputError("the counts have no rows, expected at least one")
        if not self.totals.of_labels[0].any():
            raise InputError("y_true has no known cell, expected at least one")
        if not self.totals.weight:
            rows = "every row" if self.totals.all_known else "every row with a known cell"
            raise InputError(
                f"sample_weight is 0 for {rows}, expected at least one positive weight"
            )
        if self.totals.weight * self.n_labels >= MOST_UNITS:
            raise _too_heavy(self.totals.weight)
        finest = self.bins if self.finest is None else self.finest
        return CountedProblem.of_counts(
            self.kind, self.totals, self.bins, finest, keep_sparse=keep_sparse
        )


def added_counts(parts: Sequence[Counts]) -> Counts:
    """Return the counts of all parts, of other rows each."""
    first = parts[0]
    whole = [first, *(in_form_of(first, other) for other in parts[1:])]
    if len(whole) == 1:
        return first
    # Bins of some parts leave no more than bins of all.
    several = [part.most for part in whole if part.most is not None]
    most = min(several, default=None)
    totals = first.totals
    for other in whole[1:]:
        totals += other.totals
    if totals.weight >= MOST_UNITS:
        raise _too_heavy(totals.weight)
    return replace(first, totals=totals, bins=added([part.bins for part in whole], most), most=most)


def _too_heavy(weight: int) -> InputError:
    """Return the refusal of weights whose sums would not be exact."""
    return InputError(
        f"sample_weight adds up to {weight:,} units, expected less than 2**61 over all cells"
    )


def in_form_of(first: Counts, other: object) -> Counts:
    """Return counts with the labels in the order of others, and refuse what does not add up with these."""
    if not isinstance(other, Counts):
        raise InputError(f"other is {shown(other)}, expected Counts")
    if first.finest is not None or other.finest is not None:
        raise InputError(
            "counts have scores where they are needed, expected counts of all rows to be added before with_scores"
        )
    if (first.ranges is None) != (other.ranges is None):
        whole, part = ("other", "these") if other.ranges is None else ("these", "other")
        raise InputError(
            f"{whole} counts are of all scores, and {part} of some ranges of them, expected both of the same"
        )
    order = first.kind.order_of(other.kind)
    if order is not None:
        kind = replace(other.kind, label_names=first.label_names)
        totals, bins = other.totals.in_order(order), other.bins.take(order)
        other = replace(other, kind=kind, totals=totals, bins=bins)
    first.kind.refuse_other(other.kind)
    if first.ranges is not None and not first.ranges.are_those_of(other.ranges):
        raise InputError("other is counted in other ranges of scores, expected the same as here")
    return other


def _refuse_other_rows(counts: Counts, scores: Counts, number: Ints) -> None:
    """Refuse scores that are not those of the bins that they are of: `number` is the range of each, (n_bins,)."""
    if scores.n_samples != counts.n_samples:
        raise InputError(
            f"scores has {scores.n_samples:,} rows, expected the {counts.n_samples:,} that were counted before"
        )
    assert scores.ranges is not None, "refused before"
    bins, of_scores = counts.bins, scores.ranges.range_of(scores.bins)  # (n_scores,)
    for before, here in ((bins.weights, scores.bins.weights), (bins.hits, scores.bins.hits)):
        difference = np.zeros(scores.ranges.n_ranges + 1, np.int64)  # The last is of no range.
        np.add.at(difference, number, before)
        np.subtract.at(difference, of_scores, here)
        if difference[:-1].any():
            raise InputError(
                "scores has other scores or truth in its ranges than were counted before, expected the same rows"
            )
