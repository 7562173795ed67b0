"""How does a rule decide inside another program: a PyTorch model, or one without this library?

Each file here is for one such place. It is imported when it is first asked for, as it needs a library of its own.
"""

from importlib.util import find_spec


def need(library: str, what: str, brought_by: str) -> None:
    """Refuse to do what needs a library that is not installed; `brought_by` is what pip installs for it."""
    if find_spec(library) is None:
        raise ImportError(
            f"{what} needs {library}, expected it to be installed: pip install '{brought_by}'"
        )
