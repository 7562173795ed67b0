"""What the scores of a fit look like, label by label, in few bytes: enough to notice that other scores have changed.

A profile is made of a sample of the rows of the fit, of which a copy is kept until the profile is needed. It holds, of
each label, seven quantiles of its scores and on how many rows it is predicted; and of the rows, how many labels they
are given and how many of their scores lie above the quartiles of their labels. With means and standard deviations *of
rows* a change that all labels share can be tested, however the labels depend on each other. `rule/watching/check.py`
does that.

Scores are compared as float32, on both sides, so that the rounding of the file changes no order. Masked cells (-inf)
are no scores, nor are the entries that sparse scores leave out, or that equal `missing` there: of these only the number
is known.
"""

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from thresholds import _checks, devices
from thresholds._arrays import threads
from thresholds._arrays.blocks import by_cells
from thresholds._arrays.sparse import is_sparse, row_of_entries
from thresholds._arrays.types import Booleans, Floats, Ints, Matrix, Numbers, Places
from thresholds._checks import InputError
from thresholds.results import Shown, Table, counted
from thresholds.rule.saving import refuse_unknown
from thresholds.significance import effective_rows

if TYPE_CHECKING:
    from thresholds.rule.base import Rule

# The share of a label's scores that lies at or below each quantile.
LEVELS = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
_QUARTILES = (LEVELS.index(0.25), LEVELS.index(0.75))

# A fit samples one row in so many, or what costs next to nothing; 10,000 rows tell 1 % from 1.5 % of rows.
_ONE_ROW_IN = 50
_CHEAP_CELLS = 2**18
_MOST_CELLS = 2**22
_FEWEST_ROWS = 500  # however many labels there are
_MOST_ROWS = 10_000

_GOLDEN_RATIO = (np.sqrt(5) - 1) / 2

_SORTED_TOGETHER = 2**16  # cells, by one thread

_FEWEST_SCORES = 20  # of a label, for its quartiles to say where the scores of rows lie

_MOST_COUNTED = 2**53  # rows, that float64 counts one by one

_NAMES = ("labels", "above", "outside", "scored")

# Of the bits of a float32.
_BITS, _SIGN, _ALL_BITS = np.uint64(32), np.uint32(31), np.uint32(2**32 - 1)

Float32s = npt.NDArray[np.float32]


class RowFigure(NamedTuple):
    """A figure that every row has: its mean and standard deviation over rows."""

    mean: float
    sd: float

    @classmethod
    def of(cls, values: Numbers) -> "RowFigure":
        """Describe the values of some rows."""
        if values.size == 0:
            return cls(0.0, 0.0)
        return cls(float(values.mean()), float(values.std()))


class Sample(NamedTuple):
    """The scores of sampled rows, as float32: all cells, or those that have a score, row by row."""

    shape: tuple[int, int]  # (n_rows, n_labels)
    cells: Float32s | None  # of that shape, where each has a score
    row: Places  # (n_scores,), else
    column: Places
    score: Float32s

    @classmethod
    def of(cls, rows: Matrix, missing: float, sparse: bool) -> "Sample":
        """Take the scores of rows; where `sparse`, cells equal to `missing` are none, whatever kind of matrix it is."""
        nothing = np.empty(0, np.intp)
        if is_sparse(rows):
            score = _as_float32(rows.data)
            kept = _has_score(score, missing, sparse)
            return cls(
                rows.shape, None, row_of_entries(rows)[kept], rows.indices[kept], score[kept]
            )
        cells = _as_float32(rows)
        kept = _has_score(cells, missing, sparse)
        if not sparse and kept.all():
            return cls(rows.shape, cells, nothing, nothing, cells[:0, 0])
        row, column = np.nonzero(kept)
        return cls(rows.shape, None, row, column, cells[kept])

    def n_in_row(self) -> Ints:
        """Return the number of scores of each row: (n_rows,)."""
        if self.cells is not None:
            return np.full(self.shape[0], self.shape[1])
        return np.bincount(self.row, minlength=self.shape[0])

    def share_above(self, points: Float32s) -> Floats:
        """Return the share of each row's scores that lie above a point of their label: (n_rows,).

        Labels with NaN for a point do not count; NaN for a row without scores.
        """
        has_point = ~np.isnan(points)  # (n_labels,)
        if self.cells is not None:
            n_above = np.count_nonzero(self.cells > points, axis=1)
            n_scores = np.full(self.shape[0], np.count_nonzero(has_point))
        else:
            n_above = np.bincount(self.row, self.score > points[self.column], self.shape[0])
            n_scores = np.bincount(self.row, has_point[self.column], self.shape[0])
        with np.errstate(invalid="ignore"):
            return np.asarray(n_above / n_scores)


