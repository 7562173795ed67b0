"""What changed between two rules: labels, what decides about each, settings, decisions on new scores; and what is news.

Rules may be of any kinds. What decides about a label by its score alone, a threshold, a region or the curve of a
calibration, is the label's part, which stayed or moved; where the whole row decides, only decisions can be compared.
Of a rule with a cap on the labels of a row, the part is that of the rule within.

Two samples of one distribution move all thresholds. A threshold that moved is *news* if the odds that its label is true
have changed where it lies, by the curves that two rules keep of their rows (`change_of_odds` in `fitting/odds.py`),
with a false discovery rate of `alpha` over all labels that moved (Benjamini & Hochberg 1995). The rest is *noise*: the
rows of both fits cannot tell. Of rules that were fitted with other settings nobody can say that, as thresholds move for
these, too. Rules of other kinds keep no such curves: what moved is *unknown* there.

With scores, the calibrator of an old `CalibratedRule` tells without labels whether the new ones fit other base rates
than those of the calibration, or none, as they changed their meaning (`calibration/label_shift.py`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds import _checks
from thresholds._arrays.blocks import row_blocks
from thresholds._arrays.sparse import as_csr, is_sparse
from thresholds._arrays.types import Booleans, Floats, Ints, Matrix
from thresholds._checks import InputError
from thresholds._results.fields import record
from thresholds._results.plain import plain
from thresholds._results.result import Drawable, Result, rows_of
from thresholds._results.tables import Column, Table, count, tabulate
from thresholds._results.text import first_names
from thresholds._results.words import counted, in_percent
from thresholds._significance import rejected
from thresholds.calibration import BaseRates, CalibratedRule
from thresholds.calibration.label_shift import rates_of
from thresholds.fitting.odds import change_between
from thresholds.metrics.judging import stacked_rows
from thresholds.rule import RegionRule, Rule, ThresholdRule
from thresholds.rule.region import region_in_words

NEWS = "news"
NOISE = "noise"
SETTINGS = "settings"
UNKNOWN = "unknown"

_NAMES_SHOWN = 5  # of new labels, and of lost ones


@record
class RuleDifference(Result, Drawable):
    """What changed between two rules; `str` gives a summary and a table of the largest changes.

    Attributes
    ----------
    table : structured array, one row for each label of both rules, in the order of the new rule
        name, old_position, new_position, old_threshold, new_threshold (NaN for rules of other kinds), moved (whether
        what decides about the label alone differs: its threshold, region or curve, if both rules have one); verdict
        ("news", "noise", "settings" in place of "noise" where settings of the fits differ, "unknown" where a rule knows
        no odds, "" where nothing moved), p_value of its test and odds_ratio (odds that the label is true by the rows of
        the new rule, over those by the old one's, at the same score; NaN where unknown); with scores also
        predicted_before, predicted_after (rows that each rule predicts) and rows_changed (rows decided differently);
        with a `RegionRule` also old_region, new_region (in words: "0.2 to 0.4, 0.8 up").
    new, lost : tuples of names, the labels that only the new rule, or only the old one, has
    settings : dict of name to (old, new)
        What differs of kind, average, beta, per_label, guard, expected, placement, zero_division, missing, k,
        calibration and decides_by (the kind of the rule for calibrated scores), and the number of rows each rule was
        fitted on (`n_samples`). None for a setting that a kind does not have.
    n_samples : int or None, the rows of the scores
    rows_changed : int or None, the rows in which the decision about some label of both rules differs
    predicted_new : int64 (n_new,) or None, rows predicted for each of the new labels
    alpha : the false discovery rate of what is called news
    base_rates : BaseRates of the labels of both rules on the scores, found without labels, or None
        Where the old rule is a `CalibratedRule`: whether the scores fit other base rates than those of its calibration,
        or none, as they changed their meaning. None without scores, and for other kinds of rules.
    part : what may have moved: "threshold", "region" or "curve" (that of a calibration, with the threshold behind it)
        "" where rules cannot be compared label by label: they are of two kinds, decide by whole rows, or decide about
        probabilities by rules of two kinds.
    """

    _shown = 20
    _display = "DifferenceDisplay.from_difference"

    table: npt.NDArray[Any]
    new: tuple[str, ...]
    lost: tuple[str, ...]
    settings: dict[str, tuple[Any, Any]]
    n_samples: int | None = None
    rows_changed: int | None = None
    predicted_new: Ints | None = None
    alpha: float = 0.05
    part: str = "threshold"
    base_rates: BaseRates | None = None

    @property
    def n_news(self) -> int | None:
        """How many thresholds moved for a reason; None where that is not known, or there are none."""
        verdict = self.table["verdict"]
        if not self.part:
            return None
        return None if (verdict == UNKNOWN).any() else int(np.count_nonzero(verdict == NEWS))

    @property
    def largest(self) -> Ints:
        """Rows of the table whose part or decisions changed, news first, then the largest change.

        By rows decided differently where there are scores, then by the difference of the thresholds, then by position.
        """
        table = self.table
        with np.errstate(over="ignore", invalid="ignore"):
            distance = np.abs(table["new_threshold"] - table["old_threshold"])
        distance[~table["moved"] | np.isnan(distance)] = 0.0
        rows = np.zeros(table.size, np.int64) if self.n_samples is None else table["rows_changed"]
        order = np.lexsort((-distance, -rows, table["verdict"] != NEWS))
        return order[(table["moved"] | (rows > 0))[order]]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: NaN as None, infinite numbers as "inf" and "-inf", as JSON has neither."""
        values: dict[str, Any] = {
            "n_labels": self.table.size,
            "n_moved": self._n_moved,
            "n_news": self.n_news,
            "alpha": self.alpha,
            "n_samples": self.n_samples,
            "rows_changed": self.rows_changed,
            "settings": self.settings,
            "new_labels": self.new,
            "predicted_new": self.predicted_new,
            "lost_labels": self.lost,
            "labels": self.table,
        }
        if self.base_rates is not None:
            values["base_rates"] = self.base_rates
        found: dict[str, Any] = plain(values)
        return found

    @property
    def _n_moved(self) -> int:
        """How many labels have another threshold, region or curve."""
        return int(self.table["moved"].sum())

    def _parts(self, k: int) -> Iterator[str | Table]:
        """Show how much changed, the settings that differ, new and lost labels, and the k largest changes."""
        lines = [self._summary()]
        lines += [
            f"{name}: {_setting(old)} -> {_setting(new)}"
            for name, (old, new) in self.settings.items()
        ]
        for word, names in (("new", self.new), ("lost", self.lost)):
            if names:
                lines.append(f"{word} labels: {first_names(names, _NAMES_SHOWN)}")
        lines += self._about_news()
        if self.base_rates is not None:
            lines.append("the new scores, by the calibration of the old rule:")
            lines.append(self.base_rates.in_brief())
        yield "\n".join(lines)
        if k and self.largest.size:
            yield self._largest_changes(k)

    def _about_news(self) -> list[str]:
        """Say what news is, or why it is not known."""
        if not self._n_moved:
            return []
        if self.part != "threshold":
            return [
                "noise or news is not known: it takes the odds by score that rules of thresholds keep"
            ]
        if self.n_news is None:
            return [
                "noise or news is not known: it takes the odds of both rules, on scores of one kind; rules of cross_fit"
                " and of the command fit keep them, keep_odds gives them to others"
            ]
        lines = [
            "news: at the same score the label is now true more or less often, by more than chance (false discovery"
            f" rate {in_percent(self.alpha)})"
        ]
        if self._settings_differ:
            lines.append(
                "settings: no news, but the rules were fitted with other settings, for which thresholds move, too"
            )
        else:
            lines.append("noise: the rows of both fits cannot tell why")
        return lines

    @property
    def _settings_differ(self) -> bool:
        """Whether the rules were fitted with other settings."""
        return _settings_differ(self.settings)

    def _summary(self) -> str:
        """Say how much changed, in one line."""
        moved = f"{counted(self._n_moved, self.part)} moved"
        if not self.part:
            differ = bool({"kind", "decides_by"} & set(self.settings))
            moved = "another kind of rule" if differ else "no thresholds"
        if self._n_moved and self.n_news is not None:
            rest = SETTINGS if self._settings_differ else NOISE
            moved += f" ({self.n_news:,} news, {self._n_moved - self.n_news:,} {rest})"
        summary = (
            f"{counted(self.table.size, 'label')} in both rules: {moved},"
            f" {counted(len(self.new), 'label')} new, {len(self.lost):,} lost"
        )
        if self.n_samples is None or self.predicted_new is None:
            return summary
        before = int(self.table["predicted_before"].sum())
        after = int(self.table["predicted_after"].sum())
        new = f", and {int(self.predicted_new.sum()):,} of new labels" if self.new else ""
        return (
            f"{summary}; on {counted(self.n_samples, 'row')} {before:,} -> {after:,} predictions"
            f" ({_change(before, after)}){new}, {counted(self.rows_changed or 0, 'row')} decided differently"
        )

    def _largest_changes(self, k: int) -> Table:
        """Lay the k largest changes out."""
        rows = self.table[self.largest[:k]]
        is_known = self.part == "threshold" and self.n_news is not None

        columns = [Column("name", "label", is_words=True)]
        if is_known:
            columns.append(Column("verdict", "reason"))
        if self._part_shown:
            for age in ("old", "new"):
                name = f"{age}_{self._part_shown}"
                columns.append(Column(name, (age, self._part_shown), _cut))
        if is_known:
            columns.append(Column("odds_ratio", ("odds at", "that score"), _times))
        shown = {name: rows[name] for name in rows.dtype.names or ()}
        if self.n_samples is not None:
            before, after = rows["predicted_before"], rows["predicted_after"]
            shown["change"] = np.array(list(map(_change, before.tolist(), after.tolist())))
            columns += [
                Column("predicted_before", ("predicted", "before"), count),
                Column("predicted_after", ("predicted", "after"), count),
                Column("rows_changed", ("rows", "changed"), count),
                Column("change"),
            ]
        n_changes = self.largest.size
        title = f"the {k} largest of {n_changes:,} changes:" if k < n_changes else "what changed:"
        return tabulate(shown, columns, title=title)

    @property
    def _part_shown(self) -> str:
        """Which part of the labels the table shows: the region or the threshold that both rules have."""
        return "" if self.part == "curve" else self.part


def diff_rules(
    old: Rule, new: Rule, y_score: object = None, *, alpha: float = 0.05
) -> RuleDifference:
    """Say what changed between two rules, and with scores also what that does to decisions.

    Labels are matched by name where both rules have names, by position otherwise.

    Parameters
    ----------
    old, new : Rule, of one kind or of two
    y_score : (n_samples, n_labels) real scores with the columns of `new`, dense or scipy.sparse, or None
        The old rule decides on the columns of its own labels; those it alone has are left out. One that decides by the
        whole row decides among the labels that the new rule has, too. Rules without names that take any number of
        labels need scores for their labels to be known.
    alpha : false discovery rate of what is called news, above 0 and below 1

    Returns
    -------
    RuleDifference

    Raises
    ------
    InputError
        For what is no rule; if rules without names have different numbers of labels; for bad scores, such as scores
        outside [0, 1] where a rule takes probabilities.

    Warns
    -----
    ScoreChangeWarning
        When scores differ gravely from those that a rule was fitted on, as in `Rule.predict`.

    Examples
    --------
    >>> import thresholds
    >>> old = thresholds.ThresholdRule([0.5, 0.2], label_names=("cat", "dog"))
    >>> new = thresholds.ThresholdRule([0.4, 0.9, 0.5], label_names=("dog", "emu", "cat"))
    >>> print(thresholds.diff_rules(old, new, [[0.3, 0.1, 0.6], [0.5, 0.95, 0.2]]))
    2 labels in both rules: 1 threshold moved, 1 label new, 0 lost; on 2 rows 3 -> 2 predictions (-33.3
      %), and 1 of new labels, 1 row decided differently
    new labels: emu
    noise or news is not known: it takes the odds of both rules, on scores of one kind; rules of
      cross_fit and of the command fit keep them, keep_odds gives them to others
    <BLANKLINE>
    what changed:
                 old        new  predicted  predicted     rows
    label  threshold  threshold     before      after  changed   change
    -----  ---------  ---------  ---------  ---------  -------  -------
    dog          0.2        0.4          2          1        1  -50.0 %
    """
    for name, rule in (("old", old), ("new", new)):
        if not isinstance(rule, Rule):
            raise InputError(f"{name} is of type {type(rule).__name__}, expected a rule")
    alpha = _checks.inside(alpha, "alpha")
    scores = None if y_score is None else _checks.scores(y_score, label_names=new.label_names)

    # Labels that both have, and those that one has alone.
    n_old, n_new = _n_labels(old, new, scores)
    at_old, at_new = _matched(old, new, n_old, n_new)  # (n_common,) each
    new_alone = np.setdiff1d(np.arange(n_new), at_new)
    old_alone = np.setdiff1d(np.arange(n_old), at_old)
    names = _names(new if new.label_names is not None else old, n_new)

    # What decides about each label: of a rule with a cap, the rule within.
    settings = _changed_settings(old, new)
    within = old.uncapped, new.uncapped
    part = _common_part(*within)
    moved = _moved(*within, at_old, at_new) if part else np.zeros(at_new.size, np.bool_)
    columns = {
        "name": np.array([names[j] for j in at_new], str),
        "old_position": at_old,
        "new_position": at_new,
        "old_threshold": _thresholds(within[0], n_old)[at_old],
        "new_threshold": _thresholds(within[1], n_new)[at_new],
        "moved": moved,
        **_news(*within, at_old, at_new, moved, alpha, settings),
        **_regions(*within, at_old, at_new),
    }
    difference = RuleDifference(
        table=rows_of(columns),
        new=tuple(names[j] for j in new_alone),
        lost=tuple(_names(old, n_old)[j] for j in old_alone),
        settings=settings,
        alpha=alpha,
        part=part,
    )
    if scores is None:
        return difference

    # What that does to decisions: of the old rule, with the labels that the new one has, too, in its order.
    new.validate(scores)
    new.warn_if_changed(scores)
    if at_old.size == n_old:
        old.warn_if_changed(scores, order=at_new[np.argsort(at_old)])
    after = _decided(new, scores)  # (n_samples, n_new)
    common = after[:, at_new]  # (n_samples, n_common)
    before = common
    if at_old.size:
        before = _decided(old.only(at_old), _checks.in_order(scores, at_new))
    differs = before != common
    predicted = _sums(after)  # (n_new,)
    columns["predicted_before"] = _sums(before)
    columns["predicted_after"] = predicted[at_new]
    columns["rows_changed"] = _sums(differs)
    return replace(
        difference,
        table=rows_of(columns),
        n_samples=scores.shape[0],
        rows_changed=int(np.count_nonzero(_sums(differs, axis=1))),
        predicted_new=predicted[new_alone],
        base_rates=_base_rates(old.uncapped, scores, at_old, at_new, alpha),
    )


def _decided(rule: Rule, scores: Matrix) -> Any:
    """Return what a rule decides about scores, CSR (n_samples, n_labels)."""
    rule.validate(scores)
    dense = rule.needs_dense(scores)
    n_rows, n_labels = scores.shape
    per_row = scores.nnz // n_rows if is_sparse(scores) and not dense else n_labels
    return stacked_rows(
        [as_csr(rule.decide(scores[rows], dense=dense)) for rows in row_blocks(n_rows, per_row)]
    )


def _sums(cells: Any, axis: int = 0) -> Ints:
    """Count the ones of each column, or of each row."""
    return np.asarray(cells.sum(axis=axis, dtype=np.int64)).reshape(-1)


def _base_rates(
    old: Rule, scores: Matrix, at_old: Ints, at_new: Ints, alpha: float
) -> BaseRates | None:
    """Estimate the base rates of the labels that both rules have, if the old rule knows its scores by truth."""
    if not isinstance(old, CalibratedRule) or not at_old.size:
        return None
    return rates_of(old.calibrator.reordered(at_old), _checks.in_order(scores, at_new), alpha)


def _settings_differ(changed: Mapping[str, tuple[Any, Any]]) -> bool:
    """Whether settings differ for which thresholds move; the number of rows is none."""
    return bool(set(changed) - {"n_samples"})


def _n_labels(old: Rule, new: Rule, scores: Matrix | None) -> tuple[int, int]:
    """Return how many labels each rule decides about; one that takes any number, about those of the other."""
    n_new = new.n_labels
    if n_new is None:
        n_new = (old.n_labels or 0) if scores is None else scores.shape[1]
    return (n_new if old.n_labels is None else old.n_labels), n_new


def _matched(old: Rule, new: Rule, n_old: int, n_new: int) -> tuple[Ints, Ints]:
    """Return the positions, in each rule, of the labels that both have, in the order of the new one."""
    if old.label_names is not None and new.label_names is not None:
        return _checks.common_places(old.label_names, new.label_names)
    if n_old != n_new:
        raise InputError(
            f"new has {n_new} labels, expected {n_old} as old has, since not both have label names"
        )
    return np.arange(n_old), np.arange(n_new)


def _common_part(old: Rule, new: Rule) -> str:
    """Name what may have moved; "" where the rules cannot be compared label by label. A threshold is a region, too."""
    parts = {old.criterion, new.criterion}
    if parts == {ThresholdRule.criterion, RegionRule.criterion}:
        return RegionRule.criterion
    decide_alike = old.settings().get("decides_by") == new.settings().get("decides_by")
    return old.criterion if len(parts) == 1 and decide_alike else ""


def _moved(old: Rule, new: Rule, at_old: Ints, at_new: Ints) -> Booleans:
    """Tell of which labels what decides about them alone differs, (n_common,)."""
    before, after = old.criteria(), new.criteria()
    pairs = zip(at_old.tolist(), at_new.tolist(), strict=True)
    return np.array([before[j] != after[k] for j, k in pairs], np.bool_)


def _thresholds(rule: Rule, n_labels: int) -> Floats:
    """Return the threshold of each label, NaN for rules of other kinds."""
    return rule.thresholds if isinstance(rule, ThresholdRule) else np.full(n_labels, np.nan)


def _regions(old: Rule, new: Rule, at_old: Ints, at_new: Ints) -> dict[str, npt.NDArray[np.str_]]:
    """Return the region of each label in words, for both rules, if they can be compared by that."""
    if _common_part(old, new) != RegionRule.criterion:
        return {}
    sides: Any = (("old_region", old.criteria(), at_old), ("new_region", new.criteria(), at_new))
    return {
        name: np.array([region_in_words(parts[j]) for j in places.tolist()], str)
        for name, parts, places in sides
    }


def _news(
    old: Rule,
    new: Rule,
    at_old: Ints,
    at_new: Ints,
    moved: Booleans,
    alpha: float,
    settings: Mapping[str, tuple[Any, Any]],
) -> dict[str, npt.NDArray[Any]]:
    """Return verdict, p-value and odds ratio of each label of both rules."""
    verdict = np.array(["", UNKNOWN, SETTINGS])[moved.astype(np.int64)]  # wide enough for all words
    p = np.full(moved.size, np.nan)
    ratio = np.full(moved.size, np.nan)
    if isinstance(old, ThresholdRule) and isinstance(new, ThresholdRule):
        change = change_between(old, new, at_old, at_new)
        if change is not None:
            p[moved] = change.p_value[moved]
            ratio[moved] = change.ratio[moved]
            rest = SETTINGS if _settings_differ(settings) else NOISE
            verdict[moved] = np.where(rejected(p, alpha), NEWS, rest)[moved]
    return {"verdict": verdict, "p_value": p, "odds_ratio": ratio}


def _changed_settings(old: Rule, new: Rule) -> dict[str, tuple[Any, Any]]:
    """Return the settings that differ; None for one that a rule does not have."""
    before, after = old.settings(), new.settings()
    pairs = {name: (before.get(name), after.get(name)) for name in before | after}
    pairs["n_samples"] = (_rows_of_fit(old), _rows_of_fit(new))
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _rows_of_fit(rule: Rule) -> int | None:
    """Return how many rows a rule was fitted on, if that is known."""
    return None if rule.fitted_on is None else rule.fitted_on.n_samples


def _names(rule: Rule, n_labels: int) -> tuple[str, ...]:
    """Name the labels of a rule, by position where it has no names."""
    return rule.label_names or tuple(map(str, range(n_labels)))


def _setting(value: Any) -> str:
    """Write a setting; one that a kind of rule does not have is "none"."""
    return "none" if value is None else str(value)


def _times(ratio: float) -> str:
    """Write a ratio of odds."""
    return "" if np.isnan(ratio) else f"x {ratio:.2g}"


def _cut(cut: Any) -> str:
    """Write a threshold, or a region in words."""
    if isinstance(cut, str):
        return cut
    if np.isnan(cut):
        return ""
    return f"{cut:.6g}" if np.isfinite(cut) else "never" if cut > 0 else "always"


def _change(before: int, after: int) -> str:
    """Write the change of a number of predictions."""
    if before == 0:
        return "none before" if after else "none"
    if after == before:
        return "no change"
    percent = 100 * (after - before) / before
    return f"{percent:+.1f} %" if abs(percent) >= 0.05 else f"{percent:+.1g} %"
