"""What every training loop does when an epoch ends: `cross_fit` on the validation rows, a look at the others."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

import thresholds
from thresholds import Accumulator, InputError, cross_fit, metrics
from thresholds.training.epoch import EpochFit

NAMES = ("cat", "dog", "owl")


def rows_of(seed: int, n_samples: int = 200, **options: Any) -> Accumulator:
    """Validation rows that came in four batches."""
    rng = np.random.default_rng(seed)
    y_true = rng.random((n_samples, 3)) < [0.4, 0.2, 0.05]
    y_score = rng.normal(size=(n_samples, 3)) + 2 * y_true
    rows = Accumulator(label_names=NAMES, **options)
    for part in np.array_split(np.arange(n_samples), 4):
        rows.update(y_true[part], y_score[part])
    return rows


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({}, "macro_f1"),
        ({"average": "micro", "beta": 2}, "micro_f2"),
        ({"average": "samples", "beta": 0.5, "per_label": False, "zero_division": 1}, "samples_f0.5"),
        ({"average": "weighted", "guard": None, "cv": 3, "random_state": 7}, "weighted_f1"),
        ({"rule": "instance, platt"}, "samples_f1"),
        ({"rule": "Micro, Pool", "zero_division": 1}, "micro_f1"),
        ({"rule": "top-k", "beta": 2}, "samples_f2"),
    ],
)
def test_a_fit_is_a_cross_fit_whose_figures_have_names(options: dict[str, Any], name: str) -> None:
    rows = rows_of(0)
    rule, figures = EpochFit(**options).fit(rows)
    crossed = cross_fit(rows.y_true, rows.y_score, label_names=NAMES, **options)
    assert rule.to_dict() == crossed.rule.to_dict()
    assert figures == {name: crossed.out_of_fold, f"{name}_in_sample": crossed.in_sample}
    assert rule.out_of_fold.f == figures[name]


@pytest.mark.parametrize("average", ["macro", "micro", "weighted"])
@pytest.mark.parametrize("zero_division", [0, 1])
def test_rows_are_judged_as_the_metrics_judge_them(average: Any, zero_division: float) -> None:
    epoch = EpochFit(average, beta=2, zero_division=zero_division)
    rule, _ = epoch.fit(rows_of(0))
    test = rows_of(1, n_samples=30)
    expected = metrics.fbeta_score(
        test.y_true, rule.predict(test.y_score), beta=2, average=average, zero_division=zero_division
    )
    assert epoch.judge(rule, test) == {f"{average}_f2": expected}


@pytest.mark.parametrize("rule", [None, "instance, platt", "top-k", "macro, regions"])
def test_rows_of_the_fit_are_judged_to_the_figure_in_the_sample(rule: str | None) -> None:
    epoch, rows = EpochFit(rule=rule), rows_of(0)
    fitted, figures = epoch.fit(rows)
    assert epoch.judge(fitted, rows) == {epoch.name: figures[f"{epoch.name}_in_sample"]}
    assert epoch.out_of_fold(fitted) == figures[epoch.name]


def test_a_figure_out_of_fold_is_that_of_the_same_measure() -> None:
    rule, _ = EpochFit("micro").fit(rows_of(0))
    for options in ({"average": "macro"}, {"average": "micro", "beta": 2}, {"average": "micro", "zero_division": 1}):
        assert EpochFit(**options).out_of_fold(rule) is None
    assert EpochFit().out_of_fold(thresholds.FixedRule(0.5, 3)) is None


def test_weights_count_in_fits_and_in_judgements() -> None:
    weights = np.arange(200.0) % 3
    plain = rows_of(0)
    rows = Accumulator(label_names=NAMES)
    rows.update(plain.y_true, plain.y_score, weights)
    epoch = EpochFit("micro", guard=None)
    rule, figures = epoch.fit(rows)
    assert (
        figures["micro_f1"]
        == cross_fit(plain.y_true, plain.y_score, "micro", sample_weight=weights, guard=None).out_of_fold
    )
    y_pred = rule.predict(plain.y_score)
    assert epoch.judge(rule, rows)["micro_f1"] == pytest.approx(
        metrics.f1_score(plain.y_true, y_pred, average="micro", sample_weight=weights), abs=1e-12
    )


def test_sparse_scores_keep_the_score_of_what_they_leave_out() -> None:
    dense = rows_of(0)
    scores = np.where(dense.y_score > 0, dense.y_score, 0)
    rows = Accumulator(label_names=NAMES, missing=-1.0)
    rows.update(sparse.csr_array(dense.y_true), sparse.csr_array(scores))
    epoch = EpochFit()
    rule, figures = epoch.fit(rows)
    filled = np.where(scores == 0, -1.0, scores)
    assert figures["macro_f1"] == cross_fit(dense.y_true, filled).out_of_fold
    assert epoch.judge(rule, rows)["macro_f1"] == figures["macro_f1_in_sample"]


def test_labels_are_found_by_name() -> None:
    epoch, test = EpochFit(), rows_of(1)
    rule, _ = epoch.fit(rows_of(0))
    turned = Accumulator(label_names=NAMES[::-1])
    turned.update(test.y_true[:, ::-1], test.y_score[:, ::-1])
    assert epoch.judge(rule, turned) == epoch.judge(rule, test)
    others = Accumulator(label_names=("cat", "dog", "rat"))
    others.update(test.y_true, test.y_score)
    with pytest.raises(InputError, match="y_score"):
        epoch.judge(rule, others)


def test_scores_on_another_scale_are_warned_of() -> None:
    epoch, test = EpochFit(), rows_of(1)
    rule, _ = epoch.fit(rows_of(0))
    others = Accumulator(label_names=NAMES)
    others.update(test.y_true, 1 / (1 + np.exp(-test.y_score)))
    with pytest.warns(thresholds.ScoreChangeWarning, match="probabilities"):
        epoch.judge(rule, others)


def test_too_few_rows_are_refused() -> None:
    epoch = EpochFit()
    with pytest.raises(InputError, match="the accumulator has no rows"):
        epoch.fit(Accumulator())
    with pytest.raises(InputError, match="y_true has 4 rows, expected at least cv=5"):
        epoch.fit(rows_of(0, n_samples=4))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"average": "maco"}, "average is 'maco'"),
        ({"beta": 0}, "beta is 0.0"),
        ({"average": "samples"}, "average is 'samples' with per_label=True"),
        ({"average": "micro", "min_recall": 0.5}, "min_recall is 0.5"),
        ({"guard": "shrnk"}, "guard is 'shrnk'"),
        ({"rule": "instance, plat"}, "rule is 'instance, plat', expected the name of a rule"),
        ({"rule": "instance, platt", "average": "micro"}, "average is 'micro' with rule 'instance, platt'"),
        ({"cv": 1}, "cv is 1, expected a whole number of at least 2"),
        ({"cv": [0, 1]}, r"cv is \[0, 1\], expected a whole number"),
        ({"random_state": None}, "random_state is None, expected a whole number"),
    ],
)
def test_options_are_refused_before_anything_is_trained(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        EpochFit(**options)


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(TypeError, match="groups"):
        EpochFit(groups=[0, 1])  # type: ignore[call-arg]


@pytest.mark.parametrize("average", ["macro", "micro", "samples"])
def test_what_is_not_known_counts_nowhere(average: Any) -> None:
    plain = rows_of(0)
    hidden = np.where(np.random.default_rng(1).random((200, 3)) < 0.3, -100, plain.y_true.astype(int))
    rows = Accumulator(label_names=NAMES, unknown=-100)
    rows.update(hidden, plain.y_score)
    options: dict[str, Any] = {"per_label": average != "samples"}
    epoch = EpochFit(average, **options)
    rule, figures = epoch.fit(rows)
    assert figures[f"{average}_f1"] == cross_fit(hidden, plain.y_score, average, unknown=-100, **options).out_of_fold
    y_pred = rule.predict(plain.y_score)
    assert epoch.judge(rule, rows)[f"{average}_f1"] == pytest.approx(
        metrics.f1_score(hidden, y_pred, average=average, unknown=-100, zero_division=0), abs=1e-12
    )
