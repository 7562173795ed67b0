"""After `warmup` nothing is compiled, whatever the data."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from thresholds import warming


def new_kernels(*purposes: str) -> list[str]:
    """What a process loads or compiles after a warm-up; it has met no other data."""
    command = [sys.executable, "-m", "tests.warm_process", *purposes]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    found: list[str] = json.loads(done.stdout)
    return found


@pytest.mark.slow
def test_after_a_warm_up_nothing_is_compiled() -> None:
    assert new_kernels() == []


@pytest.mark.soak
@pytest.mark.parametrize("purpose", warming.PURPOSES)
def test_a_purpose_has_all_that_it_needs(purpose: str) -> None:
    assert new_kernels(purpose) == []
