"""How do I fit thresholds while a network trains? By a callback or a metric of the library that trains it.

`epoch.py` has what all of them do when an epoch ends, `processes.py` how several processes fit one rule, `checksums.py`
how the weights that a rule belongs to are known again. Each library has a module of its own, and is imported by that
alone.
"""
