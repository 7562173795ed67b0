"""What will a fit reach on rows that it has not seen?"""
