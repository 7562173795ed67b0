"""How far rules decide alike: overall, by label, and what is said of it."""

import re
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import thresholds
from tests.naive import agreement as naive
from thresholds import FixedRule, InstanceRule, ThresholdRule, TopKRule
from thresholds._results.text import WIDTH, columns_of
from thresholds.comparison.agreement import Agreement

RNG = np.random.default_rng(5)
TRUTH = (RNG.random((60, 4)) < [0.5, 0.3, 0.1, 0.1]).astype(np.uint8)
SCORES = np.round(RNG.random((60, 4)) * (RNG.random((60, 4)) < 0.6), 2)  # 0 where a sparse matrix has no entry
NAMES = ("cat", "dog", "emu", "yak")
RULES = {
    "low": ThresholdRule([0.2, 0.3, np.inf, np.inf], label_names=NAMES),
    "turned": ThresholdRule([0.9, np.inf, 0.6, 0.5], label_names=NAMES[::-1]),
    "one": TopKRule(1),
    "instance": InstanceRule(),
}
ALWAYS = {"always": ThresholdRule([-np.inf, 0.3, 0.2, np.inf], label_names=NAMES)}  # dense decisions of any scores
# Absent entries score higher here than others do: no cut of one rule is above all of the other.
HALF = {"missing is .5": ThresholdRule([0.4, 0.9, 0.45, 0.3], label_names=NAMES, missing=0.5)}


def compared(rules: Any, kind: Any = np.asarray) -> Agreement:
    found = thresholds.compare(rules, kind(TRUTH), kind(SCORES)).agreement
    assert found is not None
    return found


def decided(rule: Any, kind: Any = np.asarray) -> list[list[int]]:
    order = [NAMES.index(name) for name in rule.label_names or NAMES]
    scores = np.where(SCORES == 0, rule.missing, SCORES) if kind is not np.asarray else SCORES
    cells = np.zeros((60, 4), int)
    cells[:, order] = rule.predict(scores[:, order])
    return cells.tolist()


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("rules", [RULES, RULES | ALWAYS, RULES | HALF])
def test_pairs_of_rules_equal_the_twin(kind: Any, rules: Any) -> None:
    found = compared(rules, kind)
    cells = [decided(rule, kind) for rule in rules.values()]
    assert found.rules == tuple(rules)
    for a, b in np.ndindex(found.pairs.shape):
        assert found.pairs[a, b] == float(naive.f1_between(cells[a], cells[b]))
        assert found.differing[a, b] == naive.differing(cells[a], cells[b])
        each = found.between(found.rules[a], found.rules[b])
        assert each.tolist() == [float(naive.f1_between(cells[a], cells[b], j)) for j in range(4)]
    assert found.pairs[0, 1] < 1
    assert found.pairs.diagonal().tolist() == [1.0] * len(rules)


def test_labels_have_the_two_rules_that_differ_on_most_rows() -> None:
    found = compared(RULES)
    cells = dict(zip(RULES, map(decided, RULES.values()), strict=True))
    assert tuple(found.by_label["name"]) == NAMES
    for j, row in enumerate(found.by_label):
        number = {name: len(naive.predicted(of_rule, j)) for name, of_rule in cells.items()}
        apart = {pair: naive.differing(cells[pair[0]], cells[pair[1]], j) for pair in combinations(RULES, 2)}
        f1 = {pair: float(naive.f1_between(cells[pair[0]], cells[pair[1]], j)) for pair in apart}
        widest = max(apart, key=lambda pair: apart[pair])  # the first of equal ones
        assert {row["rule"], row["other"]} == set(widest)
        assert (row["differing"], row["f1"], row["lowest_f1"]) == (apart[widest], f1[widest], min(f1.values()))
        assert (row["predicted"], row["predicted_other"]) == (number[row["rule"]], number[row["other"]])
        assert row["predicted"] >= row["predicted_other"]
        assert (row["most"], row["predicted_most"]) == (
            max(number, key=lambda name: number[name]),
            max(number.values()),
        )
        assert (row["least"], row["predicted_least"]) == (
            min(number, key=lambda name: number[name]),
            min(number.values()),
        )


