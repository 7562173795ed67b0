"""How do I fit thresholds while a network trains? By a callback or a metric of the library that trains it.

`epoch.py` has what all of them do when an epoch ends. Each library has a module of its own, and is imported by that
alone.
"""
