"""Several intervals of scores for each label."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from thresholds import _checks, _devices
from thresholds._arrays.blocks import by_cells
from thresholds._arrays.dtypes import key_dtype, rounded_up
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Booleans, Dense, Floats, Ints, Matrix, Places
from thresholds._checks import InputError
from thresholds._results.fields import of_labels, record
from thresholds._results.plain import number_of
from thresholds._results.words import counted
from thresholds.rule.base import ScoreRule
from thresholds.rule.saving import Read
from thresholds.rule.sparse_answers import positives_only, refuse_dense_answer, with_absent

# For so few rows it takes longer to go from switch to switch than to compare each score with each.
_FEW_ROWS = 32
_BLOCK_CELLS = 2**17  # whose copies stay in the cache


def _switches(given: Any, name: str) -> tuple[Floats, ...]:
    """Check the scores of each label at which predicting begins, ends, ..."""
    if not isinstance(given, Iterable):
        raise InputError(f"{name} is {_checks.shown(given)}, expected rising scores for each label")
    switches = tuple(
        _checks.rising(own, f"{name} of label {label}") for label, own in enumerate(given)
    )
    for scores in switches:
        scores.flags.writeable = False
    return switches


@record
class RegionRule(ScoreRule):
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

    switches: Sequence[Floats] = of_labels(_switches, form="cut")

    kind: ClassVar[str] = "region"
    criterion: ClassVar[str] = "region"

    def _check(self) -> None:
        """Refuse switches of other labels than there are names for."""
        names = self.label_names
        if not self.switches or (names is not None and len(names) != len(self.switches)):
            expected = "at least one" if names is None else f"{len(names)} as label_names has"
            raise InputError(f"switches is about {len(self.switches)} labels, expected {expected}")
        super()._check()

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """Take over the values of a copied or pickled rule, its arrays read-only."""
        super().__setstate__(state)
        for scores in self.switches:
            scores.flags.writeable = False

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self.switches)

    def decide_on_device(self, scores: Any) -> Any:
        """Return decisions about scores that are not in host memory, beside them."""
        return _devices.inside(scores, self.switches)

    def decide(self, scores: Matrix, *, dense: bool = False) -> Matrix:
        """Return decisions about scores that `validate` takes."""
        if not is_sparse(scores) and scores.shape[0] <= _FEW_ROWS:
            return self._inside_few_rows(scores).view(np.uint8)
        if not is_sparse(scores):
            return self._inside_many_rows(scores).view(np.uint8)
        absent = self.predicted_if_absent()  # (n_labels,)
        if absent.any() and not dense:
            why = f"missing={self.missing} lies in the region of label {int(absent.argmax())}"
            refuse_dense_answer(scores, why, "")
        predicted = self._inside_entries(scores.indices, scores.data)  # (n_stored,)
        if dense:
            return with_absent(scores, predicted, absent)
        return positives_only(scores, predicted)

    def _to_torch(self) -> Any:
        """Return a PyTorch module that decides as the rule does."""
        from thresholds.rule.serving.torch import SwitchModule

        return SwitchModule(self.switches, self.label_names)

    def only(self, places: Ints) -> "RegionRule":
        """Return a rule that decides about some labels alone, without what is known of the fit."""
        return RegionRule([self.switches[j] for j in places.tolist()], missing=self.missing)

    def switch_scores(self) -> Sequence[Floats]:
        """Return the switches of each label."""
        return self.switches

    def criteria(self) -> Sequence[Hashable]:
        """Return the switches of each label."""
        return [tuple(scores.tolist()) for scores in self.switches]

    def _inside_entries(self, labels: Dense, scores: Dense) -> Booleans:
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

    def _inside_few_rows(self, scores: Dense) -> Booleans:
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

    def predicted_if_absent(self) -> Booleans:
        """Tell for which labels absent entries lie in the region."""
        (inside,) = self._inside_few_rows(np.full((1, self.n_labels), self.missing))
        return np.asarray(inside)

    @classmethod
    def _read(cls, values: Mapping[str, Any], read: Read) -> dict[str, Any]:
        """Return the fields of a rule from plain values, whose switches are a list of each label."""
        found = super()._read(values, read)
        found["switches"] = [
            [_checks.real(number_of(score, "cut"), "switches") for score in own]
            for own in (_checks.a_list(scores, "switches") for scores in found["switches"])
        ]
        return found

    def columns_of_labels(self) -> dict[str, Any]:
        """Return the regions of the labels in words."""
        return {"region": np.array([region_in_words(scores.tolist()) for scores in self.switches])}

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
