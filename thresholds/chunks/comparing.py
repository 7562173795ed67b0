"""Rules judged on rows that come in blocks: `compare` and `diagnose`.

What the scores know of labels is read from counts (`judging.py`). What rules decide is counted beside them, block by
block, and so is the F of rows. Intervals take one more pass: what an average of F is without a row follows from the
counts of all rows and from the cells of that row, and sums of powers of these changes are enough
(`metrics/adding_changes.py`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import TypeVar

import numpy as np

from thresholds import _checks
from thresholds._arrays.threads import workers
from thresholds._arrays.types import Floats, Ints
from thresholds._checks import InputError, shown
from thresholds._engine.f_measure import f_of_counts
from thresholds._engine.problem import Problem
from thresholds.calibration import CalibratedRule
from thresholds.chunks.adding import AddedUp
from thresholds.chunks.blocks import block_of
from thresholds.chunks.candidates import Candidates
from thresholds.chunks.counting import About
from thresholds.chunks.counts import Counts
from thresholds.chunks.passes import Map, Passes, Place, ScoresBar
from thresholds.chunks.sampling import Picked, Plan
from thresholds.chunks.sources import BlockSource, Rows
from thresholds.comparison.agreement import agreement_of_counts, predicted_by_both
from thresholds.comparison.certainty import anchors_of
from thresholds.comparison.compare import (
    about_given_rules,
    baseline_of,
    common_names,
    refuse_no_rules,
)
from thresholds.comparison.result import Comparison, Measures
from thresholds.comparison.side_by_side import FromRows, counts_side_by_side
from thresholds.diagnosis import Diagnosis
from thresholds.diagnosis.states import criteria_of
from thresholds.fitting.options import FitOptions
from thresholds.metrics.adding_changes import AddedChanges, Pair, changes_of_rows, power_sums
from thresholds.metrics.counts import ConfusionCounts
from thresholds.metrics.jackknife import Changes, Totals
from thresholds.metrics.judging import Decisions, judge_all
from thresholds.results import counted
from thresholds.rule import InstanceRule, Rule, ThresholdRule

_N_PASSES = 3  # candidates; counts and decisions; what changes without each row

Found = TypeVar("Found")


def compare(
    rules: Mapping[str, Rule],
    source: object,
    *,
    map: Map = map,
    beta: float = 1.0,
    zero_division: float = 0.0,
    unknown: object = None,
    baseline: str | None = None,
    confidence: float | None = 0.95,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> Comparison:
    """Judge rules side by side on rows that come in blocks.

    The result is that of `thresholds.compare` on all rows at once, intervals included, but for what Returns says.

    Parameters
    ----------
    rules : mapping of names to rules, of any kind
    source, map : as in `chunks.fit`, without weights; with intervals, without groups
    beta, zero_division, unknown, baseline, confidence : as in `thresholds.compare`
    n_jobs : threads that read blocks, with the built-in `map`
    progress : show a progress bar on stderr if it takes longer than a second

    Returns
    -------
    Comparison
        Counts, and F over labels, are those of the rows, bit for bit; samples F but for the rounding of its sum;
        intervals and differences to ten digits or so, as sums of powers are added up block by block.
        Whether labels are called backwards, platypus or suspect may differ where scores of negatives are tied: they
        count as untied here, and p-values are those of the rows or higher, with an exception (`Counts.diagnose`).
        Of rules that take scores for probabilities calibration is left out (NaN).
        What is not as on rows is said in `rows`.

    Raises
    ------
    InputError
        As `thresholds.compare` and `chunks.fit`; for weights; for groups, unless `confidence` is None.

    Notes
    -----
    Passes: three, two with `confidence=None`. Memory: 40 bytes for each distinct score of a positive, twice in the
    process that adds up, and for each pair of rules 8 bytes a label.

    Examples
    --------
    >>> import numpy as np, thresholds
    >>> def blocks():
    ...     rng = np.random.default_rng(0)
    ...     for _ in range(4):
    ...         y_true = rng.random((100, 3)) < 0.2
    ...         yield y_true, rng.normal(size=(100, 3)) + 2 * y_true
    >>> rules = {"low": thresholds.FixedRule(0.5, 3), "high": thresholds.FixedRule(1.0, 3)}
    >>> result = thresholds.chunks.compare(rules, blocks)
    >>> [round(row.macro, 4) for row in result.measures]
    [0.6121, 0.6922]
    """
    if not isinstance(rules, Mapping):
        raise InputError(f"rules is {shown(rules)}, expected a mapping of names to rules")
    refuse_no_rules(rules)
    baseline = baseline_of(rules, baseline)
    confidence = None if confidence is None else _checks.inside(confidence, "confidence")
    asked = _Asked(
        dict(rules),
        About(next(iter(rules.values())).missing, unknown, common_names(rules)),
        _checks.beta(beta),
        _checks.zero_division(zero_division),
        with_intervals=confidence is not None,
    )
    n_passes = _N_PASSES if asked.with_intervals else _N_PASSES - 1

    def judged(passes: Passes) -> Comparison:
        return _compare(passes, asked, baseline, confidence)

    return _in_passes(
        judged, source, asked.about, map, n_jobs, "comparing" if progress else "", n_passes
    )


def diagnose(
    rule: Rule,
    source: object,
    *,
    map: Map = map,
    alpha: float = 0.05,
    min_auroc: float = 0.7,
    overprediction: float = 3.0,
    min_f: float = 0.5,
    min_skill: float = 0.25,
    unknown: object = None,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> Diagnosis:
    """Tell which labels of a rule may be relied on, by rows that come in blocks.

    The result is that of `thresholds.diagnose` on all rows at once, but where scores of negatives are tied: they count
    as untied here, so that p_informative and p_backwards are those of the rows or higher, with an exception
    (`Counts.diagnose`).

    Parameters
    ----------
    rule : one that decides by each label's own score, as a `ThresholdRule`
    source, map : as in `chunks.fit`, without weights
    alpha, min_auroc, overprediction, min_f, min_skill, unknown : as in `thresholds.diagnose`
    n_jobs : threads that read blocks, with the built-in `map`
    progress : show a progress bar on stderr if it takes longer than a second

    Returns
    -------
    Diagnosis

    Raises
    ------
    InputError
        As `thresholds.diagnose` and `chunks.fit`; for weights, and for a rule that looks at whole rows.

    Notes
    -----
    Passes: three as a rule. Memory: 40 bytes for each distinct score of a positive, twice in the process that adds up.

    Examples
    --------
    >>> import numpy as np, thresholds
    >>> def blocks():
    ...     rng = np.random.default_rng(0)
    ...     for _ in range(4):
    ...         y_true = rng.random((500, 2)) < [0.2, 0.02]
    ...         yield y_true, rng.normal(size=(500, 2)) + [2, 0] * y_true
    >>> rule = thresholds.ThresholdRule([1.3, -1.0], label_names=["cat", "platypus"])
    >>> thresholds.chunks.diagnose(rule, blocks).verdict.tolist()
    ['usable', 'useless']
    """
    if not isinstance(rule, Rule):
        raise InputError(f"rule is {shown(rule)}, expected a rule")
    if rule.switch_scores() is None:
        raise InputError(
            f"rule is a {type(rule).__name__}, which decides by all scores of a row; expected a rule that decides by"
            " each label's own score, or thresholds.diagnose with the rows"
        )
    criteria = criteria_of(alpha, min_auroc, overprediction, min_f, min_skill)
    about = About(rule.missing, unknown, rule.label_names)

    def judged(passes: Passes) -> Diagnosis:
        every: Candidates = passes.add_up(_Collecting(about, {"": rule}, with_groups=True))
        needed: Candidates | None = every.including(rule)
        while needed is not None:
            counts: Counts = passes.add_up(_Counting(about, needed))
            needed = counts.needed_to_judge(
                rule, candidates=every, overprediction=criteria.overprediction
            )
        return counts.diagnose(rule, **criteria._asdict(), n_jobs=n_jobs)

    return _in_passes(
        judged, source, about, map, n_jobs, "diagnosing" if progress else "", _N_PASSES
    )


def _in_passes(
    judged: Callable[[Passes], Found],
    source: object,
    about: About,
    map: Map,
    n_jobs: int | None,
    title: str,
    n_passes: int,
) -> Found:
    """Judge in passes over a source, with a bar if it has a title."""
    workers(n_jobs)  # Refuses what is no number of threads.
    blocks = BlockSource.of(source, label_names=about.label_names, unknown=about.unknown)
    bar = ScoresBar(title, blocks.n_rows, n_passes) if title else None
    try:
        return judged(Passes(blocks, map, n_jobs, bar))
    finally:
        if bar is not None:
            bar.close()


def _refuse_other_missing(rules: Mapping[str, Rule]) -> None:
    """Refuse rules that take what sparse scores leave out for different scores."""
    (first, rule), *others = rules.items()
    for name, other in others:
        if other.missing != rule.missing:
            raise InputError(
                f"rule {name!r} has missing={other.missing}, expected {rule.missing} as rule {first!r} has"
            )


@dataclass(frozen=True)
class _Asked:
    """What is compared, and how."""

    rules: dict[str, Rule]
    about: About
    beta: float
    zero_division: float
    with_intervals: bool


def _compare(passes: Passes, asked: _Asked, baseline: str, confidence: float | None) -> Comparison:
    """Compare in passes."""
    # 1. What scores positives have.
    rules, about = asked.rules, asked.about
    collecting = _Collecting(about, rules, with_groups=not asked.with_intervals)
    candidates: Candidates = passes.add_up(collecting)
    plan = Plan.of(passes.n_rows, candidates.n_labels, passes.n_stored, None)

    # 2. What lies at them, and what the rules decide.
    found: _Judged = passes.add_up(_Judging(asked, candidates, plan))
    problem = found.counts.problem(FitOptions())
    if problem.label_names is None:
        problem = replace(problem, label_names=common_names(rules))
    picked = found.picked.all(about.missing, weighted=False, lacks_some=False).rows
    for name, rule in rules.items():
        order = _checks.places(
            problem.label_names, rule.label_names, "y_score", f"those of {name!r}"
        )
        rule.warn_if_changed(picked, order=order)
    labels = range(problem.n_labels)
    counts = {
        name: ConfusionCounts(sums, problem.weight_of_label, labels=labels)
        for name, sums in zip(rules, found.by_label, strict=True)
    }
    samples = dict(zip(rules, found.samples(), strict=True))

    # 3. What that is without each row.
    def changes(measures: Sequence[Measures]) -> Callable[[str], Changes]:
        added = _added_changes(
            passes, asked, counts, samples, found.n_rows, anchors_of(measures, baseline)
        )
        return added.__getitem__

    agreement = None
    if len(rules) > 1:
        agreement = agreement_of_counts(tuple(rules), found.both, problem)
    from_rows = FromRows(counts, samples, agreement, changes, confidence, baseline)
    comparison = counts_side_by_side(
        rules, problem, beta=asked.beta, zero_division=asked.zero_division, from_rows=from_rows
    )
    rows = about_given_rules(counted(problem.n_samples, "row"), comparison.fitted_here)
    return replace(comparison, rows="; ".join([rows, *_not_as_on_rows(rules, problem.has_runs)]))


def _not_as_on_rows(rules: Mapping[str, Rule], has_runs: bool) -> list[str]:
    """Say what is not as a comparison of all rows at once would have it."""
    said = []
    if has_runs:
        said.append("scores of negatives count as untied where labels are tested")
    if any(_takes_probabilities(rule.uncapped) for rule in rules.values()):
        said.append("how good probabilities are is left out")
    return said


def _takes_probabilities(rule: Rule) -> bool:
    """Whether a rule takes scores for probabilities, or makes them such."""
    is_label_free = isinstance(rule, ThresholdRule) and rule.expected is not None
    return is_label_free or isinstance(rule, InstanceRule | CalibratedRule)


def _added_changes(
    passes: Passes,
    asked: _Asked,
    counts: Mapping[str, ConfusionCounts],
    samples: Mapping[str, float],
    n_rows: int,
    anchors: Sequence[str],
) -> dict[str, Changes]:
    """Return what each rule changes without each row, held against the anchors, in one pass."""
    pairs: list[Pair] = [(name, None) for name in asked.rules]
    for name in asked.rules:
        for anchor in anchors:
            if name != anchor and (anchor, name) not in pairs:
                pairs.append((name, anchor))
    totals = {
        name: Totals.of(of_rule, asked.beta, asked.zero_division)
        for name, of_rule in counts.items()
    }
    found: _Changed = passes.add_up(_LeavingOut(asked, totals, samples, n_rows, pairs))
    sums = dict(zip(pairs, found.sums(), strict=True))
    return {
        name: AddedChanges(name, totals[name].averages(samples[name]), n_active, n_rows, sums)
        for name, n_active in zip(asked.rules, found.n_active.tolist(), strict=True)
    }


@dataclass(frozen=True)
class _Collecting:
    """The work of the first pass: collect the scores of positives, and refuse what is not judged."""

    about: About
    rules: Mapping[str, Rule]
    with_groups: bool

    def __call__(self, rows: Rows, _: Place) -> Candidates:
        """Look at a block."""
        if rows.sample_weight is not None:
            raise InputError(
                "sample_weight is given, expected rows without weights: whether scores know a label is tested on rows"
            )
        if rows.groups is not None and not self.with_groups:
            raise InputError(
                "groups is given, expected confidence=None with it: intervals are those of rows, not of groups, whose"
                " rows may lie in several blocks"
            )
        candidates = Candidates.of(rows.y_true, rows.y_score, **self.about._asdict())
        if candidates.kind.sparse:
            _refuse_other_missing(self.rules)
        for name, rule in self.rules.items():
            if rule.n_labels is not None:
                owner = f"rule {name!r}" if name else "rule"
                _checks.label_count((0, candidates.n_labels), rule.n_labels, owner)
        return candidates


@dataclass(frozen=True)
class _Counting:
    """The work of a pass that counts at candidates."""

    about: About
    candidates: Candidates

    def __call__(self, rows: Rows, _: Place) -> Counts:
        """Count a block."""
        return Counts.of(rows.y_true, rows.y_score, self.candidates, **self.about._asdict())


@dataclass(frozen=True)
class _Judged(AddedUp):
    """What rules decide about some blocks, and counts of these."""

    counts: Counts
    by_label: Ints  # (n_rules, 3, n_labels): true positives, predictions, positives
    both: Ints  # (n_rules, n_rules, n_labels): predictions that two rules share
    n_rows: int  # that have a known cell
    # Of each block: its first row, and sums of F, (n_rules,).
    f_of_rows: list[tuple[int, Floats]]
    picked: Picked

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.counts.nbytes + self.by_label.nbytes + self.both.nbytes

    def samples(self) -> list[float]:
        """Return F of each rule on average over rows, in whatever order blocks were added."""
        columns = zip(*(sums.tolist() for _, sums in self.f_of_rows), strict=True)
        return [fsum(column) / self.n_rows for column in columns]


@dataclass(frozen=True)
class _Judging:
    """The work of the second pass: count at candidates, and what rules decide."""

    asked: _Asked
    candidates: Candidates
    plan: Plan

    def __call__(self, rows: Rows, place: Place) -> _Judged:
        """Judge a block."""
        asked = self.asked
        counts = _Counting(asked.about, self.candidates)(rows, place)
        block = _checked(rows, asked)
        several = len(asked.rules) > 1
        rules = list(asked.rules.values())
        judged = judge_all(rules, block, by_row=True, keep=several)
        by_label = np.stack([of_rule.by_label.sums for of_rule in judged])
        shape = (len(judged), *by_label.shape[::2])
        both = np.zeros(shape, np.int64)
        if several:
            decided = [of_rule.decided for of_rule in judged if of_rule.decided is not None]
            both = predicted_by_both(rules, decided, list(by_label[:, 1]), block)
        is_known = block.known_in_row > 0  # (n_rows,)
        f = []  # of all rows, added up, for each rule
        for of_rule in judged:
            assert of_rule.by_sample is not None, "asked for"
            tp, predicted, positives = of_rule.by_sample.sums  # (n_rows,) each
            of_rows = f_of_counts(tp, predicted, positives, asked.beta, asked.zero_division)
            f.append(of_rows[is_known].sum())
        return _Judged(
            counts,
            by_label.astype(np.int64),
            both,
            int(is_known.sum()),
            [(place.rows, np.array(f))],
            self.plan.picked(block.scores, place),
        )


@dataclass(frozen=True)
class _Changed(AddedUp):
    """What is left of averages without each row of some blocks."""

    n_active: Ints  # (n_rules,)
    # Of each block: its first row, and power sums (n_pairs, 4, 5).
    blocks: list[tuple[int, Floats]]

    @property
    def nbytes(self) -> int:
        """Grows as blocks are joined."""
        return len(self.blocks)

    def sums(self) -> Floats:
        """Add up blocks in the order of rows, whatever the order in which they came: (n_pairs, 4, 5)."""
        in_order = sorted(self.blocks, key=lambda block: block[0])
        return np.asarray(np.add.reduce([sums for _, sums in in_order]))


@dataclass(frozen=True)
class _LeavingOut:
    """The work of the third pass: leave out each row of a block."""

    asked: _Asked
    totals: Mapping[str, Totals]
    samples: Mapping[str, float]
    n_rows: int
    pairs: Sequence[Pair]

    def __call__(self, rows: Rows, place: Place) -> _Changed:
        """Look at a block."""
        asked = self.asked
        block = _checked(rows, asked)
        changes, n_active = {}, []
        for name, rule in asked.rules.items():
            changes[name], n_of_rule = changes_of_rows(
                Decisions(rule, block),
                block,
                self.totals[name],
                self.samples[name],
                self.n_rows,
                asked.beta,
            )
            n_active.append(n_of_rule)
        return _Changed(np.array(n_active), [(place.rows, power_sums(changes, self.pairs))])


def _checked(rows: Rows, asked: _Asked) -> Problem:
    """Check a block, as each rule does."""
    block, _ = block_of(rows.y_true, rows.y_score, **asked.about._asdict())
    for rule in asked.rules.values():
        rule.validate(block.scores)
    return block
