"""Decisions of seven rules on score files: fitted on one half of the rows, judged on the other."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from thresholds import FixedRule, fit_empirical, fit_expected, fit_top_k

from claims import Options, progress


@dataclass(frozen=True)
class Decided:
    """Scores and gold labels of the half of a file on which rules are judged, and what each rule decides there."""

    name: str
    truth: Any
    scores: Any
    by_rule: dict[str, Any]


def decided_files(options: Options) -> Iterator[Decided]:
    """Fit seven rules on the first half of each score file and let them decide on the second."""
    for data in progress(options.score_files(), "score files"):
        fit, judge, _ = data.halves()
        truth, scores, new = data.y_true[fit], data.y_score[fit], data.y_score[judge]
        rules = {
            "fixed .5": FixedRule(0.5, scores.shape[1]),
            "macro": fit_empirical(truth, scores, "macro"),
            "macro, shrink": fit_empirical(truth, scores, "macro", guard="shrink"),
            "micro": fit_empirical(truth, scores, "micro"),
            "samples, shared": fit_empirical(truth, scores, "samples", per_label=False),
            "top-k": fit_top_k(truth, scores),
            "expected": fit_expected(scores, "macro"),
        }
        name = f"{data.name.removesuffix('.npz')} {data.score_key}".removesuffix(" y_score")
        yield Decided(
            name, data.y_true[judge], new, {key: rule.predict(new, dense=True) for key, rule in rules.items()}
        )
