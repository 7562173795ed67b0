"""How does it look? Displays, drawn with matplotlib (its only import).

`XDisplay.from_...` computes what is drawn, `plot(ax=None)` draws it, and `result.plot()` is the short way to both.
"""

from thresholds.plots.comparison import AgreementDisplay, ComparisonDisplay
from thresholds.plots.curves import FCurveDisplay, PrecisionRecallDisplay
from thresholds.plots.diagnosis import OverpredictionDisplay
from thresholds.plots.differences import DifferenceDisplay
from thresholds.plots.reliability import ReliabilityDisplay
from thresholds.plots.rule import ThresholdsDisplay
from thresholds.plots.validation import BootstrapDisplay, OptimismDisplay

__all__ = [
    "AgreementDisplay",
    "BootstrapDisplay",
    "ComparisonDisplay",
    "DifferenceDisplay",
    "FCurveDisplay",
    "OptimismDisplay",
    "OverpredictionDisplay",
    "PrecisionRecallDisplay",
    "ReliabilityDisplay",
    "ThresholdsDisplay",
]
