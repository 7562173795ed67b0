"""Checksums tell weights apart, whatever the device, and are silent where they cannot know."""

from typing import Any

import pytest

from thresholds.training.checksums import are_others, checksums

torch = pytest.importorskip("torch", reason="make test-integrations installs torch")


def network(seed: int = 0) -> Any:
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Linear(3, 2))


def test_the_same_weights_have_the_same_sums() -> None:
    ours = checksums(network())
    assert ours == checksums(network())
    assert not are_others(ours, checksums(network()))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_one_bit_is_noticed(dtype: Any) -> None:
    model = network().to(dtype)
    before = checksums(model)
    with torch.no_grad():
        model[1].bias[0] = torch.nextafter(model[1].bias[0], torch.tensor(9.0, dtype=dtype))
    assert are_others(before, checksums(model))


def test_a_view_has_the_sums_of_a_copy() -> None:
    model, turned = network(), network()
    turned[0].weight = torch.nn.Parameter(model[0].weight.detach().t().contiguous().t())
    assert not turned[0].weight.is_contiguous()
    assert checksums(turned) == checksums(model)


def test_another_precision_tells_nothing() -> None:
    assert not are_others(checksums(network()), checksums(network().to(torch.bfloat16)))


def test_another_network_is_another() -> None:
    assert are_others(checksums(network()), checksums(network(seed=1)))


def test_what_lies_on_no_device_is_not_known() -> None:
    assert checksums(network().to("meta")) is None
    assert not are_others(None, checksums(network()))
