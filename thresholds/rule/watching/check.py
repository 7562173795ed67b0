"""Have the scores changed since the fit? Tests against the profile that a rule keeps.

Five kinds of tests, each with an equal part of `alpha`, so that all of them together find something where nothing has
changed with a probability of at most `alpha`:

1. of each label, on how many rows it is predicted: two counts compared, with Benjamini and Hochberg's procedure;
2. of each label, how many scores lie at or below each quantile of the fit: counts compared, with Bonferroni's
   correction within the label, Benjamini and Hochberg's over labels;
3. how many labels a row is given: two means compared, rows being the units, whatever depends on what within them;
4. where the scores of a row lie among the quartiles of their labels, and how far out (half of the part each): likewise;
5. on how many rows each label has a score, and how many scores a row has (half of the part each).

The thresholds were chosen on the rows of the fit, and so were the quantiles. That does not spoil the tests: both are
placed at a rank among the scores of the fit, and how many of n new scores lie above the k-th of m old ones has the
distribution that the test of two counts takes (`significance.z_of_more`).

What the tests have proved is put into words in `rule/watching/findings.py`.
"""

import math
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from thresholds import _checks, _devices
from thresholds._arrays.types import Floats, Ints, Matrix, Numbers
from thresholds._checks import InputError
from thresholds._results.fields import record, value
from thresholds._results.result import Result, names_of, rows_of
from thresholds._results.tables import Column, Table, tabulate
from thresholds._results.words import counted
from thresholds._significance import p_of_best, p_of_means, rejected, z_of_more
from thresholds.rule.protocol import Decides, Watches
from thresholds.rule.watching.describing import (
    n_predicted,
    profile_of,
    quartiles_of,
    row_figures,
)
from thresholds.rule.watching.distances import are_lists
from thresholds.rule.watching.findings import (
    CONSEQUENCES,
    GRAVE,
    NOTE,
    Finding,
    RowChange,
    as_mean,
    as_percent,
    constant_finding,
    labels_per_row_finding,
    rates_finding,
    score_findings,
    scored_finding,
)
from thresholds.rule.watching.profile import LEVELS, MeanAndSd, ScoreProfile, ranks
from thresholds.rule.watching.sampling import (
    evenly_spaced,
    labels_per_row,
    most_rows,
    scored_cells,
    taken_rows,
)
from thresholds.rule.watching.shift import (
    ScoreShift,
    are_constant,
    largest_distances,
    shift_of,
)

_ALPHA = 0.01
_KINDS_OF_TESTS = 5
_Z_95 = 1.96  # deviates of the normal distribution between which 95 % of it lie

# A change that is proved may be too small to matter: means must differ by more than this.
_LEAST_POSITION = 0.01  # of a row's scores that lie on another side of a quartile
_LEAST_RATIO = 1.05  # of labels a row, and of scores a row

_TO_DO = {
    GRAVE: "Do not use the decisions until each grave change is put right, or you know that it does no harm.",
    NOTE: "A note may be harmless or intended: look at the labels that it names.",
}


_COLUMNS = (
    Column("label", is_words=True),
    Column("predicted_rate_fit", ("predicted", "at the fit"), as_percent),
    Column("predicted_rate", ("predicted", "now"), as_percent),
    Column("distance", ("change of scores", "(0 none, 1 all)"), "{:.2f}".format),
)


