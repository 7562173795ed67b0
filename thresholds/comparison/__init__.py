"""Which rule is better, and what changed since last week?"""
