"""Whoever fits a rule has the same choices: functions, accumulators, training loops, the estimator, the command line.

A choice that there is gives the same rule everywhere. One that there is not is refused everywhere by one sentence,
which says which choices there are.
"""

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

import thresholds
from thresholds import InputError, cli
from thresholds.fitting.options import FIT_OPTIONS
from thresholds.rule import Rule
from thresholds.sklearn import MultilabelThresholdClassifierCV
from thresholds.training.epoch import EpochFit

RNG = np.random.default_rng(2)
P = np.round(RNG.beta(1, 3, size=(60, 4)), 3)
Y = (RNG.random(P.shape) < P).astype(np.uint8)

Scores = NDArray[np.float64]
Options = dict[str, Any]


class Passing(ClassifierMixin, BaseEstimator):
    """A classifier whose probabilities are X, so that a rule is fitted on X."""

    classes_ = np.arange(4)

    def fit(self, X: Any, y: Any) -> "Passing":
        raise AssertionError("options are refused before any classifier is fitted")

    def predict_proba(self, X: Scores) -> Scores:
        return X

    def __sklearn_is_fitted__(self) -> bool:
        return True


# Ways to fit: each gets scores, options and a folder to write to, and gives the rule


def by_function(scores: Scores, options: Options, _: Path) -> Rule:
    fit: Any = thresholds.fit if "rule" in options else thresholds.fit_empirical
    return fit(Y, scores, **options)  # type: ignore[no-any-return]


def in_batches(scores: Scores) -> thresholds.Accumulator:
    rows = thresholds.Accumulator()
    rows.update(Y[:30], scores[:30])
    rows.update(Y[30:], scores[30:])
    return rows


def by_accumulator(scores: Scores, options: Options, _: Path) -> Rule:
    return in_batches(scores).compute(**options)  # type: ignore[no-any-return]


def by_epoch(scores: Scores, options: Options, _: Path) -> Rule:
    """What the training loops of all frameworks share."""
    rule, _figures = EpochFit(cv=2, **options).fit(in_batches(scores))
    return rule


def by_cross_fit(scores: Scores, options: Options, _: Path) -> Rule:
    return thresholds.cross_fit(Y, scores, cv=2, verdicts=False, **options).rule


def by_estimator(scores: Scores, options: Options, _: Path) -> Rule:
    return MultilabelThresholdClassifierCV(Passing(), cv="prefit", **options).fit(scores, Y).rule_


def by_command(scores: Scores, options: Options, folder: Path) -> Rule:
    np.savez(folder / "scores.npz", y_true=Y, y_score=scores)
    words = [word for name, value in options.items() for word in flag(name, value)]
    if cli.main(["fit", str(folder / "scores.npz"), "-o", str(folder / "rule.json"), "--cv", "0", *words]):
        raise InputError("the sentence is on stderr")
    return thresholds.load_rule(folder / "rule.json")


def flag(name: str, value: Any) -> list[str]:
    """An option as it is written on the command line."""
    if name == "per_label":
        return [] if value else ["--shared"]
    word = "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
    return [f"--{name.replace('_', '-')}", word]


WAYS: tuple[Callable[[Scores, Options, Path], Rule], ...] = (
    by_function,
    by_accumulator,
    by_epoch,
    by_cross_fit,
    by_estimator,
    by_command,
)
# What says where a rule comes from, and what only some ways find out.
OF_THE_WAY = {"made_by": None, "out_of_fold": None, "odds": None}

OFFERED: tuple[Options, ...] = (
    # rules by their names, one of each way to fit
    {"rule": "fixed 0.5"},
    {"rule": "top-k"},
    {"rule": "macro, shared"},
    {"rule": "micro, pool"},
    {"rule": "macro, regions"},
    {"rule": "samples, shared, label-free"},
    {"rule": "instance, label-free"},
    {"rule": "macro, isotonic"},
    {"rule": "instance, platt"},
    # rules by an average and a guard
    {"average": "macro", "guard": None},
    {"average": "weighted", "guard": "shrink"},
    {"average": "micro", "guard": "pool"},
    {"average": "samples", "per_label": False},
    # limits, 0/0, beta, placement: beside either
    {"average": "macro", "guard": "auto", "max_overprediction": 1.5, "min_recall": 0.2},
    {"rule": "weighted, shrink", "max_overprediction": 1.5, "min_precision": 0.3},
    {"rule": "instance, isotonic", "zero_division": 1.0, "beta": 2.0},
    {"rule": "top-k", "zero_division": 1.0},
    {"average": "samples", "per_label": False, "zero_division": 1.0},
    {"rule": "micro, in-sample", "placement": "mid", "beta": 0.5},
    # promises, budgets
    {"average": "macro", "guard": "auto", "min_recall": 0.3, "confidence": 0.8, "family": "all"},
    {"rule": "micro, shared", "min_recall": 0.5, "confidence": 0.8},
    {"average": "macro", "guard": None, "max_predicted": 60.0},
    {"rule": "instance, platt", "max_predicted_per_row": 2},
)


