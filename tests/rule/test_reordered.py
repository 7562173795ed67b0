"""A rule with its labels in another order decides the same, and knows the same, label by label."""

import numpy as np
import pytest
from scipy import sparse

from tests.rules import RULES, same
from thresholds import TopKRule


@pytest.mark.parametrize("name", RULES)
def test_a_rule_of_any_kind_decides_the_same_in_another_order(name: str) -> None:
    rule = RULES[name]
    n_labels = rule.n_labels or 4
    rng = np.random.default_rng(4)
    places = rng.permutation(n_labels)
    moved = rule.reordered(places)
    scores = rng.random((40, n_labels))
    kinds = [np.asarray]
    if not isinstance(rule.uncapped, TopKRule):  # Of equal scores, as absent ones are, it takes the first labels.
        kinds.append(sparse.csr_array)
    for kind in kinds:
        cells = scores if kind is np.asarray else np.where(scores < 0.5, 0, scores)
        expected = rule.decide(kind(cells), dense=True)
        np.testing.assert_array_equal(moved.decide(kind(cells[:, places]), dense=True), expected[:, places])
    if rule.label_names is not None:
        assert moved.label_names == tuple(rule.label_names[k] for k in places)


@pytest.mark.parametrize("name", RULES)
def test_what_is_moved_and_moved_back_is_as_before(name: str) -> None:
    rule = RULES[name]
    places = np.random.default_rng(4).permutation(rule.n_labels or 4)
    assert same(rule.reordered(places).reordered(np.argsort(places)), rule)
