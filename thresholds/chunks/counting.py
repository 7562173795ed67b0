"""What a fit makes of each block in its passes: which scores there are, then what weighs there."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from thresholds import _checks
from thresholds._arrays.types import Numbers
from thresholds.chunks.adding import AddedUp, sum_of
from thresholds.chunks.blocks import block_of
from thresholds.chunks.candidates import Candidates, reads_steps_only
from thresholds.chunks.counts import Counts
from thresholds.chunks.passes import Passes, Place, WeightsOfBlock
from thresholds.chunks.sampling import Picked, Plan
from thresholds.chunks.sources import Rows, n_rows_of
from thresholds.data.counted import Kind
from thresholds.data.tallies import Opened
from thresholds.fitting.options import FitOptions

_FEW_BYTES = 2  # of a score: there are at most 65,536 of a label

# A fit of the best steps needs no more of many scores of positives than quantiles of each label. Counts there say
# where the best cut may lie; within, the next pass counts at closer quantiles, or keeps all scores once they are few.
_MOST_KEPT = 2**21  # scores of positives, or quantiles, 4 or 8 bytes each
_FEWEST_KEPT = 32  # of a label
_MOST_OPENED = 2**22  # scores that are kept, 20 bytes each


class About(NamedTuple):
    """How blocks are read."""

    missing: float
    unknown: object
    label_names: object


@dataclass(frozen=True)
class Survey:
    """What the first pass finds in some blocks."""

    candidates: Candidates | None  # None where scores have few bits, and rows no weights
    counts: Counts | None  # there
    are_all: bool  # candidates, of these blocks
    may_narrow: bool  # whether a fit looks at the best steps alone, so that some will do
    weights: Sequence[WeightsOfBlock]
    # The shard, and the row there, of the first of these blocks: its order of labels is kept.
    first: tuple[int, int]
    puts_in_order: ClassVar[bool] = True

    @classmethod
    def of(
        cls,
        rows: Rows,
        place: Place,
        about: About,
        n_jobs: int | None,
        *,
        may_narrow: bool = False,
        at_once: bool = True,
    ) -> "Survey":
        """Survey a block, and count scores of few bits `at_once`."""
        arguments: dict[str, Any] = {**about._asdict(), "n_jobs": n_jobs}
        first = place.shard, place.in_shard
        dtype = getattr(rows.y_score, "dtype", None)
        has_few_bits = getattr(dtype, "itemsize", 8) <= _FEW_BYTES
        if at_once and rows.sample_weight is None and has_few_bits:
            counts = Counts.of(rows.y_true, rows.y_score, **arguments)
            return cls(None, counts, True, may_narrow, [], first)
        candidates = Candidates.of(
            rows.y_true, rows.y_score, sample_weight=rows.sample_weight, **arguments
        )
        weights = []
        if rows.sample_weight is not None:
            of_block = _checks.sample_weights(rows.sample_weight, candidates.n_samples)
            weights.append(WeightsOfBlock(place.shard, place.in_shard, of_block))
        return cls(candidates, None, True, may_narrow, weights, first)._with_few()

    def __add__(self, other: "Survey") -> "Survey":
        """Add what was found in other blocks, whose labels are put in the order of the block that comes first."""
        one, another = sorted((self, other), key=lambda survey: survey.first)
        another = another._in_order_of(one.kind)
        return Survey(
            sum_of(one.candidates, another.candidates),
            sum_of(one.counts, another.counts),
            one.are_all and another.are_all,
            one.may_narrow,
            [*one.weights, *another.weights],
            one.first,
        )._with_few()

    def _in_order_of(self, kind: Kind) -> "Survey":
        """Put labels in the order that they have in another kind, if they are the same."""
        order, candidates = kind.order_of(self.kind), self.candidates
        if order is None or candidates is None:  # What is counted at once has no names of its own.
            return self
        ordered = replace(
            candidates,
            kind=self.kind.ordered_as(kind),
            keys=candidates.keys.in_order(order),
            opened=Opened(*(ends[order] for ends in candidates.opened)),
        )
        return replace(self, candidates=ordered)

    def _with_few(self) -> "Survey":
        """Keep quantiles of candidates that are many."""
        candidates = self.candidates
        if candidates is None or not self.may_narrow or candidates.n_candidates <= _MOST_KEPT:
            return self
        few = candidates.quantiles(max(_FEWEST_KEPT, _MOST_KEPT // candidates.n_labels // 2))
        return replace(self, candidates=few, are_all=False)

    @property
    def all_candidates(self) -> Candidates | None:
        """The scores of all positives, None where only some are known."""
        return self.candidates if self.are_all else None

    def first_candidates(self, options: FitOptions) -> Candidates | None:
        """Return what is counted at first."""
        candidates = self.candidates
        if candidates is None or (reads_steps_only(options) and not self.may_narrow):
            return candidates
        return candidates.needed_for(**options.arguments)

    def next_candidates(
        self, counts: Counts, options: FitOptions, n_cells: int
    ) -> Candidates | None:
        """Return what is counted at next, None where the counts suffice."""
        wanted = counts.needed_for(candidates=self.all_candidates, **options.arguments)
        if wanted is None or self.candidates is None or self.are_all:
            return wanted
        # All scores of an interval would be kept; where that is too many, quantiles within part it further.
        items, opened = counts.tally.counted, wanted.opened
        weight = items.weights[opened.contains(items)].sum() / items.weights.sum()
        n_known = np.count_nonzero(opened.contains(counts.tally.candidates))
        n_inside = np.count_nonzero(opened.contains(self.candidates.keys))
        if weight * n_cells <= _MOST_OPENED or n_inside <= n_known:
            return wanted
        return counts.needed_for(candidates=self.candidates, **options.arguments)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        parts = [self.candidates, self.counts, *(weights for *_, weights in self.weights)]
        return sum(part.nbytes for part in parts if part is not None)

    @property
    def kind(self) -> Kind:
        """What all blocks have in common."""
        some = self.candidates or self.counts
        assert some is not None, "a block has one or the other"
        return some.kind

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return self.kind.n_labels

    @property
    def lacks_some(self) -> bool:
        """Whether some blocks were counted at once, and others not: those with weights."""
        return self.candidates is not None and self.counts is not None

    @property
    def unit(self) -> float | None:
        """What weights are counted in; None where rows have none."""
        if not self.weights:
            return None
        assert self.candidates is not None, "blocks with weights have them"
        return self.candidates.weight_unit

    def weights_of_rows(self, passes: Passes) -> Numbers | None:
        """Return the weights of all rows, as a fit has them; None where all weigh the same."""
        if not self.weights:
            return None
        weights = passes.weights_of_rows(self.weights)
        of_rows, _ = _checks.weights_of_rows(weights, weights.size)
        return None if of_rows is None or np.all(of_rows == 1) else of_rows


@dataclass(frozen=True)
class Surveying:
    """The work of the first pass."""

    about: About
    n_jobs: int | None
    may_narrow: bool = False
    at_once: bool = True

    def __call__(self, rows: Rows, place: Place) -> Survey:
        """Survey a block."""
        return Survey.of(
            rows,
            place,
            self.about,
            self.n_jobs,
            may_narrow=self.may_narrow,
            at_once=self.at_once,
        )


@dataclass(frozen=True)
class Found(AddedUp):
    """What a later pass finds in some blocks."""

    counts: Counts | None
    picked: Picked | None

    @property
    def nbytes(self) -> int:
        """Bytes of the counts."""
        return 1 if self.counts is None else self.counts.nbytes


@dataclass(frozen=True)
class Counting:
    """The work of a later pass: count at candidates, and pick rows to keep, or one of both."""

    about: About
    n_jobs: int | None
    candidates: Candidates | None
    unit: float | None  # of weights
    plan: Plan | None

    def __call__(self, rows: Rows, place: Place) -> Found:
        """Count a block."""
        y_true, y_score, sample_weight, *_ = rows
        counts = picked = None
        if self.candidates is not None:
            if self.unit is not None and sample_weight is None:
                sample_weight = np.ones(n_rows_of(y_score))
            counts = Counts.of(
                y_true,
                y_score,
                self.candidates,
                sample_weight=sample_weight,
                weight_unit=self.unit,
                n_jobs=self.n_jobs,
                **self.about._asdict(),
            )
        if self.plan is not None:
            block, _ = block_of(y_true, y_score, **self.about._asdict())
            picked = self.plan.picked(block.scores, place)
        return Found(counts, picked)
