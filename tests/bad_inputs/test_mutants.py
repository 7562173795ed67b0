"""Mutated files through every command: no traceback, nothing written on an error, no more than a stated memory."""

from functools import cache

import pytest

from tests.bad_inputs import fuzz, mutants


@cache
def cases() -> list[mutants.Case]:
    """Formats that need NumPy alone; those of pyarrow are in `integrations/test_arrow_mutants.py`."""
    return mutants.core_cases()


@pytest.mark.slow
@pytest.mark.each_value(part=1)
@pytest.mark.parametrize("part", range(4))
def test_mutated_files_are_refused_or_read(part: int) -> None:
    assert fuzz.said_of("mutants.core_cases()", 60, 60 * part) is None


def test_a_mutant_that_ends_its_process_has_failed_and_is_named() -> None:
    """The second of three ends it; the third is run all the same."""
    code = "judged, fuzz._judged = fuzz._judged, lambda *given: os.abort() if given[3] == 6 else judged(*given)"
    said = fuzz.said_of("mutants.core_cases()", 3, 5, before=code)
    assert said is not None
    assert "mutant 6 (" in said
    assert "the process died or hung" in said
    assert "1 failed" in said


def test_a_mutant_is_told_by_its_numbers_and_differs_from_its_file() -> None:
    first, again = (mutants.mutant(cases(), 3, 8) for _ in range(2))
    assert first.files == again.files
    assert first.files[first.changed] != first.case.files[first.changed]
