"""Every test of a display draws in memory, and leaves no figure and no setting behind."""

from collections.abc import Iterator

import matplotlib
import pytest
from matplotlib import pyplot


@pytest.fixture(autouse=True)
def off_screen() -> Iterator[None]:
    """Draw in memory; every figure is closed, and no setting is left changed."""
    matplotlib.use("Agg")
    before = dict(matplotlib.rcParams)
    yield
    assert dict(matplotlib.rcParams) == before
    pyplot.close("all")
