"""The command `export`: a saved rule as a model for another runtime."""

import argparse
from pathlib import Path

from thresholds._atomic import write_atomically
from thresholds._checks import InputError
from thresholds.cli.printing import finish

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
    about = {item.key: item.value for item in model.metadata_props}
    finish(
        options,
        lambda: f"{rule}\nwritten to {options.output}, for scores of {about['dtype']}",
        lambda: {
            "rule": options.rule,
            "kind": rule.kind,
            "output": options.output,
            "n_labels": rule.n_labels,
            "dtype": about["dtype"],
            "n_bytes": len(content),
            "notes": [],
            "warnings": options.warnings,
        },
        save=lambda: write_atomically(options.output, lambda stream: stream.write(content)),
    )
