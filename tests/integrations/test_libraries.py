"""Whatever holds numbers is taken as an array of them is, and what comes out is of the kind that went in."""

import datetime
import subprocess
import sys
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import thresholds
from tests.integrations.kinds import KINDS, Kind
from thresholds import metrics

pytestmark = pytest.mark.each_value

NAMES = ("cat", "dog", "emu", "fox")


@pytest.fixture(params=KINDS, ids=lambda kind: kind.name)
def kind(request: pytest.FixtureRequest) -> Kind:
    request.param.need()
    return request.param


def data(kind: Kind, seed: int = 0) -> tuple[Any, Any]:
    """Give truth, and probabilities rounded as the kind holds them, as arrays."""
    rng = np.random.default_rng(seed)
    truth = (rng.random((200, 4)) < [0.4, 0.2, 0.1, 0.05]).astype(np.uint8)
    scores = 1 / (1 + np.exp(-rng.normal(size=truth.shape) - 2 * truth + 1))
    return truth, kind.dtype(scores.astype(np.float32))


def check_kind(found: Any, given: Any, kind: Kind, dtype: Any = np.uint8) -> None:
    """Hold what came out to what went in: type, names, index, device, dtype."""
    if kind.name == "lists":
        given = np.asarray(given)
    expected = {"csc_matrix": sparse.csr_matrix, "coo_array": sparse.csr_array}.get(kind.name, type(given))
    assert type(found) is expected
    assert kind.read(found).dtype == dtype
    if kind.index:
        assert found.index.equals(given.index)
    if kind.frame:
        assert columns_of(found) == columns_of(given)
    if hasattr(given, "device"):
        assert found.device == given.device


def columns_of(frame: Any) -> list[str]:
    """Name the columns of any frame."""
    return list(frame.schema.names) if hasattr(frame, "num_rows") else list(frame.columns)


def test_fits_are_those_of_arrays(kind: Kind) -> None:
    truth, scores = data(kind)
    for average in ("macro", "micro", "samples"):
        options = {"per_label": average != "samples"}
        expected = thresholds.fit_empirical(truth, scores, average, **options)
        found = thresholds.fit_empirical(kind.make(truth, NAMES), kind.make(scores, NAMES), average, **options)
        assert found.thresholds.tolist() == expected.thresholds.tolist()
        assert found.objective == expected.objective
        assert found.label_names == (NAMES if kind.frame else None)


def test_truth_of_an_array_and_scores_of_the_kind_go_together(kind: Kind) -> None:
    truth, scores = data(kind)
    expected = thresholds.fit_empirical(truth, scores).thresholds.tolist()
    assert thresholds.fit_empirical(truth, kind.make(scores, NAMES)).thresholds.tolist() == expected
    assert thresholds.fit_empirical(kind.make(truth != 0, NAMES), scores).thresholds.tolist() == expected


def rules(truth: Any, scores: Any) -> list[Any]:
    calibrator = thresholds.calibrate(truth, scores, "platt")
    return [
        thresholds.fit_empirical(truth, scores),
        thresholds.TopKRule(2),
        thresholds.RegionRule([[0.2], [0.3, 0.6], [0.5], [0.4]]),
        thresholds.InstanceRule(),
        thresholds.CalibratedRule(calibrator, thresholds.InstanceRule()),
        thresholds.fit_expected(scores),
    ]


@pytest.mark.parametrize("which", range(6))
def test_predictions_are_those_of_arrays_in_the_kind_of_the_scores(kind: Kind, which: int) -> None:
    truth, scores = data(kind)
    rule = rules(truth, scores)[which]
    given = kind.make(scores, NAMES)
    found = rule.predict(given)
    check_kind(found, given, kind)
    assert kind.read(found).tolist() == rule.predict(scores).tolist()


def test_probabilities_come_in_the_kind_of_the_scores(kind: Kind) -> None:
    truth, scores = data(kind)
    calibrator = thresholds.calibrate(truth, scores)
    given = kind.make(scores, NAMES)
    dtype = np.float32 if kind.name.startswith("JAX") else np.float64  # JAX has no float64 unless it is told to.
    found = calibrator.transform(given)
    check_kind(found, given, kind, dtype)
    np.testing.assert_array_equal(kind.read(found), calibrator.transform(scores).astype(dtype))


def test_rules_from_probabilities_are_those_of_arrays(kind: Kind) -> None:
    _, scores = data(kind)
    for average in ("macro", "micro", "weighted"):
        expected = thresholds.fit_expected(scores, average)
        found = thresholds.fit_expected(kind.make(scores, NAMES), average)
        assert found.thresholds.tolist() == expected.thresholds.tolist()
        assert found.objective == expected.objective


