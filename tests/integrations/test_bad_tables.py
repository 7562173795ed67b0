"""Every entry of `BAD_TABLES` is refused in one line that says what was found and what was expected."""

import re
from pathlib import Path

import pytest

from tests.bad_inputs.tables import BAD_TABLES, BadTable
from thresholds import InputError
from thresholds.files import gather, open_scores


@pytest.mark.parametrize("bad", BAD_TABLES, ids=str)
def test_bad_tables_are_refused(bad: BadTable, tmp_path: Path) -> None:
    bad.make(tmp_path)
    truth = None if bad.truth_path is None else tmp_path / bad.truth_path
    with pytest.raises(InputError) as caught:
        gather(open_scores(tmp_path / bad.path, bad.wanted, truth_path=truth))
    message = str(caught.value)
    assert re.match(bad.message, message), message
    assert "\n" not in message
