"""Which labels should I not trust?"""
