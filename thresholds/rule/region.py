"""Several intervals of scores for each label."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from thresholds import _checks, devices
from thresholds._arrays.blocks import by_cells
from thresholds._arrays.dtypes import key_dtype, rounded_up
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Booleans, Dense, Floats, Ints, Matrix, Places
from thresholds._checks import InputError
from thresholds.results import counted
from thresholds.rule.base import Rule, positives_only
from thresholds.rule.saving import (
    check_parts,
    checked_settings,
    from_json,
    header,
    read_settings,
    to_json,
    written_settings,
)

if TYPE_CHECKING:
    from thresholds.rule.fitted_on import FittedOn, OutOfFold
    from thresholds.rule.made_by import MadeBy
    from thresholds.rule.watching.profile import ScoreProfile

# For so few rows it takes longer to go from switch to switch than to compare each score with each.
_FEW_ROWS = 32
_BLOCK_CELLS = 2**17  # whose copies stay in the cache


@dataclass(frozen=True, eq=False, repr=False)
class RegionRule(Rule):
    """Predict a label where its score lies in a region: a union of intervals.

    A rule of thresholds has one interval for each label, from the threshold up. `fit_regions` makes others, for scores
    whose likelihood ratio does not rise.

    Attributes
    ----------
    switches : for each label, rising scores at which predicting begins, ends, begins again, ...
        Label j is predicted where an odd number of its switches is at most the score; without switches never.
    missing : the score of an entry that a sparse matrix leaves out
    label_names, average, beta, zero_division, objective : as in `ThresholdRule`
    fitted_on, out_of_fold, made_by, profile : what is known of the fit, as in `ThresholdRule`

    Examples
    --------
    >>> import thresholds
    >>> rule = thresholds.RegionRule([[0.2, 0.4, 0.8]])  # from 0.2 to below 0.4, and from 0.8
    >>> rule.predict([0.1, 0.3, 0.5, 0.9])
    array([0, 1, 0, 1], dtype=uint8)
    """

    switches: Sequence[Floats]
    missing: float = 0.0
    label_names: tuple[str, ...] | None = None
    average: str | None = None
    beta: float = 1.0
    zero_division: float = 0.0
    objective: float | None = None
    fitted_on: "FittedOn | None" = field(default=None, repr=False, compare=False)
    out_of_fold: "OutOfFold | None" = field(default=None, repr=False, compare=False)
    made_by: "MadeBy | None" = field(default=None, repr=False, compare=False)
    profile: "ScoreProfile | None" = field(default=None, repr=False, compare=False)

    kind: ClassVar[str] = "region"
    own_fields: ClassVar[tuple[str, ...]] = ("switches",)
    part: ClassVar[str] = "region"

    def __post_init__(self) -> None:
        """Check the switches."""
        if not isinstance(self.switches, Iterable):
            raise InputError(
                f"switches is {_checks.shown(self.switches)}, expected rising scores for each label"
            )
        switches = tuple(
            _checks.rising(own, f"switches of label {label}")
            for label, own in enumerate(self.switches)
        )
        settings = checked_settings(self)
        names = settings.get("label_names")
        if not switches or (names is not None and len(names) != len(switches)):
            expected = "at least one" if names is None else f"{len(names)} as label_names has"
            raise InputError(f"switches is about {len(switches)} labels, expected {expected}")
        self.__setstate__({"switches": switches} | settings)
        check_parts(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over values, the arrays frozen; copies and pickles come this way too."""
        self.__dict__.update(state)
        for scores in self.switches:
            scores.flags.writeable = False

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self.switches)

    def reordered(self, places: Ints) -> Self:
        """Return the same rule with its labels in another order: label j is the one that is at `places[j]` here."""
        switches = tuple(self.switches[k] for k in places.tolist())
        return replace(self, switches=switches, **self._of_labels(places))

    def decide_on_device(self, scores: Any) -> Any:
        """Return decisions about scores that are not in host memory, beside them."""
        return devices.inside(scores, self.switches)

    def decide(self, scores: Matrix, *, dense: bool = False) -> Matrix:
        """Return decisions about scores that `validate` takes."""
        if not is_sparse(scores) and scores.shape[0] <= _FEW_ROWS:
            return self._inside_few_rows(scores).view(np.uint8)
        if not is_sparse(scores):
            return self._inside_many_rows(scores).view(np.uint8)
        if not dense:
            self._refuse_dense_answer(scores)

        predicted = self._inside_entries(scores.indices, scores.data)  # (n_stored,)
        return self._with_absent(scores, predicted) if dense else positives_only(scores, predicted)

    def about(self, places: Ints) -> "RegionRule":
        """Return a rule that decides about some labels alone, without what is known of the fit."""
        return RegionRule([self.switches[j] for j in places.tolist()], missing=self.missing)

    def switch_scores(self) -> Sequence[Floats]:
        """Return the switches of each label."""
        return self.switches

    def parts(self) -> Sequence[Hashable]:
        """Return the switches of each label."""
        return [tuple(scores.tolist()) for scores in self.switches]

    def _inside_entries(
        self, labels: npt.NDArray[Any], scores: npt.NDArray[Any]
    ) -> npt.NDArray[np.bool_]:
        """Tell which scores lie in the regions of their labels, (n_scores,) each: one bisection for all."""
        switches, _, starts = self._all_switches
        first, high = starts[labels], starts[labels + 1]
        low = first.copy()
        for _ in range(int(np.diff(starts).max()).bit_length()):
            is_open = low < high
            middle = (low + high) // 2
            is_passed = scores >= switches[np.minimum(middle, switches.size - 1)]
            low = np.where(is_open & is_passed, middle + 1, low)
            high = np.where(is_open & ~is_passed, middle, high)
        return np.asarray((low - first) % 2 == 1)

    def _inside_few_rows(self, scores: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Tell which scores (n_samples, n_labels) lie in the regions, all labels at once."""
        switches, labels, starts = self._all_switches
        reached = scores[:, labels] >= switches  # (n_samples, n_switches)
        so_far = np.zeros((scores.shape[0], switches.size + 1), np.int64)
        np.cumsum(reached, axis=1, out=so_far[:, 1:])
        passed = np.diff(so_far[:, starts], axis=1)  # (n_samples, n_labels)
        return np.asarray(passed % 2 == 1)

    def _inside_many_rows(self, scores: Dense) -> Booleans:
        """Tell which scores (n_samples, n_labels) lie in the regions: each switch that is reached turns a decision."""
        dtype = key_dtype(scores.dtype)
        labels, by_rank = self._switches_by_rank
        first, *others = (rounded_up(switches, dtype) for switches in by_rank)
        inside = np.empty(scores.shape, np.bool_)
        for rows in by_cells(len(scores), scores.size, _BLOCK_CELLS):
            block = np.asarray(scores[rows], dtype)  # (n_rows, n_labels)
            np.greater_equal(block, first, out=inside[rows])
            if not labels.size:
                continue
            # Labels with more switches, those with most of them first.
            columns = np.ascontiguousarray(block[:, labels].T)  # (n_given, n_rows)
            turned = np.ascontiguousarray(inside[rows][:, labels].T)
            for switches in others:
                n = switches.size
                turned[:n] ^= columns[:n] >= switches[:, np.newaxis]
            inside[rows, labels] = turned.T
        return inside

    @cached_property
    def _switches_by_rank(self) -> tuple[Places, list[Floats]]:
        """The labels with several switches, those with most first; and the lowest switches, the second ones, ....

        The lowest are of all labels, +inf where there is none; others of as many of these labels as have so many.
        """
        switches, _, starts = self._all_switches
        sizes = np.diff(starts)  # (n_labels,)
        lowest = np.full(sizes.size, np.inf)
        lowest[sizes > 0] = switches[starts[:-1][sizes > 0]]

        most_first = np.argsort(-sizes, kind="stable")
        several = most_first[: np.count_nonzero(sizes > 1)]
        by_rank = [lowest]
        for rank in range(1, int(sizes.max())):
            those = several[: np.count_nonzero(sizes > rank)]
            by_rank.append(switches[starts[those] + rank])
        return several, by_rank

    @cached_property
    def _all_switches(self) -> tuple[Floats, Ints, Ints]:
        """All switches, label after label; the label of each; and where those of a label begin, (n_labels + 1,)."""
        sizes = [scores.size for scores in self.switches]
        starts = np.append(0, np.cumsum(sizes))
        return np.concatenate(self.switches), np.repeat(np.arange(self.n_labels), sizes), starts

    def _predicted_if_absent(self) -> npt.NDArray[np.bool_]:
        """Tell for which labels absent entries lie in the region."""
        (inside,) = self._inside_few_rows(np.full((1, self.n_labels), self.missing))
        return np.asarray(inside)

    def _why_dense(self, label: int) -> tuple[str, str]:
        """Say that absent entries lie in the region of a label."""
        return f"missing={self.missing} lies in the region of label {label}", ""

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as plain values, in the form of `rule.schema.json`."""
        switches = [[to_json(score) for score in scores.tolist()] for scores in self.switches]
        return header(self.kind) | {"switches": switches} | written_settings(self)

    @classmethod
    def _from_values(cls, values: Mapping[str, Any]) -> Self:
        """Build a rule of this kind."""
        lists = [
            _checks.a_list(scores, "switches")
            for scores in _checks.a_list(values["switches"], "switches")
        ]
        switches = [np.array([from_json(score) for score in scores]) for scores in lists]
        return cls(switches=switches, **read_settings(cls, values))

    def parts_shown(self, n: int) -> dict[str, npt.NDArray[Any]]:
        """Return the regions of the first n labels in words."""
        return {
            "region": np.array([region_in_words(scores.tolist()) for scores in self.switches[:n]])
        }

    def in_words(self) -> str:
        """Say what was maximised, what was reached, and how many labels have more than one interval."""
        several = sum(scores.size > 1 for scores in self.switches)
        labels = counted(self.n_labels, "label")
        shape = f"regions of scores for {labels} ({several:,} of them more than one threshold)"
        if self.objective is None:
            return f"{shape}, not fitted"
        return (
            f"{self.average} F{self.beta:g}, {shape}: objective {self.objective:.4f} (in-sample, unguarded)"
            f"{self.on_other_rows()}{self.source()}"
        )


def region_in_words(switches: Sequence[float]) -> str:
    """Say where a label is predicted: "0.2 to 0.4, 0.8 up"."""
    starts, ends = switches[::2], switches[1::2]
    intervals = [f"{start:.6g} to {end:.6g}" for start, end in zip(starts, ends, strict=False)]
    if len(starts) > len(ends):
        intervals.append(f"{starts[-1]:.6g} up")
    return ", ".join(intervals) or "never"
