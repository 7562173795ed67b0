"""The scores that are candidates for a threshold, label by label, added up over blocks of rows.

The best cut of a label lies at the score of one of its positives (docs/proofs.md). So the distinct scores of positives
are the candidates, and all that a second pass over the rows has to count is what lies at and between them.
"""

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple, TypeVar, Unpack

import numpy as np

from thresholds import _checks
from thresholds._arrays.dtypes import rounded_up
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import AnyFloats, Dense, Floats, Keys, Places
from thresholds._checks import Average, InputError, shown
from thresholds._engine.histograms import Histograms, over_histograms
from thresholds._engine.problem import Problem
from thresholds._kernels.keys import to_keys, to_scores
from thresholds.chunks.arrow import (
    Special,
    TableRows,
    about_kind,
    as_keys,
    as_numbers,
    from_tables,
    kind_of,
    opened_of_rows,
    rows_of_keys,
    rows_of_labels,
    to_table,
)
from thresholds.chunks.blocks import OfBlocks, block_of, has_no_rows, one_row_like, weights_of
from thresholds.data.counted import Kind
from thresholds.data.tallies import Items, LabelKeys, Opened, distinct, joined_keys, union_of_keys
from thresholds.fitting.options import DEFAULTS, FitArguments, FitOptions, with_fit_options
from thresholds.results import counted
from thresholds.rule import Rule

# Counts take 40 bytes a candidate. Of more candidates than this, quantiles of each label are counted at first, about
# this many in all: counts there say between which of them the best cut may lie.
_MOST_AT_ONCE = 2**20
_FEWEST_QUANTILES, _MOST_QUANTILES = 32, 256
_HALF = 2**26  # Mantissas are added in halves, so that sums of 2**36 of them are exact.


Part = TypeVar("Part")  # Candidates, or Counts


class Seen(NamedTuple):
    """The rows that candidates were read from, in brief."""

    n_samples: int
    weight: Fraction  # of all rows, exactly
    largest: float  # of their weights
    lowest: float  # score; NaN where every cell is unknown
    highest: float

    def __add__(self, other: "Seen") -> "Seen":  # type: ignore[override]
        """Add other rows."""
        return Seen(
            self.n_samples + other.n_samples,
            self.weight + other.weight,
            max(self.largest, other.largest),
            float(np.fmin(self.lowest, other.lowest)),
            float(np.fmax(self.highest, other.highest)),
        )


