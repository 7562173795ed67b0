"""How is the best cut of a label found? `test_best_cuts.py` says what is found, the others what must not matter."""
