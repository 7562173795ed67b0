"""Will they hold on new data?

The best of many cuts on a sample is best there in part by luck: the winner's curse (Lipton et al.
2013, section 8). A guard chooses thresholds that do worse on the sample and better elsewhere. It
reads the histograms of the labels (`_engine/histograms.py`): it predicts a bin whole, or not at all,
so that what it counts is what its thresholds decide.

A new guard needs a file with a class, as `shrink.py`, which has one method (`base.py` says what it
is given and what it returns), and a line in `names.py`. What it does is said in the docstring of
`fit_empirical`; the class is among the public names in `thresholds/__init__.py`; a twin is in
`tests/naive/guards.py`.

`fitting.py` asks a guard, `limits.py` keeps limits, whatever the guard. What guards share: `cuts.py`
cuts labels at the ranks that a guard wants, `pooled_curve.py` fits one curve to all labels, and
`groups.py` says what rows of groups are worth.
"""
