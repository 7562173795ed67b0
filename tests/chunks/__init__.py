"""Counts that are added up over blocks of rows."""
