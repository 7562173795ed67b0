"""How are arrays walked through?"""
