"""Every entry of `BAD_INPUTS`, `BAD_METRICS` and `BAD_PLOTS` is refused in one line that names the argument first."""

import re
import subprocess
import sys
from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import thresholds
from tests.bad_inputs.arguments import BAD_INPUTS, BadInput
from tests.bad_inputs.judging import BAD_JUDGING
from tests.bad_inputs.matrices import BAD_ROWS, S, Y, malformed
from tests.bad_inputs.metrics import BAD_METRICS
from tests.bad_inputs.plots import BAD_PLOTS
from tests.bad_inputs.sources import BAD_SOURCES

TRY_COO = """
import numpy as np
from scipy import sparse
import thresholds

for rows in {every}:
    for call in {calls}:
        cells = sparse.coo_array(np.ones((4, 2)))
        cells.coords = (np.array(rows), cells.coords[1])
        try:
            eval(call)
            print("accepted")
        except thresholds.InputError as error:
            print(error)
"""
TRY_COLUMNS = """
import thresholds
from tests.bad_inputs.matrices import BAD_COLUMNS, COLUMN, CSR, VECTOR

for what, make in BAD_COLUMNS.items():
    for name in ("f1_score", "averages_report", "confusion_counts", "accuracy_score", "skill_score"):
        for other in (VECTOR, COLUMN, CSR(COLUMN)):
            for argument in ("y_true", "y_pred"):
                print(end=f"{what}, {name}, {argument}: ", flush=True)
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
EVERY = [*BAD_INPUTS, *BAD_SOURCES, *BAD_JUDGING, *BAD_METRICS, *BAD_PLOTS]
BY_CALL: dict[str, list[BadInput]] = {}  # the entries by what they call, with which their names begin
for bad in EVERY:
    BY_CALL.setdefault(bad.id.split(":")[0], []).append(bad)


def what_is_wrong(bad: BadInput) -> str | None:
    """What happens instead of a refusal in one line that names the argument first; None where all is right."""
    try:
        bad.call()
    except thresholds.InputError as error:
        message = str(error)
        right = re.match(bad.message, message) and len(message.splitlines()) == 1
        return None if right else f"{bad.id}: {message}"
    except Exception as error:
        return f"{bad.id}: {error!r}"
    return f"{bad.id}: accepted"


@pytest.mark.parametrize("name", BY_CALL)
def test_bad_input_is_refused_in_one_line(name: str) -> None:
    assert [wrong for bad in BY_CALL[name] if (wrong := what_is_wrong(bad))] == []


def test_every_entry_has_its_own_name() -> None:
    assert [name for name, times in Counter(bad.id for bad in EVERY).items() if times > 1] == []


def test_an_input_error_is_a_value_error() -> None:
    assert issubclass(thresholds.InputError, ValueError)


def test_the_message_names_row_and_label() -> None:
    scores = np.array([[0.1], [0.2], [0.3], [np.nan]])
    with pytest.raises(thresholds.InputError, match=r"^y_score has NaN at row 3, label 'cat'"):
        thresholds.fit_empirical([[0], [1], [0], [1]], scores, label_names=["cat"])


def test_a_row_out_of_range_is_refused_before_scipy_writes_there() -> None:
    code = TRY_COO.format(every=[*BAD_ROWS.values()], calls=[*COO_CALLS.values()])
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    for (rows, argument), printed in zip(product(BAD_ROWS, COO_CALLS), ran.stdout.splitlines(), strict=True):
        assert re.match(f"{argument} is a malformed sparse array: .*", printed), (rows, printed)


def test_a_malformed_column_is_refused_before_scipy_reads_it() -> None:
    code = [sys.executable, "-W", "error", "-c", TRY_COLUMNS]
    ran = subprocess.run(code, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert ran.returncode == 0, ran.stdout[-200:] + ran.stderr[-2000:]
    refused = r".*, (y_true|y_pred): \1 (is a malformed sparse array: |has shape \(8,\), expected)"
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
