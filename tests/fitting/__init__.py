"""Which thresholds are best for my labels, or my probabilities?"""
