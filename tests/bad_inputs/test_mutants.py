"""Mutated files through every command: no traceback, nothing written on an error, no more than a stated memory."""

import resource
from functools import cache
from pathlib import Path

import pytest

from tests.bad_inputs import mutants

_MOST = 2**30  # bytes that reading takes beside what it reads (docs/files.md)
_SEED = 0


@cache
def cases() -> list[mutants.Case]:
    """Formats that need NumPy alone; those of pyarrow are in `integrations/test_arrow_mutants.py`."""
    return mutants.core_cases()


@pytest.mark.slow
@pytest.mark.each_value(part=1)
@pytest.mark.parametrize("part", range(4))
def test_mutated_files_are_refused_or_read(part: int, tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(60 * part, 60 * (part + 1)):
        assert mutants.misdeed(cases(), _SEED, number, tmp_path / "run") is None
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < _MOST


def test_a_mutant_is_told_by_its_numbers_and_differs_from_its_file() -> None:
    first, again = (mutants.mutant(cases(), 3, 8) for _ in range(2))
    assert first.files == again.files
    assert first.files[first.changed] != first.case.files[first.changed]
