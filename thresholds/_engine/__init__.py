"""How is the best cut of a label found?"""
