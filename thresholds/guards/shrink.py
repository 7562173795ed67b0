"""The guard "shrink": how much to predict, by what a label, its siblings and its probabilities say.

For ratios g = c / a of predictions c to positives a from 1/16 to 64, in twelfths of an octave,
three views of F-beta:

    F_own(g) = (1 + B) TP(g a) / (B a + g a)    on the label's own sample, B = beta^2;
                                                ties in equal parts
    F_sib(g) = mean of F_own(g) over the labels, weighted by exp(-(difference of ln a / .7)^2 / 2)
    F_exp(g) = (1 + B) P(g a) / (B sum of p + g a)    P: sum of p over the g a highest scores,
                                                      p from one logistic curve for all labels

    q(g) ~ exp(a F_own(g) + 20 (F_sib(g) + F_exp(g)) / 2)
    rank = 1 + a exp(sum over g of q(g) ln g)

The threshold is the score at that rank, between two scores where it is no whole number. Few
positives, and the prior decides; many, and the label itself does. One rank lower, since a positive
that helps to choose a rank is counted in it: leave it out, and it is accepted if it is among the
c + 1 highest. A threshold never admits a tie group much larger than the rank, nor that of `missing`
scores: where a rare label's scores are all 0, the sample says nothing.

Where the scores know next to nothing, or rank backwards, all this is beside the point: the best is
to predict nearly always. So if the average of the labels' F that is fitted is below that of
predicting each on every row, on the rows of the fit, where the guard does better than on others,
each label takes the better of its cut and the lowest: that of `missing` scores, too, unless
predictions shall stay sparse (`fall_back.py`). (The plain optimum does worse than always there, on
other rows.) Limits come last.

The weights q are those of a Gibbs posterior: Zhang 2006, "Information-theoretic upper and lower
bounds for statistical estimation"; the shrinkage towards siblings is empirical Bayes: Efron 2010,
"Large-Scale Inference", chapter 1.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from thresholds import _checks
from thresholds._arrays import threads
from thresholds._arrays.dtypes import threshold_dtype
from thresholds._arrays.types import Booleans, Floats, Ints
from thresholds._checks import Placement
from thresholds._kernels.guards import expected_f_at_ratios, f_at_ratios
from thresholds.data import panels
from thresholds.data.panels import Panel
from thresholds.data.problem import Problem
from thresholds.data.tiles import Pass, Passes
from thresholds.guards.base import SHRUNK, GuardedCuts, GuardedFit, GuardInPasses, joined, never
from thresholds.guards.cuts import cut_at_ranks, rows_per_unit_of
from thresholds.guards.fall_back import fall_back, is_below_always
from thresholds.guards.limited import breaks_limits, within_limits
from thresholds.guards.limits import Limits
from thresholds.guards.pooled_curve import BinCounts, Bins, LabelBins
from thresholds.guards.siblings import Siblings
from thresholds.search import staircase
from thresholds.search.ranks import KeptItems, Room
from thresholds.search.staircase import Cuts

# (n_ratios,) of predictions to positives; it has 1, which perfectly separated labels need.
RATIOS = 2.0 ** (np.arange(-48, 73) / 12)

PRIOR_ROWS = 20.0  # that the prior is worth; 10 to 80 do nearly as well
_LIKELY = 3.0  # What the prior adds to the evidence of ratios differs less, as a rule.
_MOST_KEPT = 1 / 16  # of all cells, between passes
_FEW_KEPT = 2**20  # cells: a few megabytes
_EXTRA_RANKS = 1.0  # .5 to 1.5 do nearly as well, 0 and 2 worse
_ABOVE_MAX = 0  # a rank
_NEVER = -1

Unsupported = Literal["above_max", "never"]


@dataclass(frozen=True, slots=True)
class Shrink(GuardInPasses):
    """The guard "shrink": the number predicted is drawn towards what suits similar labels.

    Parameters
    ----------
    siblings : borrow from labels with about as many positives
    probabilities : borrow from one logistic curve of truth on score for all labels
        Switch it off for scores that cannot be compared over labels. It is not used where it falls,
        or where all scores are equal.
    unsupported : where the threshold of a label without positives lies
        "above_max": just above its highest score, so that a clearer case than any seen is
        predicted. "never": at +inf.
    """

    name: ClassVar[str] = "shrink"

    siblings: bool = True
    probabilities: bool = True
    unsupported: Unsupported = "above_max"

    def __post_init__(self) -> None:
        """Check the options."""
        for name, known in (
            ("siblings", (True, False)),
            ("probabilities", (True, False)),
            ("unsupported", ("above_max", "never")),
        ):
            object.__setattr__(self, name, _checks.option(getattr(self, name), name, known))

    def passes(
        self,
        problem: Problem,
        limits: Limits,
        average: str,
        beta: float,
        placement: Placement,
        n_jobs: int | None,
    ) -> Passes[GuardedFit]:
        """Shrink the thresholds of all labels; the average decides whether they fall back."""
        bins = Bins(problem) if self.probabilities else None
        rank_of_others = _ABOVE_MAX if self.unsupported == "above_max" else _NEVER
        rows_per_unit = rows_per_unit_of(problem)
        room = Room(max(int(_MOST_KEPT * problem.n_stored), _FEW_KEPT))
        steps = _Steps(problem, rows_per_unit, bins, rank_of_others, room, beta, limits, placement)
        views = yield Pass(steps.view)
        optimum = staircase.all_cuts([view.optimum for view in views])
        positives = optimum.positives  # (n_labels,)

        # What all labels say.
        ends = np.cumsum([len(view.own) for view in views]).tolist()
        siblings, curve = None, None
        if self.siblings:
            in_rows = positives[positives > 0] * np.float64(rows_per_unit)
            siblings = Siblings(in_rows, RATIOS.size)
            for view, end in zip(views, ends, strict=True):
                siblings.add(end - len(view.own), view.own)
        if bins is not None:
            curve = bins.fit_curve(
                [view.counts for view in views if view.counts], 1 / rows_per_unit
            )

        # The rank of each label, and the cuts there.
        prior = _Prior.of(siblings, curve)
        ranks = threads.run(
            lambda each: steps.ranks(prior, *each),
            list(zip(views, ends, strict=True)),
            n_jobs=n_jobs,
        )
        shrunk = yield from steps.cuts(views, ranks, n_jobs)
        del views  # those of many labels take more memory than all else

        # Or always; within the limits.
        if is_below_always(problem, shrunk, positives, average, beta):
            tiles = yield steps.over_tiles(steps.fall_back, shrunk, positives)
            return GuardedFit(joined(tiles), optimum)
        if breaks_limits(shrunk, limits, positives).any():
            tiles = yield steps.over_tiles(steps.limit, shrunk, positives)
            return GuardedFit(joined(tiles), optimum)
        return GuardedFit(shrunk, optimum)


class _View(NamedTuple):
    """What some labels say, each alone: of each ratio those that have positives."""

    optimum: Cuts  # in the sample
    own: Floats  # (n_supported, n_ratios) F-beta
    most: Ints  # (n_supported,) the weight of all cells
    bins: LabelBins | None  # of the supported labels
    counts: BinCounts | None  # of all
    kept: (
        KeptItems | None
    )  # round the ranks at which they may be cut; None where items are not sorted


class _Prior(NamedTuple):
    """What labels borrow."""

    sibling_f: Floats | None  # (n_sizes, n_ratios) F-beta, by number of positives
    size_of_label: Ints  # (n_supported,)
    curve: Floats | None  # (n_bins + 1,) probabilities

    @classmethod
    def of(cls, siblings: Siblings | None, curve: Floats | None) -> "_Prior":
        """Average over siblings."""
        if siblings is None:
            return cls(None, np.empty(0, np.int64), curve)
        return cls(siblings.means(), siblings.size_of_label, curve)


@dataclass(frozen=True)
class _Steps:
    """The steps of the fit that read some labels."""

    problem: Problem
    rows_per_unit: float
    bins: Bins | None
    rank_of_others: int  # without positives
    room: Room  # for what is kept of labels
    beta: float
    limits: Limits
    placement: Placement

    def over_tiles(self, step: Callable[..., Any], *arrays: Any) -> Pass:
        """Return a pass over the tiles, in which `step` takes arrays of all labels before the labels of a tile."""
        return Pass(partial(step, *arrays), light=self.problem.is_dense_unweighted)

    def view(self, first: int, last: int) -> _View:
        """Read what the labels `first:last` say."""
        problem = self.problem
        items = panels.label_items(problem, first, last)
        stairs = staircase.of_items(items)
        is_supported = stairs.positives > 0  # (n_labels,)
        most = problem.weight_of_label[first:last]
        own = f_at_ratios(
            stairs.offsets,
            stairs.tp,
            stairs.predicted,
            stairs.higher,
            stairs.positives,
            most,
            RATIOS,
            self.beta**2,
        )[is_supported]

        bins, counts = None, None
        if self.bins is not None:
            of_labels = self.bins.of_labels(items)
            counts = self.bins.counts(of_labels, items)
            bins = of_labels.where(is_supported)

        kept = None
        if isinstance(items, Panel):
            ranks = _likely_ranks(own, stairs.positives)
            kept = KeptItems.of(problem, items, ranks, self.room)

        stairs = stairs.cuttable(problem)
        optimum = stairs.cuts_at(stairs.best(self.beta))
        return _View(optimum, own, most[is_supported], bins, counts, kept)

    def ranks(self, prior: _Prior, view: _View, end: int) -> Floats:
        """Return the rank of each label of a view, (n_labels,); `end` are the supported ones up to its last."""
        is_supported = view.optimum.positives > 0
        positives = view.optimum.positives[is_supported]

        # The prior: the mean of what is borrowed.
        borrowed = []
        if prior.sibling_f is not None:
            sizes = prior.size_of_label[end - len(view.own) : end]
            borrowed.append(prior.sibling_f[sizes])
        if prior.curve is not None and view.bins is not None:
            borrowed.append(
                expected_f_at_ratios(
                    *view.bins, view.most, prior.curve, positives, RATIOS, self.beta**2
                )
            )
        prior_f = sum(borrowed) / len(borrowed) if borrowed else np.zeros_like(view.own)

        # The evidence: a F_own + 20 F_prior, (n_supported, n_ratios).
        in_rows = positives * np.float64(self.rows_per_unit)
        evidence = in_rows[:, np.newaxis] * view.own + PRIOR_ROWS * prior_f
        ranks = np.full(is_supported.size, self.rank_of_others, np.float64)
        ranks[is_supported] = _EXTRA_RANKS + in_rows * _mean_ratio(evidence)
        return ranks

    def cuts(
        self, views: Sequence[_View], ranks: Sequence[Floats], n_jobs: int | None
    ) -> Passes[GuardedCuts]:
        """Cut at ranks: from what was kept of the labels, those of which that does not tell from the tiles."""
        dtype = threshold_dtype(self.problem.scores.dtype)

        def cut(each: tuple[_View, Floats]) -> tuple[GuardedCuts, Booleans]:
            view, at = each
            if view.kept is None:
                return never(at.size, SHRUNK), np.zeros(at.size, np.bool_)
            cuts = cut_at_ranks(self.problem, view.kept, at, self.rows_per_unit)
            return cuts, view.kept.answer_at(at, dtype)

        parts = threads.run(cut, list(zip(views, ranks, strict=True)), n_jobs=n_jobs)
        found = joined([cuts for cuts, _ in parts])
        is_found = np.concatenate([is_told for _, is_told in parts])  # (n_labels,)
        if not is_found.all():
            yield self.over_tiles(self.cut, np.concatenate(ranks), found, is_found)
        return found

    def cut(
        self, ranks: Floats, found: GuardedCuts, is_found: Booleans, first: int, last: int
    ) -> None:
        """Cut at the ranks where no cut is found yet, and write these."""
        missed = first + np.flatnonzero(~is_found[first:last])
        if not missed.size:
            return
        labels = slice(missed[0], missed[-1] + 1)  # all between them, too
        items = self.problem.label_items(labels.start, labels.stop)
        read = cut_at_ranks(self.problem, items, ranks[labels], self.rows_per_unit)
        pairs: Any = zip(found, read, strict=True)
        for values, own in pairs:
            values[labels] = own

    def limit(self, cuts: GuardedCuts, positives: Ints, first: int, last: int) -> GuardedCuts:
        """Keep the limits."""
        tile, limits = cuts.of_labels(first, last), self.limits.of_labels(first, last)
        if not breaks_limits(tile, limits, positives[first:last]).any():
            return tile
        items = self.problem.label_items(first, last)
        return within_limits(self.problem, items, tile, limits, self.placement)

    def fall_back(self, cuts: GuardedCuts, positives: Ints, first: int, last: int) -> GuardedCuts:
        """Take the better of the cuts and always, after the limits."""
        return fall_back(
            self.problem,
            self.problem.label_items(first, last),
            cuts.of_labels(first, last),
            positives[first:last],
            self.beta,
            self.limits.of_labels(first, last),
            self.placement,
        )


def _likely_ranks(own: Floats, positives: Ints) -> Ints:
    """Return the first and the last rank, (2, n_labels), at which labels may be cut: what their own F, (n_supported,
    n_ratios), leaves to the prior.
    """
    # A rank far below the best would need a prior that differs more over ratios than it ever does.
    own_positives = positives[positives > 0]  # (n_supported,)
    evidence = own_positives[:, np.newaxis] * own
    is_likely = evidence >= evidence.max(axis=1, keepdims=True) - _LIKELY
    first = np.maximum(is_likely.argmax(axis=1) - 1, 0)
    last = np.minimum(RATIOS.size - is_likely[:, ::-1].argmax(axis=1), RATIOS.size - 1)
    ranks = np.ones((2, positives.size), np.int64)
    ranks[0, positives > 0] = np.floor(own_positives * RATIOS[first])
    ranks[1, positives > 0] = np.ceil(own_positives * RATIOS[last]) + _EXTRA_RANKS + 2
    return ranks


def _mean_ratio(evidence: Floats) -> Floats:
    """Return the geometric mean of the ratios, weighted by exp(evidence)."""
    weight = np.exp(evidence - evidence.max(axis=1, keepdims=True))
    return np.asarray(np.exp((weight * np.log(RATIOS)).sum(axis=1) / weight.sum(axis=1)))
