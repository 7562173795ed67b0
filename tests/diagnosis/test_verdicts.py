"""Verdicts: each by hand, all against their definitions, what the sentences say, and how often they are right."""

import math
import re
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import beta, binom

import thresholds
from tests.naive import verdicts as twin
from tests.words import flat
from thresholds import FixedRule, ThresholdRule, diagnose, fit_empirical
from thresholds.diagnosis.bars import Marked, p_missed, p_of_bar
from thresholds.diagnosis.evidence import Criteria, LabelEvidence
from thresholds.diagnosis.verdicts import VERDICTS, Verdicts, verdicts_of
from thresholds.metrics.counts import ConfusionCounts

Array = NDArray[np.generic]
inf, nan = math.inf, math.nan

KNOWN = {"p_informative": 1e-9, "p_uninformative": 1.0, "p_backwards": 1.0, "auroc": 0.9}
UNKNOWN = {"p_informative": 0.9, "p_uninformative": 1e-9, "p_backwards": 0.8, "auroc": 0.51}
BACKWARDS = {"p_informative": 1.0, "p_uninformative": 1e-9, "p_backwards": 1e-9, "auroc": 0.08}
UNTESTED = {"p_informative": nan, "p_uninformative": nan, "p_backwards": nan, "auroc": nan}

# True positives, predictions, positives; true positives and predictions at the highest scores; and what these show.
CASES: dict[str, tuple[tuple[int, ...], dict[str, float]]] = {
    "usable": ((90, 100, 100, 90, 100), KNOWN),
    "weak": ((20, 100, 80, 24, 80), KNOWN),
    "weak, never marked": ((0, 0, 40, 3, 40), KNOWN),
    "weak, never true": ((0, 200, 0, 0, 0), UNTESTED),
    "unproven": ((52, 100, 100, 52, 100), KNOWN),
    "unproven, few": ((1, 3, 2, 1, 2), KNOWN),
    "unproven, never marked": ((0, 0, 3, 1, 3), KNOWN),
    "unproven, never true": ((0, 3, 0, 0, 0), UNTESTED),
    "unproven, nothing": ((0, 0, 0, 0, 0), UNTESTED),
    "unproven, always true": ((900, 900, 1000, 1000, 1000), UNTESTED),
    "missed": ((2, 2, 40, 35, 40), KNOWN),
    "missed, too often": ((60, 900, 100, 85, 100), KNOWN),
    "useless": ((5, 90, 50, 4, 50), UNKNOWN),
    "useless, never marked": ((0, 0, 50, 4, 50), UNKNOWN),
    "useless, backwards": ((5, 90, 50, 4, 50), BACKWARDS),
    "useless, on nearly all rows": ((400, 998, 400, 160, 400), UNKNOWN),
}


def verdicts(cases: list[tuple[tuple[int, ...], dict[str, float]]], n: int = 1000, **options: Any) -> Verdicts:
    """The verdicts on labels of these counts, named label 0, label 1, ..."""
    columns = np.array([case for case, _ in cases]).T
    shown = {name: np.array([evidence[name] for _, evidence in cases]) for name in KNOWN}
    nothing = np.zeros(len(cases))
    evidence = LabelEvidence(
        **shown,
        best_f=nothing,
        cap_score=nothing,
        cap_lower=nothing,
        cap_predicted=columns[0],
        top_tp=columns[3],
        top_predicted=columns[4],
        tie_cubes=nothing,
    )
    names = [f"label {j}" for j in range(len(cases))]
    beta = options.pop("beta", 1.0)
    on_own_rows = options.pop("on_own_rows", False)
    counts = ConfusionCounts(columns[:3], n, labels=range(len(cases)))
    return verdicts_of(counts, n, evidence, Criteria(**options), names, beta=beta, on_own_rows=on_own_rows)


def alone(case: str, **options: Any) -> Any:
    """The row of the table of one label by itself."""
    return verdicts([CASES[case]], **options).table[0]


# Each verdict


@pytest.mark.parametrize("case", CASES)
def test_each_verdict(case: str) -> None:
    assert alone(case)["verdict"] == case.split(",")[0]


def test_a_useless_label_that_is_marked_on_nearly_all_rows_is_not_usable_however_common() -> None:
    """At a base rate of .4 marking every row has an F1 of .57, whatever the scores are."""
    rng = np.random.default_rng(0)
    truth = (rng.random((3000, 1)) < 0.4).astype(np.uint8)
    scores = rng.random((3000, 1))
    found = diagnose(truth, scores, FixedRule(0.001, 1)).verdicts.table[0]
    assert found["f"] > 0.5
    assert found["verdict"] == "useless"
    assert found["p_usable"] > 0.99
    always = 2 * found["n_positives"] / (found["n_positives"] + 3000)
    assert found["bar"] == pytest.approx(always + 0.25 * (1 - always))


