"""Conditions under which `diagnose` and `monitor` fail."""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from thresholds.cli.printing import print_error

if TYPE_CHECKING:
    from thresholds.diagnosis import Diagnosis
    from thresholds.rule.score_check import ScoreCheck

STATUS = 3  # the exit status where a condition is broken

_COUNTS = ("backwards", "platypus", "suspect", "overpredicted", "unsupported")
_SHARE = "share"
_OF_CHECKS = ("grave", "findings", "moved", "moved_scores")
_SHARE_OF_LABELS = "moved_share"


def conditions_on(counts: Sequence[str], share: str) -> Callable[[str], dict[str, float]]:
    """Return what reads `NAME=BOUND,...`, of names of counts and the name of a share."""

    def conditions(text: str) -> dict[str, float]:
        bounds: dict[str, float] = {}
        for condition in text.split(","):
            name, equals, bound = condition.partition("=")
            name = name.strip()
            if name not in (*counts, share) or not equals:
                expected = ", ".join((*counts, share))
                raise argparse.ArgumentTypeError(
                    f"{condition.strip()!r} is no condition, expected NAME=BOUND, NAME in {expected}"
                )
            if name in bounds:
                raise argparse.ArgumentTypeError(f"{name} is given twice")
            bounds[name] = _share(name, bound.strip()) if name == share else _count(name, bound)
        return bounds

    return conditions


conditions = conditions_on(_COUNTS, _SHARE)
conditions_of_checks = conditions_on(_OF_CHECKS, _SHARE_OF_LABELS)


def figures(diagnosis: "Diagnosis") -> dict[str, float]:
    """Return what conditions are about.

    Numbers of labels, those over-predicted whatever their state, the others by state; and the share of all predictions
    that fall on backwards, platypus and suspect labels.
    """
    counts = {name: int((diagnosis.state == name).sum()) for name in _COUNTS}
    return counts | {
        "overpredicted": int(diagnosis.overpredicted.sum()),
        _SHARE: diagnosis.flagged_share,
    }


def figures_of_check(check: "ScoreCheck") -> dict[str, float]:
    """Return what conditions of `monitor` are about.

    Numbers of grave findings, of all findings, of labels whose predicted rate moved, and of those whose scores did; and
    the share of all labels whose predicted rate moved.
    """
    n_moved = int(check.labels["rate_moved"].sum())
    values = (
        len(check.grave),
        len(check.findings),
        n_moved,
        int(check.labels["scores_moved"].sum()),
    )
    return dict(zip(_OF_CHECKS, values, strict=True)) | {
        _SHARE_OF_LABELS: n_moved / check.labels.size
    }


def broken(bounds: Mapping[str, float] | None, reached: Mapping[str, float]) -> list[str]:
    """Say which conditions do not hold."""
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


def _count(name: str, text: str) -> int:
    """Read a bound on a number of things."""
    digits = text.strip()
    if digits.isascii() and digits.isdecimal():
        return int(digits)
    things = "labels" if name not in ("grave", "findings") else "findings"
    raise argparse.ArgumentTypeError(
        f"{name} has the bound {digits!r}, expected a whole number of {things}"
    )


def _share(name: str, text: str) -> float:
    """Read a bound on a share."""
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise argparse.ArgumentTypeError(
            f"{name} has the bound {text!r}, expected a number from 0 to 1"
        )
    return share
