"""Are these the weights that a rule was fitted to? A checksum of each parameter tells."""

from typing import Any

Checksums = tuple[tuple[str, int], ...]  # of each parameter, its precision and its sum


def checksums(model: Any) -> Checksums | None:
    """Add up the bits of each parameter, read as whole numbers, so that the sums are the same on all devices.

    Returns
    -------
    None where that is not known: of parameters that lie on no device, or that several processes share out.
    """
    import torch

    # By bytes of a number.
    whole_numbers = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    sums = []
    for parameter in model.parameters():
        kind = whole_numbers.get(parameter.element_size())
        if type(parameter) is not torch.nn.Parameter or parameter.is_meta or kind is None:
            return None
        bits = parameter.detach().contiguous().view(-1).view(kind)
        sums.append((str(parameter.dtype), int(bits.sum(dtype=torch.int64))))
    return tuple(sums)


def are_others(before: Checksums | None, now: Checksums | None) -> bool:
    """Whether weights are known to be others: not where they are the same in another precision, as far as one knows."""
    if before is None or now is None or before == now:
        return False
    precisions = [[precision for precision, _ in weights] for weights in (before, now)]
    return precisions[0] == precisions[1]
