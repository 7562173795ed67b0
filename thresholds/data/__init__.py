"""In what form may my data come, and how are they held while a rule is fitted?"""
