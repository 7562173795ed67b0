"""How does a rule decide inside another program: a PyTorch model, or one without this library?

Each file here is for one such place. It is imported when it is first asked for, as it needs a library of its own.
"""
