"""The sentences of a report on the rule as a whole, for people who know the labels and no statistics.

The words are those of `content.py`. What is said of one label is in `diagnosis/sentences.py`.
"""

import math
from collections.abc import Sequence

import numpy as np

from thresholds._arrays.types import Dense, Floats
from thresholds._results.text import first_names
from thresholds._results.words import are, counted, percent
from thresholds.calibration import CalibratedRule
from thresholds.comparison.differences import NEWS, NOISE, SETTINGS, UNKNOWN, RuleDifference
from thresholds.diagnosis.sentences import between
from thresholds.diagnosis.verdicts import Verdicts
from thresholds.metrics.jackknife import Interval
from thresholds.report.content import BORDER, DISTRUSTED, OPEN, TRUSTED, Figure, Group
from thresholds.rule import InstanceRule, RegionRule, Rule, ThresholdRule, TopKRule
from thresholds.rule.capped import CappedRule

WORDS = (
    "A row is what the labels are about: an image, a patient, a document.",
    "A row is marked with a label if the rule decides that the row has it.",
    "A mark is right if the truth has it, too.",
)
TITLES = {
    DISTRUSTED: "not to be trusted",
    BORDER: "on the border",
    OPEN: "too early to say",
    TRUSTED: "good enough to use",
}
MEANINGS = {
    DISTRUSTED: "The label is shown not to be good enough, or it is marked far more often than it is true and nothing"
    " shows that the scores know it.",
    BORDER: "How good the label is, is known to about .1 of F, and that is about what is good enough.",
    OPEN: "Too few rows truly are the label.",
    TRUSTED: "The label is shown to be good enough.",
    "usable": "Shown to be good enough.",
    "weak": "Shown not to be good enough.",
    "unproven": "Not shown to be good enough, nor shown not to be.",
    "missed": "The scores know the label, and the rule does not use them: another cut does better.",
    "useless": "The scores are shown to know little of the label, or are turned round.",
    "backwards": "Rows that truly are the label score lower than others.",
    "platypus": "Marked far more often than true; the scores are shown to know little of the label.",
    "suspect": "Marked far more often than true; nothing shows that the scores know the label.",
    "unsupported": "No row here truly is the label, and none is marked.",
    "overpredicted": "Marked far more often than true, though the scores know something of the label.",
    "restrained": "Not marked far more often than true.",
}
REASONS = {
    NEWS: "At the same score the label is now true more often, or less often, by more than chance.",
    NOISE: "Chance is enough to explain the move.",
    SETTINGS: "The two rules were fitted with other settings, for which thresholds move, too.",
    UNKNOWN: "The rules do not keep what it takes to tell why.",
    "": "What decides about the label did not move, or cannot be compared.",
}
_SCORES = "The model gives each row a score for each label."
_MOST_TO_DO = 4
_NAMES_SHOWN = 3


def what_it_does(rule: Rule, n_labels: int) -> tuple[str, ...]:
    """Say how a rule decides."""
    if isinstance(rule, CalibratedRule):
        return (_SCORES, "Scores are turned into probabilities.", *_decides(rule.rule, n_labels))
    return (_SCORES, *_decides(rule, n_labels))


def _decides(rule: Rule, n_labels: int) -> tuple[str, ...]:
    """Say how a rule decides by scores."""
    if isinstance(rule, CappedRule):
        most = counted(rule.k, "label")
        return (*what_it_does(rule.rule, n_labels)[1:], f"A row is marked with {most} at most.")
    each = f"; each of the {n_labels:,} labels has its own" if n_labels > 1 else ""
    if isinstance(rule, TopKRule):
        highest = "the label" if rule.k == 1 else f"the {rule.k:,} labels"
        return (f"The rule marks each row with {highest} of highest score, of {n_labels:,}.",)
    if isinstance(rule, InstanceRule):
        return (
            "The rule looks at all labels of a row together, and marks the row with those that it can expect to do best"
            " with.",
        )
    if isinstance(rule, RegionRule):
        return (
            f"The rule marks the row with the label if the score lies in certain ranges{each}.",
        )
    if isinstance(rule, ThresholdRule):
        if not rule.per_label and n_labels > 1:
            each = f"; the {n_labels:,} labels share one"
        first = f"The rule marks the row with the label if the score reaches a threshold{each}."
        n_never = int(np.isposinf(rule.thresholds).sum())
        if n_never == 0:
            return (first,)
        return (first, f"{counted(n_never, 'label')} {are(n_never)} never marked.")
    return (f"The rule decides about {counted(n_labels, 'label')}.",)


def partly_known(share: float) -> str:
    """Say that truth was not known everywhere."""
    return (
        f"In {percent(share)} of the cells (one label of one row each) the truth is not known. These cells count in no"
        " figure."
    )


