"""My data do not fit into memory, or lie on a cluster: how do I fit them?"""
