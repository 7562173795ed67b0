"""My data are larger than memory, or come in pieces: how do I use them?

Whatever a caller has becomes arrays: those that lie in memory, or are mapped into it, stay where they are; all else is
decoded once, and kept in temporary files that are mapped. Then the ordinary functions read them: they copy a few labels
at a time.
"""
