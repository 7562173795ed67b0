"""Words of sentences: how many there are of a thing, and shares."""

import math


def counted(number: int, thing: str) -> str:
    """Say how many there are of a thing."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def are(number: int) -> str:
    """Return the verb for so many."""
    return "is" if number == 1 else "are"


def n_more(n: int, k: int, thing: str = "") -> str:
    """Say how many of n rows (or things) are left out where k are shown, nothing where none is."""
    if n <= k:
        return ""
    return f"... {counted(n - k, f'more {thing}')}" if thing else f"... {n - k:,} more"


def figure(value: float) -> str:
    """Return a share, or an F, to four digits; nothing for NaN."""
    return "" if math.isnan(value) else f"{value:.4f}"


def in_percent(level: float) -> str:
    """Write a level that was asked for, such as a confidence, in per cent, unrounded: .999 is no certainty."""
    return f"{100 * level:.10g} %"


def percent(share: float) -> str:
    """Write a share in whole per cents; one near none or all in tenths, and never rounded to that."""
    if 0 < share < 0.001:
        return "less than 0.1 %"
    if 0.999 < share < 1:
        return "more than 99.9 %"
    if 0 < share < 0.01 or 0.99 < share < 1:
        return f"{100 * share:.1f} %"
    return f"{100 * share:.0f} %"
