"""Labels by themselves: counts of some labels, and of consecutive ones side by side, are those of all."""

from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pytest

import thresholds
from thresholds import Candidates, Counts, InputError

N_ROWS, N_LABELS = 300, 7
NAMES = ("ant", "bee", "cat", "dog", "emu", "fox", "gnu")
AVERAGES = ("macro", "weighted", "micro")


@pytest.fixture
def scores() -> Any:
    rng = np.random.default_rng(0)
    return rng.normal(size=(N_ROWS, N_LABELS)).round(2).astype(np.float32)


@pytest.fixture
def truth() -> Any:
    rng = np.random.default_rng(1)
    rates = [0.4, 0.2, 0.1, 0.05, 0.02, 0.01, 0.0]  # The last label has no positive.
    return (rng.random((N_ROWS, N_LABELS)) < rates).astype(np.int8)


def same(first: thresholds.ThresholdRule, second: thresholds.ThresholdRule) -> bool:
    """Whether two fits agree to the last bit."""
    return (
        first.thresholds.tolist() == second.thresholds.tolist()
        and first.objective == second.objective
        and first.unsupported.tolist() == second.unsupported.tolist()
        and first.label_names == second.label_names
    )


@pytest.mark.parametrize("with_candidates", [False, True])
def test_sums_that_are_made_label_by_label_are_those_of_all(truth: Any, scores: Any, with_candidates: bool) -> None:
    shards = [slice(0, 100), slice(100, 120), slice(120, N_ROWS)]
    candidates = Candidates.of(truth, scores, label_names=NAMES) if with_candidates else None
    counts = [Counts.of(truth[rows], scores[rows], candidates, label_names=NAMES) for rows in shards]
    parts = [reduce(add, (part.labels(first, last) for part in counts)) for first, last in ((0, 1), (1, 5), (5, 7))]
    assert [part.label_names for part in parts] == [NAMES[:1], NAMES[1:5], NAMES[5:]]
    joined = Counts.joined(parts)
    for average in AVERAGES:
        assert same(joined.fit(average), thresholds.fit_empirical(truth, scores, average, label_names=NAMES))


def test_blocks_of_labels_can_be_counted_one_after_another(truth: Any, scores: Any) -> None:
    parts = []
    for labels in (slice(0, 3), slice(3, 7)):
        candidates = Candidates.of(truth[:, labels], scores[:, labels])
        parts.append(Counts.of(truth[:, labels], scores[:, labels], candidates))
    joined = Counts.joined(iter(parts))
    for average in AVERAGES:
        assert same(joined.fit(average), thresholds.fit_empirical(truth, scores, average))


def test_a_block_of_candidates_is_that_of_the_block_of_labels(truth: Any, scores: Any) -> None:
    whole = Candidates.of(truth, scores, label_names=NAMES)
    parts = [whole.labels(0, 4), whole.labels(4, 7)]
    alone = Candidates.of(truth[:, 4:], scores[:, 4:], label_names=NAMES[4:])
    assert parts[1].digest == alone.digest
    assert Candidates.joined(parts).digest == whole.digest


def test_the_range_of_scores_is_that_of_all_labels_that_are_joined(truth: Any, scores: Any) -> None:
    parts = [Candidates.of(truth[:, labels], scores[:, labels]) for labels in (slice(0, 2), slice(2, 7))]
    joined = Candidates.joined(parts)
    assert (joined.lowest, joined.highest) == (scores.min(), scores.max())
    assert joined.weight_unit == Candidates.of(truth, scores).weight_unit


@pytest.mark.parametrize("n_known", [0, 2])
def test_weights_and_unknown_truth(truth: Any, scores: Any, n_known: int) -> None:
    truth[::3, n_known:] = -1
    weights = np.random.default_rng(2).integers(0, 4, N_ROWS)
    options = {"sample_weight": weights, "unknown": -1}
    whole = Counts.of(truth, scores, **options)
    sliced = [whole.labels(first, last) for first, last in ((0, 2), (2, 7))]
    apart = [Counts.of(truth[:, labels], scores[:, labels], **options) for labels in (slice(0, 2), slice(2, 7))]
    for average in AVERAGES:
        expected = thresholds.fit_empirical(truth, scores, average, **options)
        assert same(Counts.joined(sliced).fit(average), expected)
        assert same(Counts.joined(apart).fit(average), expected)