def test_the_bar_is_the_higher_of_two() -> None:
    assert alone("usable")["bar"] == 0.5
    assert alone("usable", min_f=0.8)["bar"] == 0.8
    assert alone("usable", min_skill=0.9)["bar"] == pytest.approx(2 / 11 + 0.9 * 9 / 11)
    assert alone("usable", n=250)["bar"] == pytest.approx(4 / 7 + 0.25 * 3 / 7)
    assert alone("usable", min_f=0.95)["verdict"] == "weak"


def test_usable_is_what_is_shown_not_what_is_seen() -> None:
    """8 of 10 found and right is an F1 of .8, and 2 of 3 is .67; the one is shown to be above .5, the other is not."""
    assert verdicts([((8, 10, 10, 8, 10), KNOWN)]).verdict == ["usable"]
    assert verdicts([((2, 3, 3, 2, 3), KNOWN)]).verdict == ["unproven"]


def test_among_many_labels_more_has_to_be_shown() -> None:
    weak = ((20, 100, 80, 24, 80), KNOWN)
    case = ((8, 10, 10, 8, 10), KNOWN)
    assert verdicts([case, *[weak] * 100]).verdict[0] == "unproven"
    assert verdicts([case] * 100).verdict.tolist() == ["usable"] * 100


def test_another_cut_must_reach_clearly_more() -> None:
    counts = ((5000, 20_000, 10_000), 10_000)
    for top, verdict in ((4200, "weak"), (4400, "missed")):  # F1 of 1/3 against .42 and .44
        case = ((*counts[0], top, counts[1]), KNOWN)
        assert verdicts([case], n=10**6).verdict == [verdict]


def test_scores_that_are_not_shown_to_know_a_label_do_not_make_it_missed() -> None:
    counts, _ = CASES["missed"]
    assert verdicts([(counts, {**KNOWN, "p_informative": 0.2})]).verdict == ["weak"]


def test_f_is_that_of_the_beta() -> None:
    found = alone("weak", beta=2.0)
    assert found["f"] == pytest.approx(5 * 20 / (4 * 80 + 100))
    assert found["f_low"] < found["f"] < found["f_high"]
    truth, scores = np.eye(40, dtype=np.uint8)[:, :2], np.eye(40)[:, :2] + 0.1
    for rule, own in ((fit_empirical(truth, scores, beta=2), 2.0), (FixedRule(0.5, 2), 1.0)):
        assert diagnose(truth, scores, rule).verdicts.beta == own
    calibrated = thresholds.CalibratedRule(thresholds.calibrate(truth, scores), thresholds.InstanceRule(beta=2.0))
    assert diagnose(truth, scores, calibrated).verdicts.beta == 2.0


@pytest.mark.parametrize("b", [1e-100, 1e-3, 1e3, 1e100])
def test_extreme_betas(b: float) -> None:
    found = verdicts([*CASES.values()], beta=b)
    for name in ("f_low", "f_high", "bar"):
        assert ((found.table[name] >= 0) & (found.table[name] <= 1)).all(), name
    # For recall alone nothing is better than to mark every row.
    assert found.verdict[:2].tolist() == (["usable", "weak"] if b < 1 else ["weak", "weak"])


# Against the definitions


def drawn(rng: np.random.Generator, n_labels: int, n: int) -> tuple[Array, Array]:
    """Truth and tied scores of labels of every kind."""
    truth = rng.random((n, n_labels)) < rng.choice([0.03, 0.1, 0.3, 0.6], n_labels)
    known = rng.choice([-2.0, 0.0, 0.5, 2.0, 4.0], n_labels)
    return truth.astype(np.uint8), np.round(rng.normal(size=truth.shape) + known * truth, 1)


