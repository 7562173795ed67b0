"""Calibrators, and rules behind them, as PyTorch modules: what `to_torch` gives."""

import math
from collections.abc import Iterator
from typing import cast

import numpy as np
import torch

from thresholds._devices.namespaces import best_float, own
from thresholds.calibration.curves import CalibrationCurves, in_dtype, read
from thresholds.rule.instance import InstanceRule
from thresholds.rule.serving.torch import InstanceModule, RuleModule, ScoresModule


class CalibratorModule(ScoresModule):
    """Turns scores into probabilities, float64 where the device has it."""

    def __init__(
        self,
        curves: CalibrationCurves,
        n_labels: int,
        label_names: tuple[str, ...] | None,
        *,
        method: str,
        by: str,
    ) -> None:
        super().__init__(n_labels, label_names)
        self.method = method
        self.by = by
        self._settings = curves.settings
        self._integers, self._floats = [], []
        for name, table in curves.tables.items():
            if table.dtype.kind == "i":
                self._integers.append(name)
                self.register_buffer(name, torch.from_numpy(table))
            else:
                self._floats.append(name)
                self.keep_floats(name, in_dtype(table, np.dtype(np.float32)), table)

    def of_rows(self, scores: torch.Tensor) -> torch.Tensor:
        """Return probabilities of floats (n_samples, n_labels)."""
        xp, cells = own(scores)
        dtype, _ = best_float(xp, cells)
        tables = {name: getattr(self, name) for name in self._integers}
        tables |= {name: self.floats(name, dtype) for name in self._floats}
        probabilities = read(xp, cells.to(dtype), tables, self._settings)
        return cast(torch.Tensor, probabilities.masked_fill(cells.isnan(), math.nan))

    def get_extra_state(self) -> torch.Tensor:
        """Return what reads the curves, for `state_dict`."""
        return torch.tensor(self._settings, dtype=torch.float64)

    def set_extra_state(self, state: torch.Tensor) -> None:
        """Take over what reads the curves from a `state_dict`."""
        self._settings = tuple(state.tolist())

    def _in_words(self) -> Iterator[str]:
        """Give the settings, one after another."""
        yield from super()._in_words()
        yield f"method={self.method}"
        yield f"by={self.by}"


class CalibratedModule(RuleModule):
    """Turns scores into probabilities, then predicts the set of labels of highest expected F-beta in each row."""

    def __init__(self, calibrator: CalibratorModule, rule: InstanceRule) -> None:
        super().__init__(calibrator.n_labels, calibrator.label_names or rule.label_names)
        self.calibrator = calibrator
        self.rule = InstanceModule(rule.beta, rule.zero_division, rule.n_labels, rule.label_names)

    def of_rows(self, scores: torch.Tensor) -> torch.Tensor:
        """Return decisions about floats (n_samples, n_labels)."""
        return self.rule.of_rows(self.calibrator.of_rows(scores))
