"""Tests run compiled kernels from the first call on; `test_stand_ins.py` holds what answers before to them.

Nothing is said of compilation, in this process and in those that tests start: some tests read all of stderr.
`test_compile_notice.py` is about that line.
"""

import os

from thresholds._kernels._jit import StandIns
from thresholds._kernels.notice import SWITCH

os.environ[SWITCH] = "0"


def pytest_collection_finish() -> None:
    """Have stand-ins answer while tests are collected: what is fitted then must not wait for compilation."""
    StandIns.seconds_left = 0
