"""Processes that take subnormal numbers for 0: noticed once, and said."""

from thresholds._checks.frames import warn_caller


class FlushToZeroWarning(UserWarning):
    """Issued once in a process that takes subnormal numbers for 0, as after `torch.set_flush_denormal(True)`."""


class _Said:
    """Whether the process was told."""

    is_said = False


def warn_of_flushing() -> None:
    """Say, once in a process, what subnormal scores count as."""
    if _Said.is_said:
        return
    _Said.is_said = True
    warn_caller(
        "this process flushes subnormal numbers to zero, as after torch.set_flush_denormal(True): scores below 2.2e-308"
        " in size (float32: 1.2e-38) count as 0",
        FlushToZeroWarning,
    )
