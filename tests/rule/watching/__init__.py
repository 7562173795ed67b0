"""How is a rule applied, saved, loaded?"""
