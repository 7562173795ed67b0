"""Tests run compiled kernels from the first call on; `test_stand_ins.py` holds what answers before to them.

Nothing is said of compilation, in this process and in those that tests start: some tests read all of stderr.
`test_compile_notice.py` is about that line.
"""

import os

from thresholds._kernels._jit import StandIns
from thresholds._kernels.notice import SWITCH

StandIns.seconds_left = 0
os.environ[SWITCH] = "0"
