"""Which loop searches."""

from collections.abc import Callable

import pytest

from thresholds._engine import best_cuts, columns

MOST_SORTED_CELLS = {"sorting": 2**62, "kernels": 0}


@pytest.fixture
def search_by(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Tell which loop searches, "sorting" or "kernels", however large a problem is."""
    return lambda loop: monkeypatch.setattr(best_cuts, "_MOST_SORTED_CELLS", MOST_SORTED_CELLS[loop])


@pytest.fixture(params=MOST_SORTED_CELLS)
def by(request: pytest.FixtureRequest, search_by: Callable[[str], None]) -> str:
    """One loop after the other."""
    search_by(request.param)
    return str(request.param)


@pytest.fixture
def narrow_stripes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read so few labels and rows at a time that small data are read in many pieces."""
    for name, value in (("_STRIPE", 2), ("_LEAST_CELLS", 1), ("_BLOCK", 50)):
        monkeypatch.setattr(columns, name, value)
