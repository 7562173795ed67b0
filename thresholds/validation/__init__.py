"""What does a fit reach on rows that it has not seen?"""
