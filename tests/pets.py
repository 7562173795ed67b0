"""Three labels of seven rows, which tests of situations and of files have in all forms."""

import numpy as np

NAMES = ["cat", "dog", "emu"]
LISTS = [["cat"], ["dog"], ["cat", "dog"], [], ["cat"], ["dog"], ["cat", "emu"]]
TRUTH = np.array([[name in row for name in NAMES] for row in LISTS], int)
SCORES = np.array(
    [
        [0.9, 0.2, 0.1],
        [0.3, 0.7, 0.2],
        [0.8, 0.6, 0.1],
        [0.4, 0.1, 0.3],
        [0.35, 0.2, 0.2],
        [0.1, 0.5, 0.1],
        [0.6, 0.3, 0.9],
    ]
)
