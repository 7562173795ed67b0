"""Predicting: scores come in as a caller has them, and decisions about them go out in the same kind."""

from typing import Any

import numpy as np

from thresholds import _devices
from thresholds._arrays.libraries import is_dask_array
from thresholds.rule.containers import as_row, by_blocks, in_kind, like_row
from thresholds.rule.protocol import Predicts
from thresholds.rule.watching.noticing import warn_if_changed


def predict(
    rule: Predicts, y_score: object, *, name: str = "y_score", dense: bool = False, **how: Any
) -> Any:
    """Check scores, have a rule decide, warn of scores that have changed gravely, and answer in the caller's kind.

    `how` goes to `rule.decide`, for scores in host memory. An error calls the scores by `name`.
    """

    def again(part: object) -> Any:
        return predict(rule, part, name=name, dense=dense, **how)

    if is_dask_array(y_score):
        return by_blocks(again, y_score, np.uint8, rule, "rule")
    row = as_row(y_score, rule, name)
    if row is not None:
        return like_row(again(row), y_score, rule)
    if _devices.namespace_on_device(y_score) is not None:
        return _predict_on_device(rule, y_score, name)
    scores = rule.checked(y_score, name)
    decided = rule.decide(scores, dense=dense, **how)
    warn_if_changed(rule, scores, decided)
    return in_kind(decided, y_score, rule.label_names)


def _predict_on_device(rule: Predicts, y_score: Any, name: str) -> Any:
    """Decide about an array that is not in host memory, on its device; one dimension for one."""
    scores = rule.checked_on_device(y_score, name)
    decided = rule.decide_on_device(scores)  # (n_samples, n_labels)
    warn_if_changed(rule, scores)
    return decided[:, 0] if y_score.ndim == 1 else decided
