"""Counts of blocks of rows, which are added and fitted: what a fit reads, without the rows."""

import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Unpack

import numpy as np

from thresholds import _checks
from thresholds._arrays.types import Booleans, Floats, Keys
from thresholds._checks import Average, InputError, shown
from thresholds._kernels.keys import to_keys
from thresholds.chunks.arrow import (
    Special,
    TableRows,
    about_kind,
    about_totals,
    as_keys,
    as_numbers,
    from_tables,
    kind_of,
    rows_of_labels,
    rows_of_tally,
    tally_of_rows,
    to_table,
    totals_of,
)
from thresholds.chunks.asking import next_candidates
from thresholds.chunks.blocks import MOST_UNITS, OfBlocks, block_of, has_no_rows, one_row_like
from thresholds.chunks.candidates import Candidates, Seen, parts_of, reads_steps_only
from thresholds.chunks.groups import grouped_items
from thresholds.chunks.judging import comparison_of, decisions_of, diagnosis_of
from thresholds.chunks.runs import OpenRuns, open_runs, runs_with_positives
from thresholds.comparison.result import Comparison
from thresholds.data.counted import CountedProblem, Kind, Totals
from thresholds.data.tallies import (
    Items,
    LabelKeys,
    Opened,
    Tally,
    joined,
    lowest_of,
    tally_of,
    tally_of_problem,
    tie_groups,
    union_of_keys,
)
from thresholds.diagnosis.evidence import Criteria
from thresholds.diagnosis.result import Diagnosis
from thresholds.diagnosis.states import criteria_of
from thresholds.fitting.empirical import fit_problem
from thresholds.fitting.options import DEFAULTS, FitArguments, FitOptions, with_fit_options
from thresholds.metrics.counts import ConfusionCounts
from thresholds.results import counted
from thresholds.rule import Rule, ThresholdRule

_TIE_GROUPS = "tie groups"


