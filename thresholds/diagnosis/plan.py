"""What a plan of annotation holds, and how it reads."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from thresholds._arrays.types import Dense
from thresholds._results.fields import record
from thresholds._results.plain import objects_of
from thresholds._results.result import Result
from thresholds._results.tables import Column, Table, count, tabulate
from thresholds._results.text import shown_name
from thresholds._results.words import are, counted, in_percent, n_more
from thresholds.diagnosis.bars import most_positives

_IN_WORDS = {
    "positives": "is it ever true?",
    "negatives": "is it ever false?",
    "scores": "do scores know it?",
    "precision": "precision kept?",
    "recall": "recall kept?",
    "f": "good enough?",
    "": "",
}
QUESTIONS = tuple(name for name in _IN_WORDS if name)  # in the order in which they are asked


@record
class AnnotationPlan(Result):
    """What is open of each label, how many rows would decide it, and what a few more rows gain.

    Attributes
    ----------
    table : structured array (n_labels,), those labels first that gain most: `table["gain"]` is a column
        name, label (its position in the data), question (that is open: "positives", "negatives", "scores", "precision",
        "recall" or "f"; empty where all is decided), n_rows (in which the label is known), n_positives;
        positives_needed (in all, for an answer with a probability of 80 %), positives_low and positives_high (of 10 %
        and 90 %); rows_needed, rows_low and rows_high (more rows, drawn as these were); top_rows_needed (more rows, if
        they are those that score highest); verdict, f, bar and auroc as in `Verdicts.table`; floor (of precision or
        recall, if that is the question); loss (how much of the label's F is lost to the choice of its threshold), gain
        (how much macro F gains by `more_rows` more rows of this label); sentence
        Numbers are inf where no number may be enough, or none that can be foreseen, and NaN where nothing is open.
    n_samples : rows looked at
    more_rows : how many more rows the gain is about
    alpha, min_auroc, overprediction, min_f, min_skill : as asked for
    beta : of the F
    on_own_rows : whether the rule was fitted on these rows, so that its F here flatters it
    label_names : tuple of str, or None
    """

    _shown = 5

    table: Dense
    n_samples: int
    more_rows: int
    alpha: float
    min_auroc: float
    overprediction: float
    min_f: float
    min_skill: float
    beta: float
    on_own_rows: bool
    label_names: tuple[str, ...] | None

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.table.size)

    @property
    def undecided(self) -> Dense:
        """The rows of the table of labels of which something is open."""
        return np.asarray(self.table[self.table["question"] != ""])

    @property
    def counts(self) -> dict[str, int]:
        """How many labels each question is open of."""
        asked = self.table["question"]
        return {question: int(np.count_nonzero(asked == question)) for question in QUESTIONS}

    def _parts(self, k: int) -> Iterator[str | Table]:
        """Sum up, and list the k labels that gain most, then what would decide k of those that are undecided."""
        yield self._about()
        if k:
            yield self._by_gain(k)
            if self.undecided.size:
                yield tabulate(self.undecided, _UNDECIDED, k)

    def _about(self) -> str:
        """Say how many labels are undecided, and what is meant by numbers."""
        n_open = self.undecided.size
        open_of = [(name, number) for name, number in self.counts.items() if number]
        each = ", ".join(f"{number:,} {_IN_WORDS[name]}" for name, number in open_of)
        asked = f": {each}" if each else ""
        own_rows = unforeseen = ""
        if self.on_own_rows:
            own_rows = "; the rule was fitted on these rows, which flatters it"
        if np.isinf(self.undecided["positives_high"]).any():
            unforeseen = "; ? is one that cannot be foreseen"
        return (
            f"{counted(self.n_labels, 'label')} on {counted(self.n_samples, 'row')}, of which {n_open:,} {are(n_open)}"
            f" undecided{asked}{own_rows}\n"
            "Numbers are enough with a probability of 80 % [10 %, 90 %], if new rows are like"
            f" these{unforeseen}. The gain is that of macro F{self.beta:g}, in points of 100, if"
            f" {counted(self.more_rows, 'more row')}, drawn at random, are annotated for this label"
        )

    def _by_gain(self, k: int) -> Table:
        """Lay out the k labels that gain most."""
        first = objects_of(self.table[:k])
        columns = {
            "name": [row["name"] for row in first],
            "question": [row["question"] for row in first],
            "n_positives": [row["n_positives"] for row in first],
            "positives": [_bounded(row, "positives") for row in first],
            "rows": [_bounded(row, "rows") for row in first],
            "gain": [row["gain"] for row in first],
        }
        gain = Column("gain", (f"{self.more_rows:,} more", "rows gain"), _points)
        return tabulate(columns, (*_BY_GAIN, gain), note=n_more(self.n_labels, k))


_BY_GAIN = (
    Column("name", "gains most", is_words=True),
    Column("question", "open", _IN_WORDS.__getitem__, is_words=True),
    Column("n_positives", "positives", count),
    Column("positives", ("positives", "needed")),
    Column("rows", ("more rows", "needed")),
)
_UNDECIDED = (
    Column("name", "undecided", is_words=True),
    Column("sentence", "what would decide it", is_words=True),
)


def sentence_on(row: Any, alpha: float, beta: float, recall_beside: float = math.nan) -> str:
    """Say what is open of a label, and what would decide it; `row` is one of `AnnotationPlan.table`.

    `recall_beside` is a floor of recall that a cut with a floor of precision is to keep, too.
    """
    name = shown_name(row["name"])
    positives = row["n_positives"]
    question = row["question"]
    if not question:
        return f"Decided: {name} is {row['verdict']}."
    if question == "positives":
        return _of_first(row, name, alpha)
    if question == "negatives":
        return f"All rows here truly are {name}: some that are not are needed."
    beside = "" if math.isnan(recall_beside) else f" with a recall of {recall_beside:g}"
    so_far = f"{counted(positives, 'row')} so far truly {are(positives)} {name}"
    outcome = {
        "scores": "whether its scores tell it apart",
        "precision": f"a precision of {row['floor']:g}{beside}",
        "recall": f"a recall of {row['floor']:g}",
        "f": f"whether its F{beta:g}, here {row['f']:.2f}, is above {row['bar']:.2f}",
    }[question]
    if math.isinf(row["positives_needed"]):
        most = f"{most_positives(positives):,.0f}"
        return f"{so_far}; even {most} may not be enough to show {outcome}."
    rows = f"some {_bounded(row, 'rows')} more rows like these"
    top = ""
    if not np.isnan(row["top_rows_needed"]):
        top = f", or the next {row['top_rows_needed']:,.0f} of those that score highest"
    if question == "recall":
        needed = f"at least {row['positives_needed']:,.0f} are needed to show {outcome}"
    else:
        needed = f"about {_bounded(row, 'positives')} in all would show {outcome}"
    return f"{so_far}; {needed}: {rows}{top}."


def _of_first(row: Any, name: str, alpha: float) -> str:
    """Say how often a label that was never seen may be true, and how long one may look for it."""
    n = row["n_rows"]
    if n == 0:
        return f"Of no row it is known whether it truly is {name}."
    highest = -math.expm1(math.log(alpha) / n)
    bound = (
        f"No row of {n:,} truly is {name}, so that at most {100 * highest:.2g} % of all rows are"
        f" ({in_percent(1 - alpha)} confidence)"
    )
    rows = f"to find one may take some {_bounded(row, 'rows')} more rows like these"
    top = ""
    if not np.isnan(row["top_rows_needed"]):
        pool = 2 * row["rows_needed"]
        top = (
            f", or the {row['top_rows_needed']:,.0f} that score highest of {pool:,.0f}, if its scores are as good as"
            " those of the other labels"
        )
    return f"{bound}; {rows}{top}. That there is one is not known."


def _bounded(row: Any, what: str) -> str:
    """Show a number with its bounds, nothing where nothing is open."""
    needed, low, high = (row[f"{what}_{end}"] for end in ("needed", "low", "high"))
    if np.isnan(needed):
        return ""
    if low == needed == high:
        return _number(needed)
    return f"{_number(needed)} [{_number(low)}, {_number(high)}]"


def _points(gain: float) -> str:
    """Show a gain in points, to two digits, however small."""
    return np.format_float_positional(float(f"{100 * gain:.2g}"), trim="-")


def _number(value: float) -> str:
    """Show a number of rows."""
    return "?" if math.isinf(value) else f"{value:,.0f}"
