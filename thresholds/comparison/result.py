"""What a comparison found: rules by measures, and how much one reaches more than another."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from thresholds.diagnosis.result import backwards_in_brief
from thresholds.metrics.averages import ABOUT_ZERO_DIVISION
from thresholds.results import Result, Table, first_names, n_more, records_of

OFTEN = 1 / 3  # of the rows: a label predicted more often is worth a look

# Measures whose differences are told, with what the table calls them.
_MEASURED = {
    "micro": "micro",
    "macro_supported": "macro, labels with positives",
    "macro": "macro, all labels",
    "weighted": "weighted",
    "samples": "samples",
}
DIFFERENCES = tuple(_MEASURED)

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
    predicted_per_row: float
    labels_predicted_often: int  # predicted on more than a third of the rows
    platypus: int  # labels so called by `diagnose`: over-predicted, and the scores know little
    suspect: int  # over-predicted labels that are undetermined on these rows
    # Of a rule that takes scores for probabilities, how far they are from it here; NaN for others.
    sum_over_positives: float  # sum of the probabilities / number of positives: 1 is calibrated
    calibration_slope: float  # 1 is calibrated, less is over-confident

    def cells(self) -> tuple[str, ...]:
        """Return what a table shows of the rule; nothing of calibration where it is not known."""
        f_measures = (self.micro, self.macro_supported, self.macro, self.samples)
        calibration = (self.sum_over_positives, self.calibration_slope)
        return (
            self.rule,
            *(f"{value:.4f}" for value in f_measures),
            f"{self.predicted_per_row:.2f}",
            f"{self.platypus} + {self.suspect}",
            *("" if np.isnan(value) else f"{value:.2f}" for value in calibration),
        )


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
        return f"{self.rule} - {self.baseline}: {self.measure} {difference} ({lower} to {upper})"

    def cells(self) -> tuple[str, str, str]:
        """Return what a table shows: the difference, and the ends of its interval."""
        return f"{self.difference:+.4f}", f"{self.lower:+.4f}", f"{self.upper:+.4f}"


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """Rules by measures.

    Attributes
    ----------
    measures : tuple of Measures, one for each rule
    beta : weight of recall in the F-measures
    zero_division : what 0/0 counts as, the F of a label (or row) with neither positives nor predictions
    n_samples, n_labels : of the rows that rules are judged on
    n_supported : number of labels with positives
    gold_per_row : positives per row
    labels_gold_often : number of labels that are positive on more than a third of the rows
    labels_tested : number of labels with enough positives, and negatives, to be shown to rank backwards
    backwards : tuple of str, those that do, as `diagnose` calls them, whatever the rule: names, or positions
    rows : which rows rules were fitted on, and which they are judged on, in words
    fitted_here : tuple of str, rules fitted on the very rows they are judged on, whose figures are too high
    differences : tuple of Difference, of each rule but the baseline, by measure
        Empty for a single rule, and for the usual ones.
    confidence : that of their intervals; None without
    paired_by : "row", or "group" where rows of a group are left out together
    left_out : dict of name to reason, rules that were to be fitted, and cannot be had of these scores
    """

    measures: tuple[Measures, ...]
    beta: float
    n_samples: int
    n_labels: int
    n_supported: int
    gold_per_row: float
    labels_gold_often: int
    labels_tested: int
    backwards: tuple[str, ...] = ()
    rows: str = ""
    fitted_here: tuple[str, ...] = ()
    differences: tuple[Difference, ...] = ()
    confidence: float | None = None
    paired_by: str = "row"
    zero_division: float = 0.0
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def labels_backwards(self) -> int:
        """How many labels rank backwards: AUROC shown to be below 1/2."""
        return len(self.backwards)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: NaN as None, infinite numbers as "inf" and "-inf", as JSON has neither."""
        return super().to_dict() | {"labels_backwards": self.labels_backwards}

    def _records(self) -> list[dict[str, Any]]:
        """Return the measures, one row a rule."""
        return records_of(self.measures)

    def _tables(self, k: int) -> Iterator[str | Table]:
        """Show the measures of k rules; labels that rank backwards first, which no rule mends, last the rows."""
        if self.backwards:
            names = first_names(self.backwards, _NAMES_SHOWN)
            yield backwards_in_brief(self.labels_backwards, self.labels_tested, names)
        yield self._measures_of_rules(k)
        if self.differences:
            yield self._differences_of_rules(k)
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
        """Lay out the measures of k rules; those of calibration if they are known of any rule."""
        f = f"F{self.beta:g}"
        columns = [
            ("", "", "rule"),
            ("", "micro", f),
            ("macro", f"of {self.n_supported} labels", "with positives"),
            ("macro", "of all", f"{self.n_labels} labels"),
            ("", "samples", f),
            ("labels", "per row", f"(gold {self.gold_per_row:.2f})"),
            ("platypus", "+ suspect", "labels"),
        ]
        calibration = [(row.sum_over_positives, row.calibration_slope) for row in self.measures]
        if not np.isnan(calibration).all():
            columns += [
                ("sum of p", "/ positives", "(ideal 1)"),
                ("calibration", "slope", "(ideal 1)"),
            ]
        head = [*zip(*columns, strict=True)]
        body = [row.cells()[: len(columns)] for row in self.measures[:k]]
        return Table(head, body, note=n_more(len(self.measures), k))

    def _differences_of_rules(self, k: int) -> Table:
        """Lay out by how much k rules differ from the baseline, one line for each measure."""
        # Both macros are one where all labels have positives.
        left_out = "macro_supported" if self.n_supported == self.n_labels else None
        shown = [row for row in self.differences if row.measure != left_out]
        rules = list(dict.fromkeys(row.rule for row in shown))
        body = []
        for rule in rules[:k]:
            of_rule = [row for row in shown if row.rule == rule]
            names = [rule] + [""] * (len(of_rule) - 1)
            body += [
                (name, _MEASURED[difference.measure], *difference.cells())
                for name, difference in zip(names, of_rule, strict=True)
            ]
        assert self.confidence is not None, "differences have intervals"
        title = (
            f"how much more than {self.differences[0].baseline}, on the same {self.paired_by}s, with the"
            f" {100 * self.confidence:g} % interval:"
        )
        head = ("", f"F{self.beta:g}", "more", "from", "to")
        return Table([head], body, left=(0, 1), title=title, note=n_more(len(rules), k))
