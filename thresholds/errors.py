"""The one kind of refusal, and how it shows what was found."""

_LONGEST = 60


class InputError(ValueError):
    """Raised for arguments that cannot be used: names the argument, what was found, what was expected."""


def shown(value: object) -> str:
    """Show a value on one line, shortened."""
    text = " ".join(repr(value).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
