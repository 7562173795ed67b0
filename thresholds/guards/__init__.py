"""Will they hold on new data?

The best of many cuts on a sample is best there in part by luck: the winner's curse (Lipton et al.
2013, section 8). A guard chooses thresholds that do worse on the sample and better elsewhere.

A new guard is a class with one method, `fit` (`base.AnyGuard`), in a file of its own, as
`shrink.Shrink` is; one entry in `options.py` gives it its name. `cuts.py` cuts labels at the ranks
that a guard wants, `limited.py` keeps limits.
"""

from thresholds.guards.base import AnyGuard
from thresholds.guards.fitting import fit_guarded, guard_name
from thresholds.guards.limits import Limits
from thresholds.guards.options import Guard, chosen_guard
from thresholds.guards.shrink import Shrink

__all__ = ["AnyGuard", "Guard", "Limits", "Shrink", "chosen_guard", "fit_guarded", "guard_name"]
