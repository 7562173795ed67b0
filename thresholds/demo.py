"""The demonstration: every rule on embedded scores of handwritten digits, and the platypus effect.

The data are made by `experiments/demo_data/make_demo.py`.
"""

from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import as_file, files

import numpy as np

from thresholds._engine.problem import Problem
from thresholds._results.text import aligned
from thresholds.comparison.compare import compare
from thresholds.comparison.fitted_rules import fit_rules
from thresholds.diagnosis import diagnose
from thresholds.files import LabelledFile, read_labelled
from thresholds.metrics import f1_score
from thresholds.rule import Rule

_SHOWN = 6  # labels in the table of the most over-predicted
_MACRO, _GUARDED, _MICRO = "macro, in-sample", "macro, shrink", "micro, in-sample"  # rules there
_BESIDE = (_MACRO, _GUARDED, _MICRO)


def load_demo() -> LabelledFile:
    """Read the embedded data."""
    with as_file(files("thresholds") / "demo.npz") as path:
        return read_labelled(path)


def demonstration() -> str:
    """Fit the usual rules on half of the embedded data and judge them on the other half."""
    data = load_demo()
    calibration, test, _ = data.halves()
    rules = fit_rules(Problem.of(data.y_true[calibration], data.y_score[calibration])).rules
    truth, scores = data.y_true[test], data.y_score[test]
    # Rows are said above; of these rules none is the one that others are held against.
    judged = replace(compare(rules, truth, scores), rows="", differences=())
    return (
        f"Handwritten digits: {scores.shape[1]} labels of an image, scored by a weak model that never saw the image.\n"
        f"Thresholds fitted on {len(calibration)} images, judged on {len(test)} others.\n\n"
        f"{judged}\n\n{_platypus(rules, truth.toarray(), scores, data.label_names or ())}"
    )


def _platypus(
    rules: Mapping[str, Rule], truth: np.ndarray, scores: np.ndarray, names: tuple[str, ...]
) -> str:
    """Show the labels that macro-F1 predicts most against their base rate, and what a guard and micro-F1 do there."""
    base = truth.mean(axis=0)
    decided = {name: rules[name].predict(scores) for name in _BESIDE}
    share = {name: cells.mean(axis=0) for name, cells in decided.items()}
    f = {
        name: f1_score(truth, cells, average=None, zero_division=0)
        for name, cells in decided.items()
    }
    order = np.argsort(-share[_MACRO] / base)
    body = [
        (
            names[j],
            f"{base[j]:.1%}",
            *(text for name in _BESIDE for text in (f"{share[name][j]:.1%}", f"{f[name][j]:.3f}")),
            f"{2 * base[j] / (1 + base[j]):.3f}",
        )
        for j in order[:_SHOWN]
    ]
    names_of_rules = [name.split(", ") for name in _BESIDE]
    head = [
        ("", "", *(text for average, _ in names_of_rules for text in (f"{average},", "")), ""),
        (
            "most over-predicted",
            "true",
            *(text for _, how in names_of_rules for text in (how, "")),
            "F1 of",
        ),
        ("labels", "on", *(text for _ in _BESIDE for text in ("predicts on", "F1")), "always"),
    ]
    worst = order[0]
    found = diagnose(truth, scores, rules[_MACRO])
    return (
        f"{aligned(head, body)}\n\n"
        f'The platypus: the pixels say nothing about "{names[worst]}", so predicting it nearly always is as\n'
        f"good as its F1 gets. Macro-F1 predicts it on {share[_MACRO][worst]:.0%} of the images, and the average"
        " hides it;\n"
        f"micro-F1 on {share[_MICRO][worst]:.0%}.\n"
        f"`diagnose` calls it a {found.table['state'][worst]}:\n{found.table['reason'][worst]}.\n"
        f'The guard "shrink", which `thresholds fit` uses, predicts it on {share[_GUARDED][worst]:.0%}.'
    )
