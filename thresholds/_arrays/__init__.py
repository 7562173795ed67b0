"""How are arrays walked through? Types, dtypes, blocks, threads; values are refused in `_checks/`."""
