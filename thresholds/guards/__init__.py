"""Will they hold on new data?

The best of many cuts on a sample is best there in part by luck: the winner's curse (Lipton et al.
2013, section 8). A guard chooses thresholds that do worse on the sample and better elsewhere.
`cuts.py` cuts labels at the ranks that a guard wants, `limited.py` keeps limits, `fall_back.py`
predicts always where scores know next to nothing, `groups.py` says what rows of groups are worth.
A guard reads the histograms of the labels (`_engine/histograms.py`): it predicts a bin whole, or not
at all, so that what it counts is what its thresholds decide.

A new guard needs
1. a class with one method, `cuts` (`base.BaseGuard`), in a file of its own, as `shrink.Shrink`;
2. its name in `names.py`, and the class in `options.py`;
3. what it does in the docstring of `fit_empirical`, and the class among the public names in
   `thresholds/__init__.py`;
4. a twin in `tests/naive/guards.py`.
"""
