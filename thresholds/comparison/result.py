"""What a comparison found: rules by measures, how sure that is, and how much one reaches more than another."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np

from thresholds import _checks
from thresholds._arrays.blocks import ceil_div
from thresholds.comparison.agreement import Agreement
from thresholds.diagnosis.states import backwards_in_brief
from thresholds.metrics.averages import ABOUT_ZERO_DIVISION
from thresholds.metrics.jackknife import Interval
from thresholds.results import (
    Drawable,
    Result,
    Table,
    as_plain_values,
    counted,
    first_names,
    in_percent,
    n_more,
    on_one_line,
    percent,
    shown_name,
)

OFTEN = 1 / 3  # of the rows: a label predicted more often is worth a look

# Measures that have intervals and differences, with what a table of differences calls them.
CALLED = {
    "micro": "micro",
    "macro_supported": "macro, labels with positives",
    "macro": "macro, all labels",
    "weighted": "weighted",
    "samples": "samples",
}
MEASURED = tuple(CALLED)

_NOISE = 0.002  # an interval that reaches further: a fourth digit would be noise

_MARK = "*"  # on what cannot be told apart from the best
_LINES_OF_A_RULE = 4  # in a table of differences
_NAMES_SHOWN = 3  # of labels that rank backwards, in the text


@dataclass(frozen=True, slots=True)
class Measures:
    """What one rule reaches; 0/0 counts as the comparison says."""

    rule: str
    micro: float
    macro_supported: float  # over the labels with positives in these rows; NaN if there are none
    macro: float  # over all labels
    weighted: float
    samples: float
    macro_skill: float  # over the labels with positives and negatives; NaN if there are none
    predicted_per_row: float
    labels_predicted_often: int  # predicted on more than a third of the rows
    platypus: int  # labels so called by `diagnose`: over-predicted, and the scores know little
    suspect: int  # over-predicted labels that are undetermined on these rows
    # Of a rule that takes scores for probabilities, how far they are from it here; NaN for others.
    sum_over_positives: float  # sum of the probabilities / number of positives: 1 is calibrated
    calibration_slope: float  # 1 is calibrated, less is over-confident
    intervals: Mapping[str, Interval] = field(default_factory=dict)  # by measure; empty without

    def reach(self, measure: str) -> float:
        """Return how far the interval of a measure reaches to its longer side; NaN without one."""
        if measure not in self.intervals:
            return float("nan")
        value, lower, upper = self.intervals[measure]
        return max(value - lower, upper - value)


@dataclass(frozen=True, slots=True)
class Behind:
    """How far a rule is behind the best by one measure, on the same rows, and how far it may be on other rows."""

    behind: float  # F of the best minus F of the rule; 0 for the best
    lower: float
    upper: float
    tied: bool  # it cannot be told apart from the best


@dataclass(frozen=True, slots=True)
class Difference:
    """How much more F one rule reaches than another on the same rows, and what that may be on other rows.

    The interval has the mean difference over samples of as many rows in it, in as many cases as its confidence says. It
    is found by leaving out one row (or group) at a time: see `metrics/jackknife.py`.
    """

    rule: str
    baseline: str
    measure: str  # an attribute of `Measures`: micro, macro_supported, macro, weighted or samples
    difference: float  # F of the rule minus that of the baseline
    lower: float  # NaN, as is `upper`, where a single row or group is judged
    upper: float

    def __str__(self) -> str:
        """Say how much more, or less, it is."""
        difference, lower, upper = self.cells()
        rules = on_one_line(f"{self.rule} - {self.baseline}")
        return f"{rules}: {self.measure} {difference} ({lower} to {upper})"

    def cells(self) -> tuple[str, str, str]:
        """Return what a table shows: the difference, and the ends of its interval."""
        return f"{self.difference:+.4f}", f"{self.lower:+.4f}", f"{self.upper:+.4f}"


class _Column(NamedTuple):
    """A column of a table: two lines of head, and a cell for each rule."""

    head: tuple[str, str]
    cells: Sequence[str]


@dataclass(frozen=True, repr=False)
class Comparison(Result, Drawable):
    """Rules by measures.

    `to_frame` and `to_dict` have flat names: micro, micro_low, micro_high (its interval), micro_behind,
    micro_behind_low, micro_behind_high (how far behind the best) and micro_tied (not told apart from the best), and so
    for each measure.

    Attributes
    ----------
    measures : tuple of Measures, one for each rule
    beta : weight of recall in the F-measures
    zero_division : what 0/0 counts as, the F of a label (or row) with neither positives nor predictions
    n_samples, n_labels : of the rows that rules are judged on
    n_supported : number of labels with positives
    n_with_both_classes : number of labels with positives and negatives, over which macro skill and AUROC are means
    macro_auroc : of the scores, whatever the rule; NaN if no label has both classes
    gold_per_row : positives per row
    labels_gold_often : number of labels that are positive on more than a third of the rows
    labels_tested : number of labels with enough positives, and negatives, to be shown to rank backwards
    backwards : tuple of str, those that do, as `diagnose` calls them, whatever the rule: names, or positions
    rows : which rows rules were fitted on, and which they are judged on, in words
    fitted_here : tuple of str, rules fitted on the very rows they are judged on, whose figures are too high
    behind_best : dict of measure to dict of rule to Behind, how far each rule is behind the best
        Empty for a single rule, and without intervals.
    differences : tuple of Difference, of each rule but the baseline, by measure
        Empty for a single rule, for rules that were fitted here, and without intervals.
    confidence : that of all intervals; None without
    paired_by : "row", or "group" where rows of a group are left out together
    left_out : dict of name to reason, rules that were to be fitted, and cannot be had of these scores
    agreement : Agreement, how far the rules decide alike; None for a single rule
    n_cells : number of cells whose truth is known, where some is not; the others are in no figure; None else
    """

    _shown = 30  # all rules of the list of rules
    _display = "ComparisonDisplay.from_comparison"

    measures: tuple[Measures, ...]
    beta: float
    n_samples: int
    n_labels: int
    n_supported: int
    n_with_both_classes: int
    macro_auroc: float
    gold_per_row: float
    labels_gold_often: int
    labels_tested: int
    backwards: tuple[str, ...] = ()
    rows: str = ""
    fitted_here: tuple[str, ...] = ()
    behind_best: Mapping[str, Mapping[str, Behind]] = field(default_factory=dict)
    differences: tuple[Difference, ...] = ()
    confidence: float | None = None
    paired_by: str = "row"
    zero_division: float = 0.0
    left_out: Mapping[str, str] = field(default_factory=dict)
    agreement: Agreement | None = None
    n_cells: int | None = None

    @property
    def labels_backwards(self) -> int:
        """How many labels rank backwards: AUROC shown to be below 1/2."""
        return len(self.backwards)

    def best(self, measure: str) -> tuple[str, ...]:
        """Return the rules that cannot be told apart from the best by a measure, in their order.

        Parameters
        ----------
        measure : "micro", "macro_supported", "macro", "weighted" or "samples"

        Returns
        -------
        tuple of str
            Without intervals, and of a single rule, the rules of the highest figure.
        """
        measure = _checks.option(measure, "measure", MEASURED)
        if self.behind_best:
            return tuple(rule for rule, row in self.behind_best[measure].items() if row.tied)
        highest = max(getattr(row, measure) for row in self.measures)
        return tuple(row.rule for row in self.measures if getattr(row, measure) == highest)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: NaN as None, infinite numbers as "inf" and "-inf", as JSON has neither.

        `measures` are the rows of `to_frame`; `agreement.to_dict()` has what is not in here.
        """
        values = super().to_dict()
        del values["agreement"], values["behind_best"]
        values["measures"] = as_plain_values(self._records())
        return values | {"labels_backwards": self.labels_backwards}

    def _records(self) -> list[dict[str, Any]]:
        """Return one row a rule: each measure with its interval, and with how far it is behind the best."""
        return [self._record(row) for row in self.measures]

    def _record(self, row: Measures) -> dict[str, Any]:
        """Return the measures of a rule by flat names."""
        record: dict[str, Any] = {}
        for name in (item.name for item in fields(row) if item.name != "intervals"):
            record[name] = getattr(row, name)
            if name in row.intervals:
                _, record[f"{name}_low"], record[f"{name}_high"] = row.intervals[name]
            if name in self.behind_best:
                behind = self.behind_best[name][row.rule]
                record[f"{name}_behind"] = behind.behind
                record[f"{name}_behind_low"] = behind.lower
                record[f"{name}_behind_high"] = behind.upper
                record[f"{name}_tied"] = behind.tied
        return record

    def _tables(self, k: int) -> Iterator[str | Table]:
        """Show the measures of k rules; labels that rank backwards first, which no rule mends, last the rows."""
        if self.backwards:
            names = first_names(self.backwards, _NAMES_SHOWN)
            yield backwards_in_brief(self.labels_backwards, self.labels_tested, names)
        yield self._measures_of_rules(k)
        yield "\n".join(self._about_the_table())
        calibration = self._calibration(k)
        if calibration is not None:
            yield calibration
        if self.differences:
            yield self._differences_of_rules(ceil_div(k, _LINES_OF_A_RULE))
        if self.zero_division:
            yield ABOUT_ZERO_DIVISION
        if self.left_out:
            yield self.about_left_out()
        if self.rows:
            yield self.rows

    def about_left_out(self) -> str:
        """Say which rules cannot be had of these scores, and why: one line for each reason."""
        lines = []
        for reason in dict.fromkeys(self.left_out.values()):
            names = [name for name, why in self.left_out.items() if why == reason]
            lines.append(f"left out, as {reason}: {'; '.join(names)}")
        return "\n".join(lines)

    def _measures_of_rules(self, k: int) -> Table:
        """Lay out the measures of k rules."""
        f = f"F{self.beta:g}"
        columns = [_Column(("", "rule"), [row.rule for row in self.measures])]
        heads_of_measures = {
            "micro": ("micro", f),
            "macro_supported": ("macro", f),
            "macro": ("macro", f if self._all_supported else "of all"),
            "samples": ("samples", f),
        }
        for measure in self._measures_shown:
            columns += self._measured(measure, heads_of_measures[measure])
        skill = [f"{row.macro_skill:.3f}" for row in self.measures]
        columns.append(_Column(("macro", "skill"), skill))
        per_row = [f"{row.predicted_per_row:.2f}" for row in self.measures]
        columns.append(_Column(("labels", "per row"), per_row))
        if not self._flagged_alike:
            flagged = [f"{row.platypus} + {row.suspect}" for row in self.measures]
            columns.append(_Column(("platypus", "+ suspect"), flagged))
        heads = [*zip(*(column.head for column in columns), strict=True)]
        body = [*zip(*(column.cells for column in columns), strict=True)]
        return Table(heads, body[:k], note=n_more(len(self.measures), k))

    def _measured(self, measure: str, head: tuple[str, str]) -> list[_Column]:
        """Lay out a measure, marked where it cannot be told apart from the best, and how far its intervals reach."""
        tied = self.best(measure) if self.behind_best else ()
        reach = np.array([row.reach(measure) for row in self.measures])  # (n_rules,)
        is_known = not np.isnan(reach).all()
        digits = 3 if is_known and np.nanmedian(reach) > _NOISE else 4
        figures = []
        for row in self.measures:
            mark = _MARK if row.rule in tied else ""
            figures.append(f"{mark}{getattr(row, measure):.{digits}f}")
        columns = [_Column(head, figures)]
        if is_known:
            columns.append(_Column(("", "+-"), [f"{each:.{digits}f}" for each in reach]))
        return columns

    def _calibration(self, k: int) -> Table | None:
        """Lay out how far probabilities are from calibration, and of which rules, if it is known of any."""
        rules: dict[tuple[str, str], list[str]] = {}
        for row in self.measures:
            figures = (row.sum_over_positives, row.calibration_slope)
            if not np.isnan(figures).all():
                total, slope = ("" if np.isnan(x) else f"{x:.2f}" for x in figures)
                rules.setdefault((total, slope), []).append(shown_name(row.rule))
        if not rules:
            return None
        head = [
            ("sum of p", "calibration", ""),
            ("/ positives", "slope", "of the probabilities (ideal: 1 and 1) of"),
        ]
        body = [(*figures, "; ".join(names)) for figures, names in rules.items()]
        return Table(head, body[:k], left=(2,), note=n_more(len(body), k))

    @property
    def _measures_shown(self) -> list[str]:
        """The measures that have columns."""
        shown = {
            "macro_supported": self.n_supported > 0 and not self._all_supported,
            "macro": self._all_supported or self._macro_of_all,
            "weighted": False,
            # Counts do not tell it.
            "samples": not all(np.isnan(row.samples) for row in self.measures),
        }
        return [measure for measure in MEASURED if shown.get(measure, True)]

    @property
    def _all_supported(self) -> bool:
        """Whether all labels have positives, so that both macros are one on these rows, if not without each of them."""
        return self.n_supported == self.n_labels

    @property
    def _macro_of_all(self) -> bool:
        """Whether macro F of all labels is more than that of the labels with positives times a number."""
        return not self._all_supported and bool(self.zero_division or not self.n_supported)

    @property
    def _flagged_alike(self) -> bool:
        """Whether as many labels are platypus and suspect under each rule."""
        return len({(row.platypus, row.suspect) for row in self.measures}) == 1

    def _about_the_table(self) -> Iterator[str]:
        """Say what the marks and intervals mean, over which labels means are taken, and what holds for all rules."""
        if self.behind_best:
            yield (
                f"{_MARK} cannot be told apart from the highest of its column, on the same {self.paired_by}s"
                f" (with {self._level} confidence)"
            )
            if self._any_above_a_mark:
                yield (
                    f"a rule without {_MARK} may stand above one with it: it decides more like the highest, so less is"
                    " chance"
                )
        if self.confidence is not None:
            yield (
                f"+- reach of the {self._level} interval, for as many other {self.paired_by}s; how well a rule was"
                " fitted is not in it"
            )
        yield self._about_means()
        yield f"gold: {self.gold_per_row:.2f} labels per row"
        if self.n_cells is not None:
            share = percent(self.n_cells / (self.n_samples * self.n_labels))
            yield f"labels per row are counted in the {share} of the cells whose truth is known, as all figures are"
        if self._flagged_alike:
            row = self.measures[0]
            flagged = f"{row.platypus or 'no'} platypus and {row.suspect or 'no'} suspect labels"
            yield f"{flagged}{', whatever the rule' if len(self.measures) > 1 else ''}"

    @property
    def _any_above_a_mark(self) -> bool:
        """Whether a figure that is shown without a mark is above one that has it."""
        for measure in self._measures_shown:
            marked = self.best(measure)
            with_mark = [getattr(row, measure) for row in self.measures if row.rule in marked]
            others = [getattr(row, measure) for row in self.measures if row.rule not in marked]
            if others and max(others) > min(with_mark):
                return True
        return False

    def _about_means(self) -> str:
        """Say over which labels macro figures are means, and what the macro AUROC of the scores is."""
        f = f"macro F{self.beta:g}"
        supported = f"{counted(self.n_supported, 'label')} with positives"
        if 0 < self.n_supported < self.n_labels and not self._macro_of_all:
            share = self.n_supported / self.n_labels
            supported += f" (over all {self.n_labels:,} F is {share:.4f} times that)"
        if self.n_with_both_classes == 0:
            return f"{f}: mean over {supported}; none has negatives, too: no skill, no AUROC"
        auroc = f"macro AUROC of the scores: {self.macro_auroc:.3f}"
        if self.n_with_both_classes == self.n_labels:
            return f"{f} and skill: means over {counted(self.n_labels, 'label')}; {auroc}"
        if self.n_with_both_classes == self.n_supported:
            return f"{f} and skill: means over {supported}; {auroc}"
        both = f"{self.n_with_both_classes:,} with negatives, too"
        return f"{f}: mean over {supported}, skill over {both}; {auroc}"

    @property
    def _level(self) -> str:
        """The confidence as it is written."""
        assert self.confidence is not None, "intervals have a confidence"
        return in_percent(self.confidence)

    def _differences_of_rules(self, k: int) -> Table:
        """Lay out by how much k rules differ from the baseline, one line for each measure."""
        # Both macros are one where all labels have positives; where none has, one is not known.
        left_out = "macro_supported" if self._all_supported or not self.n_supported else None
        shown = [row for row in self.differences if row.measure != left_out]
        rules = list(dict.fromkeys(row.rule for row in shown))
        body = []
        for rule in rules[:k]:
            of_rule = [row for row in shown if row.rule == rule]
            names = [rule] + [""] * (len(of_rule) - 1)
            body += [
                (name, CALLED[difference.measure], *difference.cells())
                for name, difference in zip(names, of_rule, strict=True)
            ]
        title = (
            f"how much more than {shown_name(self.differences[0].baseline)}, on the same {self.paired_by}s, with the"
            f" {self._level} interval:"
        )
        head = ("", f"F{self.beta:g}", "more", "from", "to")
        return Table([head], body, left=(0, 1), title=title, note=n_more(len(rules), k))
