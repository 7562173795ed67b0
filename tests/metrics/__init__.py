"""What score do decisions reach?"""
