"""What a report says: sentences, figures and columns, before any page is laid out.

Readers are people who know the labels and no statistics, and the engineer who made the rule. The words are those of
`diagnosis.sentences`: a *row* is what is labelled (an image, a patient, a document); it is *marked* if the rule
predicts the label there; a mark is *right* if the truth has it, too.

Each label is in one of four groups, by its verdict and its state:

- "trusted": usable.
- "distrusted": weak, missed or useless; or on the border, and marked far too often without evidence that the scores
  know it (the state "suspect").
- "border": unproven, though its F is known to about .1 (`diagnosis.sentences.are_on_border`), and not so.
- "open": all other unproven labels, which have too few positives, whatever their state.

On the rows of its fit a rule of `cross_fit` is judged by what other rules, which had not seen a row, decided about it.
Those decisions make other marks than the rule does. The rule's own are `marked`; all else that is said of a label is
about the decisions that judge it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from thresholds._arrays.types import Ints
from thresholds.metrics.curves import Curve
from thresholds.metrics.jackknife import Interval

TRUSTED = "trusted"
DISTRUSTED = "distrusted"
BORDER = "border"
OPEN = "open"


@dataclass(frozen=True)
class Group:
    """The labels of one group, together."""

    trust: str  # TRUSTED, DISTRUSTED, BORDER or OPEN
    title: str  # in words: "not to be trusted"
    n_labels: int
    n_marked: int  # marks of the rule on these labels
    n_predicted: int  # marks that are judged
    n_right: int  # of these
    n_true: int  # marks on these labels that should be made
    share_of_labels: float  # NaN without labels
    share_of_marked: float  # of all marks of the rule; 0 without any


@dataclass(frozen=True)
class Figure:
    """One measure of the whole rule on the judged rows, with its interval."""

    measure: str  # a key of `figures.MEASURES`: "precision", "recall", "micro", "macro", ...
    name: str  # as an engineer calls it: "macro F1", "micro precision"
    value: float
    lower: float  # NaN, as is `upper`, where a single row or group tells nothing of others
    upper: float
    meaning: str  # a sentence that says what is measured


@dataclass(frozen=True)
class Summary:
    """The first screen; every text is one or more whole sentences."""

    rule: tuple[str, ...]  # what the rule does
    bar: tuple[str, ...]  # what "good enough" is
    ranges: str  # what ranges count: rows, or groups
    headline: str  # how many labels are not to be trusted, and what share of the marks they make
    how_good: tuple[str, ...]  # of 100 marks so many are right, and so many are found
    # What to know before the figures are believed, () if there is nothing.
    cautions: tuple[str, ...]
    to_do: tuple[str, ...]  # at most four, the most important first
    groups: tuple[Group, ...]  # four, distrusted first
    figures: tuple[Figure, ...]  # precision and recall of all marks, then averages of F
    confidence: float  # of the intervals: 0.95


@dataclass(frozen=True, eq=False)
class PerRow:
    """How many labels rows have, as two histograms on the same bins: the rule's own marks, and true labels."""

    lowest: Ints  # (n_bins,) rising from 0; bin k goes from lowest[k] to lowest[k + 1] - 1
    highest: int  # labels in the last bin, at most
    predicted: Ints  # (n_bins,) rows with so many marks
    true: Ints  # (n_bins,) rows with so many true labels
    mean_predicted: float
    mean_true: float
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class OtherRows:
    """One measure, on the rows of the fit and on others: how far the first flatters."""

    measure: str  # "macro F1": what was maximised
    in_sample: float | None  # on the rows of the fit
    out_of_fold: float | None  # on these, each decided by a rule that was not fitted on it
    here: Interval  # on the judged rows
    n_fitted: int | None  # rows of the fit
    n_folds: int | None
    sentences: tuple[str, ...]  # what that means, and why a figure is absent


