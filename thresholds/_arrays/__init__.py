"""How are arrays walked through? Types, dtypes, blocks, threads; nothing is refused here."""
