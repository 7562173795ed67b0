"""The command `rules`: every rule that can be had by its name."""

import argparse

from thresholds._results.tables import Table
from thresholds.cli.printing import finish
from thresholds.fitting.rules import OF_ALL, RULES, NamedRule

_HOW = """
thresholds fit SCORES --rule NAME -o RULE.json fits one
thresholds compare SCORES --all shows all of them side by side
--json lists the options, exactness, invariance and cost of each, too"""


def rules(options: argparse.Namespace) -> None:
    """Print the list of rules."""
    head = [("rule", "maximises", "needs", "decides by")]
    body = [(rule.name, maximised(rule), needed(rule), rule.about) for rule in RULES.values()]
    finish(
        options,
        lambda: f"{Table(head, body, left=(0, 1, 2, 3)).text()}\n{_HOW}",
        lambda: {"rules": [rule.to_dict() for rule in RULES.values()]},
    )


def maximised(rule: NamedRule) -> str:
    """Name the F-measure that a rule maximises."""
    return "" if rule.average is None else f"{rule.average} F"


def own_options(rule: NamedRule) -> list[str]:
    """Return the options of a rule, but for those that all rules take."""
    return [name for name in rule.options if name not in OF_ALL]


def needed(rule: NamedRule) -> str:
    """Say what a rule is fitted on, besides scores."""
    if rule.needs_labels:
        return "labels"
    return "probabilities" if rule.needs_probabilities else "nothing"
