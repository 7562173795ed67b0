"""A report: what `make_report` returns, how it is shown in brief, and how it is written as one page."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from thresholds import _checks
from thresholds._arrays.types import Dense, Ints, Matrix
from thresholds._atomic import write_atomically
from thresholds._checks import InputError, group_numbers
from thresholds._engine.problem import Problem
from thresholds._engine.unknown import UNKNOWN, coded
from thresholds._results.fields import record
from thresholds._results.plain import plain
from thresholds._results.result import Result
from thresholds._results.tables import Column, Table, tabulate
from thresholds._results.words import in_percent
from thresholds.data.folds import SEED, fitted_and_judged, halves, usual_folds
from thresholds.diagnosis.evidence import Criteria, checked_skill
from thresholds.errors import need
from thresholds.fitting.by_name import fit_named
from thresholds.fitting.options import FitArguments, FitOptions
from thresholds.report.content import Content
from thresholds.report.gathering import content_of
from thresholds.rule import Rule
from thresholds.validation.cross_fit import cross_fit

TITLE = "Which labels may be relied on"
_ENDINGS = (".html", ".htm")


@record
class Report(Result):
    """Which labels of a rule may be relied on, as one page that is read without the library; `str` is its first screen.

    Attributes
    ----------
    content : Content, all that the page shows
    """

    _shown = 3

    content: Content

    @property
    def labels(self) -> Dense:
        """One row a label, as `to_frame` gives them; columns are described in `thresholds.report.content`."""
        return self.content.labels

    def to_html(self) -> str:
        """Return the page: one HTML document, which asks no other file and no network for anything."""
        from thresholds.report.page.render import render

        return render(self.content)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, whole or not at all.

        Raises
        ------
        InputError
            For a path that does not end in .html or .htm.
        """
        refuse_other_endings(path, "path")
        page = self.to_html().encode()
        write_atomically(path, lambda stream: stream.write(page))

    def to_dict(self) -> dict[str, Any]:
        """Return what the page says as plain values for JSON, without the curves: NaN as None."""
        return plain(replace(self.content, curves={}))  # type: ignore[no-any-return]

    def _rows(self) -> Dense:
        """Return the labels."""
        return self.labels

    def _parts(self, k: int) -> Iterator[str | Table]:
        """Show the first screen: what the rule does, how good it is, what to do, and k of the worst labels."""
        content = self.content
        summary = content.summary
        yield content.title
        yield " ".join((summary.headline, *summary.cautions))
        yield " ".join((*summary.rule, *summary.how_good))
        yield " ".join((*summary.bar, summary.ranges))
        yield _figures(content)
        yield "\n".join(("What to do:", *(f"- {step}" for step in summary.to_do)))
        worst = self.labels[content.worst[:k]]
        if worst.size:
            wrong = "wrong marks, by others" if content.by_folds else "wrong marks"
            rows = {"wrong": worst["predicted"] - worst["tp"], "sentence": worst["sentence"]}
            columns = (
                Column("wrong", wrong, "{:,}".format),
                Column("sentence", "labels not to be trusted", is_words=True),
            )
            yield tabulate(rows, columns)


def _figures(content: Content) -> Table:
    """Lay out the measures of the rule."""
    figures = content.summary.figures
    rows = {
        "name": [figure.name for figure in figures],
        "value": [figure.value for figure in figures],
        "interval": [
            "" if np.isnan(figure.lower) else f"{figure.lower:.4f} to {figure.upper:.4f}"
            for figure in figures
        ],
        "meaning": [figure.meaning for figure in figures],
    }
    columns = (
        Column("name", "measure", is_words=True),
        Column("value", "value", "{:.4f}".format),
        Column("interval", f"{in_percent(content.confidence)} interval"),
        Column("meaning", " ", is_words=True),
    )
    return tabulate(rows, columns)


def refuse_other_endings(path: str | os.PathLike[str], name: str) -> None:
    """Refuse a path that is not one of a page; `name` is what an error calls it."""
    ending = os.path.splitext(os.fspath(path))[1]
    if ending.lower() not in _ENDINGS:
        raise InputError(f"{name} is a file with the ending {ending!r}, expected .html")


