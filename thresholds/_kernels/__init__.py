"""Every compiled loop of the project: arrays in, arrays out, never raises. Each has a twin in `tests/`."""
