"""Every entry of `BAD_INPUTS` and `BAD_METRICS` is refused in one line that names the argument first."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from bad_inputs import BAD_INPUTS, BadInput
from bad_matrices import BAD_ROWS, S, Y, malformed
from bad_metrics import BAD_METRICS
from scipy import sparse

import thresholds

TRY_COO = """
import numpy as np
from scipy import sparse
import thresholds

for call in {calls}:
    cells = sparse.coo_array(np.ones((4, 2)))
    cells.coords = (np.array({rows}), cells.coords[1])
    try:
        eval(call)
        print("accepted")
    except thresholds.InputError as error:
        print(error)
"""
TRY_COLUMNS = """
import sys
import thresholds
from bad_matrices import BAD_COLUMNS, COLUMN, CSR, VECTOR

argument = sys.argv[1]
for what, make in BAD_COLUMNS.items():
    for name in ("f1_score", "averages_report", "confusion_counts", "accuracy_score", "skill_score"):
        for other in (VECTOR, COLUMN, CSR(COLUMN)):
            print(end=f"{what}, {name}: ", flush=True)
            try:
                getattr(thresholds.metrics, name)(**{"y_true": other, "y_pred": other, argument: make()})
                print("accepted")
            except thresholds.InputError as error:
                print(error)
"""
COO_CALLS = {
    "y_score": "thresholds.FixedRule(0.5, 2).predict(cells)",
    "y_true": "thresholds.fit_empirical(cells, np.ones((4, 2)))",
    "probabilities": "thresholds.fit_expected(cells)",
    "y_pred": "thresholds.metrics.f1_score(np.ones((4, 2)), cells, average='macro')",
}


@pytest.mark.parametrize("bad", [*BAD_INPUTS, *BAD_METRICS], ids=str)
def test_bad_input_is_refused_in_one_line(bad: BadInput) -> None:
    with pytest.raises(thresholds.InputError) as caught:
        bad.call()
    message = str(caught.value)
    assert re.match(bad.message, message), message
    assert len(message.splitlines()) == 1, message


def test_every_entry_has_its_own_name() -> None:
    assert [name for name, times in Counter(bad.id for bad in [*BAD_INPUTS, *BAD_METRICS]).items() if times > 1] == []


def test_an_input_error_is_a_value_error() -> None:
    assert issubclass(thresholds.InputError, ValueError)


def test_the_message_names_row_and_label() -> None:
    scores = np.array([[0.1], [0.2], [0.3], [np.nan]])
    with pytest.raises(thresholds.InputError, match=r"^y_score has NaN at row 3, label 'cat'"):
        thresholds.fit_empirical([[0], [1], [0], [1]], scores, label_names=["cat"])


@pytest.mark.parametrize("rows", BAD_ROWS.values(), ids=BAD_ROWS)
def test_a_row_out_of_range_is_refused_before_scipy_writes_there(rows: list[int]) -> None:
    code = TRY_COO.format(rows=rows, calls=[*COO_CALLS.values()])
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    for argument, printed in zip(COO_CALLS, ran.stdout.splitlines(), strict=True):
        assert re.match(f"{argument} is a malformed sparse array: .*", printed)


@pytest.mark.parametrize("argument", ["y_true", "y_pred"])
def test_a_malformed_column_is_refused_before_scipy_reads_it(argument: str) -> None:
    code = [sys.executable, "-W", "error", "-c", TRY_COLUMNS, argument]
    ran = subprocess.run(code, capture_output=True, text=True, check=False, cwd=Path(__file__).parent)
    assert ran.returncode == 0, ran.stdout[-200:] + ran.stderr[-2000:]
    refused = rf".*: {argument} (is a malformed sparse array: |has shape \(8,\), expected)"
    assert [line for line in ran.stdout.splitlines() if not re.match(refused, line)] == []


def test_bad_input_stays_as_it_was() -> None:
    y_score = np.where(Y == 1, np.nan, S)
    before = y_score.copy()
    cells = malformed(sparse.csr_array, indices=np.arange(8))
    for bad in (y_score, cells):
        with pytest.raises(thresholds.InputError):
            thresholds.fit_empirical(Y, bad)
    np.testing.assert_array_equal(y_score, before)
    np.testing.assert_array_equal(cells.indices, np.arange(8))
