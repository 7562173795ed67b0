"""What a comparison found: rules by measures, how sure that is, and how much one reaches more than another."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from thresholds import _checks
from thresholds._arrays.blocks import ceil_div
from thresholds._results.fields import record, value
from thresholds._results.plain import plain
from thresholds._results.result import Drawable, Result
from thresholds._results.tables import Column, Table, tabulate
from thresholds._results.text import first_names, on_one_line, shown_name
from thresholds._results.words import counted, in_percent, n_more, percent
from thresholds.comparison.agreement import Agreement
from thresholds.diagnosis.states import backwards_in_brief
from thresholds.metrics.averages import ABOUT_ZERO_DIVISION
from thresholds.metrics.jackknife import Interval

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
_SIGNED = "{:+.4f}".format

_OF_PROBABILITIES = (
    Column("total", ("sum of p", "/ positives")),
    Column("slope", ("calibration", "slope")),
    Column("rules", "of the probabilities (ideal: 1 and 1) of", is_words=True),
)


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
class RuleGain:
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
        rules = on_one_line(f"{self.rule} - {self.baseline}")
        difference, lower, upper = map(_SIGNED, (self.difference, self.lower, self.upper))
        return f"{rules}: {self.measure} {difference} ({lower} to {upper})"


@record
class Comparison(Result, Drawable):
    """Rules by measures.

    `to_frame` has the columns of the printed table as numbers: rule, micro, micro_reach (how far its interval reaches),
    and so on. In `to_dict` each measure has flat names: micro, micro_low, micro_high (its interval), micro_behind,
    micro_behind_low, micro_behind_high (how far behind the best) and micro_tied (not told apart from the best).

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
    differences : tuple of RuleGain, of each rule but the baseline, by measure
        Empty for a single rule, for rules that were fitted here, and without intervals.
    confidence : that of all intervals; None without
    paired_by : "row", or "group" where rows of a group are left out together
    left_out : dict of name to reason, rules that were to be fitted, and cannot be had of these scores
    agreement : Agreement, how far the rules decide alike; None for a single rule
    n_cells : number of cells whose truth is known, where some is not; the others are in no figure; None else
    """

    _shown = 30  # all rules of the list of rules
    _display = "ComparisonDisplay.from_comparison"

    measures: tuple[Measures, ...] = value(repr=False)
    beta: float
    n_samples: int
    n_labels: int = value()
    n_supported: int
    n_with_both_classes: int
    macro_auroc: float
    gold_per_row: float
    labels_gold_often: int
    labels_tested: int
    backwards: tuple[str, ...] = ()
    rows: str = ""
    fitted_here: tuple[str, ...] = ()
    behind_best: Mapping[str, Mapping[str, Behind]] = value(factory=dict, saved=False, repr=False)
    differences: tuple[RuleGain, ...] = value(default=(), repr=False)
    confidence: float | None = None
    paired_by: str = "row"
    zero_division: float = 0.0
    left_out: Mapping[str, str] = field(default_factory=dict)
    agreement: Agreement | None = value(default=None, saved=False, repr=False)
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

        `agreement.to_dict()` has what is not in here.
        """
        records = [self._record(row) for row in self.measures]
        return super().to_dict() | {
            "measures": plain(records),
            "labels_backwards": self.labels_backwards,
        }

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

    def _parts(self, k: int) -> Iterator[str | Table]:
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

    def _rows(self) -> dict[str, list[Any]]:
        """Return the columns of the table of measures, as numbers."""
        rows: dict[str, list[Any]] = {"rule": [row.rule for row in self.measures]}
        for measure in self._measures_shown:
            rows[measure] = [getattr(row, measure) for row in self.measures]
            reach = [row.reach(measure) for row in self.measures]
            if not np.isnan(reach).all():
                rows[f"{measure}_reach"] = reach
        others = ["macro_skill", "predicted_per_row"]
        if not self._flagged_alike:
            others += ["platypus", "suspect"]
        return rows | {name: [getattr(row, name) for row in self.measures] for name in others}

    def _measures_of_rules(self, k: int) -> Table:
        """Lay out the measures of k rules, marked where they cannot be told apart from the best."""
        f = f"F{self.beta:g}"
        second_lines = {"macro": f if self._all_supported else "of all"}
        rows = self._rows()
        columns = [Column("rule", is_words=True)]
        for measure in self._measures_shown:
            # A fourth digit is shown where intervals do not say that it is noise.
            reach = rows.get(f"{measure}_reach", [])
            digits = 3 if reach and np.nanmedian(reach) > _NOISE else 4
            tied = self.best(measure) if self.behind_best else ()
            marks = [_MARK if rule in tied else "" for rule in rows["rule"]]
            pairs = zip(marks, rows[measure], strict=True)
            rows[measure] = [f"{mark}{figure:.{digits}f}" for mark, figure in pairs]
            name = "macro" if measure == "macro_supported" else measure
            columns.append(Column(measure, (name, second_lines.get(measure, f))))
            if reach:
                columns.append(Column(f"{measure}_reach", "+-", f"{{:.{digits}f}}".format))
        columns.append(Column("macro_skill", ("macro", "skill"), "{:.3f}".format))
        columns.append(Column("predicted_per_row", ("labels", "per row"), "{:.2f}".format))
        if not self._flagged_alike:
            rows["flagged"] = [f"{row.platypus} + {row.suspect}" for row in self.measures]
            columns.append(Column("flagged", ("platypus", "+ suspect")))
        return tabulate(rows, columns, k)

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
        totals, slopes = zip(*rules, strict=True)
        rows = {
            "total": totals,
            "slope": slopes,
            "rules": ["; ".join(names) for names in rules.values()],
        }
        return tabulate(rows, _OF_PROBABILITIES, k)

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
        first_lines = {rule: next(row for row in shown if row.rule == rule) for rule in rules[:k]}
        lines = [row for row in shown if row.rule in first_lines]
        rows = {
            "rule": [row.rule if row is first_lines[row.rule] else "" for row in lines],
            "measure": [CALLED[row.measure] for row in lines],
            **{
                name: [getattr(row, name) for row in lines]
                for name in ("difference", "lower", "upper")
            },
        }
        title = (
            f"how much more than {shown_name(self.differences[0].baseline)}, on the same {self.paired_by}s, with the"
            f" {self._level} interval:"
        )
        columns = [
            Column("rule", ("",), is_words=True),
            Column("measure", f"F{self.beta:g}", is_words=True),
            *(
                Column(name, heading, _SIGNED)
                for name, heading in (("difference", "more"), ("lower", "from"), ("upper", "to"))
            ),
        ]
        return tabulate(rows, columns, title=title, note=n_more(len(rules), k))
