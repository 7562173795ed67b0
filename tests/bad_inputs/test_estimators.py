"""Every entry of `BAD_SKLEARN` is refused with a ValueError whose message says why."""

from collections import Counter
from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_limits

from tests.bad_inputs.estimators import BAD_SKLEARN, Bad


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    with threadpool_limits(1):
        yield


@pytest.mark.parametrize("bad", BAD_SKLEARN, ids=str)
def test_bad_input_is_refused(bad: Bad) -> None:
    with pytest.raises(ValueError, match=rf"^(?:{bad.message})"):
        bad.call()


def test_every_entry_is_told_apart() -> None:
    assert [what for what, times in Counter(map(str, BAD_SKLEARN)).items() if times > 1] == []
