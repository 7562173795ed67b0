"""Texts as tests read them."""


def flat(text: object) -> str:
    """Text on one line: where lines are broken is no matter of the words (`test_results.py` has that)."""
    return " ".join(str(text).split())