@pytest.mark.each_value(seed=2)
@pytest.mark.parametrize("seed", range(4))
def test_verdicts_are_as_defined(seed: int) -> None:
    rng = np.random.default_rng([21, seed])
    truth, scores = drawn(rng, 12, 150)
    rule = ThresholdRule(rng.choice([-9.0, 0.0, 1.0, 3.0], 12))
    found = diagnose(truth, scores, rule, min_f=0.4, min_skill=0.2)
    table = found.verdicts.table
    decided = rule.predict(scores)
    rows = []
    for j, y in enumerate(truth.T):
        tp, fn, fp = (int(np.sum((y == a) & (decided[:, j] == b))) for a, b in ((1, 1), (1, 0), (0, 1)))
        bar, p_usable, p_weak = twin.p_of_bar(tp, fn, fp, 150 - tp - fn - fp, Fraction("0.4"), Fraction("0.2"))
        top = twin.top_cut(y.tolist(), scores[:, j].tolist())
        p = {"p_usable": p_usable, "p_weak": p_weak, "p_missed": twin.p_missed((tp, tp + fp), top, tp + fn)}
        for name, value in p.items():
            assert table[name][j] == pytest.approx(value, rel=1e-4, abs=1e-12, nan_ok=True), (j, name)
        if not math.isnan(bar):
            assert table["bar"][j] == pytest.approx(bar)
        assert (table["top_tp"][j], table["top_predicted"][j]) == top
        assert (table["f_low"][j], table["f_high"][j]) == pytest.approx(
            twin.f_interval(tp, fn, fp, 1.0, 0.95) if tp + fn + fp else (0, 1), abs=1e-7
        )
        tests = ("p_informative", "p_uninformative", "p_backwards")
        rows.append(p | {name: found.table[name][j].item() for name in tests})
    assert found.verdict.tolist() == twin.verdicts(rows, 0.05)


def test_labels_of_all_verdicts_are_drawn() -> None:
    truth, scores = drawn(np.random.default_rng([21, 9]), 60, 1500)
    rule = ThresholdRule(np.random.default_rng(1).choice([-9.0, 0.0, 1.0, 2.0, 4.0], 60))
    assert set(diagnose(truth, scores, rule).verdict.tolist()) == set(VERDICTS)


def test_the_test_of_the_second_bar_allows_for_the_base_rate() -> None:
    """20 sets of counts at a base rate of .3 to .7, and other betas, against slopes by differences."""
    rng = np.random.default_rng(3)
    for b in (0.5, 1.0, 2.0):
        for _ in range(20):
            tp, fn, fp, tn = rng.integers([1, 0, 0, 1], 60).tolist()
            expected = twin.p_of_skill(tp, fn, fp, tn, 0.25, b)
            marked = Marked(*(np.array([float(x)]) for x in (tp, tp + fp, tp + fn)))
            ours = p_of_bar(marked, tp + fn + fp + tn, Criteria(min_f=1e-9, min_skill=0.25), b)
            assert ours[0][0] == pytest.approx(expected[0], rel=1e-5, abs=1e-12)
            assert ours[1][0] >= expected[1] - 1e-9, "F against the bar as if it were known counts, too"


def test_bounds_that_do_not_meet_need_not_come_from_the_same_rows() -> None:
    rule, top = (Marked(*(np.array([float(x)]) for x in counts)) for counts in ((3, 5, 30), (24, 30, 30)))
    p = p_missed(rule, top, 1.0)[0]
    low = beta.ppf(p / 2, 24, 36 - 24 + 1)  # exact bounds (Clopper & Pearson 1934) of so much confidence just touch
    high = beta.ppf(1 - p / 2, 3 + 1, 32 - 3)
    assert low == pytest.approx(high, rel=1e-6)


# How many would be enough


@pytest.mark.parametrize(("tp", "predicted", "positives"), [(3, 4, 4), (7, 12, 9), (1, 4, 3), (2, 10, 4), (0, 0, 2)])
def test_as_many_positives_as_are_said_would_probably_be_enough(tp: int, predicted: int, positives: int) -> None:
    case = ((tp, predicted, positives, tp, positives), KNOWN)
    row = verdicts([case], alpha=0.01).table[0]
    assert row["verdict"] == "unproven"
    needed = int(row["positives_needed"])
    assert needed > positives
    rows = round(needed * (predicted + positives - tp) / positives)
    index = tp / (predicted + positives - tp)
    hits = np.arange(rows + 1)
    of_bar = np.maximum(binom.sf(hits - 1, rows, 1 / 3) <= 0.01, binom.cdf(hits, rows, 1 / 3) <= 0.01)
    assert binom.pmf(hits, rows, index)[of_bar].sum() > 0.75


def test_numbers_of_positives_are_round() -> None:
    needed = verdicts([((tp, 3, 3, tp, 3), KNOWN) for tp in range(4)] * 30).table["positives_needed"]
    needed = needed[np.isfinite(needed)]
    assert needed.size
    for number in needed.astype(int):
        assert number < 100 or number % 10 ** (len(str(number)) - 2) == 0


