"""Conditions under which `diagnose` fails."""

import argparse
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from thresholds.cli.printing import print_error

if TYPE_CHECKING:
    from thresholds.diagnosis import Diagnosis

STATUS = 3  # the exit status where a condition is broken

_STATES = ("backwards", "platypus", "suspect", "overpredicted", "unsupported")
_VERDICTS = ("weak", "unproven", "missed", "useless")
_COUNTS = (*_STATES, *_VERDICTS)
_SHARE = "share"


def conditions(text: str) -> dict[str, float]:
    """Read `NAME=BOUND,...`."""
    bounds: dict[str, float] = {}
    for condition in text.split(","):
        name, equals, bound = condition.partition("=")
        name = name.strip()
        if name not in (*_COUNTS, _SHARE) or not equals:
            expected = ", ".join((*_COUNTS, _SHARE))
            raise argparse.ArgumentTypeError(
                f"{condition.strip()!r} is no condition, expected NAME=BOUND, NAME in {expected}"
            )
        if name in bounds:
            raise argparse.ArgumentTypeError(f"{name} is given twice")
        bounds[name] = _bound(name, bound.strip())
    return bounds


def figures(diagnosis: "Diagnosis") -> dict[str, float]:
    """Return what conditions are about.

    Numbers of labels, those over-predicted whatever their state, the others by state or by verdict; and the share of
    all predictions that fall on backwards, platypus and suspect labels.
    """
    states = {name: int((diagnosis.state == name).sum()) for name in _STATES}
    return (
        states
        | diagnosis.verdicts.counts
        | {
            "overpredicted": int(diagnosis.overpredicted.sum()),
            _SHARE: diagnosis.flagged_share,
        }
    )


def broken(bounds: Mapping[str, float] | None, diagnosis: "Diagnosis") -> list[str]:
    """Say which conditions do not hold."""
    reached = figures(diagnosis)
    return [
        f"{name} is {reached[name]:.4g}, expected at most {bound:g}"
        for name, bound in (bounds or {}).items()
        if reached[name] > bound
    ]


def report(lines: list[str]) -> None:
    """Print broken conditions on stderr, after all else."""
    sys.stdout.flush()
    for line in lines:
        print_error(f"thresholds: failed: {line}")


def _bound(name: str, text: str) -> float:
    """Read one bound: a share, or a number of labels."""
    if name != _SHARE and text.isascii() and text.isdecimal():
        return int(text)
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if name != _SHARE or not 0 <= share <= 1:
        expected = "a number from 0 to 1" if name == _SHARE else "a whole number of labels"
        raise argparse.ArgumentTypeError(f"{name} has the bound {text!r}, expected {expected}")
    return share
