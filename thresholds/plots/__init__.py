"""How does it look? Displays, drawn with matplotlib (its only import)."""