def test_too_near_the_bar_no_number_is_given() -> None:
    row = alone("unproven")
    assert row["positives_needed"] == inf
    assert "even 1,000 rows that truly are label 0 may not settle it" in row["sentence"]
    assert "nan" in str(alone("usable")["positives_needed"])


def test_without_positives_the_number_is_that_of_a_faultless_label() -> None:
    row = alone("unproven, nothing")
    assert row["positives_needed"] == 3
    assert binom.sf(2, 3, 1 / 3) <= 0.05 < binom.sf(1, 2, 1 / 3)


# What is said


def test_sentences() -> None:
    said = {case: str(alone(case)["sentence"]).replace("label 0", "X") for case in CASES}
    assert said == {
        "usable": "Of 100 rows marked X, probably between 82 and 95 truly are; of 100 rows that truly are X,"
        " probably between 82 and 95 are marked.",
        "weak": "Of 100 rows marked X, probably between 13 and 29 truly are, and of 100 rows that truly are X,"
        " probably between 16 and 36 are marked: too many mistakes to rely on it unchecked.",
        "weak, never marked": "No row is marked X, though 40 should be.",
        "weak, never true": "200 rows are marked X, and none truly is; of 100 such rows, probably between 0 and"
        " 2 truly are.",
        "unproven": "On the border of good enough: of 100 rows that truly are X, 52 are marked; of 100 rows"
        " marked so, 52 truly are; even 1,000 rows that truly are X may not settle it.",
        "unproven, few": "Too early to say: of 2 rows that truly are X, 1 is marked; of 3 rows marked so, 1"
        " truly is; if this goes on, it would take about 100 rows that truly are X, in all, to show that it is"
        " not good enough.",
        "unproven, never marked": "Too early to say: of 3 rows that truly are X, 0 are marked; if this goes on,"
        " it would take about 9 rows that truly are X, in all, to show that it is not good enough.",
        "unproven, never true": "Too early to say: no row here truly is X, and 3 are marked so; it takes at"
        " least 3 rows that truly are X.",
        "unproven, nothing": "Too early to say: no row here truly is X; it takes at least 3 rows that truly are X.",
        "unproven, always true": "Too early to say: all rows here truly are X, and some that are not are needed.",
        "missed": "Of 40 rows that truly are X, 2 are marked; of the 40 rows that score highest for X, 35 truly"
        " are, so that a new threshold would do better.",
        "missed, too often": "Of 900 rows marked X, 60 truly are; of the 100 rows that score highest for X, 85"
        " truly are, so that a new threshold would do better.",
        "useless": "Of 100 rows marked X, probably between 2 and 13 truly are; of two rows, only one of which"
        " truly is X, that one scores higher in about 51 of 100 cases, and by chance it would in 50.",
        "useless, never marked": "No row is marked X; of two rows, only one of which truly is X, that one scores"
        " higher in about 51 of 100 cases, and by chance it would in 50.",
        "useless, backwards": "Of 100 rows marked X, probably between 2 and 13 truly are; of two rows, only one"
        " of which truly is X, that one scores higher in about 8 of 100 cases, and by chance it would in 50: the"
        " scores seem turned round.",
        "useless, on nearly all rows": "Of 100 rows marked X, probably between 37 and 44 truly are; of two rows,"
        " only one of which truly is X, that one scores higher in about 51 of 100 cases, and by chance it would"
        " in 50.",
    }


def test_what_holds_a_threshold_back_is_said() -> None:
    """A fit again would give the same threshold where limits, or floors, forbid a better one."""
    truth = np.arange(100) < 20
    rule = thresholds.fit_empirical(truth, -np.arange(100.0), min_precision=0.9, confidence=0.99)
    scores = -np.arange(100.0)
    found = thresholds.diagnose(truth, scores, rule).verdicts
    assert found.has_limits
    assert found.table["sentence"][0].endswith("a new threshold would do better, if the limits of the fit allowed it.")
    assert "lower its limits" in str(found)


def test_sentences_need_no_statistics() -> None:
    for case, on_own_rows in product(CASES, (True, False)):
        sentence = alone(case, on_own_rows=on_own_rows)["sentence"]
        assert sentence.count(".") == 1
        assert sentence.endswith(".")
        assert not re.search(r"\b(p|F1|F|AUROC|interval|recall|precision|probability|confidence|nan|inf)\b", sentence)


def test_a_name_may_have_lines() -> None:
    truth = np.eye(30, dtype=np.uint8)[:, :1]
    rule = ThresholdRule([0.5], label_names=["two\nlines"])
    assert "rows that truly are two lines" in diagnose(truth, truth.astype(float), rule).verdicts.table["sentence"][0]