@dataclass(frozen=True, eq=False)
class Candidates(OfBlocks):
    """The distinct scores of each label's positives: what a second pass over the rows counts at.

    Made of blocks of rows by `Candidates.of`, wherever these lie, and added: `+` is the union, in any order. A score
    takes 4 bytes (8 if float64), so that candidates of n cells take about 4 n times the share of positives.

    Attributes
    ----------
    n_samples, n_labels, n_candidates : numbers of rows seen, of labels, and of scores over all labels
    label_names : as given, or None
    dtype : of the scores
    missing : score of the entries that sparse scores leave out
    lowest, highest : the range of all scores seen, positives' or not; absent entries of sparse scores count as well
    weight_unit : what `Counts.of` takes as `weight_unit` if rows have weights
    nbytes : bytes of the scores and of where each label's begin

    Examples
    --------
    >>> import thresholds
    >>> first = thresholds.Candidates.of([[1, 0], [1, 0]], [[0.9, 0.2], [0.6, 0.1]])
    >>> second = thresholds.Candidates.of([[0, 1], [0, 0]], [[0.7, 0.4], [0.1, 0.3]])
    >>> candidates = first + second
    >>> candidates
    Candidates(4 rows, 2 labels, 3 float64 scores)
    >>> candidates.scores_of(0)
    array([0.6, 0.9])
    """

    kind: Kind = field(repr=False)
    keys: LabelKeys = field(repr=False)
    opened: Opened = field(repr=False)
    seen: Seen = field(repr=False)

    @classmethod
    def of(
        cls,
        y_true: object,
        y_score: object,
        *,
        sample_weight: object = None,
        missing: float = 0.0,
        unknown: object = None,
        label_names: object = None,
        n_jobs: int | None = 1,
    ) -> "Candidates":
        """Read the scores of the positives of a block of rows.

        Parameters
        ----------
        y_true, y_score, sample_weight, missing, unknown, label_names : as in `fit_empirical`, of these rows
            No truth of a block need be known, all weights may be 0, and arrays may have no rows. Of rows without weight
            nothing is read.
        n_jobs : threads

        Returns
        -------
        Candidates

        Raises
        ------
        InputError
            As `fit_empirical`.
        """
        if has_no_rows(y_true, y_score):
            rows = one_row_like(y_true), one_row_like(y_score)
            about: dict[str, Any] = {"missing": missing, "label_names": label_names}
            nothing = cls.of(*rows, **about)  # as no cell is true
            return replace(nothing, seen=Seen(0, Fraction(0), 0.0, math.nan, math.nan))
        block, kind = block_of(
            y_true, y_score, missing=missing, unknown=unknown, label_names=label_names
        )
        weights = weights_of(
            _checks.aligned_rows(sample_weight, "sample_weight", y_score=y_score, y_true=y_true),
            block.n_samples,
        )
        if sample_weight is not None:
            # Any weights do: only whether a row has one matters here.
            present = (weights > 0).astype(np.int64)
            block = replace(block, unit_weights=present, sample_weight=present)

        keys, ends = _positives_of(block, n_jobs)
        ends = to_scores(ends)
        seen = Seen(
            block.n_samples,
            exact_sum(weights),
            float(weights.max()),
            float(ends.min()) if ends.size else math.nan,
            float(ends.max()) if ends.size else math.nan,
        )
        opened = Opened.nothing(kind.n_labels, kind.key_dtype)
        return cls(kind, keys, opened, seen)

    def __add__(self, other: "Candidates") -> "Candidates":
        """Return the scores of both, each once."""
        if not isinstance(other, Candidates):
            raise InputError(f"other is {shown(other)}, expected Candidates")
        self.kind.refuse_other(other.kind)
        if not np.array_equal(self.opened, other.opened):
            raise InputError("other has scores opened, expected the same as here")
        keys = union_of_keys([self.keys, other.keys])
        return Candidates(self.kind, keys, self.opened, self.seen + other.seen)

    def __repr__(self) -> str:
        """Return sizes on one line."""
        words = [
            counted(self.n_samples, "row"),
            counted(self.n_labels, "label"),
            counted(self.n_candidates, f"{self.dtype} score"),
        ]
        n_opened = int((self.opened.lowest <= self.opened.highest).sum())
        if n_opened:
            words.append(f"opened in {counted(n_opened, 'label')}")
        return f"Candidates({', '.join(words)})"

    @property
    def n_samples(self) -> int:
        """Number of rows seen."""
        return self.seen.n_samples

    @property
    def n_candidates(self) -> int:
        """Number of scores, of all labels together."""
        return int(self.keys.keys.size)

    @property
    def lowest(self) -> float:
        """The lowest score of all rows seen."""
        return self.seen.lowest

    @property
    def highest(self) -> float:
        """The highest score of all rows seen."""
        return self.seen.highest

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        arrays = [*self.keys, *self.opened]
        return sum(array.nbytes for array in arrays)

    @property
    def weight_unit(self) -> float:
        """The unit in which weights of all rows are counted: the finest for which counts stay below 2**61."""
        if not self.seen.weight:
            raise InputError(
                "sample_weight is 0 for every row, expected at least one positive weight"
            )
        scale = math.frexp(self.seen.largest)[1]
        total = float(self.seen.weight / Fraction(2) ** scale)
        exponent = _checks.unit_exponent(total, scale, self.n_labels)
        return math.ldexp(1.0, max(exponent, -1074))  # A finer one would be 0, and no weight is.

    @cached_property
    def digest(self) -> str:
        """Tells these candidates from others."""
        digest = hashlib.blake2b(repr(self.kind).encode(), digest_size=16)
        for array in (*self.keys, *self.opened):
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def to_arrow(self) -> Any:
        """Return the candidates as a `pyarrow.Table`, with the columns of `Counts.to_arrow`.

        Tables may be concatenated and their rows put in any order: `from_arrow` makes the union of what it gets.

        Returns
        -------
        pyarrow.Table
        """
        opened = rows_of_labels(
            Special.OPENED, as_numbers(self.opened.lowest), None, as_numbers(self.opened.highest)
        )
        is_opened = self.opened.lowest <= self.opened.highest
        n_samples, weight, *ends = self.seen
        about = {
            "what": "Candidates",
            "kind": about_kind(self.kind),
            "seen": [n_samples, str(weight), *(float(end).hex() for end in ends)],
        }
        parts = [rows_of_keys(self.keys), TableRows(*(column[is_opened] for column in opened))]
        return to_table(parts, about)

    @classmethod
    def from_arrow(cls, data: object) -> "Candidates":
        """Return the union of tables of `to_arrow`.

        Parameters
        ----------
        data : a `pyarrow.Table`, a batch, whatever streams Arrow, or an iterable of these
            All rows of each table, in any order.

        Returns
        -------
        Candidates

        Raises
        ------
        InputError
            For other tables, for rows that were lost, doubled or changed, and for candidates that do not add up, as
            `+`.

        Examples
        --------
        >>> import thresholds
        >>> candidates = thresholds.Candidates.of([[1, 0], [0, 1]], [[0.9, 0.2], [0.4, 0.7]])
        >>> thresholds.Candidates.from_arrow([candidates.to_arrow(), candidates.to_arrow()])  # doctest: +SKIP
        Candidates(4 rows, 2 labels, 2 float64 scores)
        """
        rows, abouts = from_tables(data, "Candidates")
        kind = kind_of(abouts)
        own = rows.at(rows.place == 0)
        seen = None
        for about in abouts:
            n_samples, weight, *ends = about["seen"]
            part = Seen(n_samples, Fraction(weight), *map(float.fromhex, ends))
            seen = part if seen is None else seen + part
        assert seen is not None, "there is a table"
        keys = distinct(own.label, as_keys(own.key, kind), kind.n_labels)
        return cls(kind, keys, opened_of_rows(rows, kind, len(abouts)), seen)

    def scores_of(self, label: int | str) -> AnyFloats:
        """Return the scores of a label, given by name or position, rising."""
        j = _checks.place_of(label, self.label_names, self.n_labels)
        return to_scores(self.keys.keys[self.keys.starts[j] : self.keys.starts[j + 1]])

    @with_fit_options(DEFAULTS)
    def needed_for(
        self, average: Average = "macro", **options: Unpack[FitArguments]
    ) -> "Candidates":
        """Return what the first counting pass has to count at, where these are the candidates of all rows.

        Up to a million scores: all of them, and what is counted suffices. Of more, for thresholds of each label without
        guard and limits, 32 to 256 quantiles of each label: `Counts.needed_for` then says where to count more closely.
        A guard reads all scores, positives' or not, so that all are opened.

        Parameters
        ----------
        average, and the options : as in `fit_empirical`, with its defaults

        Returns
        -------
        Candidates
        """
        checked = FitOptions(average=average, **options)
        if checked.chosen_guard is not None:
            nothing = self.keys.where(np.zeros(self.n_candidates, np.bool_))
            opened = Opened.everything(self.n_labels, self.kind.key_dtype)
            return replace(self, keys=nothing, opened=opened)
        if self.n_candidates <= _MOST_AT_ONCE or not reads_steps_only(checked):
            return self
        n = np.clip(_MOST_AT_ONCE // self.n_labels, _FEWEST_QUANTILES, _MOST_QUANTILES)
        return self.quantiles(int(n))

    def including(self, *rules: Rule) -> "Candidates":
        """Return the same with the scores at which rules begin to predict a label, so that what they decide is counted.

        Parameters
        ----------
        rules : of these labels, each of which decides by a label's own score

        Returns
        -------
        Candidates

        Raises
        ------
        InputError
            For a rule that looks at whole rows, or of other labels.

        Examples
        --------
        >>> import thresholds
        >>> candidates = thresholds.Candidates.of([[1], [1]], [[0.9], [0.6]])
        >>> candidates.including(thresholds.FixedRule(0.5, 1)).scores_of(0)
        array([0.5, 0.6, 0.9])
        """
        parts = [self.keys]
        for rule in rules:
            switches = _switches(rule, self.kind)
            sizes = [own.size for own in switches]
            keys = keys_at_or_above(np.concatenate(switches), self.kind)
            parts.append(LabelKeys(np.append(0, np.cumsum(sizes)), keys))
        return replace(self, keys=union_of_keys(parts))

    def labels(self, first: int, last: int) -> "Candidates":
        """Return the scores of labels `first` up to, but not at, `last`, to count these in a pass of their own.

        `weight_unit` of some labels is another than that of all, which is the one to count with.

        Examples
        --------
        >>> import thresholds
        >>> candidates = thresholds.Candidates.of([[1, 0], [1, 1]], [[0.9, 0.2], [0.6, 0.1]])
        >>> candidates.labels(1, 2).scores_of(0)
        array([0.1])
        """
        kind = self.kind.of_part(first, last)
        return Candidates(kind, self.keys.of(first, last), self.opened.of(first, last), self.seen)

    @classmethod
    def joined(cls, parts: Iterable["Candidates"]) -> "Candidates":
        """Put candidates of consecutive labels side by side, which were read from the same rows.

        Raises
        ------
        InputError
            For parts of other numbers of rows or dtypes, and for a name of a label in two parts.
        """
        first, *others = parts_of(cls, parts)
        whole = (first, *others)
        for other in others:
            if other.n_samples != first.n_samples:
                raise InputError(
                    f"a part has {counted(other.n_samples, 'row')}, expected {first.n_samples:,} as the first has"
                )
        seen = first.seen._replace(
            lowest=float(np.fmin.reduce([part.lowest for part in whole])),
            highest=float(np.fmax.reduce([part.highest for part in whole])),
        )
        opened = (
            np.concatenate(ends) for ends in zip(*(part.opened for part in whole), strict=True)
        )
        return cls(
            first.kind.joined([part.kind for part in others]),
            joined_keys([part.keys for part in whole]),
            Opened(*opened),
            seen,
        )

    def quantiles(self, n: int) -> "Candidates":
        """Return at most n of each label's scores, evenly spaced among them, the highest always.

        Parameters
        ----------
        n : at least 1

        Returns
        -------
        Candidates

        Examples
        --------
        >>> import numpy as np, thresholds
        >>> candidates = thresholds.Candidates.of(np.ones((8, 1)), np.arange(8.0))
        >>> candidates.quantiles(4).scores_of(0)
        array([1., 3., 5., 7.])
        """
        n = _checks.count(n, "n", 1)
        starts = self.keys.starts
        sizes = np.diff(starts)  # (n_labels,)
        wanted = np.repeat(sizes <= n, sizes)  # (n_candidates,)
        many = np.flatnonzero(sizes > n)
        number = np.arange(1, n + 1)  # (n,)
        places = -(-sizes[many, np.newaxis] * number // n) - 1  # (n_many, n)
        wanted[starts[many, np.newaxis] + places] = True
        return replace(self, keys=self.keys.where(wanted))

    def restricted(self, low: object, high: object) -> "Candidates":
        """Return the scores of each label from `low` up to, but not at, `high`: (n_labels,) each, or one for all.

        Examples
        --------
        >>> import numpy as np, thresholds
        >>> candidates = thresholds.Candidates.of(np.ones((8, 1)), np.arange(8.0))
        >>> candidates.restricted(2, 5).scores_of(0)
        array([2., 3., 4.])
        """
        lowest = self._keys_of(low, "low")
        above = self._keys_of(high, "high")
        label = self.keys.label
        wanted = (self.keys.keys >= lowest[label]) & (self.keys.keys < above[label])
        return replace(self, keys=self.keys.where(wanted))

    def opened_between(self, low: object, high: object) -> "Candidates":
        """Return the same with all scores of each label from `low` up to, but not at, `high` opened.

        There every distinct score is counted for itself, positives' or not. NaN, or a `low` that is not below `high`,
        opens none of a label. `high` becomes a candidate, so that no run lies on both sides of what is opened.
        """
        lowest = self._keys_of(low, "low")
        above = self._keys_of(high, "high")
        one = self.kind.key_dtype.type(1)
        is_opened = lowest < above  # (n_labels,) never of NaN, which has the highest key
        opened = Opened(
            np.where(is_opened, lowest, one).astype(lowest.dtype),
            np.where(is_opened, above - one, 0).astype(lowest.dtype),
        )
        label = self.keys.label
        is_inside = (self.keys.keys >= opened.lowest[label]) & (
            self.keys.keys <= opened.highest[label]
        )
        labels = np.flatnonzero(is_opened)
        ends = distinct(labels, above[labels], self.n_labels)
        keys = union_of_keys([self.keys.where(~is_inside), ends])
        return replace(self, keys=keys, opened=opened)

    def _keys_of(self, scores: object, name: str) -> Keys:
        """Return the keys of a score for each label, rounded up to those of the scores' dtype, (n_labels,)."""
        numbers = _checks.numbers(scores, name).astype(np.float64)
        if numbers.shape not in ((), (self.n_labels,)):
            raise InputError(
                f"{name} has shape {numbers.shape}, expected a number, or {self.n_labels}, one for each label"
            )
        return keys_at_or_above(np.broadcast_to(numbers, self.n_labels), self.kind)


def _positives_of(block: Problem, n_jobs: int | None) -> tuple[LabelKeys, Keys]:
    """Return the distinct keys of each label's positives, and some keys, the lowest and the highest among them."""
    if block.is_dense_unweighted and not is_sparse(block.truth):
        row, label = _true_cells(block.truth)  # (n_positives,) each
        keys = to_keys(block.scores[row, label].astype(block.dtype))
        ends = to_keys(_ends(block.scores).astype(block.dtype))
        return distinct(label, keys, block.n_labels), ends

    def read(found: Histograms, _: int) -> tuple[LabelKeys, Keys]:
        groups = Items.of_histograms(found)
        keys = LabelKeys(groups.starts, groups.keys)
        ends = (
            groups.keys[:0]
            if not groups.keys.size
            else np.array([groups.keys.min(), groups.keys.max()])
        )
        return keys.where(groups.positive_weights > 0), ends

    parts = over_histograms(block, read, n_jobs=n_jobs)
    return joined_keys([keys for keys, _ in parts]), np.concatenate([ends for _, ends in parts])


def _ends(scores: Dense) -> Dense:
    """Return the lowest and the highest of some scores, (2,)."""
    if scores.dtype != np.float16 or not scores.dtype.isnative:
        return np.array([scores.min(), scores.max()])
    # NumPy compares float16 slowly. As integers, those that are negative come last, and in reverse.
    signed, bits = scores.view(np.int16), scores.view(np.uint16)
    highest = signed.max()
    nearest, farthest = bits.min(), bits.max()
    lowest = farthest if signed.min() < 0 else nearest
    return (
        np.array([lowest, highest if highest >= 0 else nearest]).astype(np.uint16).view(np.float16)
    )


def _true_cells(truth: Dense) -> tuple[Places, Places]:
    """Return row and label of each true cell of a dense matrix."""
    if truth.itemsize == 1 and truth.flags.c_contiguous:
        # NumPy finds true ones in a row of booleans four times as fast.
        row, label = np.divmod(np.flatnonzero(truth.view(np.bool_).reshape(-1)), truth.shape[1])
        return row, label
    row, label = np.nonzero(truth)
    return row, label


def reads_steps_only(options: FitOptions) -> bool:
    """Whether a fit looks for the best step of each label, or of all labels jointly, and at nothing else."""
    return (
        options.rule is None
        and options.per_label
        and options.guarded_by is None
        and options.max_predicted is None
    )


def _switches(rule: object, kind: Kind) -> Sequence[Floats]:
    """Return the scores at which a rule begins, or ends, to predict each of the labels."""
    switches = rule.switch_scores() if isinstance(rule, Rule) else None
    if switches is None:
        raise InputError(
            f"rule is {shown(rule)}, expected one that decides by each label's own score"
        )
    assert isinstance(rule, Rule), "others have no switches"
    if len(switches) != kind.n_labels:
        raise InputError(
            f"rule has {counted(len(switches), 'label')}, expected {kind.n_labels} as the candidates have"
        )
    order = _checks.places(
        kind.label_names, rule.label_names, "candidates", "the labels of the rule"
    )
    return switches if order is None else [switches[place] for place in np.argsort(order)]


def parts_of(kind: type[Part], parts: object) -> list[Part]:
    """Check a list of Candidates, or of Counts, of which there is one at least."""
    listed = list(parts) if isinstance(parts, Iterable) else []
    if not listed or not all(isinstance(part, kind) for part in listed):
        raise InputError(f"parts is {shown(parts)}, expected a list of {kind.__name__}")
    return listed


def keys_at_or_above(scores: Floats, kind: Kind) -> Keys:
    """Return the lowest key of each score, or of what lies above it and is representable; the highest for NaN."""
    dtype = np.dtype(f"f{kind.key_dtype.itemsize}")
    is_nan = np.isnan(scores)
    keys = to_keys(np.array(rounded_up(np.where(is_nan, 0.0, scores), dtype), dtype, order="C"))
    return np.where(is_nan, np.iinfo(keys.dtype).max, keys).astype(keys.dtype)


def exact_sum(weights: Floats) -> Fraction:
    """Add up numbers without rounding."""
    mantissas, exponents = np.frexp(weights)
    whole = np.ldexp(mantissas, 53).astype(np.int64)  # (n_rows,)
    total = Fraction(0)
    for exponent in np.unique(exponents).tolist():
        of_exponent = whole[exponents == exponent]
        upper, lower = np.divmod(of_exponent, _HALF)
        total += (int(upper.sum()) * _HALF + int(lower.sum())) * Fraction(2) ** (exponent - 53)
    return total
