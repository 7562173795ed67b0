"""What a call does, be it a value with warnings or a refusal, and whether two libraries do the same."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

import thresholds

CLOSE = 1e-12
OURS = "thresholds."


@dataclass(frozen=True)
class Outcome:
    """A value with the categories and texts of its warnings, or an error."""

    value: object = None
    warned: list[tuple[str, str]] = field(default_factory=list)
    error: ValueError | None = None


def outcome(call: Callable[..., object], *arguments: object, **options: object) -> Outcome:
    """What the call does; our own must refuse with `InputError`, warn in its own category and at the caller's line."""
    ours = call.__module__.startswith(OURS)
    refusal = thresholds.InputError if ours else ValueError
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = call(*arguments, **options)
        except refusal as error:
            return Outcome(error=error)
    if ours:
        assert all(w.category in (UserWarning, thresholds.UndefinedMetricWarning) for w in caught)
        assert all(w.filename == __file__ for w in caught), "warnings point at the caller"
    return Outcome(value, [(w.category.__name__, str(w.message)) for w in caught])


def same_value(ours: object, theirs: object) -> bool:
    """Whether both are the same to 1e-12, NaN alike, in the same type; arrays of the same kind of numbers."""
    if type(ours) is not type(theirs):
        return False
    if isinstance(ours, tuple):
        return len(ours) == len(theirs) and all(map(same_value, ours, theirs))
    if isinstance(ours, np.ndarray):
        alike = ours.shape == theirs.shape and ours.dtype.kind == theirs.dtype.kind
        return alike and np.allclose(ours, theirs, rtol=CLOSE, atol=CLOSE, equal_nan=True)
    if isinstance(ours, float):
        return (
            ours == theirs or abs(ours - theirs) <= CLOSE * max(1, abs(theirs)) or (ours != ours and theirs != theirs)
        )
    return ours is theirs is None


def assert_same(ours: Outcome, theirs: Outcome, *where: object) -> None:
    """Both refuse, or both give the same value and the same warnings in the same order."""
    at = " ".join(map(str, where))
    assert (ours.error is None) == (theirs.error is None), f"{at}: {ours} against {theirs}"
    assert ours.error is not None or same_value(ours.value, theirs.value), f"{at}: {ours.value} against {theirs.value}"
    assert ours.warned == theirs.warned, at
