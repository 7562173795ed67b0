"""What F is to be expected, without labels?"""
