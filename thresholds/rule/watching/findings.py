"""What has changed in the scores, in words: each finding from what the tests of a check have proved.

What may have caused it is `rule/watching/causes.py`'s question.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from thresholds import _checks
from thresholds._arrays.types import Booleans, Floats, Places
from thresholds._results.fields import record
from thresholds._results.plain import values_of
from thresholds._results.result import Result
from thresholds._results.words import counted
from thresholds.rule.watching.causes import WHAT_TO_DO, cause_of
from thresholds.rule.watching.distances import GRAVE_DISTANCE, GRAVE_RATIO, times
from thresholds.rule.watching.shift import ScoreShift, mean_distance

GRAVE = "grave"
NOTE = "note"

_SHOWN = 3  # labels named in a sentence

LabelNames = tuple[str, ...] | None  # None: labels go by their positions

CONSEQUENCES = ("labels_per_row", "rates")  # kinds of what other scores lead to


@record
class Finding(Result):
    """One thing that has changed.

    Attributes
    ----------
    kind : "scale", "moved", "order", "constant", "scores", "scored", "labels_per_row" or "rates"
    severity : "grave" or "note"
    sentence : what has changed, and what to do
    labels : tuple of str, the names (or positions) of the labels concerned; empty where that is all, or rows
    """

    kind: str
    severity: str
    sentence: str
    labels: tuple[str, ...] = ()

    def _rows(self) -> list[dict[str, Any]]:
        """Return the finding in one row, with the number of its labels."""
        return [values_of(self) | {"labels": len(self.labels)}]

    def _sentences(self) -> Iterator[str]:
        """Say how grave it is, and the sentence."""
        yield f"{self.severity}: {self.sentence}"


class RowChange(NamedTuple):
    """The mean of a figure of rows at the fit, NaN where it is not known, and now."""

    before: float
    now: float
    is_proved: bool  # that they differ

    def is_proved_beyond(self, ratio: float) -> bool:
        """Whether they differ, and one is more than so many times the other."""
        return self.is_proved and times(self.before, self.now) > ratio


def constant_finding(constant: Booleans, label_names: LabelNames) -> Finding:
    """Say that labels have the same score in every row."""
    sentence = (
        f"The scores of {_listed(constant, label_names)} are now the same in every row. They were not when the rule"
        " was fitted. See whether the model still computes them."
    )
    return Finding("constant", GRAVE, sentence, _names_at(np.flatnonzero(constant), label_names))


def score_findings(
    shift: ScoreShift,
    moved: Booleans,
    constant: Booleans,
    label_names: LabelNames,
    *,
    rows_moved: bool,
    are_other_lists: bool,
) -> Iterator[Finding]:
    """Say that scores have changed that are not constant, if they have, and what explains it best.

    Parameters
    ----------
    moved, constant : (n_labels,), whose scores are proved to have changed, and are constant now
    rows_moved : whether the scores of rows are proved to lie elsewhere
    are_other_lists : whether lists of scores are longer, shorter or of other labels
    """
    moved = moved & ~constant
    if not moved.any() and (constant.any() or not rows_moved):
        return

    # One cause for all labels, where most are proved to have changed or rows as wholes are; else for those that are.
    said = partial(_said, label_names=label_names)
    concerned = ~constant
    are_most = bool(moved.any() and 2 * moved.sum() >= concerned.sum())
    cause = None
    if are_most or (rows_moved and concerned.any()):
        cause = cause_of(shift, concerned, said, by_order=are_most)
    if cause is None and moved.any() and not are_most:
        concerned = moved
        cause = cause_of(shift, concerned, said, by_order=True)

    # Longer lists have lower scores; that is their cause, then.
    if are_other_lists and (cause is None or cause.kind == "moved"):
        return

    # Say what has changed, of which labels, and why, if that is known.
    are_all = bool(concerned.all())
    which = "" if are_all else f" of {_listed(concerned, label_names)}"
    names = () if are_all else _names_at(np.flatnonzero(concerned), label_names)
    distance = mean_distance(shift, np.ones(concerned.size, np.bool_))
    severity = GRAVE if distance >= GRAVE_DISTANCE else NOTE
    if cause is None:
        sentence = (
            f"The scores{which} have changed since the rule was fitted. No single cause was found."
            f" {WHAT_TO_DO}"
        )
        yield Finding("scores", severity, sentence, names)
        return
    if cause.kind in ("scale", "order"):
        severity = GRAVE
    what = "scores"
    if cause.kind == "order":
        what = "columns of scores" if are_all else "columns"
    yield Finding(cause.kind, severity, f"The {what}{which} {cause.sentence}", names)


def scored_finding(scored: RowChange, moved: Booleans, label_names: LabelNames) -> Finding:
    """Say that more, fewer or other cells have a score: of which labels, (n_labels,), and how many in a row."""
    sentence = (
        f"A row now has scores for {as_mean(scored.now)} labels on average; it had"
        f" {as_mean(scored.before)} when the rule was fitted."
    )
    if moved.any() and not moved.all():
        which = _listed(moved, label_names)
        sentence += f" The number of rows with a score has changed for {which}."
    sentence += " See whether scores have been left out, masked or added."
    return Finding("scored", NOTE, sentence, _names_at(np.flatnonzero(moved), label_names))


def labels_per_row_finding(
    change: RowChange, interval: tuple[float, float], *, may_be_grave: bool
) -> Finding:
    """Say that rows are given more or fewer labels, and between what the ratio of the means lies."""
    is_grave = may_be_grave and times(change.before, change.now) >= GRAVE_RATIO
    sentence = (
        f"A row now gets {as_mean(change.now)} labels on average; it got {as_mean(change.before)} when the rule was"
        " fitted"
    )
    if not np.isnan(interval[0]):
        low, high = (f"{ratio:.3g}" for ratio in interval)
        ratio = change.now / change.before
        sentence += f": {ratio:.3g} times as many (95% confidence interval {low} to {high})"
    return Finding("labels_per_row", GRAVE if is_grave else NOTE, f"{sentence}.")


def rates_finding(
    moved: Booleans,
    rate_fit: Floats,
    rate: Floats,
    label_names: LabelNames,
    *,
    may_be_grave: bool,
) -> Finding:
    """Say which labels are predicted more often, or less often: (n_labels,) whether, and shares of rows."""
    places = np.flatnonzero(moved)
    change = rate[places] - rate_fit[places]  # (n_moved,)
    how_often = _how_often(int((change > 0).sum()), int((change < 0).sum()))

    # Those that changed most are named.
    change = np.abs(change)
    largest = places[np.argsort(-change, kind="stable")]
    shown = [
        f"{_said(j, label_names)} on {as_percent(rate[j])} of rows now, {as_percent(rate_fit[j])} then"
        for j in largest[:_SHOWN].tolist()
    ]
    if places.size > _SHOWN:
        shown.append(f"and {counted(places.size - _SHOWN, 'more label')}")
    sentence = f"Of {counted(moved.size, 'label')}, {how_often} than when the rule was fitted: {'; '.join(shown)}."
    is_grave = may_be_grave and change.sum() >= (GRAVE_RATIO - 1) * np.nansum(rate_fit)
    return Finding("rates", GRAVE if is_grave else NOTE, sentence, _names_at(largest, label_names))


def _how_often(n_more: int, n_less: int) -> str:
    """Say how many labels are predicted more often, and how many less often; not both are 0."""
    if n_more == 0:
        return f"{n_less:,} {'is' if n_less == 1 else 'are'} predicted less often"
    less = f" and {n_less:,} less often" if n_less else ""
    return f"{n_more:,} {'is' if n_more == 1 else 'are'} predicted more often{less}"


def _said(label: int, label_names: LabelNames) -> str:
    """Name one label, on one line."""
    return f"label {label}" if label_names is None else _checks.shown(label_names[label])


def _listed(labels: Booleans, label_names: LabelNames) -> str:
    """Name a few of some labels, (n_labels,) whether, and say how many they are."""
    places = np.flatnonzero(labels).tolist()
    shown = ", ".join(_said(j, label_names) for j in places[:_SHOWN])
    return f"{len(places):,} labels ({shown}, ...)" if len(places) > _SHOWN else shown


def _names_at(places: Places, label_names: LabelNames) -> tuple[str, ...]:
    """Return the names, or positions, of labels at some places."""
    return tuple(str(j if label_names is None else label_names[j]) for j in places.tolist())


def as_mean(figure: float) -> str:
    """Return a mean number of labels in three digits, or as many as it has before the point."""
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:.3g}"


def as_percent(share: float) -> str:
    """Return a share as a percentage of few digits; a question mark where it is not known."""
    return "?" if np.isnan(share) else f"{100 * share:.3g}%"