def test_metrics_are_those_of_arrays(kind: Kind) -> None:
    truth, scores = data(kind)
    decided = (scores > 0.5).astype(np.uint8)
    for metric in (metrics.f1_score, metrics.precision_score, metrics.jaccard_score):
        for average in ("micro", "macro", "samples"):
            expected = metric(truth, decided, average=average, zero_division=0)
            assert (
                metric(kind.make(truth, NAMES), kind.make(decided, NAMES), average=average, zero_division=0) == expected
            )
    assert metrics.macro_auroc(kind.make(truth, NAMES), kind.make(scores, NAMES)) == metrics.macro_auroc(truth, scores)


def test_judgements_are_those_of_arrays(kind: Kind) -> None:
    truth, scores = data(kind)
    rule = thresholds.fit_empirical(truth, scores, guard="shrink")
    given = kind.make(truth, NAMES), kind.make(scores, NAMES)
    expected, found = thresholds.diagnose(truth, scores, rule), thresholds.diagnose(*given, rule)
    assert found.state.tolist() == expected.state.tolist()
    assert found.table["auroc"].tolist() == expected.table["auroc"].tolist()
    assert found.table["name"].tolist() == (list(NAMES) if kind.frame else expected.table["name"].tolist())
    together = thresholds.compare({"rule": rule}, *given)
    assert together.measures == thresholds.compare({"rule": rule}, truth, scores).measures
    folds = np.arange(len(truth)) % 4
    assert (
        thresholds.cross_fit(*given, cv=folds).out_of_fold == thresholds.cross_fit(truth, scores, cv=folds).out_of_fold
    )


def test_a_single_label_is_one_dimension(kind: Kind) -> None:
    if "csr" in kind.name or "csc" in kind.name or "coo" in kind.name or kind.name == "Fortran order" or kind.frame:
        pytest.skip("has no vectors, or is tested as a frame")
    truth, scores = data(kind)
    given = kind.make(scores[:, 0], NAMES)
    rule = thresholds.fit_empirical(kind.make(truth[:, 0], NAMES), given)
    assert rule.thresholds.tolist() == thresholds.fit_empirical(truth[:, 0], scores[:, 0]).thresholds.tolist()
    assert kind.read(rule.predict(given)).tolist() == rule.predict(scores[:, 0]).tolist()


FRAMES = [kind for kind in KINDS if kind.frame]


@pytest.fixture(params=FRAMES, ids=lambda kind: kind.name)
def frame_kind(request: pytest.FixtureRequest) -> Kind:
    request.param.need()
    return request.param


def test_columns_go_by_name(frame_kind: Kind) -> None:
    truth, scores = data(frame_kind)
    order = [2, 0, 3, 1]
    shuffled = frame_kind.make(scores[:, order], [NAMES[j] for j in order])
    expected = thresholds.fit_empirical(truth, scores)
    rule = thresholds.fit_empirical(frame_kind.make(truth, NAMES), shuffled)
    assert rule.label_names == tuple(NAMES[j] for j in order)  # The scores lead.
    assert rule.thresholds.tolist() == expected.thresholds[order].tolist()
    named = thresholds.fit_empirical(frame_kind.make(truth, NAMES), shuffled, label_names=NAMES)
    assert named.thresholds.tolist() == expected.thresholds.tolist()
    found = named.predict(shuffled)
    assert columns_of(found) == [NAMES[j] for j in order]  # in the order in which the caller has them
    assert frame_kind.read(found).tolist() == expected.predict(scores)[:, order].tolist()
    assert thresholds.diagnose(frame_kind.make(truth, NAMES), shuffled, named).table["name"].tolist() == list(NAMES)
    of_labels = metrics.f1_score(frame_kind.make(truth, NAMES), found, average=None)  # The truth leads.
    assert of_labels.tolist() == metrics.f1_score(truth, expected.predict(scores), average=None).tolist()


def test_a_rule_without_names_takes_columns_in_their_order(frame_kind: Kind) -> None:
    _, scores = data(frame_kind)
    found = thresholds.FixedRule(0.5, 4).predict(frame_kind.make(scores, NAMES))
    assert frame_kind.read(found).tolist() == (scores >= 0.5).astype(int).tolist()


