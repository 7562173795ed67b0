"""My data come as arrays, label lists, folds: what is fitted, checked, as one thing."""
