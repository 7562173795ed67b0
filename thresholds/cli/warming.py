"""The command `warmup`: kernels are compiled before anybody waits for them."""

import argparse
import sys

from thresholds._checks import InputError
from thresholds.cli import printing


def warmup(options: argparse.Namespace) -> None:
    """Compile kernels and say where they are kept; refuse where they would be lost."""
    from thresholds._kernels import cache_folders
    from thresholds._kernels.disk_cache import folder_of_kernels
    from thresholds.warming import PURPOSES, warmup

    if cache_folders.is_off():
        raise InputError(
            f"{cache_folders.SWITCH} is 0, so that no kernel is kept on disk, expected it unset"
        )
    if folder_of_kernels() is None:
        tried = ", ".join(cache_folders.folders_tried())
        raise InputError(
            f"none of the folders for compiled kernels can be written ({tried}), expected one that can;"
            " NUMBA_CACHE_DIR names another"
        )
    if not sys.stderr.isatty():
        printing.print_error("thresholds: compiling kernels, which may take a minute or two")
    done = warmup(options.purposes or PURPOSES, progress=sys.stderr.isatty())
    if done.lost is not None:
        raise InputError(
            f"{done.folder} has not kept every kernel: {done.lost}; expected room for all of them"
        )
    print(done)