def test_other_columns_are_refused(frame_kind: Kind) -> None:
    truth, scores = data(frame_kind)
    rule = thresholds.FixedRule(0.5, 4, label_names=NAMES)
    other = frame_kind.make(scores, ("cat", "dog", "emu", "gnu"))
    with pytest.raises(thresholds.InputError, match=r"y_score lacks the column 'fox' and has the column 'gnu'"):
        rule.predict(other)
    with pytest.raises(thresholds.InputError, match=r"y_true lacks the column 'gnu' and has the column 'fox'"):
        thresholds.fit_empirical(frame_kind.make(truth, NAMES), other)
    with pytest.raises(thresholds.InputError, match=r"y_score has the column 'fox', expected columns for the labels"):
        thresholds.FixedRule(0.5, 3, label_names=NAMES[:3]).predict(frame_kind.make(scores, NAMES))


def test_cells_without_a_value_are_refused() -> None:
    pl = pytest.importorskip("polars", reason="make test-integrations installs polars")
    pa = pytest.importorskip("pyarrow", reason="make test-integrations installs pyarrow")
    import pandas as pd

    holes = [
        pd.DataFrame({"cat": [0.5, 0.1], "dog": pd.array([0.2, None], dtype="Float32")}),
        pd.DataFrame({"cat": [0.5, 0.1], "dog": pd.Series([0.2, None], dtype=pd.ArrowDtype(pa.float32()))}),
        pl.DataFrame({"cat": [0.5, 0.1], "dog": [0.2, None]}),
        pa.table({"cat": [0.5, 0.1], "dog": [0.2, None]}),
    ]
    for frame in holes:
        with pytest.raises(thresholds.InputError, match=r"y_score has no value at row 1, column 'dog'"):
            thresholds.FixedRule(0.5, 2).predict(frame)
    with pytest.raises(thresholds.InputError, match=r"y_score is a LazyFrame, expected its data: collect\(\) it"):
        thresholds.FixedRule(0.5, 2).predict(holes[2].lazy())


def test_nothing_is_imported_to_look_for_kinds() -> None:
    code = "import sys, thresholds; thresholds.FixedRule(.5, 2).predict([[1., 0.]]); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"pandas", "polars", "pyarrow", "torch", "jax", "sklearn"} & set(loaded)


def test_columns_that_hold_no_numbers_are_refused() -> None:
    pl = pytest.importorskip("polars", reason="make test-integrations installs polars")
    pa = pytest.importorskip("pyarrow", reason="make test-integrations installs pyarrow")
    import pandas as pd

    day = datetime.date(2020, 1, 1)
    frames = [
        pd.DataFrame({"cat": pd.to_datetime([day]), "dog": [0.2]}),
        pd.DataFrame({"cat": pd.arrays.IntervalArray.from_breaks([0, 1]), "dog": [0.2]}),
        pl.DataFrame({"cat": [day], "dog": [0.2]}),
        pa.table({"cat": [day], "dog": [0.2]}),
    ]
    for frame in frames:
        with pytest.raises(thresholds.InputError, match=r"y_score has dtype .* in column 'cat', expected"):
            thresholds.FixedRule(0.5, 2).predict(frame)
    with pytest.raises(thresholds.InputError, match="y_score is empty"):
        thresholds.FixedRule(0.5, 2).predict(pa.table({}))


def test_integers_of_128_bits_and_decimals_are_numbers() -> None:
    pl = pytest.importorskip("polars", reason="make test-integrations installs polars")
    widest = getattr(pl, "Int128", pl.Int64)  # of 128 bits from Polars 1.18 on
    frame = pl.DataFrame({"cat": [Decimal("0.5"), Decimal("0.1")], "dog": pl.Series([0, 1], dtype=widest)})
    assert thresholds.FixedRule(0.5, 2).predict(frame).to_numpy().tolist() == [[1, 0], [0, 1]]
    pa = pytest.importorskip("pyarrow", reason="make test-integrations installs pyarrow")
    table = pa.table({"cat": [Decimal("0.5"), Decimal("0.1")], "dog": [0.0, 1.0]})
    assert thresholds.FixedRule(0.5, 2).predict(table).to_pylist() == [{"cat": 1, "dog": 0}, {"cat": 0, "dog": 1}]


DECIMALS = [[Decimal("0.5"), Decimal("0.1")], [Decimal("0.1"), Decimal("0.7")], [Decimal("0.25"), Decimal("0.5")]]
TRUE = [[Decimal(1), Decimal(0)], [Decimal(0), Decimal(1)], [Decimal(0), Decimal(1)]]