def make_report(
    y_true: object,
    y_score: object,
    rule: Rule | None = None,
    *,
    against: Rule | None = None,
    label_names: object = None,
    groups: object = None,
    group_name: str = "group",
    missing: float = 0.0,
    unknown: object = None,
    confidence: float = 0.95,
    min_f: float = 0.5,
    min_skill: float = 0.25,
    random_state: int | None = SEED,
    title: str = TITLE,
    about: Sequence[str] = (),
    command: str | None = None,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> Report:
    """Say on one page which labels of a rule may be relied on, which not, and why, for people who know no statistics.

    Parameters
    ----------
    y_true, y_score : (n_samples, n_labels), as in `fit_empirical`
        With a rule, rows that it was not fitted on, each of which counts once. If they are the rows of its fit, and it
        is one of `cross_fit`, labels are judged by its out-of-fold decisions; else the report says that it flatters.
    rule : the rule that is judged
        None: "macro, shrink" is fitted on one half of the rows, and judged on the other.
    against : the rule that was used before
        The report says what moved, and whether that is more than chance; labels go by name, as in `diff_rules`.
    label_names : names of the labels, for a rule that has none, or without a rule
    groups : (n_samples,) names or numbers, or None
        Rows of a group, such as images of one patient, vary together. All intervals, the ranges in sentences and the
        tests of F count groups (`thresholds.metrics.clusters`); tests of AUROC, which call a label useless, take rows
        as independent. Without a rule, groups stay in one half.
    group_name : what rows of a group have in common, in words: "patient"
    missing : score of entries that a sparse `y_score` leaves out, without a rule; rules have their own
    unknown : what stands for truth that is not known, as in `fit_empirical`; the report says how much of it there is
    confidence : in (0, 1), of all intervals; one minus it is `alpha` of `diagnose`
    min_f : in (0, 1), the F from which a label may be good enough, as in `diagnose`
    min_skill : in [0, 1), how far above marking every row it must be, too, as in `diagnose`
    random_state : as in `multilabel_folds`, which makes the halves; without a rule
    title : of the page
    about : lines that say where the rows come from
    command : what made the page, if it was a command
    n_jobs : threads; -1 for all cores the process may use, None for one
    progress : show a progress bar on stderr if it takes longer than a second

    Returns
    -------
    Report
        `save("report.html")` writes the page, `to_frame()` gives the labels, `print` the first screen.

    Raises
    ------
    InputError
        For bad arrays and options, rules of other labels, and a single row or group without a rule.
    MissingLibraryError
        If Jinja2 is not installed: pip install jinja2.

    Notes
    -----
    Labels are judged as by `diagnose`. Of F ties, and 0/0, are those of the rule. Intervals of the rule
    as a whole leave each row, or group, out once (`thresholds.metrics.jackknife`).

    References
    ----------
    Lipton et al. 2013, sections 6 to 8. Tukey 1958 and Efron & Stein 1981, for the jackknife.

    Examples
    --------
    >>> import numpy as np, thresholds
    >>> rng = np.random.default_rng(0)
    >>> y_true = rng.random((2000, 2)) < [0.2, 0.02]
    >>> y_score = rng.normal(size=(2000, 2)) + [2, 0] * y_true  # nothing is known of the second label
    >>> rule = thresholds.ThresholdRule([1.3, -1.0], label_names=["cat", "platypus"])
    >>> report = thresholds.make_report(y_true, y_score, rule)
    >>> report.content.summary.headline
    '1 of 2 labels is not to be trusted; it makes 78 % of all marks.'
    >>> report.save("report.html")  # doctest: +SKIP
    """
    need("jinja2", "make_report()")
    confidence = _checks.inside(confidence, "confidence")
    min_f = _checks.inside(min_f, "min_f")
    min_skill = checked_skill(min_skill)
    if not _checks.text(group_name, "group_name").strip():
        raise InputError("group_name is blank, expected what a group is, such as 'patient'")
    if command is not None:
        command = _checks.text(command, "command")
    title, lines = _checks.text(title, "title"), _lines(about)
    for name, value in (("rule", rule), ("against", against)):
        if value is not None and not isinstance(value, Rule):
            raise InputError(f"{name} is {_checks.shown(value)}, expected a rule")
    if rule is not None and missing != 0:
        raise InputError(f"missing is {missing} with a rule, which has its own, expected 0.0")

    # The rows, labels in the order of the rule's.
    beside = {"y_score": y_score, "y_true": y_true}
    groups = _checks.aligned_rows(groups, "groups", **beside)
    names = _names(rule, label_names)
    y_true, y_score, names = _checks.aligned(
        y_true, "y_true", y_score, "y_score", names, unknown=unknown
    )
    problem = Problem.of(
        y_true,
        y_score,
        missing=missing if rule is None else rule.missing,
        unknown=unknown,
        label_names=names,
    )
    # (n_samples,) or None
    numbers = None if groups is None else group_numbers(groups, problem.n_samples)

    if rule is not None:
        rule.validate(problem.scores)
    problem = _with_names(problem, against)

    # Without a rule, one half of the rows makes one, and the other half judges it.
    if rule is None:
        rule, rows, how = _fitted(problem, numbers, random_state, n_jobs, progress)
        lines = (*lines, how)
        problem = problem.at_rows(rows)
        numbers = None if numbers is None else group_numbers(numbers[rows], rows.size)
    rule.warn_if_changed(problem.scores)
    content = content_of(
        problem,
        _named(rule, problem),
        Criteria(alpha=round(1 - confidence, 12), min_f=min_f, min_skill=min_skill),
        title=title,
        about=lines,
        command=command,
        confidence=confidence,
        groups=numbers,
        group_name=group_name,
        against=None if against is None else _named(against, problem),
        n_jobs=n_jobs,
        progress=progress,
    )
    return Report(content)


def _names(rule: Rule | None, label_names: object) -> Any:
    """Return the names of the labels that are known from a rule, or given."""
    if rule is None or rule.label_names is None:
        return label_names
    if label_names is not None:
        raise InputError(
            "label_names is given with a rule that has names of its own, expected None"
        )
    return rule.label_names


def _with_names(problem: Problem, against: Rule | None) -> Problem:
    """Give labels names, as sentences need them: those of the old rule, or their positions."""
    known = None if against is None else against.label_names
    by_position = problem.label_names is None or known is None
    if against is not None and by_position and against.n_labels not in (None, problem.n_labels):
        raise InputError(
            f"against has {against.n_labels} labels, expected {problem.n_labels} as the rule has, since not both have"
            " label names"
        )
    if problem.label_names is not None:
        return problem
    return replace(
        problem, label_names=known or tuple(f"label {j}" for j in range(problem.n_labels))
    )


def _named(rule: Rule, problem: Problem) -> Rule:
    """Give a rule the names of the problem's labels, if it has none."""
    if rule.label_names is not None:
        return rule
    assert problem.label_names is not None, "it has been given names"
    return rule.with_names(problem.label_names)


def _lines(about: Sequence[str]) -> tuple[str, ...]:
    """Check lines of text."""
    if isinstance(about, str) or not isinstance(about, Sequence):
        raise InputError(f"about is {_checks.shown(about)}, expected lines of text in a list")
    return tuple(_checks.text(line, "about") for line in about)


def _fitted(
    problem: Problem,
    groups: Ints | None,
    random_state: int | None,
    n_jobs: int | None,
    progress: bool,
) -> tuple[Rule, Ints, str]:
    """Fit a rule on one half of the rows; return it, the rows of the other half, and what was done."""
    to_fit, to_judge, how = halves(problem.truth, groups, random_state)
    half = problem.at_rows(to_fit)
    rule = fit_to_judge(
        coded(half.truth, half.unknown),
        half.scores,
        None if groups is None else groups[to_fit],
        missing=problem.missing,
        unknown=UNKNOWN,
        label_names=problem.label_names,
        n_jobs=n_jobs,
        progress=progress,
    )
    return rule, to_judge, fitted_and_judged(to_fit.size, to_judge.size, how)


def fit_to_judge(
    truth: Matrix,
    scores: Matrix,
    groups: Any,
    *,
    missing: float,
    unknown: int | None,
    label_names: Any,
    **options: Unpack[FitArguments],
) -> Rule:
    """Fit thresholds, and find out what to expect of other rows where there are rows enough for folds."""
    n_folds = usual_folds(truth.shape[0], groups)
    if n_folds < 2:
        problem = Problem.of(
            truth, scores, missing=missing, unknown=unknown, label_names=label_names
        )
        return fit_named(problem, FitOptions(**options))
    found = cross_fit(
        truth,
        scores,
        cv=n_folds,
        groups=groups,
        missing=missing,
        unknown=unknown,
        label_names=label_names,
        verdicts=False,
        **options,
    )
    return found.rule  # type: ignore[no-any-return]
