"""Rows from wherever they lie."""
