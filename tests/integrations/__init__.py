"""Other libraries: what they hold is taken, and what comes out is of their kind."""
