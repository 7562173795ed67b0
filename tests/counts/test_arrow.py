"""Counts travel as Arrow tables, whose rows may come in any order, and are added up when read."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.counts.draws import KINDS, draw, parts
from tests.counts.test_adding import assert_same_counts, of, wide
from thresholds import Counts, InputError, fit_empirical

pa = pytest.importorskip("pyarrow")


def shuffled(tables: list[Any], rng: np.random.Generator) -> Any:
    """All rows of some tables, mixed, in batches."""
    whole = pa.concat_tables(tables)
    return whole.take(rng.permutation(whole.num_rows)).to_batches(max_chunksize=50)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_rows", [7, 3000])
def test_rows_of_tables_add_up_in_any_order(kind: str, n_rows: int) -> None:
    """What comes back is the sum, bit for bit."""
    rng = np.random.default_rng(n_rows)
    rows = draw(kind, rng, n_rows)
    counts = []
    for some in parts(n_rows, rng):
        y_true, y_score, about = rows.at(some)
        counts.append(Counts.of(y_true, y_score, **about))
    found = Counts.from_arrow(shuffled([part.to_arrow() for part in counts], rng))
    assert_same_counts(found, sum(counts))


def test_so_do_scores_in_ranges() -> None:
    """As an engine sends them in two passes."""
    y_true, y_score = wide()
    halves = [slice(0, 1000), slice(1000, 3000)]
    counts = Counts.from_arrow([Counts.of(y_true[rows], y_score[rows]).to_arrow() for rows in halves])
    needed = counts.needed_for("micro", guard=None)
    found = Counts.from_arrow([Counts.of(y_true[rows], y_score[rows], needed).to_arrow() for rows in halves])
    rule, expected = counts.with_scores(found).fit("micro", guard=None), fit_empirical(y_true, y_score, "micro")
    assert (rule.objective, rule.thresholds.tolist()) == (expected.objective, expected.thresholds.tolist())


def test_a_schema_that_every_engine_has() -> None:
    """No unsigned numbers, no metadata: Spark has neither."""
    table = of([[0.5]]).to_arrow()
    assert [f"{column.name} {column.type}" for column in table.schema] == [
        "label int32", "lowest double", "highest double", "positives int64", "weight int64", "about string",
    ]  # fmt: skip
    assert table.schema.metadata is None


def two() -> Any:
    """A table of two scores."""
    return of([[0.5], [0.25]]).to_arrow()


def changed(name: str, row: int, value: Any) -> Any:
    """The same with another value."""
    table = two()
    values = table[name].to_pylist()
    values[row] = value
    return table.set_column(table.column_names.index(name), name, pa.array(values))


def about() -> str:
    """What it is about."""
    return str(two()["about"][0].as_py())


CHANGED = r"data lacks rows, or has some twice or changed, expected all rows of Counts.to_arrow\(\)"
BAD: dict[str, tuple[Callable[[], object], str]] = {
    "no table": (lambda: 3, "data is 3, expected a pyarrow.Table, or batches"),
    "nothing": (list, r"data is \[\], expected a pyarrow.Table, or batches"),
    "another table": (lambda: pa.table({"x": [1]}), "data has no column 'label'"),
    "without its head": (lambda: two()[1:], "data has no row with 'about'"),
    "the last row is lost": (lambda: two()[:-1], CHANGED),
    "a row is there twice": (lambda: two().take([0, 1, 2, 2]), CHANGED),
    "a weight is another": (lambda: changed("weight", 2, 9), CHANGED),
    "a label is another": (lambda: changed("label", 2, 7), CHANGED),
    "a score is lost": (lambda: changed("lowest", 1, None), CHANGED),
    "weights are floats": (
        lambda: two().set_column(4, "weight", pa.array([0.5] * 3)),
        "data has double in column 'weight', expected whole numbers",
    ),
    "scores are whole": (
        lambda: two().set_column(1, "lowest", pa.array([1] * 3)),
        "data has int64 in column 'lowest', expected floats",
    ),
    "a head that is no JSON": (
        lambda: changed("about", 0, "{"),
        "data has '{' in column 'about', expected what Counts.to_arrow",
    ),
    "a head that was changed": (
        lambda: changed("about", 0, about().replace('"n_labels": 1', '"n_labels": 9')),
        "data has .* in column 'about', expected what Counts.to_arrow",
    ),
    "a text": (lambda: "x", "data is 'x', expected a pyarrow.Table, or batches"),
    "a mapping": (lambda: {"a": 1}, "data is .*, expected a pyarrow.Table, or batches"),
    "labels in another order": (
        lambda: [of([[1, 2]], label_names=names).to_arrow() for names in (["a", "b"], ["b", "a"])],
        "a table has its labels in another order, expected the same labels as here",
    ),
    "another dtype": (
        lambda: [two(), of([[1]], dtype=np.float32).to_arrow()],
        "a table has float32 scores, expected float64 ones as here",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_table_of_counts_is_refused(name: str) -> None:
    """In one sentence."""
    data, message = BAD[name]
    with pytest.raises(InputError, match=f"^{message}"):
        Counts.from_arrow(data())


def test_counts_that_can_be_fitted_are_not_sent() -> None:
    y_true, y_score = wide()
    counts = Counts.of(y_true, y_score)
    closed = counts.with_scores(Counts.of(y_true, y_score, counts.needed_for(guard=None)))
    with pytest.raises(InputError, match=r"^counts have scores where they are needed, expected those before"):
        closed.to_arrow()
