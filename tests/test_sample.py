"""The cases that `make test` takes of functions marked `each_value` or `each_pair`."""

from itertools import combinations, product

import pytest

from tests.conftest import sample

CASES = [dict(zip("abc", numbers, strict=True)) for numbers in product(range(4), range(3), range(2))]


def chosen(cases: list[dict[str, int]], draws: dict[str, int], n_together: int) -> list[dict[str, int]]:
    return [case for case, is_chosen in zip(cases, sample(cases, draws, n_together), strict=True) if is_chosen]


@pytest.mark.parametrize(("n_together", "fewest"), [(1, 4), (2, 12)])
def test_any_values_of_so_many_arguments_meet(n_together: int, fewest: int) -> None:
    few = chosen(CASES, {}, n_together)
    assert fewest <= len(few) < len(CASES)
    for names in combinations("abc", n_together):
        assert {tuple(case[name] for name in names) for case in few} == {
            tuple(case[name] for name in names) for case in CASES
        }


def test_so_many_draws_are_taken() -> None:
    assert len({case["a"] for case in chosen(CASES, {"a": 2}, 2)}) == 2
    assert len(chosen([{"seed": seed} for seed in range(9)], {"seed": 3}, 1)) == 3
    assert len(chosen([{"seed": seed} for seed in range(9)], {"seed": 3}, 2)) == 3


@pytest.mark.parametrize("n_few", [2, 3, 4])
def test_values_are_chosen_equally_often(n_few: int) -> None:
    """Or a fixture of few values would have all but one of its cases with the same."""
    few = chosen([{"a": a, "b": b} for a, b in product(range(12), range(n_few))], {}, 1)
    assert [sum(case["b"] == b for case in few) for b in range(n_few)] == [12 // n_few] * n_few
