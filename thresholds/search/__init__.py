"""Where does the best cut lie, exactly, and how is it found so fast?

`staircase.py` has the statistic: the steps of each label, and its best step. `placement.py` puts a
threshold into the gap below a cut. `joint_micro.py` chooses the cuts of all labels together, for
micro F.
"""
