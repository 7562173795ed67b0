"""What is guaranteed on new rows, with which probability?

A floor of precision, or of recall, that a fit keeps on its own rows need not hold on others. Here it is found which
thresholds are shown to keep it, by tests whose error is stated. What is guaranteed is said by `rule/guarantees.py`.

Floors of each label: `floors_of_labels.py` shares the error among labels, `tests_of_labels.py` finds the thresholds
that keep them, by the binomial tests of `exact_tests.py`. Floors of all labels together: `floors_of_rows.py` chooses
among thresholds that fall together (`paths.py`), `tests_of_rows.py` finds those that keep them, by the bets of
`bets.py`. Either way `independent_rows.py` says what a test may count.
"""
