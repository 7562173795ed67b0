"""What counts must refuse to fit or to judge: what takes rows, what is of other labels, what they do not tell."""

from collections.abc import Callable
from typing import Any

import thresholds
from tests.bad_inputs.arguments import BadInput
from tests.bad_inputs.matrices import CSR, S, Y
from thresholds import CappedRule, Counts, FixedRule

RULE = FixedRule(0.5, 2)
OTHERS = thresholds.ThresholdRule([0.5, 0.5], label_names=["cat", "dog"])


def every(**about: Any) -> Counts:
    """Counts of some rows."""
    return Counts.of(Y, S, **about)


JUDGING: dict[str, tuple[Callable[[], object], str]] = {
    "a number": (lambda: every().confusion(3), "rule is 3, expected a rule$"),
    "a rule of rows": (
        lambda: every().diagnose(thresholds.TopKRule(1)),
        "rule is a TopKRule, which decides by all scores of a row, and counts have no rows; expected a rule that",
    ),
    "a capped rule": (
        lambda: every().confusion(CappedRule.around(RULE, 1)),
        "rule is a CappedRule, which decides by all scores of a row",
    ),
    "a rule of more labels": (
        lambda: every().confusion(FixedRule(0.5, 3)),
        "rule has 3 labels, expected 2 as the counts have",
    ),
    "labels of other names": (
        lambda: every(label_names=["cat", "bird"]).confusion(OTHERS),
        "counts .*bird.*, expected the labels of the rule",
    ),
    "weighted rows": (
        lambda: every(sample_weight=[1, 2, 1, 1]).diagnose(RULE),
        "counts are of weighted rows, expected those of rows without sample_weight",
    ),
    "weights that are 1 on average": (
        lambda: every(sample_weight=[0, 2, 1, 1]).diagnose(RULE),
        "counts are of weighted rows, expected those of rows without sample_weight",
    ),
    "fractions that are 1 on average": (
        lambda: every(sample_weight=[0.5, 1.5, 0.5, 1.5], weight_unit=0.5).diagnose(RULE),
        "counts are of weighted rows, expected those of rows without sample_weight",
    ),
    "another missing": (
        lambda: Counts.of(Y, CSR(S)).confusion(FixedRule(0.5, 2, missing=-1.0)),
        "rule has missing=-1.0, expected 0.0 as the counts have",
    ),
    "alpha": (lambda: every().diagnose(RULE, alpha=2), "alpha is 2"),
}
FITS: dict[str, tuple[Callable[[], object], str]] = {
    "a rule of rows by name": (
        lambda: every().fit(rule="instance, platt"),  # type: ignore[call-arg]
        "rule is 'instance, platt', which is not fitted from counts; expected a rule that cuts scores",
    ),
    "samples by name": (
        lambda: every().fit(rule="samples, shared"),  # type: ignore[call-arg]
        "average is 'samples', a mean over rows, which counts do not have",
    ),
    "a promise": (
        lambda: every().fit(min_recall=0.5, confidence=0.8),
        "confidence is 0.8, a test of every score, which counts do not tell; expected None, or fit_empirical",
    ),
    "a budget": (lambda: every().fit(max_predicted=3), "max_predicted is 3.0, a budget of all labels together"),
    "one threshold": (lambda: every().fit("micro", per_label=False), "per_label is False, one threshold for all"),
}

BAD_JUDGING = [
    *(BadInput(f"Counts judge: {what}", call, message) for what, (call, message) in JUDGING.items()),
    *(BadInput(f"Counts.fit: {what}", call, message) for what, (call, message) in FITS.items()),
]
