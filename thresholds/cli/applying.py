"""The commands `predict` and `diff`: saved rules at work."""

import argparse
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

from thresholds import _checks
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Dense, Matrix
from thresholds._checks import InputError
from thresholds._checks.cells import first_bad_cell
from thresholds.cli import printing, reading

if TYPE_CHECKING:
    from thresholds.files import Decided, Source
    from thresholds.rule import Rule


def predict(options: argparse.Namespace) -> None:
    """Apply a rule to a file of scores and write the decisions, a block of rows at a time."""
    from thresholds.files import check_suffix, write_blocks
    from thresholds.rule import load_rule

    rule = load_rule(options.rule)
    check_suffix(options.output)
    source = reading.opened(options, rule)
    deciding = _Deciding(rule, options.rule, source)
    names = rule.label_names or source.label_names
    write_blocks(options.output, deciding.blocks(), source.n_labels, names, options.key)
    deciding.warn()
    print(f"{deciding.summary}; written to {options.output}")


class _Deciding:
    """A rule at work on one block of rows after another."""

    def __init__(self, rule: "Rule", path: str, source: "Source") -> None:
        self.rule = rule
        self.source = source
        self.order = reading.order_of(source, rule, path)
        self.n_rows = 0
        self.n_predicted = 0
        self.summary = ""  # known when the last block is written
        self._outside = 0.0
        self._warning: str | None = None

    def blocks(self) -> Iterator["Decided"]:
        """Decide all blocks; when the last is written, all that is to be said is known."""
        from thresholds.files import Decided, dtype_of
        from thresholds.rule import ThresholdRule

        dtype = ""
        step = reading.progress(self.source, "predicting")
        for block in self.source.blocks(truth=False):
            scores = _checks.in_order(block.y_score, self.order)
            names = self.rule.label_names or self.source.label_names
            _refuse_bad(scores, self.rule, self.source.score_key, self.n_rows, names)
            decided = self._decide(scores)
            dtype = dtype_of(scores)
            self.n_rows += scores.shape[0]
            self.n_predicted += int(decided.sum())
            if step is not None:
                step(scores.shape[0])
            yield Decided(decided, block.keys)
        if not self.n_rows:
            raise InputError(f"{self.source.name} has no rows, expected at least one")
        described = reading.described(self.source, self.n_rows, self.source.n_labels, dtype)
        self.summary = f"{described}\n{self.n_predicted / self.n_rows:.2f} labels per row"
        if isinstance(self.rule, ThresholdRule) and self.rule.fitted_on is not None:
            self._warning = self.rule.fitted_on.out_of_range(self._outside / self.n_rows)

    def warn(self) -> None:
        """Say that most scores lie outside the range of the fit; of one block alone that may mean little."""
        from thresholds.rule import ScoreChangeWarning

        if self._warning is not None:
            warnings.warn(self._warning, ScoreChangeWarning, stacklevel=2)

    def _decide(self, scores: "Matrix") -> "Matrix":
        """Decide one block; its share of scores outside the range of the fit is noted."""
        from thresholds.rule import ThresholdRule

        rule = self.rule
        scores = _checks.scores(scores)
        rule.validate(scores)
        if isinstance(rule, ThresholdRule) and rule.fitted_on is not None:
            self._outside += scores.shape[0] * rule.fitted_on.share_outside(scores, rule.missing)
        return rule.decide(scores, dense=rule.needs_dense(scores))


def _refuse_bad(
    scores: "Matrix", rule: "Rule", name: str, first: int, label_names: tuple[str, ...] | None
) -> None:
    """Refuse NaN and +inf, to a rule of probabilities all outside [0, 1], by their row in the whole file."""
    import numpy as np

    from thresholds.rule import InstanceRule

    takes_probabilities = isinstance(rule, InstanceRule)

    def is_bad(cells: Dense) -> Dense:
        if takes_probabilities:
            return np.asarray(~((cells >= 0) & (cells <= 1)))
        return np.asarray(~(cells < np.inf))

    cells = scores.data if is_sparse(scores) else scores
    if not is_bad(cells).any():
        return
    bad = first_bad_cell(
        scores, is_bad, label_names, first_row=first, signed=not takes_probabilities
    )
    expected = "real scores"
    if takes_probabilities:
        expected = "values in [0, 1] (--logits turns logits into probabilities)"
    raise InputError(f"{name} has {bad}, expected {expected}")


def diff(options: argparse.Namespace) -> None:
    """Print what changed between two saved rules, and on scores what that does to decisions."""
    from thresholds.comparison.differences import diff_rules

    for name, usual in (("score_key", None), ("label_names", None), ("logits", False)):
        if options.file is None and getattr(options, name) != usual:
            option = name.replace("_", "-")
            value = getattr(options, name)
            raise InputError(f"--{option} is {value!r} without a file of scores")
    old = reading.threshold_rule(options.old)
    new = reading.threshold_rule(options.new)
    scores = None
    file_name = None
    notes: list[str] = []
    if options.file is not None:
        data = reading.aligned(reading.scores(options, new), new, options.new)
        scores = data.y_score
        file_name = data.name
        notes = list(data.notes)
    difference = diff_rules(old, new, scores)
    if options.json:
        about = {"old": options.old, "new": options.new, "file": file_name, "notes": notes}
        print(printing.as_json(about | difference.to_dict()))
    else:
        print("\n".join([*notes, difference.to_text(options.top)]))
