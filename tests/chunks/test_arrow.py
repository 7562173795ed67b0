"""Candidates and counts travel as Arrow tables, whose rows may come in any order, and are added up when read."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.cases import small_cases
from tests.chunks.test_counts import FORMS, Rows, assert_equal, draw_more, of_case
from tests.chunks.trees import blocks
from thresholds import Candidates, Counts, InputError, fit_empirical

pa = pytest.importorskip("pyarrow")


def assert_same_counts(found: Counts, expected: Counts) -> None:
    """Bit for bit."""
    assert (found.kind, found.at) == (expected.kind, expected.at)
    for mine, theirs in zip(found.totals, expected.totals, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    for mine, theirs in zip((*found.tally[0], *found.tally[1]), (*expected.tally[0], *expected.tally[1]), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(found.lowest, expected.lowest)


def parts_of(rows: Rows, form: str, rng: np.random.Generator) -> list[Counts]:
    """Counts of blocks, not added."""
    candidates = Candidates.of(*rows.of(slice(None))[0], **rows.of(slice(None))[1])
    unit = None if rows.sample_weight is None else candidates.weight_unit
    at = candidates if form == "candidates" else None
    return [Counts.of(*rows.of(part)[0], at, weight_unit=unit, **rows.of(part)[1]) for part in blocks(rows.n, rng)]


def shuffled(tables: list[Any], rng: np.random.Generator) -> Any:
    """All rows of some tables, mixed, in batches of five."""
    whole = pa.concat_tables(tables)
    return whole.take(rng.permutation(whole.num_rows)).to_batches(max_chunksize=5)


@pytest.mark.parametrize("form", FORMS)
def test_rows_of_tables_add_up_in_any_order(form: str) -> None:
    """What comes back is the sum, bit for bit: sparse, weighted, of unknown truth, masked."""
    all_rows = [draw_more(np.random.default_rng([seed, 7])) for seed in range(30)]
    all_rows += [of_case(case)[0] for case in small_cases(30, seed=27)]
    for i, rows in enumerate(all_rows):
        rng = np.random.default_rng(i)
        parts = parts_of(rows, form, rng)
        found = Counts.from_arrow(shuffled([part.to_arrow() for part in parts], rng))
        assert_same_counts(found, sum(parts[1:], parts[0]))


def test_candidates_are_united() -> None:
    """With what is opened."""
    rng = np.random.default_rng(0)
    y_true, y_score = rng.random((60, 3)) < 0.5, rng.normal(size=(60, 3)).astype(np.float32)
    weights = rng.exponential(size=60)
    first, second = (
        Candidates.of(y_true[k::2], y_score[k::2], sample_weight=weights[k::2]).opened_between(
            [0, np.nan, 1], [2, 3, 1]
        )
        for k in (0, 1)
    )
    expected = first + second
    found = Candidates.from_arrow(shuffled([first.to_arrow(), second.to_arrow()], rng))
    assert found.digest == expected.digest
    assert found.seen == expected.seen
    assert found.weight_unit == expected.weight_unit


def test_what_comes_back_is_fitted_and_counted_at() -> None:
    """As an engine does in two passes."""
    rng = np.random.default_rng(0)
    y_true, y_score = rng.random((200, 3)) < 0.3, rng.normal(size=(200, 3))
    halves = [slice(0, 90), slice(90, 200)]
    candidates = Candidates.from_arrow([Candidates.of(y_true[rows], y_score[rows]).to_arrow() for rows in halves])
    counts = Counts.from_arrow([Counts.of(y_true[rows], y_score[rows], candidates).to_arrow() for rows in halves])
    assert_equal(counts.fit("micro"), fit_empirical(y_true, y_score, "micro"))


def test_a_schema_that_every_engine_has() -> None:
    """No unsigned numbers, no metadata: Spark has neither."""
    for made in (Candidates, Counts):
        table = made.of([[1]], [[0.5]]).to_arrow()
        assert [f"{column.name} {column.type}" for column in table.schema] == [
            "label int32", "place int64", "key int64", "positives int64", "weight int64", "about string",
        ]  # fmt: skip
        assert table.schema.metadata is None


def of(*scores: float, **options: Any) -> Counts:
    """Counts of one label, true everywhere."""
    column = np.array(scores)[:, np.newaxis]
    return Counts.of(np.ones(column.shape), column, **options)


def at() -> Candidates:
    """Three candidates of one label."""
    return Candidates.of([[1]] * 3, [[1.0], [2.0], [3.0]])


def two() -> Any:
    """A table of two tie groups."""
    return of(0.5, 0.25).to_arrow()


def changed(name: str, row: int, value: Any) -> Any:
    """The same with another value."""
    table = two()
    values = table[name].to_pylist()
    values[row] = value
    return table.set_column(table.column_names.index(name), name, pa.array(values))


def about() -> str:
    """What it is about."""
    return str(two()["about"][0].as_py())


CHANGED = "data lacks rows, or has some twice or changed, expected all rows of C.*.to_arrow"
BAD: dict[str, tuple[Callable[[], object], str]] = {
    "no table": (lambda: Counts.from_arrow(3), "data is 3, expected a pyarrow.Table, or batches"),
    "nothing": (lambda: Counts.from_arrow([]), r"data is \[\], expected a pyarrow.Table, or batches"),
    "another table": (lambda: Counts.from_arrow(pa.table({"x": [1]})), "data has no column 'label'"),
    "candidates": (
        lambda: Counts.from_arrow(Candidates.of([[1]], [[0.5]]).to_arrow()),
        "data has 'Candidates' of version 1, expected Counts of version 1",
    ),
    "without its head": (lambda: Counts.from_arrow(two()[1:]), "data has no row with 'about'"),
    "the last row is lost": (lambda: Counts.from_arrow(two()[:-1]), CHANGED),
    "a candidate that was counted is lost": (
        lambda: Counts.from_arrow(
            Counts.of([[1]] * 3, [[1.0], [2.0], [3.0]], at()).to_arrow().filter(np.arange(5) != 2)
        ),
        CHANGED,
    ),
    "a row is there twice": (lambda: Counts.from_arrow(two().take([0, 1, 2, 2])), CHANGED),
    "a candidate is lost": (lambda: Candidates.from_arrow(at().to_arrow()[:-1]), CHANGED),
    "a weight is another": (lambda: Counts.from_arrow(changed("weight", 2, 9)), CHANGED),
    "a label is another": (lambda: Counts.from_arrow(changed("label", 2, 7)), CHANGED),
    "a key is lost": (lambda: Counts.from_arrow(changed("key", 1, None)), CHANGED),
    "keys are floats": (
        lambda: Counts.from_arrow(two().set_column(2, "key", pa.array([0.5] * 4))),
        "data has double in column 'key', expected whole numbers",
    ),
    "a head that is no JSON": (
        lambda: Counts.from_arrow(changed("about", 0, "{")),
        "data has '{' in column 'about', expected what Counts.to_arrow",
    ),
    "a head that was changed": (
        lambda: Counts.from_arrow(changed("about", 0, about().replace('"n_labels": 1', '"n_labels": 9'))),
        "data has .* in column 'about', expected what Counts.to_arrow",
    ),
    "other scores opened": (
        lambda: Candidates.from_arrow([at().to_arrow(), at().opened_between(1, 2).to_arrow()]),
        "data has candidates with other scores opened, expected the same in all",
    ),
    "others opened": (
        lambda: Candidates.from_arrow([at().opened_between(0, 1).to_arrow(), at().opened_between(1, 2).to_arrow()]),
        "data has candidates with other scores opened, expected the same in all",
    ),
    "another dtype": (
        lambda: Counts.from_arrow([two(), of(*np.float32([1, 2])).to_arrow()]),
        "a table has float32 scores, expected float64 ones as here",
    ),
    "other candidates": (
        lambda: Counts.from_arrow([two(), of(0.5, candidates=at()).to_arrow()]),
        "data has counts at different candidates",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_table_of_counts_is_refused(name: str) -> None:
    """In one sentence."""
    call, message = BAD[name]
    with pytest.raises(InputError, match=message):
        call()
