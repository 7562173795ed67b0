"""The witnesses: every rule and measure from its definition, tried exhaustively; nothing comes from the library."""