def test_rows_that_are_known_in_some_labels_only_are_not_guessed(truth: Any, scores: Any) -> None:
    """Labels of two sources, each known in its own rows: all rows are known, and half of them in either part."""
    truth[::2, :2] = truth[1::2, 2:] = -1
    weights = np.random.default_rng(2).random(N_ROWS)
    about: dict[str, Any] = {"sample_weight": weights, "unknown": -1}
    about["weight_unit"] = Candidates.of(truth, scores, sample_weight=weights, unknown=-1).weight_unit
    guarded: dict[str, Any] = {"guard": "shrink"}
    expected = thresholds.fit_empirical(truth, scores, sample_weight=weights, unknown=-1, **guarded)

    whole = Counts.of(truth, scores, **about)
    sliced = Counts.joined([whole.labels(0, 2), whole.labels(2, 7)])
    assert sliced.fit(**guarded).thresholds.tolist() == expected.thresholds.tolist()
    halves = slice(0, 2), slice(2, 7)
    apart = Counts.joined([Counts.of(truth[:, labels], scores[:, labels], **about) for labels in halves])
    assert apart.fit().thresholds.tolist() == whole.fit().thresholds.tolist()
    with pytest.raises(InputError, match=r"do not tell how many rows have a known cell in any, which shrink asks"):
        apart.fit(**guarded)
    del about["sample_weight"], about["weight_unit"]
    apart = Counts.joined([Counts.of(truth[:, labels], scores[:, labels], **about) for labels in halves])
    assert apart.fit(**guarded).guard_report is not None
    with pytest.raises(InputError, match=r"which a comparison asks; expected counts of all labels at once"):
        apart.compare({"fixed": thresholds.FixedRule(0.5, 7)})


def test_rows_of_which_all_is_known_are_present_in_any_labels(truth: Any, scores: Any) -> None:
    """Blocks, some without an unknown cell, whose labels are added apart."""
    truth[:100, 1:] = -1
    weights = np.resize([0.5, 1.5], N_ROWS)
    blocks = slice(0, 150), slice(150, N_ROWS), slice(0, 0)

    def counts(rows: slice, first: int, last: int) -> Counts:
        about: dict[str, Any] = {"sample_weight": weights[rows]} if rows.stop else {}
        whole = Counts.of(truth[rows], scores[rows], unknown=-1, weight_unit=0.5, **about)
        return whole.labels(first, last)

    ranges = (0, 2), (2, 7)
    joined = Counts.joined([sum(counts(rows, *labels) for rows in blocks) for labels in ranges])
    expected = thresholds.fit_empirical(truth, scores, sample_weight=weights, unknown=-1, guard="shrink")
    assert joined.fit(guard="shrink").thresholds.tolist() == expected.thresholds.tolist()


def test_one_label_is_the_fit_of_that_label(truth: Any, scores: Any) -> None:
    found = Counts.of(truth, scores).labels(2, 3).fit("macro")
    assert same(found, thresholds.fit_empirical(truth[:, 2], scores[:, 2]))


@pytest.mark.parametrize(("first", "last"), [(0, 0), (3, 2), (-1, 2), (0, 8), (0.0, 2.0), ("a", "b")])
def test_ranges_that_are_none_are_refused(truth: Any, scores: Any, first: Any, last: Any) -> None:
    with pytest.raises(InputError, match=rf"^labels are {first}:{last}, expected a range within 0:7$"):
        Counts.of(truth, scores).labels(first, last)
    with pytest.raises(InputError, match=rf"^labels are {first}:{last}, expected a range within 0:7$"):
        Candidates.of(truth, scores).labels(first, last)


def test_parts_that_do_not_go_together_are_refused(truth: Any, scores: Any) -> None:
    counts, candidates = Counts.of(truth, scores), Candidates.of(truth, scores)
    part = counts.labels(0, 3)
    weighted = Counts.of(truth, scores, sample_weight=np.ones(N_ROWS))
    bad = [
        ([], r"^parts is \[\], expected a list of Counts$"),
        ([part, candidates], "^parts is .*, expected a list of Counts$"),
        ([part, Counts.of(truth, scores, candidates)], "^parts has tie groups and counts at candidates"),
        ([part, Counts.of(truth, scores.astype(float))], "^a part has float64 scores, expected float32"),
        ([part, Counts.of(truth[1:], scores[1:])], "^a part has 299 rows without weights, expected 300 rows without"),
        ([part, weighted], "^a part has 300 rows with weights, expected 300 rows without weights as the first has$"),
        ([part, Counts.of(truth, scores, label_names=NAMES)], "^parts has label_names and none, expected"),
    ]
    for parts, message in bad:
        with pytest.raises(InputError, match=message):
            Counts.joined(parts)
    with pytest.raises(InputError, match=r"^a part has 299 rows, expected 300 as the first has$"):
        Candidates.joined([candidates, Candidates.of(truth[1:], scores[1:])])
    named = Counts.of(truth, scores, label_names=NAMES)
    with pytest.raises(InputError, match=r"label_names has .*'ant'.* twice"):
        Counts.joined([named, named])
