"""Are these scores like those that a rule was fitted on?

`profile.py` is what a rule keeps of its fit, `check.py` tests new scores against it, `causes.py`
says what may have happened, and `findings.py` has the words. Read `check.py` first.
"""