@record
class ScoreCheck(Result):
    """New scores beside those that a rule was fitted on.

    Attributes
    ----------
    findings : tuple of Finding, causes first; empty if nothing was found
    labels : a row for each label
        label; predicted_rate_fit and predicted_rate, the shares of rows on which it is predicted; rate_ratio_low and
        rate_ratio_high, a 95 % confidence interval, of this label alone, of how many times as often that is; p_rate;
        rate_moved, with error control over labels; distance, the largest difference of the shares of scores up to a
        quantile of the fit; p_scores; scores_moved. NaN where something is not known.
    labels_per_row_fit, labels_per_row : the mean number of labels predicted for a row; NaN where it is not known
    labels_per_row_ratio_low, labels_per_row_ratio_high : 95 % confidence interval of the second divided by the first
        NaN where one is 0 or not known.
    n_rows_fit, n_rows : rows compared, those sampled of the fit and of the new scores
    alpha : probability of finding anything where nothing has changed
    """

    findings: tuple[Finding, ...] = value(repr=False)
    labels: npt.NDArray[Any] = value(repr=False)
    labels_per_row_fit: float
    labels_per_row: float
    labels_per_row_ratio_low: float
    labels_per_row_ratio_high: float
    n_rows_fit: int
    n_rows: int
    alpha: float

    _shown: ClassVar[int] = 20

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    @property
    def grave(self) -> tuple[Finding, ...]:
        """What of it makes predictions unfit for use until it is explained."""
        return tuple(finding for finding in self.findings if finding.severity == GRAVE)

    def _rows(self) -> npt.NDArray[Any]:
        """Return the row of each label."""
        return self.labels

    def _sentences(self) -> Iterator[str]:
        """Say what was found, and what it asks for."""
        compared = f"{counted(self.n_rows, 'new row')}, compared with {counted(self.n_rows_fit, 'row')} of the fit:"
        if self.ok:
            per_row = as_mean(self.labels_per_row)
            yield f"{compared} no change was found. A row gets {per_row} labels on average."
            return
        yield f"{compared} {self._n_changes()}"
        yield "\n".join(f"{finding.severity}: {finding.sentence}" for finding in self.findings)
        severities = {finding.severity for finding in self.findings}
        yield "\n".join(_TO_DO[severity] for severity in (GRAVE, NOTE) if severity in severities)

    def _parts(self, k: int) -> Iterator[str | Table]:
        """Return what is said, and the labels that have changed, those whose scores lie farthest from the fit first."""
        yield from self._sentences()
        changed = self.labels[self.labels["rate_moved"] | self.labels["scores_moved"]]
        if changed.size and k and not self.ok:
            order = np.argsort(-np.nan_to_num(changed["distance"]), kind="stable")
            yield tabulate(changed[order], _COLUMNS, k, thing="label")

    def _n_changes(self) -> str:
        """Say how many things have changed, and whether the first may be the cause of all others."""
        if len(self.findings) == 1:
            return "1 thing has changed."
        first, *others = self.findings
        n_changes = f"{len(self.findings)} things have changed."
        is_cause = first.kind not in ("scores", *CONSEQUENCES)
        if is_cause and all(finding.kind in CONSEQUENCES for finding in others):
            return f"{n_changes} The first may be the cause of the rest."
        return n_changes


def check_scores(rule: Watches, y_score: object, alpha: object) -> ScoreCheck:
    """Compare scores as users have them with those that a rule was fitted on, of which it keeps a profile.

    Raises `InputError` for scores that the rule cannot take, and where there is no profile.
    """
    known = required_profile(rule, "rule")
    level = _checks.share(alpha, "alpha")
    scores = checked_scores(rule, y_score)
    _checks.label_count(scores.shape, known.n_labels, "rule")
    rows = taken_rows(scores, evenly_spaced(scores.shape[0], most_rows(known.n_labels)))
    return check_rows(rule, rows, alpha=level)


def profile_of_scores(rule: Decides, y_score: object) -> ScoreProfile:
    """Describe scores as users have them, that a rule can take, and what it decides about them."""
    return profile_of(rule, checked_scores(rule, y_score))


def checked_scores(rule: Decides, y_score: Any) -> Any:
    """Return scores that a rule takes, wherever they are, columns in the order of its labels."""
    scores: Any
    if _devices.namespace_on_device(y_score) is not None:
        scores = _devices.checked_scores(y_score, label_names=rule.label_names)
    else:
        scores = _checks.scores(y_score, label_names=rule.label_names)
    rule.validate(scores)
    return scores


def required_profile(rule: Watches, name: str) -> ScoreProfile:
    """Return the profile of a rule, which an error gives a name; refuse a rule that has none."""
    profile: ScoreProfile | None = rule.profile
    if profile is None:
        raise InputError(
            f"{name} keeps nothing of the scores that it was fitted on, expected a rule of this version: fit it"
            " again, or give it scores to compare with, rule.watching(y_score)"
        )
    return profile