@dataclass(frozen=True, eq=False)
class Counts(OfBlocks):
    """What weighs at which score of each label, added up over blocks of rows: all that a fit reads.

    Two forms, which are made by `Counts.of`:

    *Tie groups*, without `candidates`: for each distinct score of a label, the weight of its rows, and of those in
    which the label is true. One pass over the rows. Small where scores are rounded, integers or float16; of raw floats
    nearly as large as the scores.

    *Counts at candidates*: the same at each candidate, and for each *run* between two candidates (and below the first,
    and above the last) its weight and its highest score. With all scores of positives as candidates that is all a fit
    reads (docs/proofs.md). Two passes; 40 bytes for each candidate (48 of float64).

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
    # (n_labels,) the lowest key of each label that has weight, the highest there is without any
    lowest: Keys = field(repr=False)

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
            No truth of a block need be known, all weights may be 0, and arrays may have no rows.
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
        if has_no_rows(y_true, y_score):
            rows = one_row_like(y_true), one_row_like(y_score)
            about: dict[str, Any] = {"missing": missing, "label_names": label_names}
            nothing = cls.of(*rows, candidates, sample_weight=[0], weight_unit=weight_unit, **about)
            return replace(nothing, totals=Totals.none())
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

        tally, lowest = tally_of_problem(block, keys, opened, n_jobs=n_jobs)
        return cls(kind, at, Totals.of(block), tally, lowest)

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
        kind, totals, items = grouped_items(
            label,
            score,
            positives,
            rows,
            label_names=label_names,
            n_labels=n_labels,
            n_samples=n_samples,
            missing=missing,
        )
        return cls.of_tie_groups(kind, totals, items)

    @classmethod
    def of_tie_groups(cls, kind: Kind, totals: Totals, items: Items) -> "Counts":
        """Take checked tie groups; a label without any has an item of weight 0."""
        nothing = LabelKeys(np.zeros(kind.n_labels + 1, np.int64), np.empty(0, kind.key_dtype))
        opened = Opened.everything(kind.n_labels, kind.key_dtype)
        groups = tie_groups(items)
        tally = tally_of(groups, nothing, opened)
        return cls(kind, _TIE_GROUPS, totals, tally, lowest_of(groups))

    def __add__(self, other: "Counts") -> "Counts":
        """Return the counts of both, of other rows each."""
        self._refuse_others(other)
        return replace(
            self,
            totals=self.totals + other.totals,
            tally=self.tally + other.tally,
            lowest=np.minimum(self.lowest, other.lowest),
        )

    def _refuse_others(self, other: object) -> None:
        """Refuse what does not add up with these counts."""
        if not isinstance(other, Counts):
            raise InputError(f"other is {shown(other)}, expected Counts")
        self.kind.refuse_other(other.kind)
        if self.at != other.at:
            raise InputError(
                f"other is counted at {other._what}, expected {self._what}: only counts at the same scores add up"
            )

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
    def positives(self) -> Floats:
        """Weight of the rows in which each label is true, (n_labels,)."""
        return np.asarray(self.tally.positives * np.float64(self.kind.unit))

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        arrays = [self.totals.of_labels, self.lowest]
        for items in self.tally:
            arrays += items
        return sum(array.nbytes for array in arrays)

    def to_arrow(self) -> Any:
        """Return the counts as a `pyarrow.Table`, which any engine that has Arrow can carry.

        Columns: label (int32), place, key, positives, weight (int64), about (string); as Spark writes it, "label int,
        place long, key long, positives long, weight long, about string". Tables of the same candidates may be
        concatenated and their rows put in any order: `from_arrow` adds up what it gets.

        Returns
        -------
        pyarrow.Table
        """
        parts = rows_of_tally(self.tally)
        has_weight = self.lowest < np.iinfo(self.lowest.dtype).max
        lowest = rows_of_labels(Special.LOWEST, as_numbers(self.lowest))
        parts.append(TableRows(*(column[has_weight] for column in lowest)))
        if not self.totals.all_known:
            parts.append(rows_of_labels(Special.KNOWN, *self.totals.of_labels))
        about = {
            "what": "Counts",
            "at": self.at,
            "kind": about_kind(self.kind),
            "totals": about_totals(self.totals),
        }
        return to_table(parts, about)

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
        Counts(4 rows, 2 labels, 4 tie groups)
        """
        rows, abouts = from_tables(data, "Counts")
        kind = kind_of(abouts)
        if len({about["at"] for about in abouts}) > 1:
            raise InputError(
                "data has counts at different candidates, expected the same: only counts at the same scores add up"
            )
        lowest = np.full(kind.n_labels, np.iinfo(kind.key_dtype).max, kind.key_dtype)
        own = rows.at(rows.place == Special.LOWEST)
        np.minimum.at(lowest, own.label, as_keys(own.key, kind))
        return cls(
            kind,
            abouts[0]["at"],
            totals_of(abouts, rows, kind),
            tally_of_rows(rows, kind),
            lowest,
        )

    def labels(self, first: int, last: int) -> "Counts":
        """Return the counts of labels `first` up to, but not at, `last`: so that sums can be made label by label.

        Workers that have counts of all labels can share out the sums: each adds up some labels, and `joined` puts them
        side by side. Views, which keep the memory of all labels until they are sent or added.

        Examples
        --------
        >>> import thresholds
        >>> counts = thresholds.Counts.of([[1, 0], [0, 1], [1, 1]], [[0.9, 0.2], [0.6, 0.8], [0.7, 0.4]])
        >>> parts = [counts.labels(0, 1), counts.labels(1, 2)]
        >>> thresholds.Counts.joined(parts).fit().objective == counts.fit().objective
        True
        """
        at = self.at if self.at == _TIE_GROUPS else f"{self.at}, labels {first}:{last}"
        return Counts(
            self.kind.of_part(first, last),
            at,
            self.totals.of_part(first, last),
            self.tally.of(first, last),
            self.lowest[first:last],
        )

    @classmethod
    def joined(cls, parts: Iterable["Counts"]) -> "Counts":
        """Put counts of consecutive labels side by side, which were made of the same rows.

        Raises
        ------
        InputError
            For parts of other numbers of rows, dtypes, units of weights; for tie groups beside counts at candidates;
            and for a name of a label in two parts.

        Notes
        -----
        Where truth is unknown in all parts, and they were counted apart, nobody knows in how many rows some label is
        known. What asks for that is refused: `compare`, and of weighted rows floors with a confidence, and guards if
        weights are no whole numbers. Parts made by `labels` know it.
        """
        first, *others = parts_of(cls, parts)
        whole = (first, *others)
        if len({part.at == _TIE_GROUPS for part in whole}) > 1:
            raise InputError("parts has tie groups and counts at candidates, expected one of them")
        at = first.at
        if at != _TIE_GROUPS:
            text = "; ".join(part.at for part in whole)
            at = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
        sizes = [part.n_labels for part in whole]
        return cls(
            first.kind.joined([part.kind for part in others]),
            at,
            first.totals.joined([part.totals for part in others], sizes),
            joined([part.tally for part in whole]),
            np.concatenate([part.lowest for part in whole]),
        )

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
        scores of each label show where the best cut cannot be; what is left is a small part of the candidates. A limit
        or a promise may ask for what lies between two scores of positives: for the score at a rank, or for what lies
        above another score. So much more is counted then; mostly in one pass more, or two. A guard asks for all scores.

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
        1808
        >>> counts.fit("micro").objective == thresholds.fit_empirical(y_true, y_score, "micro").objective
        True
        """
        checked = FitOptions(average=average, **options)
        refuse_rows(checked)
        if candidates is not None and not isinstance(candidates, Candidates):
            raise InputError(f"candidates is {shown(candidates)}, expected Candidates or None")
        open_ = self._open_runs(checked)
        if open_.label.size:
            return self._more_closely(open_, candidates)
        if reads_steps_only(checked):
            return None
        problem = self.problem(checked)
        fit_problem(problem, checked)
        return None if problem.asked.nothing else next_candidates(problem, self.kind)

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
        if not reads_steps_only(options):
            return self._with_positives()
        if not self.tally.has_positive_runs:
            return OpenRuns.nowhere(self.kind.key_dtype)
        above = None
        if options.keep_sparse is not False and self.kind.sparse:
            missing = np.array([self.missing], f"f{self.kind.key_dtype.itemsize}")
            above = int(to_keys(missing)[0])
        jointly = options.average == "micro"
        return open_runs(*self.tally.rising(), options.beta, jointly=jointly, above=above)

    def _with_positives(self) -> OpenRuns:
        """Return where any step of a label lies beside the candidates."""
        if not self.tally.has_positive_runs:
            return OpenRuns.nowhere(self.kind.key_dtype)
        return runs_with_positives(*self.tally.rising())

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
            numbers the objective, and what `budget` says of it, may differ in its last bits.

        Raises
        ------
        InputError
            As `fit_empirical`; for what needs rows; and for counts at candidates that leave out scores of positives.
        """
        checked = FitOptions(average=average, **options)
        problem = self.problem(checked)
        rule = fit_problem(problem, checked)
        if not problem.asked.nothing:
            raise InputError(
                f"counts are at {self._what}, which do not tell all that {checked.guarded_by or 'this fit'} asks,"
                " expected those at counts.needed_for(...) with the same options, or tie groups"
            )
        return rule

    def confusion(self, rule: Rule) -> ConfusionCounts:
        """Count what a rule decides about the rows, label by label.

        Parameters
        ----------
        rule : one that decides by each label's own score, as a `ThresholdRule`

        Returns
        -------
        ConfusionCounts
            By weight, as `metrics.confusion_counts` of the rule's predictions; F, precision and recall of it are those
            of the metrics. With weights that are no whole numbers the last bits may differ.

        Raises
        ------
        InputError
            For a rule that looks at whole rows, one of other labels, and for counts at candidates which do not tell
            what lies at its thresholds: `needed_to_judge` says where to count.

        Examples
        --------
        >>> import thresholds
        >>> y_true, y_score = [[1, 0], [0, 1], [1, 1]], [[0.9, 0.2], [0.6, 0.7], [0.4, 0.8]]
        >>> counts = thresholds.Counts.of(y_true, y_score)
        >>> counts.confusion(thresholds.FixedRule(0.5, 2)).tp
        array([1, 2])
        """
        problem = self._problem()
        decided = decisions_of(rule, problem, sparse=self.kind.sparse)
        self._refuse_unknown(problem)
        return decided

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
    ) -> Diagnosis:
        """Tell which labels of a rule may be relied on, and which it predicts far too often, as `diagnose` does.

        From tie groups the result is that of the rows. From counts at the scores of all positives the same holds but
        for two p-values: which negatives between two positives have equal scores is not known. They count as untied, so
        p_informative and p_backwards are those of the rows where none are tied, and else the same or higher; the last
        bits of all three p-values may differ. The result says so. Both may be lower where more than a tenth of a
        label's rows have one score that no positive has, as rounded scores may: then take tie groups.

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
        """
        criteria = criteria_of(alpha, min_auroc, overprediction, min_f, min_skill)
        problem = self._problem(with_all_positives=True)
        diagnosis = diagnosis_of(
            rule, problem, criteria, sparse=self.kind.sparse, n_jobs=n_jobs, progress=progress
        )
        self._refuse_unknown(problem)
        return diagnosis

    def compare(
        self, rules: Mapping[str, Rule], *, beta: float = 1.0, zero_division: float = 0.0
    ) -> Comparison:
        """Judge rules side by side, as `compare` does, but for what takes rows.

        Samples F, intervals and differences, calibration, and how far rules other than `ThresholdRule` decide alike are
        left out, and the result says so. What scores know of labels is as in `diagnose`.

        Parameters
        ----------
        rules : mapping of names to rules that decide by each label's own score
        beta, zero_division : as in `compare`

        Returns
        -------
        Comparison

        Raises
        ------
        InputError
            As `confusion`, and for counts of weighted rows.
        """
        problem = self._problem(with_all_positives=True)
        self._refuse_some_rows("a comparison")
        comparison = comparison_of(
            rules,
            problem,
            sparse=self.kind.sparse,
            beta=_checks.beta(beta),
            zero_division=_checks.zero_division(zero_division),
        )
        self._refuse_unknown(problem)
        return comparison

    def needed_to_judge(
        self, *rules: Rule, candidates: Candidates | None = None, overprediction: float = 3.0
    ) -> Candidates | None:
        """Return what one more pass over the rows has to count at before rules can be judged by these counts.

        Parameters
        ----------
        rules : those that `confusion`, `diagnose` or `compare` will get
        candidates : those of all rows, as in `needed_for`
        overprediction : as `diagnose` will get it

        Returns
        -------
        Candidates, or None where the counts suffice

        Raises
        ------
        InputError
            As `diagnose`.

        Examples
        --------
        >>> import numpy as np, thresholds
        >>> rng = np.random.default_rng(0)
        >>> y_true = rng.random((1000, 2)) < 0.1
        >>> y_score = rng.normal(size=(1000, 2)) + y_true
        >>> rule = thresholds.FixedRule(0.5, 2)
        >>> every = thresholds.Candidates.of(y_true, y_score)
        >>> needed = every.including(rule)
        >>> while needed is not None:
        ...     counts = thresholds.Counts.of(y_true, y_score, needed)
        ...     needed = counts.needed_to_judge(rule, candidates=every)
        >>> diagnosis = counts.diagnose(rule)
        >>> np.array_equal(diagnosis.caps, thresholds.diagnose(y_true, y_score, rule).caps)
        True
        """
        open_ = self._with_positives()
        if open_.label.size:
            return self._more_closely(open_, candidates)
        problem = self._problem()
        criteria = Criteria(overprediction=_checks.positive(overprediction, "overprediction"))
        for rule in rules:
            diagnosis_of(rule, problem, criteria, sparse=self.kind.sparse, n_jobs=1, progress=False)
        return None if problem.asked.nothing else next_candidates(problem, self.kind)

    def _refuse_unknown(self, problem: CountedProblem) -> None:
        """Refuse what was asked of counts that do not tell it."""
        if not problem.asked.nothing:
            raise InputError(
                f"counts are at {self._what}, which do not tell all that is asked, expected another pass over the"
                " rows, at what needed_to_judge returns"
            )

    def problem(self, options: FitOptions) -> CountedProblem:
        """Return what a fit takes, if a fit with these options can do without rows."""
        refuse_rows(options)
        problem = self._problem()
        if self._open_runs(options).label.size:
            raise InputError(
                "counts are at candidates that leave out scores at which a label may have to be cut, expected"
                " another pass over the rows, at what needed_for returns"
            )
        if self.totals.weighted and (options.confidence or not problem.has_whole_weights):
            self._refuse_some_rows(options.guarded_by)
        return replace(problem, keep_sparse=options.keep_sparse is not False and self.kind.sparse)

    def _refuse_some_rows(self, asking: str | None) -> None:
        """Refuse what asks how many rows have a known cell, where counts of other labels each were joined."""
        if asking is not None and self.totals.rows_of == "some":
            raise InputError(
                f"counts were joined of labels that were counted apart, and do not tell how many rows have a known cell"
                f" in any, which {asking} asks; expected counts of all labels at once"
            )

    def _problem(self, *, with_all_positives: bool = False) -> CountedProblem:
        """Return the counts as a problem."""
        if not self.n_samples:
            raise InputError("the counts have no rows, expected at least one")
        if not any(self.totals.of_labels[0]):
            raise InputError("y_true has no known cell, expected at least one")
        if not self.totals.weight:
            raise InputError(
                "sample_weight is 0 for every row with a known cell, expected at least one positive weight"
            )
        if self.totals.weight * self.n_labels >= MOST_UNITS:
            raise InputError(
                f"sample_weight adds up to {self.totals.weight:,} units, expected less than 2**62 over all cells:"
                " give the weight_unit of the Candidates of all rows"
            )
        if with_all_positives and self._with_positives().label.size:
            raise InputError(
                "counts are at candidates that leave out scores of positives, expected another pass over the rows,"
                " at what needed_to_judge returns"
            )
        return CountedProblem.of_tally(self.kind, self.totals, self.tally, self.lowest)


