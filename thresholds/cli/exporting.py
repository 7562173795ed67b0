"""The command `export`: a saved rule as a model for another runtime."""

import argparse
from pathlib import Path

from thresholds._checks import InputError
from thresholds.atomic import write_atomically

_SUFFIX = ".onnx"


def export(options: argparse.Namespace) -> None:
    """Write a saved rule as an ONNX model."""
    from thresholds.loading import load_rule

    suffix = Path(options.output).suffix
    if suffix != _SUFFIX:
        raise InputError(f"{options.output} ends in {suffix!r}, expected {_SUFFIX}")
    rule = load_rule(options.rule)
    model = rule.to_onnx(dtype=options.dtype)
    content = model.SerializeToString()
    write_atomically(options.output, lambda stream: stream.write(content))
    dtype = next(item.value for item in model.metadata_props if item.key == "dtype")
    print(f"{rule}\nwritten to {options.output}, for scores of {dtype}")
