"""Compiled loops, and what answers before they are compiled."""
