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
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from thresholds import _checks
from thresholds._arrays import threads
from thresholds._arrays.dtypes import threshold_dtype
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Booleans, Floats, Ints
from thresholds._checks import Placement
from thresholds._engine.cuts import Cuts
from thresholds._engine.cuts import joined as joined_cuts
from thresholds._kernels.guards import expected_f_at_ratios, f_at_ratios
from thresholds.data import panels
from thresholds.data.panels import Panel
from thresholds.data.problem import Problem
from thresholds.data.tiles import Pass, Passes
from thresholds.guards.base import (
    SHRUNK,
    GuardedCuts,
    GuardedFit,
    GuardInPasses,
    joined,
    never,
    to_be_written,
    write,
)
from thresholds.guards.cuts import cut_at_ranks, rows_per_unit_of
from thresholds.guards.fall_back import fall_back, is_below_always
from thresholds.guards.groups import Alike, groups_of, rows_alike
from thresholds.guards.limited import breaks_limits, within_limits
from thresholds.guards.limits import Limits
from thresholds.guards.pooled_curve import BinCounts, Bins, LabelBins
from thresholds.guards.siblings import Siblings
from thresholds.metrics.judging import positives_of
from thresholds.search import staircase
from thresholds.search.ranks import KeptItems, Room
from thresholds.search.staircase import Staircase

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
        steps = _Steps.of(self, problem, beta, limits, placement)
        groups = groups_of(problem)
        if groups is not None:
            stairs = partial(staircase.of_labels, problem)
            tiles = yield Pass(lambda first, last: steps.optimum(stairs(first, last)))
            alike = rows_alike(problem, groups, joined_cuts(tiles), beta)
            steps = steps.where_rows_are(alike)
        # Of very many labels of few entries nothing is kept between passes: it would take more memory than these.
        cut = (
            steps.read_twice if is_sparse(problem.scores) and not problem.soft else steps.read_once
        )
        optimum, shrunk = yield from cut(n_jobs)

        # Or always; within the limits.
        positives = optimum.positives  # (n_labels,)
        if is_below_always(problem, shrunk, positives, average, beta):
            tiles = yield steps.over_tiles(steps.fall_back, shrunk, positives)
            return GuardedFit(joined(tiles), optimum)
        if breaks_limits(shrunk, limits, positives).any():
            tiles = yield steps.over_tiles(steps.limit, shrunk, positives)
            return GuardedFit(joined(tiles), optimum)
        return GuardedFit(shrunk, optimum)


class _Said(NamedTuple):
    """What some labels say of each ratio, each alone; those of them that have positives."""

    is_supported: Booleans  # (n_labels,)
    positives: Ints  # (n_supported,)
    in_rows: Floats  # (n_supported,) the positives, those that are alike counting for less
    most: Ints  # (n_supported,) the weight of all cells
    own: Floats  # (n_supported, n_ratios) F-beta
    bins: LabelBins | None


class _View(NamedTuple):
    """What is read of some labels."""

    said: _Said
    optimum: Cuts  # in the sample
    counts: BinCounts | None
    kept: KeptItems | None  # where items are sorted, round the ranks at which they may be cut


class _Prior(NamedTuple):
    """What labels borrow."""

    sibling_f: Floats | None  # (n_sizes, n_ratios) F-beta, by number of positives
    size_of_label: Ints  # (n_supported,)
    curve: Floats | None  # (n_bins + 1,) probabilities


