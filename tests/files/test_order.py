"""What an order tells of labels: nothing, where names with numbers are sorted as text."""

import pytest

from thresholds.files.order import FileLabels, are_sorted_as_text


@pytest.mark.parametrize(
    ("names", "are_sorted"),
    [
        (("1", "10", "2"), True),
        (("class_1", "class_10", "class_2"), True),
        (("3", "1", "2"), True),
        (("1", "2", "10"), False),
        (("01", "02", "10"), False),
        (("class_1", "class_2", "class_10"), False),
        (("CYP2C19", "CYP2C9"), False),  # names, and no numbers of one kind
        (("a10", "b2"), False),
        (("cat", "dog"), False),
        (("cat",), False),
        ((), False),
        (("1", "2" + 5000 * "0", "3"), True),
    ],
)
def test_numbers_may_be_sorted_as_text(names: tuple[str, ...], are_sorted: bool) -> None:
    assert are_sorted_as_text(names) == are_sorted


@pytest.mark.parametrize(
    ("names", "are_numbers"),
    [
        (("10", "20"), True),
        (("1", "2", "3"), True),
        (("0", "1", "2"), False),  # their positions
        (("00", "01", "02"), False),
        (("1", "cat"), False),
        (None, False),
    ],
)
def test_labels_may_be_called_by_numbers_that_are_no_positions(
    names: tuple[str, ...] | None, are_numbers: bool
) -> None:
    assert FileLabels(names, len(names or "ab"), has_order=True).are_numbers == are_numbers
