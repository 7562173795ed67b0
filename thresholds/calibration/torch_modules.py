"""Calibrators, and rules behind them, as PyTorch modules: what `to_torch` gives."""

import math
from collections.abc import Iterator
from typing import cast

import numpy as np
import torch

from thresholds.calibration.calibrator import Calibrator
from thresholds.calibration.on_device import in_dtype, read, reader_of
from thresholds.devices.namespaces import best_float, own
from thresholds.rule.instance import InstanceRule
from thresholds.rule.serving.torch import InstanceModule, RuleModule, ScoresModule


class CalibratorModule(ScoresModule):
    """Turns scores into probabilities, float64 where the device has it."""

    def __init__(self, calibrator: Calibrator) -> None:
        super().__init__(calibrator.n_labels, calibrator.label_names)
        self.method = calibrator.method
        self.by = calibrator.by
        self._reader, tables = reader_of(calibrator.curves)
        for name in self._reader.integers:
            self.register_buffer(name, torch.from_numpy(tables[name]))
        for name in self._reader.floats:
            single = in_dtype(tables[name], np.dtype(np.float32))
            self.keep_floats(name, single, tables[name])

    def of_rows(self, scores: torch.Tensor) -> torch.Tensor:
        """Return probabilities of floats (n_samples, n_labels)."""
        xp, cells = own(scores)
        dtype, _ = best_float(xp, cells)
        tables = {name: getattr(self, name) for name in self._reader.integers}
        tables |= {name: self.floats(name, dtype) for name in self._reader.floats}
        probabilities = read(xp, self._reader, cells.to(dtype), tables)
        return cast(torch.Tensor, probabilities.masked_fill(cells.isnan(), math.nan))

    def get_extra_state(self) -> torch.Tensor:
        """Return what reads the curves, for `state_dict`."""
        return torch.tensor(self._reader.settings, dtype=torch.float64)

    def set_extra_state(self, state: torch.Tensor) -> None:
        """Take over what reads the curves from a `state_dict`."""
        self._reader = self._reader.with_settings(state.tolist())

    def _in_words(self) -> Iterator[str]:
        """Give the settings, one after another."""
        yield from super()._in_words()
        yield f"method={self.method}"
        yield f"by={self.by}"


class CalibratedModule(RuleModule):
    """Turns scores into probabilities, then predicts the set of labels of highest expected F-beta in each row."""

    def __init__(self, calibrator: Calibrator, rule: InstanceRule) -> None:
        super().__init__(calibrator.n_labels, calibrator.label_names or rule.label_names)
        self.calibrator = CalibratorModule(calibrator)
        self.rule = InstanceModule(rule.beta, rule.zero_division, rule.n_labels, rule.label_names)

    def of_rows(self, scores: torch.Tensor) -> torch.Tensor:
        """Return decisions about floats (n_samples, n_labels)."""
        return self.rule.of_rows(self.calibrator.of_rows(scores))