class Columns(NamedTuple):
    """The sampled scores of each label, rising, one label after another."""

    scores: Float32s  # (n_scores,)
    starts: Ints  # (n_labels + 1,)

    @classmethod
    def of(cls, sample: "Sample", n_jobs: int | None = 1) -> "Columns":
        """Sort the scores of sampled rows, some labels at a time."""
        n_rows, n_labels = sample.shape
        cells = sample.cells
        if cells is not None:
            rising = np.empty((n_labels, n_rows), np.float32)

            def sort(labels: slice) -> None:
                rising[labels] = cells[:, labels].T
                rising[labels].sort(axis=1)

            parts = list(by_cells(n_labels, cells.size, _SORTED_TOGETHER))
            threads.run(sort, parts, n_jobs=n_jobs, cells=cells.size)
            return cls(rising.reshape(-1), np.arange(n_labels + 1) * n_rows)
        # By column, then by score: columns above the bits of scores, which are turned so that they rise.
        bits = sample.score.view(np.uint32)
        turned = bits ^ np.where(bits >> _SIGN, _ALL_BITS, _ALL_BITS << _SIGN)
        keys = np.sort(sample.column.astype(np.uint64) << _BITS | turned).astype(np.uint32)
        bits = keys ^ np.where(keys >> _SIGN, _ALL_BITS << _SIGN, _ALL_BITS)
        sizes = np.bincount(sample.column, minlength=n_labels)  # (n_labels,)
        return cls(bits.view(np.float32), np.append(0, sizes.cumsum()))

    @property
    def sizes(self) -> Ints:
        """Number of scores of each label: (n_labels,)."""
        return np.diff(self.starts)

    def of_label(self, label: int) -> Float32s:
        """Return the scores of one label, rising."""
        return self.scores[self.starts[label] : self.starts[label + 1]]

    def quantiles(self) -> Float32s:
        """Return the lowest score with a share of at least each level at or below it: (n_labels, n_levels)."""
        quantiles = np.full((self.sizes.size, len(LEVELS)), np.nan, np.float32)
        scored = np.flatnonzero(self.sizes)  # of many labels few may be
        quantiles[scored] = self.scores[self._places(scored)]
        return quantiles

    def are_tied(self, labels: Places) -> Booleans:
        """Tell of each quantile of labels with scores whether it is there more than once: (n_given, n_levels)."""
        at = self._places(labels)
        before = (at > self.starts[labels, np.newaxis]) & (self.scores[at - 1] == self.scores[at])
        is_last = at + 1 >= self.starts[labels + 1, np.newaxis]
        after = np.minimum(at + 1, self.scores.size - 1)
        return np.asarray(before | ~is_last & (self.scores[after] == self.scores[at]))

    def _places(self, labels: Places) -> Ints:
        """Return where the quantiles of labels that have scores are: (n_given, n_levels)."""
        return self.starts[labels, np.newaxis] + ranks(self.sizes[labels]) - 1

    def counts(self, points: npt.NDArray[Any]) -> tuple[Ints, Ints]:
        """Count the scores of each label below, and at or below, points of its own: (n_labels, n_points) each.

        NaN is above all scores.
        """
        below = self._counted(points, np.less_equal)
        up_to = self._counted(points, np.less)
        return below, up_to

    def _counted(self, points: npt.NDArray[Any], ends: np.ufunc) -> Ints:
        """Count the scores of each label before the first that a point `ends` at: one bisection for all points."""
        first = np.broadcast_to(self.starts[:-1, np.newaxis], points.shape)
        low = first.copy()
        high = np.broadcast_to(self.starts[1:, np.newaxis], points.shape).copy()
        for _ in range(int(self.sizes.max(initial=0)).bit_length()):
            middle = (low + high) // 2
            is_open = low < high
            is_end = ends(points, self.scores[np.minimum(middle, self.scores.size - 1)])
            low = np.where(is_open & ~is_end, middle + 1, low)
            high = np.where(is_open & is_end, middle, high)
        return low - first


