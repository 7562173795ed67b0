"""The probability that chance would add as many true rows, by going through all ways in which rows can be true."""

from fractions import Fraction
from itertools import product


def upper_tail(n_added: int, n_dropped: int, least: int, p: Fraction) -> Fraction:
    """Return P(true rows added - true rows dropped >= least), each row being true with probability p."""
    total = Fraction(0)
    for added in product((0, 1), repeat=n_added):
        for dropped in product((0, 1), repeat=n_dropped):
            n_true = sum(added) + sum(dropped)
            if sum(added) - sum(dropped) >= least:
                total += p**n_true * (1 - p) ** (n_added + n_dropped - n_true)
    return total
