"""What is promised on new rows, with which probability?

A floor of precision, or of recall, that a fit keeps on its own rows need not hold on others. Here it is found which
thresholds are shown to keep it: `exact_tests.py` has the test, `order_statistics.py` applies it to recall,
`fixed_sequence.py` to precision, `family.py` shares an error that is allowed among labels, and `floors.py` brings them
together. What is promised is said by `rule/guarantees.py`.
"""