def add_in_place(total: Counts, other: Counts) -> Counts:
    """Return the counts of both, in the arrays of `total`, which nobody else may have."""
    total._refuse_others(other)
    tally = total.tally
    tally += other.tally
    lowest = np.minimum(total.lowest, other.lowest)
    return replace(total, totals=total.totals + other.totals, tally=tally, lowest=lowest)


def _are_between(keys: LabelKeys, low: Keys, high: Keys) -> Booleans:
    """Tell which keys lie between two of their label, (n_labels,) each."""
    label = keys.label
    return np.asarray((keys.keys > low[label]) & (keys.keys < high[label]))


def refuse_rows(options: FitOptions) -> None:
    """Refuse what looks at rows, and rules that are no thresholds of scores."""
    if options.named.method != "thresholds":
        raise InputError(
            f"rule is {options.rule!r}, which is not fitted from counts; expected a rule that cuts scores, or"
            " thresholds.fit with the rows"
        )
    if options.average == "samples":
        raise InputError(
            "average is 'samples', a mean over rows, which counts do not have; expected 'macro', 'weighted' or"
            " 'micro', or fit_empirical with the rows"
        )
    if options.promises_rows:
        raise InputError(
            f"confidence is {options.confidence} with average {options.average!r}, per_label={options.per_label}, whose"
            " promise is about rows, which counts do not have; expected a threshold for each label by 'macro' or"
            " 'weighted', or fit_empirical with the rows"
        )
    if options.max_predicted_per_row is not None:
        raise InputError(
            f"max_predicted_per_row is {options.max_predicted_per_row}, a limit of rows, which counts do not have;"
            " expected None, or fit_empirical with the rows"
        )