def test_decimals_of_a_database_are_numbers() -> None:
    pa = pytest.importorskip("pyarrow", reason="make test-integrations installs pyarrow")
    import pandas as pd

    floats, truth = np.array(DECIMALS, float), np.array(TRUE, int)
    expected = thresholds.fit_empirical(truth, floats).thresholds.tolist()
    forms = [
        lambda rows: rows,
        lambda rows: np.array(rows, object),
        lambda rows: pd.DataFrame(rows, columns=["cat", "dog"]),
        lambda rows: pd.DataFrame(rows, columns=["cat", "dog"]).astype(pd.ArrowDtype(pa.decimal128(5, 2))),
        lambda rows: pd.DataFrame(rows, columns=["cat", "dog"]).astype({"dog": "Float64"}),
    ]
    for form in forms:
        assert thresholds.fit_empirical(form(TRUE), form(DECIMALS)).thresholds.tolist() == expected
        assert np.asarray(thresholds.FixedRule(0.5, 2).predict(form(DECIMALS))).tolist() == (floats >= 0.5).tolist()
        assert metrics.f1_score(form(TRUE), truth, average="macro") == 1.0
        hidden = [[Decimal(-1), Decimal("NaN")], *TRUE]
        found = thresholds.fit_empirical(form(hidden), form([DECIMALS[0], *DECIMALS]), unknown=("nan", -1))
        assert found.thresholds.tolist() == expected
    for value, message in (
        ("NaN", "y_score has NaN at row 0, label 1, expected real scores"),
        ("sNaN", r"y_score has Decimal\('sNaN'\) of type Decimal, expected real numbers"),
        ("Infinity", r"y_score has \+inf at row 0, label 1"),
    ):
        with pytest.raises(thresholds.InputError, match=message):
            thresholds.FixedRule(0.5, 2).predict([[Decimal(0), Decimal(value)]])
    frame = pd.DataFrame([[Decimal(0), None]], columns=["cat", "dog"]).astype(pd.ArrowDtype(pa.decimal128(5, 2)))
    with pytest.raises(thresholds.InputError, match=r"y_score has no value at row 0, column 'dog'"):
        thresholds.FixedRule(0.5, 2).predict(frame)


def test_arrow_readers_are_read_once_as_tables() -> None:
    pa = pytest.importorskip("pyarrow", reason="make test-integrations installs pyarrow")
    truth, scores = data(KINDS[0])
    table, of_truth = (pa.table({name: cells[:, j] for j, name in enumerate(NAMES)}) for cells in (scores, truth))
    expected = thresholds.fit_empirical(truth, scores, label_names=NAMES)
    found = thresholds.fit_empirical(of_truth.select(NAMES[::-1]).to_reader(50), table.to_reader())
    assert found.thresholds.tolist() == expected.thresholds.tolist()
    assert found.label_names == NAMES
    assert thresholds.fit_expected(table.to_reader()).objective == thresholds.fit_expected(scores).objective
    decided = expected.predict(table.select(NAMES[::-1]).to_reader())
    assert decided.tolist() == expected.predict(scores).tolist()
    rows = thresholds.gather((of_truth.to_reader(), table.to_reader()))
    assert len(rows) == len(truth)
    for _ in range(2):
        assert thresholds.fit_empirical(rows).thresholds.tolist() == expected.thresholds.tolist()
    assert metrics.auroc(of_truth.to_reader(), table.to_reader()).tolist() == metrics.auroc(truth, scores).tolist()
    report = metrics.averages_report(of_truth.to_reader(), of_truth.to_reader())
    assert report["macro"] == metrics.averages_report(of_truth, of_truth)["macro"]
    as_reader = metrics.f1_score(of_truth.to_reader(), of_truth.to_reader(), average="macro")
    assert as_reader == metrics.f1_score(truth, truth, average="macro")

    class Stream:
        """What has nothing but Arrow's protocol."""

        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return table.__arrow_c_stream__(requested_schema)

    assert thresholds.fit_empirical(truth, Stream()).thresholds.tolist() == expected.thresholds.tolist()
    reader = table.to_reader()
    reader.read_all()
    for call in (expected.predict, lambda given: thresholds.fit_empirical(truth, given)):
        with pytest.raises(thresholds.InputError, match=r"^y_score is a RecordBatchReader that gives no rows"):
            call(reader)


def test_what_duckdb_gives_is_read() -> None:
    duckdb = pytest.importorskip("duckdb", reason="make test-integrations installs duckdb")
    pa = pytest.importorskip("pyarrow", reason="make test-integrations installs pyarrow")
    truth, scores = data(KINDS[0])
    table = pa.table({name: scores[:, j] for j, name in enumerate(NAMES)})
    expected = thresholds.fit_empirical(truth, scores).thresholds.tolist()
    with duckdb.connect() as database:
        database.register("scores", table)
        for give in ("arrow", "df", "pl"):
            given = getattr(database.sql("select * from scores"), give)()
            assert thresholds.fit_empirical(truth, given).thresholds.tolist() == expected
        assert thresholds.fit_empirical(truth, database.sql("select * from scores")).thresholds.tolist() == expected


