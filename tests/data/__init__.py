"""My data come as ..."""
