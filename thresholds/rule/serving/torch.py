"""Rules as PyTorch modules: what `Rule.to_torch` gives.

A module decides as its rule does, by the operations of `_devices/`, and holds the numbers of the rule in buffers. These
are integers, the bits of floats: `half()`, `to(torch.bfloat16)` and autocast round floats, and a rounded threshold is
another one. Thresholds are kept twice, rounded up into float32 and as float64, so that scores of each dtype are
compared with what the rule compares them with.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Self, TypeAlias, cast

import numpy as np
import torch

from thresholds import _checks
from thresholds._arrays.dtypes import rounded_up
from thresholds._arrays.types import Dense, Floats
from thresholds._checks import InputError
from thresholds._devices.capping import first_of_rows, in_float, priorities
from thresholds._devices.deciding import highest_of_rows, odd, switch_table
from thresholds._devices.expecting import best_of_rows, best_sets
from thresholds._devices.namespaces import best_float, own

# The dtype in which scores of a dtype are compared; all that float16 and bfloat16 hold, float32 holds.
_COMPARED = {
    torch.float16: torch.float32,
    torch.bfloat16: torch.float32,
    torch.float32: torch.float32,
    torch.float64: torch.float64,
}
_HALVES = (torch.float16, torch.bfloat16)


Names: TypeAlias = tuple[str, ...] | None


class BitsModule(torch.nn.Module):
    """A module whose buffers hold the bits of floats, and stay the same when the floats of a model are rounded."""

    def keep_floats(self, name: str, single: Dense, double: Floats) -> None:
        """Register an array, as float32 and as float64."""
        for suffix, values, bits in (("32", single, np.int32), ("64", double, np.int64)):
            kept = np.ascontiguousarray(values).view(bits)
            self.register_buffer(f"{name}_{suffix}", torch.from_numpy(kept.copy()))

    def floats(self, name: str, dtype: torch.dtype) -> torch.Tensor:
        """Return a registered array as float32 or float64."""
        suffix = "64" if dtype == torch.float64 else "32"
        return getattr(self, f"{name}_{suffix}").view(dtype)

    def _apply(self, fn: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> Self:
        """Move buffers, and convert none: `type(torch.bfloat16)` would convert integers, too."""

        def moved(buffer: torch.Tensor) -> torch.Tensor:
            found = fn(buffer)
            return found if found.dtype == buffer.dtype else buffer.to(found.device)

        return cast(Self, super()._apply(moved, recurse))


class ScoresModule(BitsModule, ABC):
    """A module of scores (n_samples, n_labels), or of one row of them.

    Attributes
    ----------
    n_labels : int, or None if any number is taken
    label_names : tuple of str, or None
    """

    def __init__(self, n_labels: int | None, label_names: Names) -> None:
        super().__init__()
        self.n_labels = n_labels
        self.label_names = label_names

    def forward(self, scores: torch.Tensor) -> torch.Tensor:
        """Return a value for each score, in the shape of the scores: (n_samples, n_labels), or (n_labels,)."""
        found = self.of_rows(self._rows(scores))  # (n_samples, n_labels)
        return found.reshape(scores.shape)

    @abstractmethod
    def of_rows(self, scores: torch.Tensor) -> torch.Tensor:
        """Return a value for each of some floats (n_samples, n_labels)."""

    def extra_repr(self) -> str:
        """Say what is done."""
        return ", ".join(self._in_words())

    def _in_words(self) -> Iterator[str]:
        """Give the settings, one after another."""
        yield f"n_labels={self.n_labels}"

    def _rows(self, scores: torch.Tensor) -> torch.Tensor:
        """Return floats (n_samples, n_labels); a vector is one row, of one label a column, as in `predict`."""
        if scores.ndim not in (1, 2):
            found = tuple(scores.shape)
            raise InputError(f"scores has shape {found}, expected (n_samples, n_labels)")
        is_row = scores.ndim == 1 and self.n_labels not in (None, 1)
        rows = scores if scores.ndim == 2 else scores[None] if is_row else scores[:, None]
        if self.n_labels is not None:
            _checks.label_count(rows.shape, self.n_labels, "module", "scores")
        if rows.dtype in _HALVES:
            # Where torch.compile fuses this with the model before it, scores stay unrounded in
            # float32, unless something is done to their bits.
            return (rows.view(torch.int16) & -1).view(rows.dtype)
        if rows.dtype in _COMPARED:
            return rows
        if rows.is_floating_point() or rows.is_complex():
            expected = "floats of 16 to 64 bits or integers"
            raise InputError(f"scores has dtype {rows.dtype}, expected {expected}")
        return rows.to(torch.float64)


class RuleModule(ScoresModule):
    """Decides as a rule does, wherever the module and the scores are: uint8, 1 where a label is predicted."""


class SwitchModule(RuleModule):
    """Predicts a label where an odd number of its switches is at most the score; a threshold is a single switch."""

    def __init__(self, switches: Sequence[Floats], label_names: Names) -> None:
        super().__init__(len(switches), label_names)
        table = switch_table(list(switches))  # (n_switches, n_labels)

        # What no score reaches is NaN, as scores are not checked: +inf may be among them.
        single = rounded_up(table, np.dtype(np.float32))
        for cuts in (single, table):
            cuts[np.isposinf(cuts)] = np.nan
        self.keep_floats("switches", single, table)

    def of_rows(self, scores: torch.Tensor) -> torch.Tensor:
        """Return decisions about floats (n_samples, n_labels)."""
        xp, cells = own(scores)
        switches = self.floats("switches", _COMPARED[cells.dtype])  # (n_switches, n_labels)
        return cast(torch.Tensor, odd(xp, [cells >= switch for switch in switches]))

    def _in_words(self) -> Iterator[str]:
        """Give the settings, one after another."""
        yield from super()._in_words()
        switches = self.floats("switches", torch.float64)
        first = switches[0][~switches[0].isnan()]
        if first.numel() < switches.shape[1]:
            yield f"never={switches.shape[1] - first.numel()}"
        if first.numel():
            yield f"thresholds={first.min().item():.4g} to {first.max().item():.4g}"
        if len(switches) > 1:
            yield f"switches=up to {len(switches)} a label"


class TopKModule(RuleModule):
    """Predicts the k highest scores of each row; among equal scores, those of the first labels."""

    def __init__(self, k: int, n_labels: int | None, label_names: Names) -> None:
        super().__init__(n_labels, label_names)
        self.k = k

    def of_rows(self, scores: torch.Tensor) -> torch.Tensor:
        """Return decisions about floats (n_samples, n_labels)."""
        xp, cells = own(scores)
        is_nan = cells.isnan()
        decided = highest_of_rows(xp, cells.masked_fill(is_nan, -math.inf), self.k)
        return decided.masked_fill(is_nan, 0)

    def get_extra_state(self) -> torch.Tensor:
        """Return the number of labels, for `state_dict`."""
        return torch.tensor(self.k)

    def set_extra_state(self, state: torch.Tensor) -> None:
        """Take over the number of labels from a `state_dict`."""
        self.k = int(state)

    def _in_words(self) -> Iterator[str]:
        """Give the settings, one after another."""
        yield from super()._in_words()
        yield f"k={self.k}"


class InstanceModule(RuleModule):
    """Predicts, for each row of probabilities, the set of labels with the highest expectation of its F-beta."""

    def __init__(
        self, beta: float, zero_division: float, n_labels: int | None, label_names: Names
    ) -> None:
        super().__init__(n_labels, label_names)
        self.beta = beta
        self.zero_division = zero_division

    def of_rows(self, scores: torch.Tensor) -> torch.Tensor:
        """Return decisions about probabilities (n_samples, n_labels)."""
        xp, cells = own(scores)
        dtype, _ = best_float(xp, cells)
        p = cells.to(dtype).nan_to_num(0.0).clip(0.0, 1.0)
        is_exported = torch.compiler.is_compiling() and not torch.compiler.is_dynamo_compiling()
        if is_exported:
            return best_of_rows(xp, p, self.beta, self.zero_division, stepwise=False)[0]
        return self._step_by_step(p)

    @torch.compiler.disable
    def _step_by_step(self, p: torch.Tensor) -> torch.Tensor:
        """Return decisions about probabilities, whose values say when the search is at its end."""
        if not len(p):
            return torch.zeros_like(p, dtype=torch.uint8)
        return best_sets(p, self.beta, self.zero_division)[0]

    def get_extra_state(self) -> torch.Tensor:
        """Return the settings, for `state_dict`."""
        return torch.tensor([self.beta, self.zero_division], dtype=torch.float64)

    def set_extra_state(self, state: torch.Tensor) -> None:
        """Take over the settings from a `state_dict`."""
        self.beta, self.zero_division = state.tolist()

    def _in_words(self) -> Iterator[str]:
        """Give the settings, one after another."""
        yield from super()._in_words()
        yield f"beta={self.beta:g}"
        yield f"zero_division={self.zero_division:g}"


class CappedModule(RuleModule):
    """Predicts at most k labels of a row: of those that another module predicts, the first in an order."""

    def __init__(
        self,
        rule: RuleModule,
        k: int,
        order: str,
        table: Sequence[Floats],
        of_shares: bool,
        n_labels: int | None,
        label_names: Names,
    ) -> None:
        super().__init__(n_labels, label_names)
        self.rule = rule
        self.k = k
        self.order = order
        self._of_shares = of_shares
        shape = (len(table), n_labels or 0)
        double = np.reshape(np.array(table, np.float64), shape)  # (n_rows, n_labels)
        self.keep_floats("table", in_float(double, np.dtype(np.float32)), double)

    def of_rows(self, scores: torch.Tensor) -> torch.Tensor:
        """Return decisions about floats (n_samples, n_labels)."""
        decided = self.rule.of_rows(scores)
        xp, cells = own(scores)
        dtype, _ = best_float(xp, cells)
        table = list(self.floats("table", dtype))
        ranked = priorities(xp, cells.to(dtype), table, self._of_shares)
        return cast(torch.Tensor, first_of_rows(xp, ranked, decided, self.k))

    def get_extra_state(self) -> torch.Tensor:
        """Return the settings, for `state_dict`."""
        return torch.tensor([self.k, self._of_shares])

    def set_extra_state(self, state: torch.Tensor) -> None:
        """Take over the settings from a `state_dict`."""
        k, of_shares = state.tolist()
        self.k, self._of_shares = k, bool(of_shares)

    def _in_words(self) -> Iterator[str]:
        """Give the settings, one after another."""
        yield from super()._in_words()
        yield f"k={self.k}"
        yield f"order={self.order}"
