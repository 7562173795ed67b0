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

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from thresholds import _checks, devices
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Floats, Matrix, Numbers
from thresholds._checks import InputError
from thresholds.results import Result, Table, counted, n_more, names_of, rows_of
from thresholds.rule.watching.causes import Difference
from thresholds.rule.watching.findings import (
    CONSEQUENCES,
    GRAVE,
    NOTE,
    Evidence,
    Finding,
    Labels,
    RowChange,
    as_mean,
    as_percent,
    findings_of,
)
from thresholds.rule.watching.profile import (
    Columns,
    RowFigure,
    Sample,
    ScoreProfile,
    evenly_spaced,
    labels_in,
    most_rows,
    per_label,
    row_figures,
    taken_rows,
)
from thresholds.significance import p_of_best, p_of_means, rejected, z_of_more

if TYPE_CHECKING:
    from thresholds.rule.base import Rule

_ALPHA = 0.01
_KINDS_OF_TESTS = 5
_TO_DO = {
    GRAVE: "Do not use the decisions until each grave change is put right, or you know that it does no harm.",
    NOTE: "A note may be harmless or intended: look at the labels that it names.",
}


@dataclass(frozen=True, repr=False)
class ScoreCheck(Result):
    """New scores beside those that a rule was fitted on.

    Attributes
    ----------
    findings : tuple of Finding, causes first; empty if nothing was found
    labels : a row for each label
        label; predicted_rate_fit and predicted_rate, the shares of rows on which it is predicted; p_rate;
        rate_moved, with error control over labels; distance, the largest difference of the shares of scores up to a
        quantile of the fit; p_scores; scores_moved. NaN where something is not known.
    labels_per_row_fit, labels_per_row : the mean number of labels predicted for a row; NaN where it is not known
    n_rows_fit, n_rows : rows compared, those sampled of the fit and of the new scores
    alpha : probability of finding anything where nothing has changed
    """

    findings: tuple[Finding, ...]
    labels: npt.NDArray[Any]
    labels_per_row_fit: float
    labels_per_row: float
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

    def _records(self) -> npt.NDArray[Any]:
        """Return the row of each label."""
        return self.labels

    def _tables(self, k: int) -> Iterator[str | Table]:
        """Show the findings, what they ask for, and the labels that changed most."""
        compared = f"{counted(self.n_rows, 'new row')}, compared with {counted(self.n_rows_fit, 'row')} of the fit:"
        if self.ok:
            yield (
                f"{compared} no change was found. A row gets {as_mean(self.labels_per_row)} labels on average."
            )
            return
        yield f"{compared} {self._n_changes()}"
        yield "\n".join(f"{finding.severity}: {finding.sentence}" for finding in self.findings)
        severities = {finding.severity for finding in self.findings}
        yield "\n".join(_TO_DO[severity] for severity in (GRAVE, NOTE) if severity in severities)
        changed = self.labels[self.labels["rate_moved"] | self.labels["scores_moved"]]
        if changed.size and k:
            yield _table(changed, k)

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


def _table(changed: npt.NDArray[Any], k: int) -> Table:
    """List labels, those whose scores lie farthest from the fit first."""
    order = np.argsort(-np.nan_to_num(changed["distance"]), kind="stable")[:k]
    head = [
        ("", "predicted", "predicted", "change of scores"),
        ("label", "at the fit", "now", "(0 none, 1 all)"),
    ]
    body = [
        (
            str(row["label"]),
            as_percent(row["predicted_rate_fit"]),
            as_percent(row["predicted_rate"]),
            f"{row['distance']:.2f}",
        )
        for row in changed[order]
    ]
    return Table(head, body, note=n_more(changed.size, k, "label"))


def check_scores(rule: "Rule", y_score: object, alpha: object) -> ScoreCheck:
    """Compare scores as users have them with a rule's profile."""
    profile = profile_of(rule)
    level = _checks.share(alpha, "alpha")
    scores = checked_scores(rule, y_score)
    _checks.label_count(scores.shape, profile.n_labels, "rule")
    rows = taken_rows(scores, evenly_spaced(scores.shape[0], most_rows(profile.n_labels)))
    return check_rows(rule, profile, rows, alpha=level)


