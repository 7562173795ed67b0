"""How does a rule decide where this library is not installed?

`Rule.to_onnx` records its decisions as a graph for ONNX runtimes.
"""
