"""What is drawn here is drawn in memory."""

from collections.abc import Iterator

import matplotlib
import pytest
from matplotlib import pyplot


@pytest.fixture(autouse=True)
def off_screen() -> Iterator[None]:
    """Close every figure, and see to it that no setting is left changed."""
    matplotlib.use("Agg")
    before = dict(matplotlib.rcParams)
    yield
    assert dict(matplotlib.rcParams) == before
    pyplot.close("all")