def checked_scores(rule: "Rule", y_score: Any) -> Any:
    """Return scores that a rule takes, wherever they are, columns in the order of its labels."""
    scores: Any
    if devices.namespace_on_device(y_score) is not None:
        scores = devices.checked_scores(y_score, label_names=rule.label_names)
    else:
        scores = _checks.scores(y_score, label_names=rule.label_names)
    rule.validate(scores)
    return scores


def profile_of(rule: "Rule", name: str = "rule") -> ScoreProfile:
    """Return the profile of a rule, or refuse one that has none."""
    if rule.profile is None:
        raise InputError(
            f"{name} keeps nothing of the scores that it was fitted on, expected a rule of this version: fit it"
            " again, or give it scores to compare with, rule.watching(y_score)"
        )
    return rule.profile


def check_rows(
    rule: "Rule", profile: ScoreProfile, rows: Matrix, *, alpha: float = _ALPHA
) -> ScoreCheck:
    """Compare sampled rows, checked and in host memory, with a profile."""
    decided = rule.decide(rows, dense=rule.needs_dense(rows))
    n_predicted = per_label(decided)  # (n_labels,)
    sample = Sample.of(rows, rule.missing, profile.sparse)
    columns = Columns.of(sample)
    n_rows = rows.shape[0]

    # Lists for a rule that was fitted on whole rows: what they leave out may be anything low.
    are_lists = is_sparse(rows) and not profile.sparse
    n_unknown = n_rows - columns.sizes if are_lists else np.zeros_like(columns.sizes)
    difference = Difference.between(profile, columns, n_unknown)
    figures = row_figures(sample, profile.quantiles, profile.n_scores)

    # Each kind of test has an equal part of alpha.
    part = alpha / _KINDS_OF_TESTS
    p_rate = _p_of_rates(profile, n_predicted, n_rows)
    p_scores = difference.p_values()
    evidence = Evidence(
        rate_moved=rejected(p_rate, part),
        scores_moved=rejected(p_scores, part),
        scored_moved=rejected(difference.p_of_sizes(n_rows), part / 2),
        labels=_changed(profile, "labels", labels_in(decided), n_rows, part, _luck(profile)),
        above=_changed(profile, "above", figures["above"], n_rows, part / 2),
        outside=_changed(profile, "outside", figures["outside"], n_rows, part / 2),
        scored=_changed(profile, "scored", figures["scored"], n_rows, part / 2),
        are_lists=are_lists,
    )
    rate_fit = profile.predicted / profile.n_rows
    rate = n_predicted / n_rows
    names = names_of(rule.label_names, profile.n_labels)
    labels = Labels(names, rule.label_names is not None)
    return ScoreCheck(
        findings=tuple(findings_of(evidence, difference, rate_fit, rate, labels)),
        labels=rows_of(
            {
                "label": names,
                "predicted_rate_fit": rate_fit,
                "predicted_rate": rate,
                "p_rate": p_rate,
                "rate_moved": evidence.rate_moved,
                "distance": difference.largest(),
                "p_scores": p_scores,
                "scores_moved": evidence.scores_moved,
            }
        ),
        labels_per_row_fit=evidence.labels.before,
        labels_per_row=evidence.labels.now,
        n_rows_fit=profile.n_sampled,
        n_rows=n_rows,
        alpha=alpha,
    )


def _p_of_rates(profile: ScoreProfile, n_predicted: Numbers, n_rows: int) -> Floats:
    """Test of each label whether it is predicted as often as at the fit; NaN where that is not known."""
    n_fit = profile.n_rows
    before = profile.predicted
    more = z_of_more(before, n_fit, n_predicted, n_rows)
    fewer = z_of_more(n_fit - before, n_fit, n_rows - n_predicted, n_rows)
    return np.where(np.isnan(before), np.nan, p_of_best(np.maximum(more, fewer), 2))


def _changed(
    profile: ScoreProfile,
    name: str,
    now: RowFigure,
    n_rows: int,
    alpha: float,
    luck: tuple[float, float] = (0.0, 0.0),
) -> RowChange:
    """Test whether a figure of rows has changed by more than `luck`, down and up, which other rows show anyway."""
    before = profile.rows[name]
    if before is None:
        return RowChange(np.nan, now.mean, False)
    nearest = min(max(now.mean, before.mean - luck[0]), before.mean + luck[1])
    p = p_of_means(before._replace(mean=nearest), profile.n_sampled, now, n_rows)
    return RowChange(before.mean, now.mean, p <= alpha)


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
