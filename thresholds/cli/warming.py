"""The command `warmup`: kernels are compiled before anybody waits for them."""

import argparse
import sys

from thresholds._checks import InputError
from thresholds.cli import printing


def warmup(options: argparse.Namespace) -> None:
    """Compile kernels and say where they are kept; refuse where they would be lost."""
    from thresholds.warming import PURPOSES, folder_of_kernels, warmup

    if folder_of_kernels() is None:
        raise InputError(
            "no folder for compiled kernels can be written, expected one that can, as NUMBA_CACHE_DIR names one"
        )
    if not sys.stderr.isatty():
        printing.print_error("thresholds: compiling kernels, which may take a minute or two")
    print(warmup(options.purposes or PURPOSES, progress=sys.stderr.isatty()))
