"""Which loops are compiled? All are here: arrays in, arrays out, never raising. Each has a twin in `tests/naive/`."""
