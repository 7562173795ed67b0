"""My data come as files."""