def test_weights_and_intervals_change_nothing() -> None:
    plain = compared(RULES)
    other = thresholds.compare(
        RULES, TRUTH, SCORES, sample_weight=RNG.integers(0, 3, 60), groups=np.arange(60) // 2, confidence=None
    ).agreement
    assert other is not None
    np.testing.assert_array_equal(other.both, plain.both)


def test_blocks_of_rows_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = compared(RULES | ALWAYS, sparse.csr_array)
    monkeypatch.setattr("thresholds._arrays.blocks._BLOCK_ROWS", 7)
    np.testing.assert_array_equal(compared(RULES | ALWAYS, sparse.csr_array).both, whole.both)


def test_there_may_be_more_rules_than_a_number_has_bits() -> None:
    rng = np.random.default_rng(0)
    rules = {f"rule {k}": ThresholdRule(rng.random(4)) for k in range(70)}
    found = compared(rules)
    cells = np.array([rule.predict(SCORES) for rule in rules.values()], np.int64)  # (70, 60, 4)
    np.testing.assert_array_equal(found.both, np.einsum("aij,bij->abj", cells, cells))


def test_rules_that_never_predict_decide_the_same() -> None:
    found = compared({"never": FixedRule(2.0, 4), "nor": FixedRule(3.0, 4), "half": FixedRule(0.5, 4)})
    assert found.pairs.tolist() == [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
    assert found.between("never", "nor").tolist() == [1.0] * 4


def test_only_the_same_decisions_are_written_as_1() -> None:
    scores = np.linspace(0.01, 1, 240).reshape(60, 4)
    rules = {"all": FixedRule(0.0, 4), "same": FixedRule(0.0, 4), "all but one": FixedRule(0.012, 4)}
    found = thresholds.compare(rules, TRUTH, scores).agreement
    assert found is not None
    assert 0.995 < found.pairs[0, 2] < 1
    same, all_but_one = (line.split() for line in str(found).splitlines()[4:6])
    assert same[-1] == "1.00"
    assert all_but_one[-2:] == ["0.99", "0.99"]


def test_what_is_said_of_two_of_a_few_and_of_many() -> None:
    two = compared({name: RULES[name] for name in ("low", "one")})
    assert str(two).startswith(
        f"low and one decide {two.differing[0, 1]} of 240 cells differently; F1 between their decisions is 0."
    )
    assert "most like" not in str(compared(RULES))
    many = compared({f"cut {k}": FixedRule(k / 20, 4) for k in range(2, 16)})
    line = next(line for line in str(many).splitlines() if line.startswith("cut 9 "))
    others = np.delete(many.pairs[7], 7)
    near = np.delete(many.rules, 7)[others.argmax()]
    cells = [cell.strip() for cell in re.split("  +", line)]
    assert cells[1:4] == [f"{many.both[7, 7].sum():,}", near, f"{others.max():.2f}"]
    assert line.endswith(f"  {others.min():.2f}")


@pytest.mark.parametrize("n_rules", [2, 12, 13])
def test_long_and_hostile_names_of_rules_are_a_screen(n_rules: int) -> None:
    names = [f"\x1b[31m{k}\r\n\u202e" + "long \U00020000\u200d" * 60 for k in range(n_rules)]
    rules = {name: FixedRule(0.05 * k, 4) for k, name in enumerate(names)}
    found = thresholds.compare(rules, TRUTH, SCORES)
    for shown in (str(found), str(found.agreement)):
        lines = shown.splitlines()
        assert all(line.isprintable() for line in lines)
        assert max(map(columns_of, lines)) <= WIDTH
        assert len(lines) < 75
    assert all(str(difference).isprintable() for difference in found.differences)
    assert found.agreement is not None
    html = found._repr_html_() + found.agreement._repr_html_()
    assert html.isprintable()


def test_one_rule_has_no_agreement() -> None:
    assert thresholds.compare({"one": TopKRule(1)}, TRUTH, SCORES).agreement is None
