"""Nothing is said of compilation, in this process and in those that tests start: some tests read all of stderr.
`test_compile_notice.py` is about that line.

`make test` leaves to `make soak`, which runs everything, what costs more than it detects: tests marked `soak`, and of
functions marked `each_value` or `each_pair` the cases that repeat what others show. Tests marked `slow` take a second
or more, most of them in processes of their own, to compile, to be interrupted, or to lack a library: `make
test-integrations` runs them, with `--slow`.
"""

import gc
import os
from collections import Counter
from collections.abc import Generator, Mapping
from itertools import combinations
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

# Before NumPy is loaded: threads of OpenBLAS wait for each other, busily, where the tests of two workers run. A
# calibration of a few labels, whose search has matrices of 20 by 20, takes seven times as long with them.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from thresholds._kernels._jit import Kernel
from thresholds._kernels.notice import SWITCH

os.environ[SWITCH] = "0"

# A busy machine is no fault of a test.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak", action="store_true", help="also run what costs more than it detects")
    parser.addoption("--slow", action="store_true", help="also run what takes seconds in processes of its own")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests without a look for garbage: what is made is kept, and would be looked through again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what `make soak` runs; a test that is asked for by its name is run."""
    if config.getoption("soak") or any("::" in argument for argument in config.args):
        return
    markers = ["soak"] if config.getoption("slow") else ["soak", "slow"]
    left_out = {item for item in items if any(item.get_closest_marker(name) for name in markers)}
    for marker, n_together in (("each_value", 1), ("each_pair", 2)):
        cases: dict[str, list[pytest.Item]] = {}  # of each function
        for item in items:
            if item.get_closest_marker(marker) and hasattr(item, "callspec"):
                cases.setdefault(item.nodeid.split("[")[0], []).append(item)
        for of_function in cases.values():
            draws = of_function[0].get_closest_marker(marker).kwargs
            chosen = sample(numbered([item.callspec.params for item in of_function]), draws, n_together)
            left_out.update(item for item, is_chosen in zip(of_function, chosen, strict=True) if not is_chosen)
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


def pytest_collection_finish() -> None:
    """Refuse modules that need kernels to be collected, as each worker would wait."""
    if Kernel.in_use:
        raise pytest.UsageError(
            f"collecting tests took {len(Kernel.in_use)} kernels: make what is fitted when a test asks for it"
        )
    gc.set_threshold(20_000)  # Numba makes many objects: to look for garbage takes a sixth of compiling with 700.


def numbered(cases: list[Mapping[str, object]]) -> list[Mapping[str, int]]:
    """The arguments of each case with the numbers of their values, in the order in which these first occur."""
    numbers: dict[str, dict[int, int]] = {name: {} for name in cases[0]}
    return [
        {name: numbers[name].setdefault(id(value), len(numbers[name])) for name, value in case.items()}
        for case in cases
    ]


def sample(cases: list[Mapping[str, int]], draws: Mapping[str, int], n_together: int) -> list[bool]:
    """Which cases are needed for all values of so many arguments to meet that meet in any case.

    A case has, for each argument, the number of its value; `draws` says of arguments whose values are draws of one
    kind how many of these suffice.
    """
    few = {name: sorted({case[name] for case in cases}, key=_shuffled)[:n] for name, n in draws.items()}
    shown = [
        set(combinations(sorted(case.items()), min(n_together, len(case))))
        if all(case[name] in numbers for name, numbers in few.items())
        else set()
        for case in cases
    ]
    missing = set().union(*shown)
    chosen = [False] * len(cases)
    times: Counter[tuple[str, int]] = Counter()  # how often each value is chosen
    while missing:
        # The case that shows most; of equals the one whose values are chosen least; of these any.
        best = max(
            range(len(cases)),
            key=lambda i: (len(shown[i] & missing), -sum(times[value] for value in cases[i].items()), _shuffled(i)),
        )
        chosen[best] = True
        times.update(cases[best].items())
        missing -= shown[best]
    return chosen


def _shuffled(number: int) -> int:
    """A place in an order that is the same everywhere, and has nothing to do with that of the numbers."""
    return crc32(str(number).encode())