@dataclass(frozen=True)
class _Steps:
    """The steps of the fit that read some labels."""

    problem: Problem
    rows_per_unit: float  # of all labels
    rows_of_label: (
        Floats | None
    )  # (n_labels,) the same of each, where rows of groups are alike; None where none are
    bins: Bins | None
    siblings: bool
    rank_of_others: int  # without positives
    room: Room  # for what is kept of labels
    beta: float
    limits: Limits
    placement: Placement

    @classmethod
    def of(
        cls, guard: Shrink, problem: Problem, beta: float, limits: Limits, placement: Placement
    ) -> "_Steps":
        """Return the steps of the guard."""
        return cls(
            problem,
            rows_per_unit=rows_per_unit_of(problem),
            rows_of_label=None,
            bins=Bins(problem) if guard.probabilities else None,
            siblings=guard.siblings,
            rank_of_others=_ABOVE_MAX if guard.unsupported == "above_max" else _NEVER,
            room=Room(max(int(_MOST_KEPT * problem.n_stored), _FEW_KEPT)),
            beta=beta,
            limits=limits,
            placement=placement,
        )

    def where_rows_are(self, alike: Alike) -> "_Steps":
        """Return the steps where so many rows are worth one."""
        positives = positives_of(self.problem) * np.float64(self.rows_per_unit)
        in_labels = alike.in_labels(positives)
        return replace(
            self,
            rows_per_unit=self.rows_per_unit / alike.in_all(),
            rows_of_label=self.rows_per_unit / in_labels,
        )

    def worth(self, first: int, last: int) -> Any:
        """Return what the unit of weights is worth in rows: of each label, or of all."""
        if self.rows_of_label is None:
            return np.float64(self.rows_per_unit)
        return self.rows_of_label[first:last]

    def read_once(self, n_jobs: int | None) -> Passes[tuple[Cuts, GuardedCuts]]:
        """Return the in-sample optimum, and the cuts of the guard: what labels say is kept."""
        views = yield Pass(self.view, light=self.problem.is_read_alone)
        optimum = joined_cuts([view.optimum for view in views])
        siblings = self.siblings_of(optimum.positives)
        ends = np.cumsum([len(view.said.own) for view in views]).tolist()
        if siblings is not None:
            for view, end in zip(views, ends, strict=True):
                siblings.add(end - len(view.said.own), view.said.own)
        prior = self.prior(siblings, [view.counts for view in views])

        def cut(each: tuple[_View, int]) -> tuple[Floats, GuardedCuts, Booleans]:
            view, end = each
            ranks = self.ranks(prior, view.said, end)
            if view.kept is None:
                return ranks, never(ranks.size, SHRUNK), np.zeros(ranks.size, np.bool_)
            cuts = cut_at_ranks(self.problem, view.kept, ranks, self.rows_per_unit)
            return ranks, cuts, view.kept.answer_at(ranks, dtype)

        # From what was kept of the labels, those of which that does not tell from the tiles.
        dtype = threshold_dtype(self.problem.scores.dtype)
        parts = threads.run(cut, list(zip(views, ends, strict=True)), n_jobs=n_jobs)
        ranks, cuts, are_cut = zip(*parts, strict=True)
        del views, parts  # of many labels they take much memory
        shrunk, is_cut = joined(cuts), np.concatenate(are_cut)
        if not is_cut.all():
            yield self.over_tiles(self.cut, np.concatenate(ranks), shrunk, is_cut)
        return optimum, shrunk

    def read_twice(self, n_jobs: int | None) -> Passes[tuple[Cuts, GuardedCuts]]:
        """Return the in-sample optimum, and the cuts of the guard: what labels say is read again to cut them."""
        positives = positives_of(self.problem)
        siblings = self.siblings_of(positives)
        ends = np.append(0, (positives > 0).cumsum())
        optimum, shrunk = to_be_written(self.problem.n_labels)

        def survey(first: int, last: int) -> BinCounts | None:
            items = self.problem.label_items(first, last)
            stairs = staircase.of_items(items)
            if siblings is not None:
                siblings.add(ends[first], self.said(stairs, None, first, last).own)
            write(optimum, first, self.optimum(stairs))
            return None if self.bins is None else self.bins.counts(items)

        counts = yield Pass(survey)
        prior = self.prior(siblings, counts)

        def cut(first: int, last: int) -> None:
            items = self.problem.label_items(first, last)
            stairs = staircase.of_items(items)
            bins = None
            if prior.curve is not None and self.bins is not None:
                bins, _ = self.bins.of_labels(items, stairs.positives)
            said = self.said(stairs, bins, first, last)
            ranks = self.ranks(prior, said, ends[last])
            cuts = cut_at_ranks(self.problem, items, ranks, self.worth(first, last))
            write(shrunk, first, cuts)

        yield Pass(cut)
        self.problem.forget()
        return optimum, shrunk

    def siblings_of(self, positives: Ints) -> Siblings | None:
        """Return room for the F of labels that have positives."""
        in_rows = positives * self.worth(0, positives.size)
        return Siblings(in_rows[positives > 0], RATIOS.size) if self.siblings else None

    def prior(self, siblings: Siblings | None, counts: Sequence[BinCounts | None]) -> _Prior:
        """Return what all labels say."""
        curve = None
        if self.bins is not None:
            curve = self.bins.fit_curve(
                [some for some in counts if some is not None], 1 / self.rows_per_unit
            )
        if siblings is None:
            return _Prior(None, np.empty(0, np.int64), curve)
        return _Prior(siblings.means(), siblings.size_of_label, curve)

    def over_tiles(self, step: Callable[..., Any], *arrays: Any) -> Pass:
        """Return a pass over the tiles, in which `step` takes arrays of all labels before the labels of a tile."""
        return Pass(partial(step, *arrays), light=self.problem.is_dense_unweighted)

    def view(self, first: int, last: int) -> _View:
        """Read the labels `first:last`."""
        items = panels.label_items(self.problem, first, last)
        stairs = staircase.of_items(items)
        bins, counts = None, None
        if self.bins is not None:
            bins, total = self.bins.of_labels(items, stairs.positives)
            counts = self.bins.counts(items, total)
        said = self.said(stairs, bins, first, last)
        kept = None
        if isinstance(items, Panel) and self.rows_of_label is None:
            kept = KeptItems.of(self.problem, items, _likely_ranks(said), self.room)
        return _View(said, self.optimum(stairs), counts, kept)

    def optimum(self, stairs: Staircase) -> Cuts:
        """Return the best cut of each label in the sample."""
        stairs = stairs.cuttable(self.problem)
        return stairs.cuts_at(stairs.best(self.beta))

    def said(self, stairs: Staircase, bins: LabelBins | None, first: int, last: int) -> _Said:
        """Read what the labels `first:last` say."""
        is_supported = stairs.positives > 0  # (n_labels,)
        positives = stairs.positives[is_supported]
        most = self.problem.weight_of_label[first:last][is_supported]
        own = f_at_ratios(
            np.append(stairs.offsets[:-1][is_supported], stairs.offsets[-1]),
            stairs.tp,
            stairs.predicted,
            stairs.higher,
            positives,
            most,
            RATIOS,
            self.beta**2,
        )
        in_rows = (stairs.positives * self.worth(first, last))[is_supported]
        return _Said(is_supported, positives, in_rows, most, own, bins)

    def ranks(self, prior: _Prior, said: _Said, end: int) -> Floats:
        """Return the rank of each label, (n_labels,), from what it says; `end` are all supported up to the last."""
        # The prior: the mean of what is borrowed.
        borrowed = []
        if prior.sibling_f is not None:
            sizes = prior.size_of_label[end - len(said.own) : end]
            borrowed.append(prior.sibling_f[sizes])
        if prior.curve is not None and said.bins is not None:
            borrowed.append(
                expected_f_at_ratios(
                    *said.bins, said.most, prior.curve, said.positives, RATIOS, self.beta**2
                )
            )
        prior_f = sum(borrowed) / len(borrowed) if borrowed else np.zeros_like(said.own)

        # The evidence: a F_own + 20 F_prior, (n_supported, n_ratios).
        evidence = said.in_rows[:, np.newaxis] * said.own + PRIOR_ROWS * prior_f
        ranks = np.full(said.is_supported.size, self.rank_of_others, np.float64)
        ranks[said.is_supported] = _EXTRA_RANKS + said.in_rows * _mean_ratio(evidence)
        return ranks

    def cut(
        self, ranks: Floats, found: GuardedCuts, is_found: Booleans, first: int, last: int
    ) -> None:
        """Cut at the ranks where no cut is found yet, and write these."""
        missed = first + np.flatnonzero(~is_found[first:last])
        if not missed.size:
            return
        labels = slice(missed[0], missed[-1] + 1)  # all between them, too
        items = self.problem.label_items(labels.start, labels.stop)
        worth = self.worth(labels.start, labels.stop)
        read = cut_at_ranks(self.problem, items, ranks[labels], worth)
        write(found, labels.start, read)

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


def _likely_ranks(said: _Said) -> Ints:
    """Return the first and the last rank, (2, n_labels), at which labels may be cut: where their own F is high.

    Labels without positives are cut at the first.
    """
    evidence = said.positives[:, np.newaxis] * said.own
    is_likely = evidence >= evidence.max(axis=1, keepdims=True) - _LIKELY
    first = np.maximum(is_likely.argmax(axis=1) - 1, 0)
    last = np.minimum(RATIOS.size - is_likely[:, ::-1].argmax(axis=1), RATIOS.size - 1)
    ranks = np.ones((2, said.is_supported.size), np.int64)
    ranks[0, said.is_supported] = np.floor(said.positives * RATIOS[first])
    ranks[1, said.is_supported] = np.ceil(said.positives * RATIOS[last]) + _EXTRA_RANKS + 2
    return ranks


def _mean_ratio(evidence: Floats) -> Floats:
    """Return the geometric mean of the ratios, weighted by exp(evidence)."""
    weight = np.exp(evidence - evidence.max(axis=1, keepdims=True))
    return np.asarray(np.exp((weight * np.log(RATIOS)).sum(axis=1) / weight.sum(axis=1)))
