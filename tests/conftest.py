"""Tests run compiled kernels from the first call on; `test_stand_ins.py` holds what answers before to them."""

from thresholds._kernels._jit import StandIns

StandIns.seconds_left = 0
