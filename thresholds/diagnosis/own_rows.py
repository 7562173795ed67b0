"""Was a rule fitted on the very rows that it is judged on?"""

from dataclasses import replace

from thresholds import _checks
from thresholds.data.problem import Problem
from thresholds.metrics.counts import count_by_label
from thresholds.rule import FittedOn, Rule


def was_fitted_on(rule: Rule, problem: Problem, name: str = "rule") -> bool:
    """Whether a rule was fitted on these rows: as many, with the same positives, by weight, and scores.

    False also for rules that do not say what they were fitted on. `name` is what an error about labels calls the rule.
    """
    if rule.fitted_on is None:
        return False
    # The same labels may have been in another order there.
    order = _checks.places(problem.label_names, rule.label_names, "y_score", f"those of {name}")
    if rule.fitted_on.n_samples != problem.n_samples:
        return False
    weighed = count_by_label(problem.truth, problem.truth, problem.unit_weights)
    positives = weighed.positives * problem.unit  # (n_labels,)
    scores = _checks.in_order(problem.scores, order)
    here = FittedOn.of(scores, rule.missing, positives, problem.known)
    if order is not None:
        here = here.taken(order)
    return replace(here, version=rule.fitted_on.version) == rule.fitted_on