def test_a_rule_that_was_fitted_on_the_rows_is_noticed_and_no_label_is_called_usable_without_that_remark() -> None:
    rng = np.random.default_rng(0)
    truth = rng.random((400, 3)) < 0.3
    scores = rng.normal(size=truth.shape) + 4 * truth
    own = fit_empirical(truth, scores, label_names=["a", "b", "c"])
    other = fit_empirical(truth[:200], scores[:200])
    for rule, is_own in ((own, True), (other, False)):
        found = diagnose(truth, scores, rule)
        assert found.verdict.tolist() == ["usable"] * 3
        assert found.verdicts.on_own_rows == is_own
        remarks = [str(found), found.verdicts.in_brief(), *found.table["sentence"].tolist()]
        assert [bool(re.search("that the rule was (not )?fitted on", text)) for text in remarks] == [is_own] * 5


def test_the_summary_says_what_to_do() -> None:
    found = verdicts([*CASES.values()])
    assert found.counts == {name: int((found.verdict == name).sum()) for name in VERDICTS}
    about, table = found.to_text(0).split("\n\n")
    assert flat(about).startswith(
        f"{len(CASES)} labels judged on 1,000 rows. Good enough is an F1 of at least 0.5, and at least 25 % of the way"
    )
    lines = table.splitlines()[2:]
    assert [line.split()[0] for line in lines] == [name for name in VERDICTS if found.counts[name] or name == "usable"]
    assert flat(lines[2]).endswith("shown neither way have its marks checked")
    assert sum(found.counts.values()) == len(CASES)
    assert found.in_brief().startswith(f"{len(CASES)} labels: {found.counts['usable']} usable, ")


def test_as_many_sentences_of_each_verdict() -> None:
    found = verdicts([CASES["usable"]] * 30 + [CASES["missed"]] * 3 + [CASES["useless"]])
    sentences = found.to_text(5).split("\n\n")[-1].splitlines()[2:-1]
    shown = [line.split()[0] for line in sentences if not line.startswith(" ")]
    assert shown == ["usable", "usable", "missed", "missed", "useless"]
    assert found.to_text(5).endswith("... 29 more")


def test_a_frame_and_a_file_have_all(tmp_path: Any) -> None:
    import pandas as pd

    found = verdicts([*CASES.values()])
    frame = found.to_frame()
    assert list(frame.columns) == list(found.table.dtype.names)
    frame.to_csv(tmp_path / "v.csv", index=False)
    again = pd.read_csv(tmp_path / "v.csv")
    assert again["verdict"].tolist() == found.verdict.tolist()
    assert again["sentence"].tolist() == found.table["sentence"].tolist()
    assert found.to_dict()["table"][0]["verdict"] == "usable"


# Promises


def test_few_usable_labels_are_below_the_bar_and_few_useless_ones_are_known() -> None:
    """Normal scores, of which F1 and AUROC of the population are known: 5 sets of 60 labels, half near the bar."""
    from scipy.special import ndtr, ndtri

    rng = np.random.default_rng(5)
    wrong = []
    for _ in range(5):
        auroc = np.repeat([0.5, 0.72, 0.9, 0.95, 0.97, 0.99], 10)
        distance = np.sqrt(2) * ndtri(auroc)
        truth = rng.random((2000, 60)) < 0.05
        scores = rng.normal(size=truth.shape) + distance * truth
        cuts = rng.normal(2.0, 0.3, 60)
        found = diagnose(truth, scores, ThresholdRule(cuts))
        tp = 0.05 * ndtr(distance - cuts)
        f = 2 * tp / (0.05 + tp + 0.95 * ndtr(-cuts))
        usable, useless = found.verdict == "usable", found.verdict == "useless"
        assert usable.sum() > 5
        assert useless.sum() > 3
        wrong.append(((usable & (f < 0.5)).sum() / usable.sum(), (useless & (auroc >= 0.7)).sum() / useless.sum()))
    assert (np.mean(wrong, axis=0) <= 0.05).all()


def test_every_kind_of_input_gives_verdicts() -> None:
    from scipy import sparse

    truth, scores = drawn(np.random.default_rng(2), 5, 200)
    scores = np.maximum(scores, 0)
    rule = FixedRule(1.0, 5)
    dense = diagnose(truth, scores, rule).verdicts.table
    lists = diagnose(sparse.csr_array(truth), sparse.csr_array(scores), rule).verdicts.table
    assert dense.tobytes() == lists.tobytes()
