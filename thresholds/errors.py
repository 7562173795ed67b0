"""The one kind of refusal, how it shows what was found, and what is said where a library is missing."""

from importlib.util import find_spec

_LONGEST = 60


class InputError(ValueError):
    """Raised for arguments that cannot be used: names the argument, what was found, what was expected."""


class MissingLibraryError(ImportError):
    """Raised where a library is needed that is not installed: names what needs it, and what pip installs."""


def need(library: str, what: str) -> None:
    """Refuse to do what needs a library that is not installed; pip knows it by the name that imports it."""
    if find_spec(library) is None:
        raise MissingLibraryError(f"{what} needs {library}: pip install {library}")


def shown(value: object) -> str:
    """Show a value on one line, shortened."""
    text = " ".join(repr(value).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