def how_much(n_predicted: int, n_true: int, n_samples: int, *, partly: bool = False) -> str:
    """Say how many marks there are, and how many there should be; `partly` where truth is not known in all cells."""
    marks = f"it makes {counted(n_predicted, 'mark')}; by the truth there should be {n_true:,}"
    return (
        f"On {counted(n_samples, 'row')}{', where the truth is known,' if partly else ''} {marks}."
    )


def good_enough(min_f: float, beta: float, bars: Floats) -> tuple[str, ...]:
    """Say what "good enough" is: `bars` are the F that is asked of each label, (n_labels,)."""
    higher = bars[bars > min_f]
    low, high = (f"{bar:.2f}" for bar in (higher.min(initial=1.0), higher.max(initial=min_f)))
    to = low if low == high else f"{low} to {high}"
    if higher.size == bars.size:
        whose = "" if low == high else ", by label"
        return (
            f"Good enough is an F{beta:g} of at least {to}{whose}: marking every row would reach much of that, too.",
        )
    hundred = f"{100 * min_f:.3g}"
    verb = "is" if hundred == "1" else "are"
    sentences = [
        f"Good enough is an F{beta:g} of at least {min_f:g}: for instance, of 100 marks {hundred} {verb} right, and of"
        f" 100 that should be made {hundred} {verb} made."
    ]
    if higher.size:
        sentences.append(
            f"More is asked of {counted(higher.size, 'label')}: {to}, as marking every row would reach much of that,"
            " too."
        )
    return tuple(sentences)


def what_ranges_count(n_samples: int, n_groups: int | None, group_name: str) -> str:
    """Say whether ranges count rows or groups."""
    ranges = 'Ranges ("probably between") count'
    if n_groups is None:
        return f"{ranges} each row by itself. If several rows are of one patient, say, they are too narrow."
    groups = counted(n_groups, "group")
    return f"{ranges} {groups}, not {n_samples:,} rows: rows of one {group_name} are alike."


def headline(groups: Sequence[Group]) -> str:
    """Say how many labels are not to be trusted, and what share of the marks they make."""
    n_labels = sum(group.n_labels for group in groups)
    distrusted = _group(groups, DISTRUSTED)
    n_bad = distrusted.n_labels
    if n_bad == 0:
        n_open = _group(groups, OPEN).n_labels
        n_border = _group(groups, BORDER).n_labels
        if n_open + n_border == 0:
            these = "The label is" if n_labels == 1 else f"All {n_labels:,} labels are"
            return f"{these} shown to be good enough to use."
        if n_labels == 1 and n_border:
            return "The label is on the border of good enough."
        if n_labels == 1:
            return "It is too early to say whether the label may be relied on."
        parts = []
        if n_border:
            parts.append(f"{n_border:,} {are(n_border)} on the border")
        if n_open:
            parts.append(f"of {n_open:,} it is too early to say")
        return f"Of {n_labels:,} labels none is shown to be bad; {', and '.join(parts)}."
    these = "The label is" if n_labels == 1 else f"{n_bad:,} of {n_labels:,} labels {are(n_bad)}"
    if not any(group.n_marked for group in groups):
        return f"{these} not to be trusted; the rule makes no mark."
    if n_labels == 1:
        return f"{these} not to be trusted."
    they = "it makes" if n_bad == 1 else "they make"
    return f"{these} not to be trusted; {they} {percent(distrusted.share_of_marked)} of all marks."


def how_good(
    figures: Sequence[Figure], n_predicted: int, n_true: int, *, by_folds: bool
) -> tuple[str, ...]:
    """Say of 100 marks how many are right, and of 100 that should be made how many are; `by_folds` by other rules."""
    precision, recall = figures[:2]
    on_others = " on rows that a rule had not seen" if by_folds else ""
    sentences = []
    if n_predicted:
        sentences.append(f"Of 100 marks{on_others}, {_about(precision)} are right.")
    if n_true:
        sentences.append(f"Of 100 marks that should be made{on_others}, {_about(recall)} are made.")
    return tuple(sentences)