@dataclass(frozen=True, eq=False, repr=False)
class ScoreProfile(Shown):
    """The scores of a fit, in brief, and what the rule decided about them.

    Attributes
    ----------
    n_rows : number of rows on which `predicted` was counted: all of the fit, or those sampled
    predicted : float64 (n_labels,), on how many of them each label is predicted; NaN where that is not known
    n_sampled : number of rows that all else is from
        They are evenly spaced; with weights, in proportion to these, and no more than their effective number
        (sum w)^2 / sum w^2 (Kish 1965, section 11.2).
    sparse : whether cells equal to `missing` have no score
    quantiles : float32 (n_labels, 7), of each label's scores at .01, .1, .25, .5, .75, .9 and .99
        The lowest score with at least that share at or below it; NaN for a label without scores.
    scored : int64 (n_labels,), on how many of the sampled rows a label has a score; None for all
    rows : mean and standard deviation, over sampled rows, of four figures
        "labels": labels predicted, None where that is not known. "above": the mean share of scores above the lower, and
        above the upper, quartile of their label. "outside": the share at or below the lower or above the upper
        quartile. "scored": the number of labels with a score.
        Both shares are those to expect of other rows, as the quartiles were chosen on these.
    """

    n_rows: int
    predicted: Floats
    n_sampled: int
    sparse: bool
    quantiles: Float32s
    scored: Ints | None
    rows: Mapping[str, RowFigure | None]

    def __post_init__(self) -> None:
        """Check what may come from a file, and freeze the arrays."""
        _count(self.n_rows, "n_rows", 1)
        _count(self.n_sampled, "n_sampled", 1)
        _within(self.predicted, self.n_rows, "predicted")
        _checks.option(self.sparse, "sparse", (True, False))
        if self.scored is not None:
            _one_each(self.scored.size, self.n_labels, "scored")
            _within(self.scored, self.n_sampled, "scored")
        _one_each(self.quantiles.size, self.n_labels * len(LEVELS), "quantiles")
        flat = self.quantiles.reshape(-1)
        falls = flat[1:] < flat[:-1]
        falls[len(LEVELS) - 1 :: len(LEVELS)] = False  # from one label to the next
        if falls.any():
            raise InputError("quantiles fall, expected that those of a label rise")
        for name, figure in self.rows.items():
            _at_most(figure, self.n_labels + 1, name)
        self.__setstate__(self.__dict__)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over values, the arrays frozen; copies and pickles come this way too."""
        self.__dict__.update(state)
        for array in (self.predicted, self.quantiles, self.scored):
            if array is not None:
                array.flags.writeable = False

    @classmethod
    def of(
        cls,
        rule: "Rule",
        scores: Any,
        *,
        weights: Numbers | None = None,
        predicted: Numbers | None = None,
        decided: Matrix | None = None,
        n_jobs: int | None = 1,
    ) -> "ScoreProfile":
        """Describe checked scores, wherever they are, and what a rule decides about them.

        `weights` are those of rows. `predicted` is on how many rows each label is predicted, where that is counted
        already; `decided` are all decisions, where they are known.
        """
        places = sampled_rows(scores.shape, weights)
        # What is counted already is counted on all rows; a weighted count is none of rows.
        return cls.of_sample(
            rule,
            taken_rows(scores, places),
            n_rows=scores.shape[0],
            predicted=predicted if are_equal(weights) else None,
            decided=decided[places] if decided is not None else None,
            n_jobs=n_jobs,
        )

    @classmethod
    def of_sample(
        cls,
        rule: "Rule",
        rows: Matrix,
        *,
        n_rows: int,
        predicted: Numbers | None = None,
        decided: Matrix | None = None,
        n_jobs: int | None = 1,
    ) -> "ScoreProfile":
        """Describe rows that were sampled already, at the places of `sampled_rows`.

        `predicted` is on how many of all `n_rows` each label is predicted, where that is known; `decided` are decisions
        about the sampled ones.
        """
        if decided is None:
            decided = rule.decide(rows, dense=rule.needs_dense(rows))
        if predicted is None:
            n_rows = rows.shape[0]
            predicted = per_label(decided)
        return cls._of_rows(rows, rule.missing, n_rows, predicted, labels_in(decided), n_jobs)

    @classmethod
    def of_scores(
        cls, scores: Any, missing: float, *, weights: Numbers | None = None
    ) -> "ScoreProfile":
        """Describe checked scores about which nothing is decided yet; `weights` are those of rows."""
        rows = taken_rows(scores, sampled_rows(scores.shape, weights))
        unknown = np.full(scores.shape[1], np.nan)
        return cls._of_rows(rows, missing, rows.shape[0], unknown, None)

    @classmethod
    def _of_rows(
        cls,
        rows: Matrix,
        missing: float,
        n_rows: int,
        predicted: Numbers,
        labels: RowFigure | None,
        n_jobs: int | None = 1,
    ) -> "ScoreProfile":
        """Describe the scores of sampled rows, of so many `labels`; on `n_rows` each label is predicted so often."""
        sample = Sample.of(rows, missing, is_sparse(rows))
        columns = Columns.of(sample, n_jobs)
        quantiles = columns.quantiles()
        figures = row_figures(sample, quantiles, columns.sizes, n_jobs)
        return cls(
            n_rows=n_rows,
            predicted=np.asarray(predicted, np.float64),
            n_sampled=rows.shape[0],
            sparse=is_sparse(rows),
            quantiles=quantiles,
            scored=None if sample.cells is not None else columns.sizes,
            rows=_of_other_rows(figures, columns) | {"labels": labels},
        )

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.predicted.size)

    @property
    def n_scores(self) -> Ints:
        """Number of sampled scores of each label: (n_labels,)."""
        return np.full(self.n_labels, self.n_sampled) if self.scored is None else self.scored

    def reordered(self, places: Ints) -> "ScoreProfile":
        """Return the profile with its labels in another order: label j is the one that is at `places[j]` here."""
        return replace(
            self,
            predicted=self.predicted[places],
            quantiles=self.quantiles[places],
            scored=None if self.scored is None else self.scored[places],
        )

    def without_predictions(self, labels: Booleans) -> "ScoreProfile":
        """Forget how often some labels are predicted, as they no longer are decided as they were."""
        predicted = np.where(labels, np.nan, self.predicted)
        return replace(self, predicted=predicted, rows={**self.rows, "labels": None})

    def of_other_decisions(self) -> "ScoreProfile":
        """Forget how often each label is predicted."""
        return self.without_predictions(np.ones(self.predicted.shape, np.bool_))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, in the form of `rule.schema.json`."""
        counts = [None if np.isnan(count) else int(count) for count in self.predicted.tolist()]
        # Labels without scores, most of very many, need no room for theirs.
        quantiles = self.quantiles if self.scored is None else self.quantiles[self.scored > 0]
        return {
            "n_rows": self.n_rows,
            "predicted": counts,
            "n_sampled": self.n_sampled,
            "sparse": self.sparse,
            "quantiles": base64.b64encode(quantiles.astype("<f4").tobytes()).decode(),
            "scored": None if self.scored is None else self.scored.tolist(),
            "rows": {name: _as_list(self.rows[name]) for name in _NAMES},
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "ScoreProfile":
        """Build it from what `to_dict` gave."""
        refuse_unknown(values, (item.name for item in fields(cls)))
        predicted = _checks.a_list(values["predicted"], "predicted")
        _check_counts([count for count in predicted if count is not None], "predicted")
        scored = values["scored"]
        if scored is not None:
            _check_counts(_checks.a_list(scored, "scored"), "scored")
            scored = np.array(scored, np.int64)
        quantiles = _of_all_labels(_decoded(values["quantiles"]), scored, len(predicted))
        rows = values["rows"]
        refuse_unknown(rows, _NAMES)
        return cls(
            n_rows=values["n_rows"],
            predicted=np.array(predicted, np.float64),  # None becomes NaN.
            n_sampled=values["n_sampled"],
            sparse=values["sparse"],
            quantiles=quantiles,
            scored=scored,
            rows={name: _as_figure(rows[name], name) for name in _NAMES},
        )

    def _records(self) -> dict[str, Any]:
        """Return columns, one row a label: `n_predicted`, `n_scores` and the quantiles."""
        quantiles = {f"q{level:g}": self.quantiles[:, k] for k, level in enumerate(LEVELS)}
        return {"n_predicted": self.predicted, "n_scores": self.n_scores, **quantiles}

    def _tables(self, _: int) -> Iterator[str | Table]:
        """Say what is known of the scores."""
        labels = self.rows["labels"]
        predicted = "" if labels is None else f"; a row got {labels.mean:.3g} labels on average"
        sample = f"{counted(self.n_sampled, 'row')} of the fit"
        kind = "lists of scores" if self.sparse else "scores"
        yield f"quantiles of the {kind} of {counted(self.n_labels, 'label')}, on {sample}{predicted}"


def evenly_spaced(n: int, at_most: int) -> Places:
    """Return so many of n places, one in each of as many equal parts, in order; all where there are fewer.

    Where in its part is told by `golden_shares`, as rows may take turns: left and right eyes, say.
    """
    if n <= at_most:
        return np.arange(n)
    size = at_most
    ends = np.arange(size + 1) * n // size  # (size + 1,)
    return ends[:-1] + (golden_shares(0, size) * np.diff(ends)).astype(np.intp)


def golden_shares(first: int, last: int) -> Floats:
    """Return multiples of the golden ratio, whole parts left out: any part of [0, 1) gets its due of every k-th."""
    return np.asarray(np.arange(first, last) * _GOLDEN_RATIO % 1)


def taken_rows(scores: Any, places: Places) -> Matrix:
    """Copy some rows of checked scores, wherever they are, to host memory."""
    if devices.namespace_on_device(scores) is not None:
        return devices.rows(scores, places)
    # Of columns, NumPy would copy all to take some.
    in_rows = isinstance(scores, np.ndarray) and scores.flags.c_contiguous
    return scores.take(places, axis=0) if in_rows else scores[places]


def most_rows(n_labels: int, most_cells: int = _MOST_CELLS) -> int:
    """Return how many rows of so many labels are sampled at most."""
    return min(max(most_cells // n_labels, _FEWEST_ROWS), _MOST_ROWS)


def ranks(sizes: Ints) -> Ints:
    """Return how many of a label's scores lie up to each quantile at least: (n_labels, n_levels)."""
    # Twelve digits, as .99 * 100 is a little more than 99.
    return np.asarray(
        np.ceil(np.round(sizes[:, np.newaxis] * np.array(LEVELS), 12)).astype(np.int64)
    )


def per_label(decided: Matrix) -> Ints:
    """Return on how many rows each label is predicted: (n_labels,)."""
    return np.asarray(decided.sum(axis=0, dtype=np.int64)).reshape(-1)


def labels_in(decided: Matrix) -> RowFigure:
    """Describe how many labels rows are given."""
    return RowFigure.of(np.asarray(decided.sum(axis=1, dtype=np.int64)).reshape(-1))


def row_figures(
    sample: Sample, quantiles: Float32s, sizes: Ints, n_jobs: int | None = 1
) -> dict[str, RowFigure]:
    """Describe where the scores of each row lie among the quartiles of their labels, of `sizes` scores at the fit."""
    enough = np.flatnonzero(sizes >= _FEWEST_SCORES)  # of many labels few may have them
    lower, upper = np.full((2, sizes.size), np.nan, np.float32)
    lower[enough], upper[enough] = quantiles[enough][:, _QUARTILES].T
    # Both (n_rows,).
    above_lower, above_upper = threads.run(
        sample.share_above, [lower, upper], n_jobs=n_jobs, cells=int(sample.n_in_row().sum())
    )
    kept = ~np.isnan(above_lower)
    return {
        "above": RowFigure.of((above_lower + above_upper)[kept] / 2),
        "outside": RowFigure.of((1 - above_lower + above_upper)[kept]),
        "scored": RowFigure.of(sample.n_in_row()),
    }


def _of_other_rows(figures: dict[str, RowFigure], columns: Columns) -> dict[str, RowFigure]:
    """Return the figures that rows have on which the quartiles were not chosen.

    Of n scores k lie at or below the k-th; of other scores k / (n + 1) are expected to. A quartile that several scores
    equal would be the same of other scores, and nothing was chosen.
    """
    labels = np.flatnonzero(columns.sizes >= _FEWEST_SCORES)
    sizes = columns.sizes[labels]
    # Both (n_given, 2).
    rank = np.where(columns.are_tied(labels), 0, ranks(sizes))[:, _QUARTILES]
    n_more_above = (rank / (sizes + 1)[:, np.newaxis]).sum(axis=0)  # (2,), of as many others
    excess = n_more_above / max(sizes.sum(), 1)  # (2,), as shares of all scores
    above = figures["above"]
    outside = figures["outside"]
    return figures | {
        "above": above._replace(mean=above.mean + float(excess.sum()) / 2),
        "outside": outside._replace(mean=outside.mean + float(excess[1] - excess[0])),
    }


def sampled_rows(shape: tuple[int, int], weights: Numbers | None) -> Places:
    """Choose the rows of the fit to describe: evenly spaced, with weights in proportion to them."""
    n_rows, n_labels = shape
    at_most = max(
        most_rows(n_labels, _CHEAP_CELLS), min(n_rows // _ONE_ROW_IN, most_rows(n_labels))
    )
    if weights is None or are_equal(weights):
        return evenly_spaced(n_rows, at_most)
    shares = np.asarray(weights, np.float64) / np.sum(weights, dtype=np.float64)  # (n_rows,)
    n_effective = int(effective_rows(weights) + 1e-9)  # rounding may take it below a whole number
    size = min(max(n_effective, 1), at_most)
    places = np.searchsorted(shares.cumsum(), (np.arange(size) + 0.5) / size)
    return np.asarray(np.minimum(places, np.flatnonzero(shares)[-1]))


def are_equal(weights: Numbers | None) -> bool:
    """Whether each row weighs 1."""
    return weights is None or bool(np.all(weights == 1))


def _as_float32(scores: npt.NDArray[Any]) -> Float32s:
    """Round scores to float32, which keeps their order."""
    with np.errstate(over="ignore"):
        return scores.astype(np.float32, copy=False)


def _one_each(size: int, expected: int, name: str) -> None:
    """Refuse another number of values."""
    if size != expected:
        raise InputError(f"{name} has {size} values, expected {expected}")


def _has_score(score: Float32s, missing: float, sparse: bool) -> Booleans:
    """Tell which cells are not masked, and not `missing` where that is no score."""
    is_finite = score > -np.inf
    return is_finite & (score != _as_float32(np.array(missing))) if sparse else is_finite


def _count(value: object, name: str, smallest: int) -> int:
    """Check a number of rows, of which a file may name more than there are numbers for."""
    count = _checks.count(value, name, smallest)
    if count > _MOST_COUNTED:
        raise InputError(f"{name} is {_checks.shown(count)}, expected at most 2**53")
    return count


def _check_counts(counts: Sequence[Any], name: str) -> None:
    """Check numbers of rows, as `_count` does."""
    _checks.counts(counts, name, 0)
    _count(max(counts, default=0), name, 0)


def _of_all_labels(quantiles: Float32s, scored: Ints | None, n_labels: int) -> Float32s:
    """Return the quantiles of a file by label, (n_labels, n_levels): it may have those of labels with scores alone.

    As they are if that is not their number.
    """
    if quantiles.size == n_labels * len(LEVELS):
        return quantiles.reshape(-1, len(LEVELS))
    if scored is None or scored.size != n_labels:
        return quantiles
    has_scores = scored > 0
    if quantiles.size != np.count_nonzero(has_scores) * len(LEVELS):
        return quantiles
    by_label = np.full((n_labels, len(LEVELS)), np.nan, np.float32)
    by_label[has_scores] = quantiles.reshape(-1, len(LEVELS))
    return by_label


def _at_most(figure: RowFigure | None, most: int, name: str) -> None:
    """Refuse a figure of rows that is larger than any of so many labels."""
    if figure is not None and max(figure) > most:
        raise InputError(f"{name} of rows is {list(figure)}, expected numbers of at most {most}")


def _within(counts: Numbers, most: int, name: str) -> None:
    """Refuse counts of more rows than there are."""
    if np.nanmax(counts, initial=0) > most:
        raise InputError(f"{name} has {int(np.nanmax(counts))} rows of {most}, expected no more")


def _decoded(text: object) -> Float32s:
    """Read float32 numbers from base64."""
    try:
        raw = base64.b64decode(_checks.text(text, "quantiles"), validate=True)
        return np.frombuffer(raw, "<f4").astype(np.float32)
    except (binascii.Error, ValueError):
        raise InputError(
            f"quantiles is {_checks.shown(text)}, expected float32 numbers in base64"
        ) from None


def _as_list(figure: RowFigure | None) -> list[float] | None:
    """Return a figure of rows as plain values."""
    return None if figure is None else list(figure)


def _as_figure(values: object, name: str) -> RowFigure | None:
    """Read a figure of rows."""
    if values is None and name == "labels":
        return None
    numbers = [_checks.finite(number, name) for number in _checks.a_list(values, name)]
    if len(numbers) != 2 or min(numbers) < 0:
        raise InputError(
            f"{name} of rows is {_checks.shown(values)}, expected a mean and a standard deviation"
        )
    return RowFigure(*numbers)
