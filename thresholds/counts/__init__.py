"""My data lie on a cluster, or in a database: how do I fit them where they are?

A fit reads of each label what weighs at which score, and that adds up over rows: `Counts` of parts of the rows, made
wherever these lie, are added in any order, and fitted with the result of all rows at once.
"""