def to_do(groups: Sequence[Group], labels: Dense, verdicts: Verdicts) -> tuple[str, ...]:
    """Say what to do, the most important first."""
    steps = []
    if verdicts.on_own_rows:
        steps.append(
            "Judge the rule on rows that it was not fitted on: the figures of this report are too good."
        )

    # Labels of which the scores are turned round, or say little.
    backwards = labels["state"] == "backwards"
    if backwards.any():
        steps.append(
            f"Find out where the scores and the truth of {_named(labels[backwards])} come from: rows that should be"
            " marked score lower than others."
        )
    unknown = ((labels["verdict"] == "useless") | (labels["state"] == "platypus")) & ~backwards
    unknown &= labels["marked"] > 0
    if unknown.any():
        them = "it" if np.count_nonzero(unknown) == 1 else "them"
        steps.append(f"Stop marking {_named(labels[unknown])}: the scores know little of {them}.")

    # Labels that are not to be trusted, whatever the reason, and those with a better threshold.
    group = _group(groups, DISTRUSTED)
    these = "the label" if group.n_labels == 1 else f"the {group.n_labels:,} labels"
    if group.n_marked:
        right = _of_marks(group)
        steps.append(
            f"Have the marks of {these} not to be trusted checked, or leave them out{right}."
        )
    elif group.n_labels:
        steps.append(
            f"Read nothing into a missing mark of {these} not to be trusted: the rule never makes one."
        )
    missed = labels["verdict"] == "missed"
    if missed.any():
        remedy = "fit new thresholds" if verdicts.has_thresholds else "choose a rule of thresholds"
        if verdicts.has_limits:
            remedy = "ask for less of the fit, or have more rows annotated"
        steps.append(
            f"Of {_named(labels[missed])} the scores know more than the rule uses: {remedy}."
        )

    # The others.
    trusted = labels[labels["trust"] == TRUSTED]
    if trusted.size:
        its = "its sentence names" if trusted.size == 1 else "their sentences name"
        steps.append(f"Use the marks of {_named(trusted)}, and expect the mistakes that {its}.")
    on_border = labels[labels["trust"] == BORDER]
    if on_border.size:
        is_so = f"{_named(on_border)} {are(on_border.size)} on the border of good enough"
        right = _of_marks(_group(groups, BORDER))
        steps.append(f"{is_so}{right}. Use the marks if you can bear so many mistakes.")
    undecided = labels[labels["trust"] == OPEN]
    if undecided.size:
        its = "its" if undecided.size == 1 else "their"
        steps.append(
            f"Of {_named(undecided)} it is too early to say: have {its} marks checked until more rows with truth settle"
            " it."
        )
    return tuple(steps[:_MOST_TO_DO])


def _of_marks(group: Group) -> str:
    """Say of 100 marks on the labels of a group how many are right, and how many of those that should be made."""
    parts = []
    if group.n_predicted:
        n_right = f"{100 * group.n_right / group.n_predicted:.0f}"
        parts.append(f"of 100 such marks about {n_right} are right")
    if group.n_true:
        n_made = f"{100 * group.n_right / group.n_true:.0f}"
        parts.append(f"of 100 that should be made about {n_made} are made")
    return f": {', and '.join(parts)}" if parts else ""


def per_row(
    mean_predicted: float, mean_true: float, n_unmarked: int, n_empty: int, n_samples: int
) -> tuple[str, ...]:
    """Say how many labels a row has."""
    have = "has" if n_empty == 1 else "have"
    return (
        f"A row has {mean_predicted:.3g} marks on average, and should have {mean_true:.3g}.",
        f"Of {counted(n_samples, 'row')}, {n_unmarked:,} {are(n_unmarked)} not marked at all, and {n_empty:,} truly"
        f" {have} no label.",
    )


def on_other_rows(
    measure: str,
    rule: Rule,
    in_sample: float | None,
    here: Interval,
    *,
    on_own_rows: bool,
    by_folds: bool,
) -> tuple[str, ...]:
    """Say what a rule reaches on the rows of its fit, and what to expect of it on others."""
    on_these_rows = (
        f"On the rows of this report it reaches a {measure} of {here.value:.3f}{_bounds(here)}."
    )
    if rule.average is None:
        return "The rule was given, not fitted, so that no rows flatter it.", on_these_rows
    if in_sample is None:
        return "The rule was fitted without truth, so that no rows flatter it.", on_these_rows

    # The rows of the fit, and the same rows decided by rules that had not seen them.
    n = None if rule.fitted_on is None else rule.fitted_on.n_samples
    fitted = "the rows" if n is None else f"the {counted(n, 'row')}"
    sentences = [
        f"On {fitted} that it was fitted on the rule reaches a {measure} of {in_sample:.3f}, which flatters it: it was"
        " chosen to do well there."
    ]
    if rule.out_of_fold is None:
        sentences.append(
            "Its fit does not say what to expect of rows that it has not seen; cross_fit and the command fit do."
        )
    else:
        sentences.append(
            f"Decided in {counted(rule.out_of_fold.n_folds, 'part')}, each by a rule that had not seen it, these rows"
            f" give {rule.out_of_fold.f:.3f}: that is what to expect of new rows."
        )

    # The rows of the report.
    if by_folds:
        sentences.append(
            "This report is about the rows of the fit; its labels are judged by those decisions of rules that had not"
            " seen the row."
        )
    elif on_own_rows:
        sentences.append(
            "This report is about the rows of the fit, so that all its figures are too good."
        )
    else:
        sentences.append(on_these_rows)
        sentences.append(
            "If some of these rows were among those of the fit, that is too good; only a fit on exactly these rows is"
            " noticed."
        )
    return tuple(sentences)