def test_columns_of_label_lists_are_told_where_to_go() -> None:
    pa = pytest.importorskip("pyarrow", reason="make test-integrations installs pyarrow")
    pl = pytest.importorskip("polars", reason="make test-integrations installs polars")
    import pandas as pd

    tags = [["cat"], ["dog", "emu"], []]
    cells = ["cat", "dog|emu", ""]
    given = [make(rows) for make in (pd.Series, pl.Series, pa.array) for rows in (tags, cells)]
    given += [make({"tags": rows}) for make in (pd.DataFrame, pl.DataFrame, pa.table) for rows in (tags, cells)]
    given += [pa.chunked_array([tags]), list(pa.array(tags)), list(pl.Series(tags))]
    given += [make([{"cat": 1}, {"cat": 0}, {"cat": 1}]) for make in (pd.Series, pl.Series, pa.array)]
    for truth in given:
        for unknown in (None, "nan"):
            with pytest.raises(thresholds.InputError, match=r"; thresholds\.from_label_lists makes 0 and 1") as error:
                thresholds.fit_empirical(truth, [[0.5], [0.2], [0.1]], unknown=unknown)
            assert "unknown=" not in str(error.value)


def test_names_beside_scores_are_told_how_to_become_columns() -> None:
    import pandas as pd

    ranked = [
        [{"label": "cat", "score": 0.9}, {"label": "dog", "score": 0.2}],
        [{"label": "dog", "score": 0.8}, {"label": "cat", "score": 0.4}],
    ]
    with pytest.raises(
        thresholds.InputError, match=r"expected real numbers; (pandas\.DataFrame.*y_score\])\)"
    ) as error:
        thresholds.fit_empirical([[1, 0], [0, 1]], ranked)
    advice = str(error.value).split("; ")[1].removesuffix(" has a column for each label")
    table = eval(advice, {"pandas": pd, "y_score": ranked})
    assert table.to_dict("list") == {"cat": [0.9, 0.4], "dog": [0.2, 0.8]}


def test_tensors_in_lists() -> None:
    torch = pytest.importorskip("torch", reason="make test-integrations installs torch")
    truth, scores = data(KINDS[0])
    expected = thresholds.FixedRule(0.5, 4).predict(scores).tolist()
    for kind in (torch.float64, torch.bfloat16):
        given = torch.tensor(scores).to(kind).requires_grad_()
        decided = (given.detach().double() >= 0.5).int().tolist()
        assert thresholds.FixedRule(0.5, 4).predict(list(given)).tolist() == decided
        pairs = [torch.stack([1 - column, column], dim=1) for column in given.T]
        assert thresholds.FixedRule(0.5, 4).predict(pairs).tolist() == decided
    assert expected == thresholds.FixedRule(0.5, 4).predict(list(torch.tensor(scores))).tolist()
    groups = np.arange(len(truth)) // 5
    folds = thresholds.multilabel_folds(truth, 4, groups=groups, random_state=0).tolist()
    for given in (torch.tensor(groups), list(torch.tensor(groups))):
        assert thresholds.multilabel_folds(truth, 4, groups=given, random_state=0).tolist() == folds
    numbers = torch.arange(len(truth)) % 3
    found = [
        thresholds.cross_fit(truth, scores, cv=cv).out_of_fold for cv in (numbers, numbers.tolist(), numbers.numpy())
    ]
    assert len(set(found)) == 1
    for bad in (torch.nested.nested_tensor([torch.zeros(4)], layout=torch.jagged), torch.zeros(2, 4).to_sparse()):
        for call in (thresholds.FixedRule(0.5, 4).predict, thresholds.FixedRule(0.5, 4).rescale):
            with pytest.raises(thresholds.InputError, match=r"y_score is a tensor (nested|of layout)"):
                call(bad)


def test_what_jax_traces_has_no_values() -> None:
    jax = pytest.importorskip("jax", reason="make test-integrations installs jax")
    rule = thresholds.FixedRule(0.5, 4)
    for call in (rule.predict, rule.rescale, thresholds.InstanceRule().predict):
        with pytest.raises(thresholds.InputError, match="cannot be read as an array"):
            jax.jit(call)(np.zeros((2, 4)))
