"""The commands `predict` and `monitor`: a saved rule at work."""

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from thresholds import _checks
from thresholds._arrays.sparse import stored_cells
from thresholds._arrays.types import Dense, Matrix
from thresholds._checks import InputError
from thresholds._checks.cells import first_bad_cell
from thresholds.cli import failing, reading
from thresholds.cli.printing import finish, print_error

if TYPE_CHECKING:
    from thresholds.files import Block, DecidedRows, Source
    from thresholds.rule import Rule
    from thresholds.rule.watching.row_sample import RowSample


def predict(options: argparse.Namespace) -> None:
    """Apply a rule to a file of scores and write the decisions, a block of rows at a time."""
    from thresholds.files import check_suffix, write_blocks
    from thresholds.loading import load_rule

    rule = load_rule(options.rule)
    check_suffix(options.output)
    source = reading.opened(options, rule)
    deciding = _Deciding(rule, options.rule, source, strict=options.strict)
    names = rule.label_names or source.label_names
    is_written = True
    try:
        form = source.n_labels, names, source.key_columns, source.label_column
        write_blocks(
            options.output,
            deciding.blocks(),
            *form,
            dialect=source.dialect,
            quote_formulas=options.quote_formulas,
        )
    except _GravelyChanged:
        is_written = False
    outcome = f"written to {options.output}" if is_written else "not written"
    about = reading.about(source)
    finish(
        options,
        lambda: f"{deciding.summary}; {outcome}",
        lambda: {
            **about,
            "rule": options.rule,
            "output": options.output if is_written else None,
            "n_samples": deciding.n_rows,
            "n_labels": source.n_labels,
            "n_predicted": deciding.n_predicted,
            "notes": [*about["notes"], *deciding.notes],
            "warnings": [*options.warnings, *deciding.warnings],
        },
        broken=() if is_written else deciding.warnings,
    )
    if is_written:
        for line in deciding.warnings:
            print_error(f"thresholds: warning: {line}")
        for line in deciding.notes:
            print_error(f"thresholds: note: {line}")


def monitor(options: argparse.Namespace) -> None:
    """Print what has changed in a file of scores since a rule was fitted."""
    from thresholds.files import described, dtype_of
    from thresholds.loading import load_rule
    from thresholds.rule.watching.check import check_rows, required_profile
    from thresholds.rule.watching.row_sample import RowSample

    rule = load_rule(options.rule)
    profile = required_profile(rule, options.rule)
    alpha = _checks.share(options.alpha, "--alpha")
    source = reading.opened(options, rule)

    # A sample of the rows, as they come.
    sample = RowSample(profile.n_labels)
    n_rows = 0
    dtype = ""
    for block in _checked_blocks(rule, options.rule, source, "reading"):
        _checks.label_count(block.y_score.shape, profile.n_labels, "rule")
        dtype = dtype_of(block.y_score)
        n_rows += block.y_score.shape[0]
        sample.add(block.y_score)
    if rule.label_names is None and source.label_names is not None:
        rule = rule.with_names(source.label_names)
    check = check_rows(rule, sample.rows(), alpha=alpha)

    figures = failing.figures_of_check(check)
    broken = failing.broken(options.fail_on, figures)
    found = described(source, (n_rows, source.n_labels), dtype)
    finish(
        options,
        lambda: f"{found}\n\n{check.to_text(options.top)}",
        lambda: {
            **reading.about(source),
            "rule": options.rule,
            "ok": check.ok,
            "counts": figures,
            "broken": broken,
            **check.to_dict(),
        },
        broken=broken,
    )


def _checked_blocks(rule: "Rule", path: str, source: "Source", title: str) -> Iterator["Block"]:
    """Read scores that a rule takes, columns in the order of its labels, a block of rows at a time."""
    order = reading.order_of(source, rule, path)
    names = rule.label_names or source.label_names
    step = reading.progress(source, title)
    n_rows = 0
    for block in source.blocks(truth=False):
        scores = _checks.in_order(block.y_score, order)
        _refuse_bad(scores, rule, source.score_key, n_rows, names)
        scores = _checks.scores(scores)
        rule.validate(scores)
        n_rows += scores.shape[0]
        if step is not None:
            step(scores.shape[0])
        yield block._replace(y_score=scores)
    if not n_rows:
        raise InputError(f"{source.name} has no rows, expected at least one")


class _GravelyChanged(Exception):
    """Raised before decisions are kept that must not be."""


class _Deciding:
    """A rule at work on one block of rows after another."""

    def __init__(self, rule: "Rule", path: str, source: "Source", *, strict: bool) -> None:
        self.rule = rule
        self.source = source
        self.path = path
        self.strict = strict
        self.n_rows = 0
        self.n_predicted = 0
        self.summary = ""  # known when the last block is written, and so are these
        self.warnings: list[str] = []
        self.notes: list[str] = []

    def blocks(self) -> Iterator["DecidedRows"]:
        """Decide all blocks; when the last is written, all that is to be said is known."""
        from thresholds.files import DecidedRows, described, dtype_of
        from thresholds.rule.watching.noticing import share_outside
        from thresholds.rule.watching.row_sample import RowSample

        rule = self.rule
        dtype = ""
        outside = 0.0  # rows, each as the share of its block's scores outside the range of the fit
        sample = None if rule.profile is None else RowSample(self.source.n_labels)
        for block in _checked_blocks(rule, self.path, self.source, "predicting"):
            scores = block.y_score
            decided = rule.decide(scores, dense=rule.needs_dense(scores))
            dtype = dtype_of(scores)
            self.n_rows += scores.shape[0]
            self.n_predicted += int(decided.sum())
            outside += scores.shape[0] * share_outside(rule, scores)
            if sample is not None:
                sample.add(scores)
            yield DecidedRows(decided, block.keys)
        found = described(self.source, (self.n_rows, self.source.n_labels), dtype)
        self.summary = f"{found}\n{self.n_predicted / self.n_rows:.2f} labels per row"
        self._look_at(sample, outside / self.n_rows)
        if self.strict and self.warnings:
            raise _GravelyChanged

    def _look_at(self, sample: "RowSample | None", outside: float) -> None:
        """Find what has changed since the fit; of few rows, and by older rules, only whether most are out of range."""
        from thresholds.rule.watching.check import check_rows
        from thresholds.rule.watching.noticing import FEWEST_ROWS, out_of_range

        if sample is not None and self.n_rows >= FEWEST_ROWS:
            check = check_rows(self.rule, sample.rows())
            self.warnings = [finding.sentence for finding in check.grave]
            self.notes = [found.sentence for found in check.findings if found not in check.grave]
            return
        message = out_of_range(self.rule, outside)
        self.warnings = [] if message is None else [message]


def _refuse_bad(
    scores: "Matrix", rule: "Rule", name: str, first: int, label_names: tuple[str, ...] | None
) -> None:
    """Refuse NaN and +inf, to a rule of probabilities all outside [0, 1], by their row in the whole file."""
    import numpy as np

    from thresholds.rule import InstanceRule

    takes_probabilities = isinstance(rule.uncapped, InstanceRule)
    expected = "real scores"
    if takes_probabilities:
        expected = "values in [0, 1] (--logits turns logits into probabilities)"

    def is_bad(cells: Dense) -> Dense:
        if takes_probabilities:
            return np.asarray(~((cells >= 0) & (cells <= 1)))
        return np.asarray(~(cells < np.inf))

    if is_bad(stored_cells(scores)).any():
        signed = not takes_probabilities
        bad = first_bad_cell(scores, is_bad, label_names, first_row=first, signed=signed)
        raise InputError(f"{name} has {bad}, expected {expected}")
