"""Words of sentences: how many there are of a thing, shares, names, lists."""

import math
from collections.abc import Collection, Sequence
from itertools import islice

from thresholds._results.text import on_one_line, shortened


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


def shown_name(name: object) -> str:
    """Return a name on one line, shortened, as sentences have it; they say so where there is none."""
    return shortened(on_one_line(str(name))) or "(no name)"


def first_names(names: Collection[object], k: int) -> str:
    """List the first k names, and say how many more there are."""
    return and_others([shown_name(name) for name in islice(names, k)], len(names))


def and_others(shown: Sequence[str], n: int) -> str:
    """List those of n things that are shown, and say how many more there are."""
    n_others = n - len(shown)
    return ", ".join(shown) + (f" and {counted(n_others, 'other')}" if n_others else "")