def check_rows(rule: Watches, rows: Matrix, *, alpha: float = _ALPHA) -> ScoreCheck:
    """Compare sampled rows (n_rows, n_labels), checked and in host memory, with the profile of a rule that has one."""
    profile: ScoreProfile = rule.profile
    n_rows = rows.shape[0]
    decided = rule.decide(rows, dense=rule.needs_dense(rows))
    n_now = n_predicted(decided)  # (n_labels,)
    cells, used = scored_cells(rows, rule.missing, profile.sparse)
    is_listed = are_lists(profile, rows)
    shift = shift_of(profile, cells, used, are_lists=is_listed)
    lower, upper = quartiles_of(profile.quantiles, profile.n_scores)
    figures = row_figures(cells, lower[used], upper[used]) | {"labels": labels_per_row(decided)}

    # Test labels and rows; each kind of test has an equal part of alpha.
    part = alpha / _KINDS_OF_TESTS
    p_rate = _p_of_counts(profile.predicted, profile.n_rows, n_now, n_rows)
    p_scores = _p_of_scores(shift)
    p_scored = _p_of_counts(profile.n_scores, profile.n_sampled, shift.n_new, n_rows)
    rate_moved = rejected(p_rate, part)  # (n_labels,), as the next two
    scores_moved = rejected(p_scores, part)
    scored_moved = rejected(p_scored, part / 2)
    luck = _luck(profile)
    labels = _row_change(profile, "labels", figures, n_rows, part, luck)
    above = _row_change(profile, "above", figures, n_rows, part / 2)
    outside = _row_change(profile, "outside", figures, n_rows, part / 2)
    scored = _row_change(profile, "scored", figures, n_rows, part / 2)
    interval = _interval_of_ratio(profile, figures["labels"], n_rows)

    # Tell what is proved and large enough to matter; of lists for a rule of whole rows little is known.
    rows_moved = not is_listed and any(
        change.is_proved and abs(change.now - change.before) > _LEAST_POSITION
        for change in (above, outside)
    )
    cells_moved = not is_listed and (
        bool(scored_moved.any()) or scored.is_proved_beyond(_LEAST_RATIO)
    )

    # Say it: causes first, then what they lead to. Columns that have become constant need no other cause.
    names = rule.label_names
    constant = scores_moved & are_constant(shift)
    findings = []
    if constant.any():
        findings.append(constant_finding(constant, names))
    are_other_lists = cells_moved and profile.sparse
    findings += score_findings(
        shift,
        scores_moved,
        constant,
        names,
        rows_moved=rows_moved,
        are_other_lists=are_other_lists,
    )
    if cells_moved:
        findings.append(scored_finding(scored, scored_moved, names))
    # Where other cells have a score, which may be intended, what it leads to is not grave.
    may_be_grave = not cells_moved
    rate_fit = profile.predicted / profile.n_rows  # (n_labels,)
    rate = n_now / n_rows
    if labels.is_proved_beyond(_LEAST_RATIO):
        findings.append(labels_per_row_finding(labels, interval, may_be_grave=may_be_grave))
    if rate_moved.any():
        findings.append(rates_finding(rate_moved, rate_fit, rate, names, may_be_grave=may_be_grave))

    low, high = _intervals_of_ratios(profile, n_now, n_rows)
    return ScoreCheck(
        findings=tuple(findings),
        labels=rows_of(
            {
                "label": names_of(names, profile.n_labels),
                "predicted_rate_fit": rate_fit,
                "predicted_rate": rate,
                "rate_ratio_low": low,
                "rate_ratio_high": high,
                "p_rate": p_rate,
                "rate_moved": rate_moved,
                "distance": largest_distances(shift),
                "p_scores": p_scores,
                "scores_moved": scores_moved,
            }
        ),
        labels_per_row_fit=labels.before,
        labels_per_row=labels.now,
        labels_per_row_ratio_low=interval[0],
        labels_per_row_ratio_high=interval[1],
        n_rows_fit=profile.n_sampled,
        n_rows=n_rows,
        alpha=alpha,
    )


