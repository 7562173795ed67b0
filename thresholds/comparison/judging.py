"""Rules judged on the same rows, on threads: of those behind one calibrator, each block is calibrated once for all."""

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

from thresholds._arrays import threads
from thresholds._arrays.sparse import is_sparse
from thresholds._engine.problem import Problem
from thresholds.calibration import CalibratedRule
from thresholds.metrics.counts import ConfusionCounts
from thresholds.metrics.judging import Counting, Decisions, Judged, KeptDecisions, f_measure, judge
from thresholds.rule import Rule


class JudgedBeside(NamedTuple):
    """What is kept of the decisions of one rule of many."""

    by_label: ConfusionCounts  # in the unit of the weights
    samples: float  # mean F over rows
    decided: KeptDecisions | None  # the decisions, if they were to be kept


def judge_all(
    rules: Mapping[str, Rule], problem: Problem, beta: float, zero_division: float, *, keep: bool
) -> dict[str, JudgedBeside]:
    """Count the decisions of each rule on all rows, and keep them if asked to; rules find their labels by name."""

    def judge_group(names: Sequence[str]) -> list[JudgedBeside]:
        if len(names) == 1:
            return [beside(judge(rules[names[0]], problem, keep=keep))]
        calibrated: list[CalibratedRule] = [rules[name] for name in names]  # type: ignore[misc]
        return [beside(of_rule) for of_rule in _judge_calibrated(calibrated, problem, keep=keep)]

    def beside(judged: Judged) -> JudgedBeside:
        # Counts of rows take more memory than all else that is kept.
        samples = f_measure(judged, problem.sample_weight, "samples", beta, zero_division)
        return JudgedBeside(judged.by_label, samples, judged.decided)

    # Those that share a calibrator first, as they take longest.
    groups = sorted(_groups(rules, problem), key=len, reverse=True)
    found = threads.run(judge_group, groups, cells=problem.n_stored)
    judged = {
        name: of_rule
        for names, of_group in zip(groups, found, strict=True)
        for name, of_rule in zip(names, of_group, strict=True)
    }
    return {name: judged[name] for name in rules}


def _groups(rules: Mapping[str, Rule], problem: Problem) -> list[list[str]]:
    """Return names of rules: of dense scores together those that decide about the same probabilities."""
    groups: dict[Hashable, list[str]] = {}
    for name, rule in rules.items():
        about: Hashable = name
        if isinstance(rule, CalibratedRule) and not is_sparse(problem.scores):
            about = (id(rule.calibrator), rule.label_names)
        groups.setdefault(about, []).append(name)
    return list(groups.values())


def _judge_calibrated(
    rules: Sequence[CalibratedRule], problem: Problem, *, keep: bool
) -> list[Judged]:
    """Judge rules of one calibrator, their labels in one order, on dense scores."""
    decisions = [Decisions(rule, problem) for rule in rules]
    countings = [Counting(problem, keep=keep) for _ in rules]
    for rows in decisions[0].row_blocks():
        probabilities = rules[0].calibrator.transform(decisions[0].scores(rows))
        for rule, decided, counting in zip(rules, decisions, countings, strict=True):
            predicted = rule.rule.decide(probabilities)
            counting.add(rows, decided.as_in_problem(rows, predicted))
    return [counting.judged() for counting in countings]