def told(options: Options) -> str:
    return ", ".join(f"{name}={value}" for name, value in options.items())


@pytest.mark.parametrize("options", OFFERED, ids=told)
def test_a_choice_gives_the_same_rule_everywhere(options: Options, tmp_path: Path) -> None:
    expected, *others = (fit(P, options, tmp_path).to_dict() | OF_THE_WAY for fit in WAYS)
    for way, found in zip(WAYS[1:], others, strict=True):
        assert found == expected, way.__name__


REFUSED: tuple[tuple[Options, str, str], ...] = (  # options, what is wrong, which choices there are
    ({"average": "samples"}, "average is 'samples' with per_label=True", "per_label=False .* or a rule such as"),
    ({"average": "micro", "guard": "shrink"}, "guard is 'shrink' with average 'micro'", "shrink is for macro and wei"),
    ({"average": "macro", "guard": "pool"}, "guard is 'pool' with average 'macro'", "pool is for micro"),
    (
        {"average": "micro", "per_label": False, "guard": "pool"},
        "guard is 'pool' with average 'micro', per_label=False",
        "with a threshold for each label",
    ),
    (
        {"average": "micro", "max_overprediction": 2.0},
        "max_overprediction is 2.0 with average 'micro', per_label=True",
        "'macro, in-sample', 'macro, shrink', 'weighted, in-sample', 'weighted, shrink'$",
    ),
    (
        {"average": "samples", "per_label": False, "min_recall": 0.5},
        "min_recall is 0.5 with average 'samples', per_label=False",
        "no confidence; expected a confidence too, as 0.95",
    ),
    (
        {"rule": "instance, platt", "min_precision": 0.5},
        "min_precision is 0.5 with rule 'instance, platt'",
        "'macro, in-sample', 'macro, shrink', 'weighted, in-sample', 'weighted, shrink', 'micro, in-s",
    ),
    (
        {"rule": "top-k", "placement": "mid"},
        "placement is 'mid' with rule 'top-k'",
        "'low', or .* 'macro, in-sample', 'macro, s",
    ),
    (
        {"rule": "fixed 0.5", "placement": "mid"},
        "placement is 'mid' with rule 'fixed 0.5'",
        "'macro, in-sample', 'macro, shrink'",
    ),
    (
        {"rule": "macro, regions", "guard": "shrink"},
        "guard is 'shrink' with rule 'macro, regions'",
        "'macro, shrink', 'weighted, shrink'$",
    ),
    (
        {"rule": "macro", "per_label": False},
        "per_label is False with rule 'macro, shrink'",
        "'macro, shared', 'weighted, sha",
    ),
    ({"rule": "micro", "average": "samples"}, "average is 'samples' with rule 'micro, pool'", "which is for 'micro'"),
    ({"rule": "instance"}, "rule is 'instance', expected the name of a rule", "'instance, platt'"),
)


def refusal(way: Callable[..., Rule], scores: Scores, options: Options, folder: Path, err: Callable[[], str]) -> str:
    """The sentence by which a choice is refused."""
    with pytest.raises(InputError) as refused:
        way(scores, options, folder)
    said = err()
    return said.removeprefix("thresholds: error: ").rstrip("\n") if way is by_command else str(refused.value)


@pytest.mark.parametrize(("options", "found", "expected"), REFUSED, ids=[told(row[0]) for row in REFUSED])
def test_a_choice_that_there_is_not_is_refused_by_one_sentence(
    options: Options, found: str, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sentences = {refusal(way, P, options, tmp_path, lambda: capsys.readouterr().err) for way in WAYS}
    assert len(sentences) == 1, sentences
    (sentence,) = sentences
    assert sentence.startswith(found)
    assert re.search(expected, sentence), sentence


def test_scores_that_are_no_probabilities_are_refused_by_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = {"rule": "instance, label-free"}
    sentences = {refusal(way, P * 2, options, tmp_path, lambda: capsys.readouterr().err) for way in WAYS}
    assert len(sentences) == 1, sentences
    assert sentences.pop().endswith("expected a calibrated rule, as 'instance, platt'")


@pytest.mark.parametrize(
    ("call", "found", "expected"),
    [
        (lambda: thresholds.fit_regions(Y, P, "samples"), "average is 'samples'", "'macro', 'weighted' or 'micro'"),
        (lambda: thresholds.fit_expected(P, "micro", exact=True), "exact is True", "macro"),
        (lambda: thresholds.fit_expected(P, "samples", per_label=False, exact=True), "exact is True", "per_label=True"),
    ],
)
def test_functions_with_fewer_choices_say_which(call: Callable[[], object], found: str, expected: str) -> None:
    with pytest.raises(InputError, match=f"^{found}.*{expected}"):
        call()


def test_every_way_to_fit_labels_takes_beta_and_zero_division() -> None:
    every = (thresholds.fit_empirical, thresholds.fit_top_k, thresholds.fit_regions, thresholds.fit_expected)
    for function in every:
        parameters = inspect.signature(function).parameters
        for name in ("beta", "zero_division"):
            assert parameters[name].default == FIT_OPTIONS[name].default, function.__name__
