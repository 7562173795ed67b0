"""Run every script of this folder, and write what was found into experiments/README.md.

    python experiments/paper/run_all.py [--quick] [--files FILE ...] [--headings FILE ...]

FILE is a file of scores and truth as `thresholds fit` reads it (docs/files.md). `--files` are used wherever real scores
are, `--headings` for the case study of section 7; without them the demo data stand in. A quick run writes to
results/quick and leaves the table as it is.
"""

import argparse
import sys
from importlib import import_module
from pathlib import Path
from time import perf_counter

from claims import RESULTS, Options, perform
from table import write_table

# In the order of the paper; then the other sources.
SCRIPTS = (
    "surfaces",
    "optimal_threshold",
    "half_of_f1",
    "finite_batches",
    "uninformative",
    "common_and_rare",
    "case_study",
    "simulated_headings",
    "accuracy_thresholds",
    "chosen_thresholds",
    "sample_size",
    "skill",
    "f_of_averages",
    "zero_division",
    "averages",
)
ON_FILES = ("half_of_f1", "skill", "f_of_averages", "zero_division", "averages")


def main() -> None:
    """Run all scripts, one after another, and say how long each took."""
    parser = argparse.ArgumentParser(description="Run all experiments on the claims of the sources.")
    parser.add_argument("--quick", action="store_true", help="the same claims from less work, checked more loosely")
    parser.add_argument("--files", nargs="*", type=Path, default=[], metavar="FILE", help="real scores and truth")
    parser.add_argument("--headings", nargs="*", type=Path, default=[], metavar="FILE", help="those of the case study")
    given = parser.parse_args()
    folder = RESULTS / "quick" if given.quick else RESULTS
    for k, name in enumerate(SCRIPTS, 1):
        print(f"{k:2} of {len(SCRIPTS)}  {name:20}", end="", flush=True, file=sys.stderr)
        start = perf_counter()
        files = given.headings if name == "case_study" else given.files if name in ON_FILES else []
        results = perform(f"{name}.py", import_module(name).run, Options(given.quick, tuple(files)), folder)
        print(f"{perf_counter() - start:6.1f} s  {len(results.claims):3} claims", file=sys.stderr)
    print(write_table(SCRIPTS) if not given.quick else f"results are in {folder}")


if __name__ == "__main__":
    main()
