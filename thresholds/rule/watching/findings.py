"""What has changed in the scores, in words: from what the tests of a check have proved to sentences, causes first.

A change that is proved may be too small to matter: means must differ by more than `_LEAST_*`, below. What may have
caused it is `rule/watching/causes.py`'s question.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from thresholds import _checks
from thresholds._arrays.types import Booleans, Floats, Ints, Texts
from thresholds.results import Shown, Table, counted, records_of
from thresholds.rule.watching.causes import WHAT_TO_DO, Cause, Difference, cause_of
from thresholds.rule.watching.noticing import GRAVE_DISTANCE, GRAVE_RATIO, times

GRAVE = "grave"
NOTE = "note"

_LEAST_POSITION = 0.01  # of a row's scores that lie on another side of a quartile
_LEAST_RATIO = 1.05  # of labels a row, and of scores a row

_GRAVE_SHARE = 0.5  # of the predictions of the fit: how far those of moved labels went up or down

_SHOWN = 3  # labels named in a sentence

CONSEQUENCES = ("labels_per_row", "rates")  # kinds of what other scores lead to


@dataclass(frozen=True, slots=True, repr=False)
class Finding(Shown):
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

    def _records(self) -> list[dict[str, Any]]:
        """Return the finding in one row, with the number of its labels."""
        (values,) = records_of([self])
        return [values | {"labels": len(self.labels)}]

    def _tables(self, _: int) -> Iterator[str | Table]:
        """Show how grave it is, and the sentence."""
        yield f"{self.severity}: {self.sentence}"


class Labels(NamedTuple):
    """Labels as sentences name them."""

    names: Texts  # (n_labels,), or positions
    have_names: bool

    def of(self, labels: Booleans | Ints) -> tuple[str, ...]:
        """Return the names, or positions, of some labels."""
        return tuple(self.names[labels].tolist())

    def said(self, label: int) -> str:
        """Name one label, on one line."""
        name = str(self.names[label])
        return _checks.shown(name) if self.have_names else f"label {name}"

    def listed(self, labels: Booleans) -> str:
        """Name a few of some labels, and say how many they are."""
        places = np.flatnonzero(labels)
        shown = ", ".join(self.said(j) for j in places[:_SHOWN])
        return f"{places.size:,} labels ({shown}, ...)" if places.size > _SHOWN else shown


class RowChange(NamedTuple):
    """A figure of rows: before, and now."""

    before: float  # NaN where it is not known
    now: float
    is_proved: bool

    @property
    def ratio(self) -> float:
        """How many times as large the larger is."""
        return times(self.before, self.now)


class Evidence(NamedTuple):
    """What the tests have proved."""

    rate_moved: Booleans  # (n_labels,)
    scores_moved: Booleans
    scored_moved: Booleans
    labels: RowChange
    above: RowChange
    outside: RowChange
    scored: RowChange
    are_lists: bool  # of scores, for a rule that was fitted on whole rows

    @property
    def rows_moved(self) -> bool:
        """Whether the scores of rows lie elsewhere, by enough to matter; False for lists, of which it is not known."""
        return not self.are_lists and any(
            figure.is_proved and abs(figure.now - figure.before) > _LEAST_POSITION
            for figure in (self.above, self.outside)
        )

    @property
    def cells_moved(self) -> bool:
        """Whether more, fewer or other cells have a score; False for lists, of which it is not known."""
        return not self.are_lists and bool(
            self.scored_moved.any() or (self.scored.is_proved and self.scored.ratio > _LEAST_RATIO)
        )


def findings_of(
    evidence: Evidence,
    difference: Difference,
    rate_fit: Floats,
    rate: Floats,
    labels: Labels,
) -> Iterator[Finding]:
    """Say what the tests have proved: causes first, then what they lead to."""
    # Columns that have become constant need no other cause.
    constant = evidence.scores_moved & difference.is_constant
    if constant.any():
        yield _constant(constant, labels)
    yield from _scores(evidence, difference, constant, labels)
    if evidence.cells_moved:
        yield _scored(evidence, labels)

    # Where other cells have a score, which may be intended, what it leads to is not grave.
    may_be_grave = not evidence.cells_moved
    if evidence.labels.is_proved and evidence.labels.ratio > _LEAST_RATIO:
        yield _labels_per_row(evidence.labels, may_be_grave=may_be_grave)
    if evidence.rate_moved.any():
        yield _rates(evidence.rate_moved, rate_fit, rate, labels, may_be_grave=may_be_grave)


def _constant(constant: Booleans, labels: Labels) -> Finding:
    """Say that labels have the same score in every row."""
    sentence = (
        f"The scores of {labels.listed(constant)} are now the same in every row. They were not when the rule was"
        " fitted. See whether the model still computes them."
    )
    return Finding("constant", GRAVE, sentence, labels.of(constant))


def _scores(
    evidence: Evidence, difference: Difference, constant: Booleans, labels: Labels
) -> Iterator[Finding]:
    """Say that scores have changed that are not constant, if they have, and what explains it best."""
    moved = evidence.scores_moved & ~constant
    if not moved.any() and (constant.any() or not evidence.rows_moved):
        return

    # One cause for all labels, where most are proved to have changed or rows as wholes are; else for those that are.
    concerned = ~constant
    are_most = bool(moved.any() and 2 * moved.sum() >= concerned.sum())
    cause = None
    if are_most or (evidence.rows_moved and concerned.any()):
        cause = cause_of(difference, concerned, labels.said, by_order=are_most)
    if cause is None and moved.any() and not are_most:
        concerned = moved
        cause = cause_of(difference, concerned, labels.said, by_order=True)

    # Longer lists have lower scores; that is their cause, then.
    are_other_lists = evidence.cells_moved and difference.profile.sparse
    if not are_other_lists or (cause is not None and cause.kind != "moved"):
        yield _because(cause, difference, concerned, labels)


def _because(
    cause: Cause | None, difference: Difference, concerned: Booleans, labels: Labels
) -> Finding:
    """Say that scores have changed, and why, if that is known."""
    are_all = bool(concerned.all())
    which = "" if are_all else f" of {labels.listed(concerned)}"
    names = () if are_all else labels.of(concerned)
    distance = difference.mean_distance(np.ones(concerned.size, np.bool_))
    severity = GRAVE if distance >= GRAVE_DISTANCE else NOTE
    if cause is None:
        sentence = (
            f"The scores{which} have changed since the rule was fitted. No single cause was found."
            f" {WHAT_TO_DO}"
        )
        return Finding("scores", severity, sentence, names)
    if cause.kind in ("scale", "order"):
        severity = GRAVE
    what = "scores"
    if cause.kind == "order":
        what = "columns of scores" if are_all else "columns"
    return Finding(cause.kind, severity, f"The {what}{which} {cause.sentence}", names)


def _scored(evidence: Evidence, labels: Labels) -> Finding:
    """Say that more, fewer or other cells have a score."""
    moved = evidence.scored_moved
    now, before = as_mean(evidence.scored.now), as_mean(evidence.scored.before)
    sentence = f"A row now has scores for {now} labels on average; it had {before} when the rule was fitted."
    if moved.any() and not moved.all():
        sentence += f" The number of rows with a score has changed for {labels.listed(moved)}."
    sentence += " See whether scores have been left out, masked or added."
    return Finding("scored", NOTE, sentence, labels.of(moved))


def _labels_per_row(change: RowChange, *, may_be_grave: bool) -> Finding:
    """Say that rows are given more or fewer labels."""
    is_grave = may_be_grave and change.ratio >= GRAVE_RATIO
    sentence = (
        f"A row now gets {as_mean(change.now)} labels on average; it got {as_mean(change.before)} when the rule was"
        " fitted."
    )
    return Finding("labels_per_row", GRAVE if is_grave else NOTE, sentence)


def _rates(
    moved: Booleans, rate_fit: Floats, rate: Floats, labels: Labels, *, may_be_grave: bool
) -> Finding:
    """Say which labels are predicted more often, or less often."""
    places = np.flatnonzero(moved)
    change = rate[places] - rate_fit[places]
    how_often = _how_often(int((change > 0).sum()), int((change < 0).sum()))

    # Those that changed most are named.
    change = np.abs(change)
    largest = places[np.argsort(-change, kind="stable")]
    shown = [
        f"{labels.said(j)} on {as_percent(rate[j])} of rows now, {as_percent(rate_fit[j])} then"
        for j in largest[:_SHOWN]
    ]
    if places.size > _SHOWN:
        shown.append(f"and {counted(places.size - _SHOWN, 'more label')}")
    sentence = f"Of {counted(moved.size, 'label')}, {how_often} than when the rule was fitted: {'; '.join(shown)}."
    is_grave = may_be_grave and change.sum() >= _GRAVE_SHARE * np.nansum(rate_fit)
    return Finding("rates", GRAVE if is_grave else NOTE, sentence, labels.of(largest))


def _how_often(n_more: int, n_less: int) -> str:
    """Say how many labels are predicted more often, and how many less often; not both are 0."""
    if n_more == 0:
        return f"{n_less:,} {'is' if n_less == 1 else 'are'} predicted less often"
    less = f" and {n_less:,} less often" if n_less else ""
    return f"{n_more:,} {'is' if n_more == 1 else 'are'} predicted more often{less}"


def as_mean(figure: float) -> str:
    """Return a mean number of labels in three digits, or as many as it has before the point."""
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:.3g}"


def as_percent(share: float) -> str:
    """Return a share as a percentage of few digits; a question mark where it is not known."""
    return "?" if np.isnan(share) else f"{100 * share:.3g}%"
