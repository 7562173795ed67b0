"""Drawing: `result.plot()` is the short way to a display, which is made from the result, in a room above it.

The package says where displays are when it is imported (`thresholds/__init__.py`), so that nothing here knows it, and
whoever draws nothing loads none.
"""

from collections.abc import Callable
from inspect import signature
from typing import Any

displays: list[Callable[[], Any]] = []  # one function, which returns `thresholds.plots`


def draw(result: object, display: str, ax: Any, options: dict[str, Any]) -> Any:
    """Make the display of a result, by its class and constructor as "XDisplay.from_x", and plot it."""
    name, constructor = display.split(".")
    make = getattr(getattr(displays[0](), name), constructor)
    known = signature(make).parameters
    made = make(result, **{name: options.pop(name) for name in [*options] if name in known})
    return made.plot(ax, **options)
