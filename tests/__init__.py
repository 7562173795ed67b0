"""Tests, in the rooms of the library; twins in `naive`, tables of bad input in `bad_inputs`."""
