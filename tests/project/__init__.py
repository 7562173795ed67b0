"""The documentation, the package and the experiments are what they say."""
