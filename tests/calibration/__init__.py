"""Are my scores probabilities?"""