def _p_of_counts(before: Numbers, n_fit: int, now: Ints, n_rows: int) -> Floats:
    """Test of each label whether it has or gets something on as many rows; NaN where it is not known of the fit."""
    more = z_of_more(before, n_fit, now, n_rows)
    fewer = z_of_more(n_fit - before, n_fit, n_rows - now, n_rows)
    return np.where(np.isnan(before), np.nan, p_of_best(np.maximum(more, fewer), 2))


def _p_of_scores(shift: ScoreShift) -> Floats:
    """Test, label by label, the number of scores up to each quantile: (n_labels,)."""
    n_fit = shift.profile.n_scores[:, np.newaxis]
    n_new = shift.n_new[:, np.newaxis]
    rank = ranks(shift.profile.n_scores)  # (n_labels, n_levels)
    lower = z_of_more(rank, n_fit, shift.below, n_new)
    higher = z_of_more(n_fit - rank, n_fit, n_new - shift.up_to, n_new)
    return p_of_best(np.maximum(lower, higher).max(axis=1), 2 * len(LEVELS))


def _row_change(
    profile: ScoreProfile,
    name: str,
    figures: dict[str, MeanAndSd],
    n_rows: int,
    alpha: float,
    luck: tuple[float, float] = (0.0, 0.0),
) -> RowChange:
    """Test whether a figure of rows has changed by more than `luck`, down and up, which other rows show anyway."""
    known = profile.rows[name]
    now, sd_now = figures[name]
    if known is None:
        return RowChange(np.nan, now, False)
    before, sd = known
    nearest = min(max(now, before - luck[0]), before + luck[1])
    p = p_of_means((nearest, sd), profile.n_sampled, (now, sd_now), n_rows)
    return RowChange(before, now, p <= alpha)


def _interval_of_ratio(profile: ScoreProfile, now: MeanAndSd, n_rows: int) -> tuple[float, float]:
    """Return a 95 % interval of the ratio of mean labels a row, now to then; NaN where a mean is 0 or not known.

    The logarithm of each mean m has the variance sd^2 / (n m^2), rows being independent.
    """
    before = profile.rows["labels"]
    if before is None or before[0] == 0 or now[0] == 0:
        return np.nan, np.nan
    relative = (before[1] / before[0]) ** 2 / profile.n_sampled + (now[1] / now[0]) ** 2 / n_rows
    width = math.exp(_Z_95 * math.sqrt(relative))
    ratio = now[0] / before[0]
    return ratio / width, ratio * width


def _intervals_of_ratios(profile: ScoreProfile, now: Ints, n_rows: int) -> tuple[Floats, Floats]:
    """Return a 95 % interval of how many times as often each label is predicted: two (n_labels,), NaN if not known.

    The interval of Katz et al. 1978 for the logarithm of the ratio of two shares, with half a row added to each count
    (Walter 1975), so that counts of 0 have one, too.
    """
    share = (now + 0.5) / (n_rows + 0.5)
    share_fit = (profile.predicted + 0.5) / (profile.n_rows + 0.5)
    variance = (1 - share) / (now + 0.5) + (1 - share_fit) / (profile.predicted + 0.5)
    width = np.exp(_Z_95 * np.sqrt(variance))
    return share / share_fit / width, share / share_fit * width


def _luck(profile: ScoreProfile) -> tuple[float, float]:
    """Return how many labels a row fewer, and more, than on the rows of a fit are to be expected on others.

    A threshold just above the (k + 1)-th of n scores predicts k of them, and of other scores a share of
    (k + 1) / (n + 1) on average; a threshold at the k-th one predicts a share of k / (n + 1). Labels of sparse scores
    are known, and predicted, by luck if they occur: leave out one of the rows of each, and k - 1 are left.
    """
    rate = np.nan_to_num(profile.predicted / profile.n_rows)  # (n_labels,)
    n_other = profile.n_rows + 1
    fewer = np.count_nonzero(rate) if profile.sparse else rate.sum()
    return float(fewer / n_other), float((1 - rate).sum() / n_other)
