"""Which loops are compiled? All are here: arrays in, arrays out, never raising.

Beside them lie functions of the same kind, for which NumPy is good enough. What all lead to, a fit or a metric, has a
twin in `tests/naive/`; each kernel is held to its own uncompiled self, bit for bit (`tests/kernels/draws.py`).
"""
