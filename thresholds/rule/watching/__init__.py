"""Are these scores like those that a rule was fitted on?

`profile.py` is what a rule keeps of its fit, and `describing.py` makes it, of rows that `sampling.py` chooses. On each
call of `predict`, `noticing.py` looks whether new scores need testing. `check.py` tests them, by `shift.py`, how far
they have moved (`distances.py` says what is far); `causes.py` says what may have happened, and `findings.py` has the
words. Read `check.py` first.
"""