def on_own_rows(by_folds: bool, n_predicted: int) -> str:
    """Warn that a rule is judged on the rows of its fit; other rules made so many marks there."""
    if by_folds:
        return (
            "The rule was fitted on these rows. So its labels are judged by what other rules, which had not seen a row,"
            f" decided about it: they make {counted(n_predicted, 'mark')}, and all that is said of right and wrong"
            " marks is about those."
        )
    return "The rule was fitted on these rows: on others it will do worse than this report says."


def whose_marks(n_predicted: int) -> str:
    """Say whose marks are counted where they are not the rule's own."""
    marks = counted(n_predicted, "mark")
    return f"Counted here are the {marks} of rules that had not seen the row, not the rule's own."


def decided_by_others(sentence: str) -> str:
    """Add to a sentence on a label who decided."""
    return f"{sentence[:-1]} (as decided by rules that had not seen the row)."


def what_moved(
    difference: RuleDifference, *, old_on_own_rows: bool, new_on_own_rows: bool = False
) -> tuple[str, ...]:
    """Say how much changed from an old rule to a new one, and which of them was fitted on the rows that judge."""
    table = difference.table
    sentences = []
    if table.size == 0:
        sentences.append("The two rules have no label in common.")
    elif not difference.part:
        sentences.append(
            "The two rules cannot be compared label by label, but by what they decide."
        )
    else:
        n_moved = int(table["moved"].sum())
        parts = counted(table.size, difference.part)
        why = ""
        if n_moved and difference.n_news is not None:
            why = f", {difference.n_news:,} of these by more than chance"
        sentences.append(f"Of {parts}, {n_moved:,} moved{why}.")
    if difference.n_samples is not None and table.size:
        on_both = ", on the labels that both have" if difference.new or difference.lost else ""
        before = int(table["predicted_before"].sum())
        after = int(table["predicted_after"].sum())
        n_changed = difference.rows_changed or 0
        sentences.append(
            f"The old rule makes {counted(before, 'mark')} on these rows, and this one {after:,}{on_both};"
            f" {counted(n_changed, 'row')} {are(n_changed)} marked differently."
        )
    for word, names in (("new", difference.new), ("lost", difference.lost)):
        if names:
            listed = first_names(names, _NAMES_SHOWN)
            sentences.append(f"{counted(len(names), 'label')} {are(len(names))} {word}: {listed}.")
    if old_on_own_rows and new_on_own_rows:
        sentences.append("Both rules were fitted on these rows, which flatters both.")
    elif old_on_own_rows:
        sentences.append("The old rule was fitted on these rows, which flatters it.")
    elif new_on_own_rows:
        sentences.append(
            "This rule was fitted on these rows, which flatters it here, where its own decisions are compared."
        )
    return tuple(sentences)


def of_change(difference: Interval) -> str:
    """Say whether a measure of two rules differs by more than chance."""
    if math.isnan(difference.lower):
        return "One row, or one group, cannot tell a difference from chance."
    if difference.value == 0:
        return "No difference."
    if difference.lower <= 0 <= difference.upper:
        return "The difference may be chance."
    least, most = sorted((abs(difference.lower), abs(difference.upper)))
    which = "Higher" if difference.value > 0 else "Lower"
    return f"{which} by {abs(difference.value):.3f}, probably between {least:.3f} and {most:.3f}."


def _about(interval: Figure) -> str:
    """Write a share of 100 with its bounds, where they are known."""
    middle = f"about {100 * interval.value:.0f}"
    if math.isnan(interval.lower):
        return middle
    return f"{middle} (probably {between(interval.lower, interval.upper)})"


def _bounds(interval: Interval) -> str:
    """Write the bounds of a measure, where they are known."""
    if math.isnan(interval.lower):
        return ""
    return f", probably between {interval.lower:.3f} and {interval.upper:.3f}"


def _named(labels: Dense) -> str:
    """Name labels, those first that are marked most; of many say how many there are."""
    order = np.argsort(-labels["predicted"], kind="stable")
    names = first_names(labels["name"][order].tolist(), _NAMES_SHOWN)
    return names if labels.size <= 1 else f"{labels.size:,} labels ({names})"


def _group(groups: Sequence[Group], trust: str) -> Group:
    """Return one of the groups."""
    return next(group for group in groups if group.trust == trust)
