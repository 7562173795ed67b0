"""How does it look? Displays, drawn with matplotlib (its only import).

`XDisplay.from_...` computes what is drawn, `plot(ax=None)` draws it, and `result.plot()` is the short way to both.
"""

from thresholds.plots.curves import FCurveDisplay, PrecisionRecallDisplay
from thresholds.plots.reliability import ReliabilityDisplay

__all__ = [
    "FCurveDisplay",
    "PrecisionRecallDisplay",
    "ReliabilityDisplay",
]
