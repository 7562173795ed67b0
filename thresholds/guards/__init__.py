"""Will they hold on new data? Guards give thresholds that do worse on the sample and better elsewhere.

The best of many cuts on a sample is best there in part by luck: the winner's curse (Lipton et al. 2013, section 8).
"""

from thresholds.guards.fitting import fit_guarded, guard_name
from thresholds.guards.limits import Limits
from thresholds.guards.options import Guard, Shrink, chosen_guard

__all__ = ["Guard", "Limits", "Shrink", "chosen_guard", "fit_guarded", "guard_name"]