@dataclass(frozen=True)
class Change:
    """One measure of the old rule and of this one, on the same rows; the difference is paired by rows (or groups)."""

    measure: str  # as in `Figure`
    name: str  # "macro F1"
    old: float
    new: float
    difference: Interval  # new minus old
    sentence: str  # whether the difference is more than chance


@dataclass(frozen=True, eq=False)
class Against:
    """What changed from the old rule to this one."""

    old: str  # where the old rule comes from
    sentences: tuple[str, ...]  # how much moved, in all
    changes: tuple[Change, ...]  # precision and recall of all marks, then averages of F
    settings: tuple[tuple[str, str, str], ...]  # name, old, new: of what differs
    moved: npt.NDArray[Any]  # structured, the largest changes first: columns MOVED
    n_moved: int  # of which `moved` may show the first ones only
    part: str  # what moved: "threshold", "region", "curve", or "" where the whole row decides
    new: tuple[str, ...]  # labels that only this rule has
    lost: tuple[str, ...]  # labels that only the old rule has
    reasons: Mapping[str, str]  # what each word in the column `reason` means


MOVED = (
    "label",  # its position in `Content.labels`
    "name",
    "reason",  # "news", "noise", "settings", "unknown", or "" where only decisions changed
    "old_threshold",  # NaN for rules without thresholds
    "new_threshold",
    "predicted_before",  # rows marked by the old rule
    "predicted_after",
    "rows_changed",  # rows decided differently
)

LABELS = (
    "name",
    "trust",  # TRUSTED, DISTRUSTED, BORDER or OPEN
    "verdict",  # usable, weak, unproven, missed or useless
    "state",  # backwards, platypus, suspect, unsupported, overpredicted or restrained
    "positives",  # rows that truly are the label; int
    "marked",  # rows that the rule marks; int
    "predicted",  # rows that are marked by the decisions that judge it: mostly the same; int
    "tp",  # rows that are both; int
    "threshold",  # NaN for rules without one for each label; inf never marks
    "base_rate",  # positives / n_samples
    "precision",  # tp / predicted; NaN for 0/0, as in all that follows
    "recall",  # tp / positives
    "f",  # F-beta
    "f_low",
    "f_high",
    "best_f",  # the highest F1 that any threshold has on these rows
    "auroc",
    "bar",  # the F from which a label is good enough
    "f_out_of_fold",  # F-beta of the decisions of cross_fit; NaN where they are not known
    "positives_needed",  # of an unproven label; inf where no number may be enough, NaN for other labels
    "sentence",  # what all this means for the label
)


@dataclass(frozen=True, eq=False)
class Content:
    """All that a report shows. Positions of labels are rows of `labels`."""

    title: str
    about: tuple[str, ...]  # lines: the file, the rows that judge, the rule
    words: tuple[str, ...]  # what "row", "marked" and "right" mean, a sentence each
    summary: Summary
    worst: Ints  # (at most 8,) distrusted labels, by wrong marks, then by missed rows
    per_row: PerRow
    other_rows: OtherRows
    false_positives: Ints  # (at most 50,) labels with most wrong marks, falling
    labels: npt.NDArray[Any]  # structured (n_labels,), columns LABELS
    meanings: Mapping[str, str]  # of each group, verdict and state, in words
    curves: Mapping[int, Curve]  # of some labels, the most important first
    n_samples: int  # rows that judge
    beta: float  # of F
    confidence: float  # of bounds of each label's F, and of all intervals
    on_own_rows: bool  # whether the rule was fitted on these rows
    by_folds: bool  # then: whether out-of-fold decisions judge the labels, which are not flattered
    whose_marks: str  # a sentence on that where marks are counted, "" where they are the rule's own
    min_f: float  # the F from which a label may be good enough, as are `min_skill` of the way from marking every row
    min_skill: float
    has_thresholds: bool  # whether each label has a threshold, so that a curve shows where it lies
    command: str | None  # that makes this page anew; None for a report made in Python
    version: str  # of this library
    date: str  # the day, in UTC: "2026-03-31"
    against: Against | None = None
