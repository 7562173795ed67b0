"""What F is to be expected, without labels?

`value.py` says it of given decisions. `counts.py` has F of expected counts, and the best cuts for
it; `outcomes.py` the expectation over outcomes of independent labels, `dependent.py` of dependent
ones, and the best sets for it.
"""
