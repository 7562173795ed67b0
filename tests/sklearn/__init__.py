"""The meta-estimator of scikit-learn."""
