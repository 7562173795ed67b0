"""Was a rule fitted on the very rows that it is judged on?"""

from dataclasses import replace

import numpy as np

from thresholds import _checks
from thresholds._arrays.types import Ints
from thresholds._engine.problem import Problem
from thresholds.metrics.judging import positives_of
from thresholds.rule import FittedOn, Rule


def was_fitted_on(
    rule: Rule, problem: Problem, name: str = "rule", positives: Ints | None = None
) -> bool:
    """Whether a rule was fitted on these rows: as many, with the same positives, by weight, and scores.

    False also for rules that do not say what they were fitted on. `name` is what an error about labels calls the rule;
    `positives` are the weights of each label's, (n_labels,), where they are counted already.
    """
    if rule.fitted_on is None:
        return False
    # The same labels may have been in another order there.
    order = _checks.places(problem.label_names, rule.label_names, "y_score", f"those of {name}")
    if rule.fitted_on.n_samples != problem.n_samples:
        return False
    if positives is None:
        positives = positives_of(problem)
    weights = positives * problem.unit  # (n_labels,)
    theirs = rule.fitted_on if order is None else rule.fitted_on.taken(np.argsort(order))
    if not np.array_equal(theirs.positives, weights):
        return False
    scores = _checks.in_order(problem.scores, order)
    here = FittedOn.from_scores(scores, rule.missing, weights, problem.known)
    if order is not None:
        here = here.taken(order)
    return replace(here, version=rule.fitted_on.version) == rule.fitted_on
