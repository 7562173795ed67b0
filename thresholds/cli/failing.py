"""Conditions under which a command fails: `--fail-on NAME=BOUND,...`, one grammar for all commands."""

import argparse
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from thresholds.comparison.differences import RuleDifference
    from thresholds.comparison.result import Comparison
    from thresholds.diagnosis import Diagnosis
    from thresholds.rule.watching.check import ScoreCheck


class _Kind(NamedTuple):
    """A kind of bound: what it is, and between which numbers."""

    expected: str
    least: float
    most: float
    is_whole: bool = False


_LABELS = _Kind("a whole number of labels", 0, float("inf"), is_whole=True)
_FINDINGS = _Kind("a whole number of findings", 0, float("inf"), is_whole=True)
_SHARE = _Kind("a number from 0 to 1", 0, 1)
_LOSS = _Kind("a number from -1 to 0", -1, 0)

Names = Mapping[str, _Kind]

_STATES = ("backwards", "platypus", "suspect", "overpredicted", "unsupported")
_VERDICTS = ("weak", "unproven", "missed", "useless")
DIAGNOSE: Names = dict.fromkeys((*_STATES, *_VERDICTS), _LABELS) | {"share": _SHARE}
COMPARE: Names = dict.fromkeys(("micro", "macro_supported", "macro", "weighted", "samples"), _LOSS)
DIFF: Names = {"news": _LABELS, "changed": _SHARE}
MONITOR: Names = {
    "grave": _FINDINGS,
    "findings": _FINDINGS,
    "moved": _LABELS,
    "moved_scores": _LABELS,
    "moved_share": _SHARE,
}


def conditions_on(names: Names) -> Callable[[str], dict[str, float]]:
    """Return what reads `NAME=BOUND,...` of a command whose conditions have these names."""

    def conditions(text: str) -> dict[str, float]:
        bounds: dict[str, float] = {}
        for condition in text.split(","):
            name, equals, bound = condition.partition("=")
            name = name.strip()
            if name not in names or not equals:
                raise argparse.ArgumentTypeError(
                    f"{condition.strip()!r} is no condition, expected NAME=BOUND, NAME in"
                    f" {', '.join(names)}"
                )
            if name in bounds:
                raise argparse.ArgumentTypeError(f"{name} is given twice")
            bounds[name] = _bound(name, names[name], bound.strip())
        return bounds

    return conditions


def figures(diagnosis: "Diagnosis") -> dict[str, float]:
    """Return what conditions of `diagnose` are about.

    Numbers of labels, those over-predicted whatever their state, the others by state or by verdict; and the share of
    all predictions that fall on backwards, platypus and suspect labels.
    """
    states = {name: int((diagnosis.state == name).sum()) for name in _STATES}
    return (
        states
        | diagnosis.verdicts.counts
        | {
            "overpredicted": int(diagnosis.overpredicted.sum()),
            "share": diagnosis.flagged_share,
        }
    )


def changes(difference: "RuleDifference") -> dict[str, float]:
    """Return what conditions of `diff` are about: moves that are news, and the share of rows decided differently.

    Left out is what is not known: without the odds of labels, and without scores.
    """
    reached: dict[str, float] = {}
    if difference.n_news is not None:
        reached["news"] = difference.n_news
    if difference.rows_changed is not None and difference.n_samples:
        reached["changed"] = difference.rows_changed / difference.n_samples
    return reached


def figures_of_check(check: "ScoreCheck") -> dict[str, float]:
    """Return what conditions of `monitor` are about.

    Numbers of grave findings, of all findings, of labels whose predicted rate moved, and of those whose scores did; and
    the share of all labels whose predicted rate moved.
    """
    n_moved = int(check.labels["rate_moved"].sum())
    return {
        "grave": len(check.grave),
        "findings": len(check.findings),
        "moved": n_moved,
        "moved_scores": int(check.labels["scores_moved"].sum()),
        "moved_share": n_moved / check.labels.size,
    }


def broken(bounds: Mapping[str, float] | None, reached: Mapping[str, float]) -> list[str]:
    """Say which conditions do not hold: those with a figure above their bound."""
    return [
        f"{name} is {reached[name]:.4g}, expected at most {bound:g}"
        for name, bound in (bounds or {}).items()
        if reached[name] > bound
    ]


class Losses(NamedTuple):
    """What is said of rules that reach less than the baseline, by more than a bound."""

    broken: list[str]  # more than chance: these fail
    unproven: list[str]  # may be chance


def losses(bounds: Mapping[str, float] | None, comparison: "Comparison") -> Losses:
    """Say which rules lose more than a bound: broken where even the upper end of the interval is a loss."""
    found = Losses([], [])
    for difference in comparison.differences:
        bound = (bounds or {}).get(difference.measure)
        if bound is None or not difference.difference < bound:
            continue
        if difference.upper < 0:
            found.broken.append(f"{difference}, expected at least {bound:g}")
        else:
            found.unproven.append(
                f"{difference} is below {bound:g}, but may be chance on these rows: not failed"
            )
    return found


def _bound(name: str, kind: _Kind, text: str) -> float:
    """Read one bound."""
    if kind.is_whole and text.isascii() and text.isdecimal():
        return int(text)
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if kind.is_whole or not kind.least <= number <= kind.most:
        raise argparse.ArgumentTypeError(f"{name} has the bound {text!r}, expected {kind.expected}")
    return number
